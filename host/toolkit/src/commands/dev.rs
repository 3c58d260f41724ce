use std::{
    collections::BTreeSet,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use nacre_config::ModelConfig;
use serde::Serialize;

use super::{check::check_target, test::run_cases};
use crate::{
    build::{self, BuildOptions},
    case,
    cli::DevArgs,
    console::{Console, DIM, GOOD, Report, duration, paint, plain, size},
    failure::Failure,
    project::Project,
    sandbox::Sandbox,
    server::Server,
    target::Target,
    watch::Changes,
};

/// What happens; with `--json` one object a line.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum DevEvent {
    /// It compiles, and a server would serve it.
    Built {
        /// The component.
        component: PathBuf,
        /// Its size.
        bytes: u64,
        /// How long the compiler took.
        seconds: f64,
    },
    /// The cases pass.
    Tested {
        /// How many.
        passed: usize,
    },
    /// It lies in the repository.
    Deployed {
        /// The model's folder.
        folder: PathBuf,
    },
    /// The server serves it.
    Served {
        /// Name of the model.
        model: String,
        /// Address of the server.
        server: String,
    },
    /// Nothing happens until a source changes.
    Waiting {
        /// The folder that is watched.
        folder: PathBuf,
    },
}

impl Report for DevEvent {
    fn render(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Built { component, bytes, seconds } => writeln!(
                out,
                "{} {}, {} ({})",
                paint(GOOD, "built"),
                component.display(),
                size(*bytes),
                duration(seconds * 1e3)
            ),
            Self::Tested { passed } => writeln!(out, "{} {passed} cases pass", paint(GOOD, "tested")),
            Self::Deployed { folder } => writeln!(out, "{} {}", paint(GOOD, "copied to"), folder.display()),
            Self::Served { model, server } => {
                writeln!(out, "{} {server}/v2/models/{model}", paint(GOOD, "served at"))
            }
            Self::Waiting { folder } => {
                writeln!(out, "{}", paint(DIM, format_args!("waiting for a change in {}", folder.display())))
            }
        }
    }
}

/// Builds, checks and deploys; then again at each change of a source. What is wrong with the plugin is written and
/// waited upon.
///
/// # Errors
/// Usage or system: nothing can be watched. With `--once`, whatever was wrong.
pub fn dev(args: &DevArgs, console: &Console) -> Result<ExitCode, Failure> {
    let project = Project::open(&args.path).map_err(|error| Failure::usage(format!("{error:#}")))?;
    let server = args.server.as_deref().map(Server::new).transpose()?;
    if let Some(repository) = args.repository.as_ref().filter(|repository| !repository.is_dir()) {
        return Err(Failure::usage(format!("there is no model repository {}", repository.display())));
    }
    // One for all builds: what was compiled of the last one is used for the next.
    let sandbox = Sandbox::start()?;
    let development = Development { args, project: &project, server, sandbox, console };
    if args.once {
        development.cycle()?;
        return Ok(ExitCode::SUCCESS);
    }
    // Watching first: what changes during a build is built next.
    let mut changes = Changes::watch(&project, args.test)?;
    loop {
        if let Err(failure) = development.cycle() {
            console.failure(&failure);
        }
        console.report(&DevEvent::Waiting { folder: project.folder.clone() });
        changes.wait()?;
    }
}

struct Development<'a> {
    args: &'a DevArgs,
    project: &'a Project,
    server: Option<Server>,
    sandbox: Sandbox,
    console: &'a Console,
}

impl Development<'_> {
    /// From the sources to a served model.
    fn cycle(&self) -> Result<(), Failure> {
        let console = self.console;
        let options = BuildOptions { progress: &|text| console.step(text) };
        let built =
            build::build(&self.project.folder, &options).map_err(|error| Failure::of_build(&error))?;
        let target = Target::find(&self.project.folder, None)?;
        let checked = check_target(&self.sandbox, &target, console)?;
        for warning in &checked.warnings {
            console.warn(warning);
        }
        if let Some(problem) = checked.problems.first() {
            let failure = Failure::plugin(problem.message.clone());
            return Err(Failure { fix: problem.fix.clone(), ..failure });
        }
        let (component, bytes, seconds) = (built.component, built.bytes, built.seconds);
        console.report(&DevEvent::Built { component, bytes, seconds });
        if self.args.test {
            self.test(&target)?;
        }
        if let Some(repository) = &self.args.repository {
            let folder = repository.join(&self.project.name);
            let (config, _) = target.config()?;
            if deploy(&self.project.folder, &folder, &config)? {
                console.report(&DevEvent::Deployed { folder });
            }
        }
        if let Some(server) = &self.server {
            server.load(&self.project.name)?;
            let (model, server) = (self.project.name.clone(), server.url().to_owned());
            console.report(&DevEvent::Served { model, server });
        }
        Ok(())
    }

    fn test(&self, target: &Target) -> Result<(), Failure> {
        let cases = case::read_folder(&target.cases())?;
        if cases.is_empty() {
            self.console.warn(&format!("there are no cases in {}", target.cases().display()));
            return Ok(());
        }
        let report = run_cases(&self.sandbox, target, cases, None, self.console)?;
        if report.passed() {
            self.console.report(&DevEvent::Tested { passed: report.passed });
            return Ok(());
        }
        let text = plain(&report).unwrap_or_default();
        Err(Failure::plugin(format!("it is not deployed, since cases fail\n{}", text.trim_end())))
    }
}

/// Copies what a server needs of the plugin to a model's folder, each file at once. Gives whether anything was copied:
/// the folders may be one and the same.
fn deploy(from: &Path, to: &Path, config: &ModelConfig) -> Result<bool, Failure> {
    let cannot =
        |path: &Path, error: io::Error| Failure::system(format!("cannot write {}: {error}", path.display()));
    let version = to.join("1");
    fs::create_dir_all(&version).map_err(|error| cannot(&version, error))?;
    if fs::canonicalize(from).ok() == fs::canonicalize(to).ok() {
        return Ok(false);
    }
    // Files that the configuration names, such as labels, and the component at last: it is what makes a server look.
    let mut files: BTreeSet<PathBuf> = config
        .parameters
        .values()
        .chain(config.outputs.iter().filter_map(|output| output.label_filename.as_ref()))
        .map(PathBuf::from)
        .filter(|file| file.is_relative() && !file.starts_with("..") && from.join(file).is_file())
        .collect();
    files.insert("config.pbtxt".into());
    let in_version = fs::read_dir(from.join("1")).into_iter().flatten().flatten();
    files.extend(in_version.map(|entry| Path::new("1").join(entry.file_name())));
    let component = PathBuf::from("1/plugin.wasm");
    files.remove(&component);
    for file in files.iter().chain([&component]) {
        let (source, target) = (from.join(file), to.join(file));
        if source.is_file() {
            copy(&source, &target).map_err(|error| cannot(&target, error))?;
        }
    }
    Ok(true)
}

/// Never half a file: a server may be reading.
fn copy(source: &Path, target: &Path) -> io::Result<()> {
    let bytes = fs::read(source)?;
    if fs::read(target).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    let folder = target.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new().prefix(".nacre-").tempfile_in(folder)?;
    file.write_all(&bytes)?;
    // Temporary files are for their owner alone; the server may be somebody else.
    fs::set_permissions(file.path(), fs::metadata(source)?.permissions())?;
    file.persist(target)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deploys_what_the_configuration_names_and_the_version_folder() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("src/labels"), folder.path().join("repository/labels"));
        fs::create_dir_all(from.join("1")).unwrap();
        for (file, text) in [
            ("config.pbtxt", "parameters { key: \"labels\" value { string_value: \"labels.txt\" } }"),
            ("labels.txt", "cat"),
            ("plugin.c", "int"),
            ("1/plugin.wasm", "wasm"),
            ("1/table.bin", "table"),
        ] {
            fs::write(from.join(file), text).unwrap();
        }
        let target = Target::find(&from, None).unwrap();
        assert!(deploy(&from, &to, &target.config().unwrap().0).unwrap());
        for file in ["config.pbtxt", "labels.txt", "1/plugin.wasm", "1/table.bin"] {
            assert_eq!(fs::read(from.join(file)).unwrap(), fs::read(to.join(file)).unwrap(), "{file}");
        }
        assert!(!to.join("plugin.c").exists());
        assert!(!deploy(&from, &from, &target.config().unwrap().0).unwrap());
    }
}
