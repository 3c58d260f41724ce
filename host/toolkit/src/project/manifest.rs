//! nacre.toml: what a folder with a plugin's sources says of itself.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::Language;

/// Name of the manifest.
pub const MANIFEST: &str = "nacre.toml";

/// The manifest as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    plugin: Plugin,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Plugin {
    name: String,
    language: Language,
    #[serde(default)]
    sources: Vec<String>,
    #[serde(default)]
    flags: Vec<String>,
    #[serde(default)]
    debug: bool,
}

/// A plugin's project: a folder with nacre.toml, which is a model's folder of a repository as well.
#[derive(Debug, Clone)]
pub struct Project {
    /// The folder.
    pub folder: PathBuf,
    /// Name of the plugin.
    pub name: String,
    /// What it is written in.
    pub language: Language,
    /// Sources relative to the folder: the compiler's for C, C++ and Zig, else the one that it starts from.
    pub sources: Vec<PathBuf>,
    /// More options for the compiler; C, C++ and Zig.
    pub flags: Vec<String>,
    /// Whether to keep debug information, with which traps name source lines; C, C++ and Zig. Rust has its profiles.
    pub debug: bool,
}

impl Project {
    /// Reads `folder`'s nacre.toml.
    ///
    /// # Errors
    /// If there is none, or if it does not say what it should.
    pub fn open(folder: &Path) -> Result<Self> {
        let path = folder.join(MANIFEST);
        if !path.is_file() {
            bail!(
                "{} is no plugin's project: it has no {MANIFEST}. `nacre plugin new NAME --language LANGUAGE` makes one",
                folder.display()
            );
        }
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let manifest: Manifest =
            toml::from_str(&text).with_context(|| format!("cannot read {}", path.display()))?;
        let Plugin { name, language, sources, flags, debug } = manifest.plugin;
        let sources = if sources.is_empty() { vec![language.source().to_owned()] } else { sources };
        Ok(Self {
            folder: folder.to_owned(),
            name,
            language,
            sources: sources.into_iter().map(PathBuf::from).collect(),
            flags,
            debug,
        })
    }

    /// That the sources are there.
    ///
    /// # Errors
    /// Naming the first that is not.
    pub fn check_sources(&self) -> Result<()> {
        match self.sources.iter().find(|source| !self.folder.join(source).is_file()) {
            Some(source) => bail!(
                "there is no {} in {}: a plugin in {} has it, unless `sources` in {MANIFEST} names others",
                source.display(),
                self.folder.display(),
                self.language
            ),
            None => Ok(()),
        }
    }

    /// Whether a file of the folder, named relative to it, has a part in what is built (and not one in what building
    /// leaves behind). For those who watch.
    pub fn is_source(&self, relative: &Path) -> bool {
        const NOT: [&str; 9] =
            ["1", ".nacre", ".git", ".venv", "target", "node_modules", "__pycache__", "tests", "README.md"];
        relative.components().next().is_some_and(|first| NOT.iter().all(|not| first.as_os_str() != *not))
            && !relative.components().any(|part| part.as_os_str() == "__pycache__")
    }
}
