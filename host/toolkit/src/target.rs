//! Which plugin a command is about: its folder, its component, its configuration.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use nacre_backend::ModelSource;
use nacre_config::{Diagnostic, ModelConfig};
use nacre_domain::ModelKey;

use crate::{
    build::{self, BuildOptions},
    cli::TargetArgs,
    console::Console,
    failure::{Failure, Kind},
    project::{MANIFEST, Project},
};

const CONFIG: &str = "config.pbtxt";
const COMPONENT: &str = "plugin.wasm";
/// The backend of plugins.
const WASM: &str = "wasm";

/// A plugin, as a command was given it.
#[derive(Debug, Clone)]
pub struct Target {
    /// Name of the model that it would be.
    pub name: String,
    /// Its version.
    pub version: u64,
    /// The model's folder: files that the plugin reads lie in it or in the version's.
    pub folder: PathBuf,
    /// The version's folder.
    pub version_folder: PathBuf,
    /// The component.
    pub component: PathBuf,
    /// Its configuration, if there is one.
    pub config_file: Option<PathBuf>,
    /// What else is set, over the configuration's parameters.
    pub set: Vec<(String, String)>,
    /// Where its sources are, if they are there.
    pub project: Option<Project>,
}

impl Target {
    /// Finds what the arguments name, and builds it if they say so.
    ///
    /// # Errors
    /// Usage: nothing is there, or not what is needed; with the way to get it. Or why it does not build.
    pub fn open(args: &TargetArgs, console: &Console) -> Result<Self, Failure> {
        let mut target = Self::find(&args.path, args.config.as_deref())?;
        target.set.clone_from(&args.set);
        if args.build {
            let project = target.project.as_ref().ok_or_else(|| no_project(&args.path))?;
            let options = BuildOptions { progress: &|text| console.step(text) };
            let report =
                build::build(&project.folder, &options).map_err(|error| Failure::of_build(&error))?;
            target.component = report.component;
        }
        if !target.component.is_file() {
            return Err(target.not_built(&args.path));
        }
        Ok(target)
    }

    /// The same without a look at the component.
    ///
    /// # Errors
    /// Usage: nothing is there.
    pub fn find(path: &Path, config: Option<&Path>) -> Result<Self, Failure> {
        let absolute = fs::canonicalize(path)
            .map_err(|error| Failure::usage(format!("cannot find {}: {error}", path.display())))?;
        if let Some(config) = config.filter(|config| !config.is_file()) {
            return Err(Failure::usage(format!("there is no configuration {}", config.display())));
        }
        let target = if absolute.is_dir() {
            Self::of_folder(path, &absolute)?
        } else {
            Self::of_file(path, &absolute)
        };
        let Some(config) = config else { return Ok(target) };
        let name = name_in(config).unwrap_or(target.name);
        Ok(Self { name, config_file: Some(config.to_owned()), ..target })
    }

    fn of_folder(path: &Path, absolute: &Path) -> Result<Self, Failure> {
        let config_file = Some(path.join(CONFIG)).filter(|file| file.is_file());
        let (project, version) = if path.join(MANIFEST).is_file() {
            let project = Project::open(path).map_err(|error| Failure::usage(format!("{error:#}")))?;
            (Some(project), 1)
        } else {
            (None, versions(path).max().ok_or_else(|| no_project(path))?)
        };
        let version_folder = path.join(version.to_string());
        let component = version_folder.join(COMPONENT);
        if project.is_none() && config_file.is_none() && !component.is_file() {
            return Err(no_project(path));
        }
        Ok(Self {
            name: folder_name(absolute),
            version,
            folder: path.to_owned(),
            version_folder,
            component,
            config_file,
            set: Vec::new(),
            project,
        })
    }

    /// A component's file, wherever it lies: in a model's folder it takes that one's configuration.
    fn of_file(path: &Path, absolute: &Path) -> Self {
        let version_folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let version = absolute.parent().and_then(|folder| version_of(&folder_name(folder)));
        let (name, version, folder) = match (version, absolute.parent().and_then(Path::parent)) {
            (Some(version), Some(folder)) => (folder_name(folder), version, folder.to_owned()),
            _ => {
                let stem = path.file_stem().unwrap_or_default().to_string_lossy();
                (stem.into_owned(), 1, version_folder.clone())
            }
        };
        let config_file = Some(folder.join(CONFIG)).filter(|file| file.is_file() && folder != version_folder);
        Self {
            name,
            version,
            folder,
            version_folder,
            component: path.to_owned(),
            config_file,
            set: Vec::new(),
            project: None,
        }
    }

    /// Where its cases are.
    pub fn cases(&self) -> PathBuf {
        self.folder.join("tests")
    }

    /// Its configuration, with what was set over it, and what is to be said of the file. Without a file, one that leaves
    /// the tensors to the plugin.
    ///
    /// # Errors
    /// Usage: the file does not hold; everything that is wrong with it.
    pub fn config(&self) -> Result<(ModelConfig, Vec<Diagnostic>), Failure> {
        let (mut config, warnings) = match &self.config_file {
            None => (nacre_config::without_file(&self.name, WASM), Vec::new()),
            Some(file) => self.parse(file)?,
        };
        config.parameters.extend(self.set.iter().cloned());
        Ok((config, warnings))
    }

    fn parse(&self, file: &Path) -> Result<(ModelConfig, Vec<Diagnostic>), Failure> {
        let text = fs::read_to_string(file)
            .map_err(|error| Failure::usage(format!("cannot read {}: {error}", file.display())))?;
        let parsed =
            nacre_config::parse_with_backend(&self.name, file, &text, Some(WASM)).map_err(|wrong| {
                let lines: Vec<_> = wrong.iter().map(Diagnostic::to_string).collect();
                Failure::usage(lines.join("\n"))
            })?;
        if parsed.config.backend != WASM {
            return Err(Failure::usage(format!(
                "{}: the backend of a plugin is \"{WASM}\", got \"{}\"",
                file.display(),
                parsed.config.backend
            ))
            .fix(format!("write backend: \"{WASM}\"")));
        }
        Ok((parsed.config, parsed.warnings))
    }

    /// What a server would load.
    pub fn source(&self, config: ModelConfig) -> ModelSource {
        ModelSource {
            config: Arc::new(config),
            key: ModelKey { name: self.name.clone(), version: self.version },
            directory: self.folder.clone(),
            version_directory: self.version_folder.clone(),
            file: Some(self.component.clone()),
        }
    }

    fn not_built(&self, path: &Path) -> Failure {
        let missing = Failure::usage(format!("there is no component {}", self.component.display()));
        match &self.project {
            Some(_) => missing.fix(format!("`nacre plugin build {}` makes it", path.display())),
            None => missing.fix("give the component's file, or the folder of a plugin"),
        }
    }
}

fn no_project(path: &Path) -> Failure {
    Failure::new(
        Kind::Usage,
        format!(
            "{} is no plugin's folder: it has neither {MANIFEST} nor <version>/{COMPONENT}",
            path.display()
        ),
    )
    .fix("`nacre plugin new NAME --language LANGUAGE` makes one; or give a component's file")
}

fn folder_name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn versions(folder: &Path) -> impl Iterator<Item = u64> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| version_of(&entry.file_name().to_string_lossy()))
}

fn version_of(name: &str) -> Option<u64> {
    name.parse().ok().filter(|version: &u64| *version > 0 && version.to_string() == name)
}

/// The name that a config.pbtxt gives its model, else its folder's: a component's file alone does not tell it.
fn name_in(config: &Path) -> Option<String> {
    let text = fs::read_to_string(config).ok()?;
    let own = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("name:"))
        .map(|name| name.trim().trim_matches(|c| c == '"' || c == '\'').to_owned());
    own.or_else(|| fs::canonicalize(config).ok()?.parent().map(folder_name)).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let model = folder.path().join("scale");
        fs::create_dir_all(model.join("2")).unwrap();
        fs::create_dir_all(model.join("10")).unwrap();
        fs::write(model.join("10/plugin.wasm"), "").unwrap();
        fs::write(model.join(CONFIG), "name: \"scale\"\nmax_batch_size: 8\n").unwrap();
        folder
    }

    #[test]
    fn a_models_folder_is_a_plugin_with_its_highest_version() {
        let folder = model();
        let target = Target::find(&folder.path().join("scale"), None).unwrap();
        assert_eq!((target.name.as_str(), target.version), ("scale", 10));
        assert!(target.component.ends_with("scale/10/plugin.wasm"));
        assert_eq!(target.config().unwrap().0.max_batch_size, 8);
    }

    #[test]
    fn a_file_takes_the_configuration_of_its_model() {
        let folder = model();
        let target = Target::find(&folder.path().join("scale/10/plugin.wasm"), None).unwrap();
        assert_eq!((target.name.as_str(), target.version), ("scale", 10));
        assert!(target.config_file.is_some());
        fs::write(folder.path().join("x.wasm"), "").unwrap();
        let target = Target::find(&folder.path().join("x.wasm"), None).unwrap();
        assert_eq!((target.name.as_str(), target.config_file.clone()), ("x", None));
        assert_eq!(target.config().unwrap().0.backend, "wasm");
        let config = folder.path().join("scale").join(CONFIG);
        let target = Target::find(&folder.path().join("x.wasm"), Some(&config)).unwrap();
        assert_eq!(target.name, "scale");
        assert!(target.config().is_ok());
    }

    #[test]
    fn what_is_set_is_over_the_configuration() {
        let folder = model();
        let mut target = Target::find(&folder.path().join("scale"), None).unwrap();
        target.set.push(("factor".into(), "2".into()));
        assert_eq!(target.config().unwrap().0.parameters["factor"], "2");
    }

    #[test]
    fn says_what_is_not_a_plugin() {
        let folder = tempfile::tempdir().unwrap();
        let failure = Target::find(folder.path(), None).unwrap_err();
        assert!(
            failure
                .message
                .ends_with("is no plugin's folder: it has neither nacre.toml nor <version>/plugin.wasm")
        );
        assert!(failure.fix.unwrap().contains("nacre plugin new"));
        assert!(Target::find(&folder.path().join("x"), None).unwrap_err().message.contains("cannot find"));

        let folder = model();
        fs::write(folder.path().join("scale").join(CONFIG), "backend: \"pytorch\"\n").unwrap();
        let failure = Target::find(&folder.path().join("scale"), None).unwrap().config().unwrap_err();
        assert!(
            failure.message.ends_with("the backend of a plugin is \"wasm\", got \"pytorch\""),
            "{failure}"
        );
    }
}
