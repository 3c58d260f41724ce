//! Where compilers are: what the environment names, what lies beside the project or above it, what is on the PATH, what
//! the repository that this binary was built in has installed.

use std::{
    env,
    ffi::OsStr,
    fmt,
    path::{Path, PathBuf},
};

/// A compiler or a part of one is not there. The text says which one, where it was looked for, and which commands bring
/// it. Errors of [`build`](super::build) are this one, or what a compiler said, or what is wrong with the project.
#[derive(Debug)]
pub struct MissingToolchain(pub String);

impl fmt::Display for MissingToolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for MissingToolchain {}

/// The path that an environment variable names, if it names one.
pub fn named(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// A program on the PATH.
pub fn on_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// The project's folder and those above it, then those above this binary: where an environment may lie.
pub fn around(project: &Path) -> Vec<PathBuf> {
    let binary = env::current_exe().and_then(|path| path.canonicalize()).unwrap_or_default();
    let mut folders: Vec<PathBuf> = project.ancestors().map(Path::to_owned).collect();
    for folder in binary.ancestors().skip(1) {
        if !folders.iter().any(|known| known == folder) {
            folders.push(folder.to_owned());
        }
    }
    folders
}

/// Pythons in the order in which they are asked. One that NACRE_PYTHON names is the only one.
pub fn pythons(project: &Path) -> Vec<PathBuf> {
    if let Some(python) = named("NACRE_PYTHON") {
        return vec![python];
    }
    let active = named("VIRTUAL_ENV").map(|folder| folder.join("bin/python"));
    let beside = around(project).into_iter().map(|folder| folder.join(".venv/bin/python"));
    let installed = ["python3", "python"].into_iter().filter_map(on_path);
    beside.chain(active).chain(installed).filter(|python| python.is_file()).collect()
}

/// The first of those Pythons for which a package is installed.
pub fn python_with(package: &str, project: &Path) -> Option<PathBuf> {
    let script =
        format!("import importlib.util, sys; sys.exit(importlib.util.find_spec({package:?}) is None)");
    pythons(project).into_iter().find(|python| {
        // Not in the project's folder: a source of its name there is not the package.
        let mut command = std::process::Command::new(python);
        command.args(["-I", "-c", &script]).output().is_ok_and(|output| output.status.success())
    })
}

/// The first folder `node_modules` that has all of these packages.
pub fn node_modules(packages: &[&str], project: &Path) -> Option<PathBuf> {
    let has_all =
        |folder: &PathBuf| packages.iter().all(|package| folder.join(package).join("package.json").is_file());
    if let Some(folder) = named("NACRE_NODE_MODULES") {
        return Some(folder).filter(has_all);
    }
    let folders = around(project).into_iter();
    // The set-up of the repository keeps its own in .setup.
    folders
        .flat_map(|folder| [folder.join("node_modules"), folder.join(".setup/javascript/node_modules")])
        .find(has_all)
}

/// A path for a message: relative to the current folder where it lies in it.
pub fn short(path: &Path) -> String {
    let here = env::current_dir().unwrap_or_default();
    let relative = path.strip_prefix(&here).unwrap_or(path);
    if relative == Path::new("") { ".".to_owned() } else { relative.display().to_string() }
}

/// A file's name as text.
pub fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(OsStr::new("")).to_string_lossy().into_owned()
}
