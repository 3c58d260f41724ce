//! Embeds what `nacre plugin new` and `build` put into a plugin's project: the interface, the SDKs, the templates.

use std::{
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

/// Folders of the repository whose files are embedded.
const FOLDERS: [&str; 4] = ["wit", "plugins/sdk", "plugins/steps", "plugins/templates"];
/// Single files beside them.
const FILES: [&str; 2] = ["plugins/Cargo.toml", "plugins/Cargo.lock"];
/// Folders in them that are of no use to a plugin's project.
const LEFT_OUT: [&str; 5] = ["target", "examples", "benches", "node_modules", "__pycache__"];

fn main() -> std::io::Result<()> {
    let root =
        PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../..").canonicalize()?;
    let mut files: Vec<PathBuf> = FILES.iter().map(|file| root.join(file)).collect();
    for file in &files {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    for folder in FOLDERS {
        let folder = root.join(folder);
        println!("cargo::rerun-if-changed={}", folder.display());
        collect(&folder, &mut files)?;
    }
    files.sort();
    let mut table = String::from("[\n");
    for file in &files {
        let name = file.strip_prefix(&root).unwrap_or(file).display().to_string();
        let _ = writeln!(table, "    ({name:?}, include_bytes!({:?})),", file.display().to_string());
    }
    table.push_str("]\n");
    fs::write(Path::new(&env::var("OUT_DIR").unwrap_or_default()).join("embedded.rs"), table)
}

/// All files of a folder that are of use.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            // The tests of steps are tests here; those of a template are its cases.
            let of_steps = name == "tests" && path.components().any(|part| part.as_os_str() == "steps");
            if !of_steps && !LEFT_OUT.contains(&name.as_str()) {
                collect(&path, files)?;
            }
        } else {
            files.push(path);
        }
    }
    Ok(())
}
