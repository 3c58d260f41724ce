use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use serde::Serialize;

use super::{
    Language,
    embedded::{self, write_if_changed},
};
use crate::build::versions;

/// What `nacre plugin new` was asked for.
#[derive(Debug)]
pub struct NewOptions {
    /// Name of the plugin, of its folder and of the model.
    pub name: String,
    /// What it is to be written in.
    pub language: Language,
    /// The folder in which its folder is made; one that serves as a model repository, say.
    pub parent: PathBuf,
}

/// What was made.
#[derive(Debug, Serialize)]
pub struct NewReport {
    /// Name of the plugin.
    pub name: String,
    /// What it is written in.
    pub language: Language,
    /// Its folder.
    pub folder: PathBuf,
    /// Files in it, relative to it; without those of `.nacre`.
    pub files: Vec<PathBuf>,
    /// Commands to go on with, from the current folder, in order.
    pub next: Vec<String>,
}

/// Makes the folder of a new plugin from its language's template.
///
/// # Errors
/// If the name cannot be a model's, if the folder is there already, or if it cannot be written.
pub fn new(options: &NewOptions) -> Result<NewReport> {
    let NewOptions { name, language, parent } = options;
    check_name(name)?;
    let folder = if parent == Path::new(".") { PathBuf::from(name) } else { parent.join(name) };
    if folder.exists() {
        bail!("{} is there already: choose another name, or delete it first", folder.display());
    }
    let mut files = Vec::new();
    for (path, contents) in embedded::template(*language) {
        let text = String::from_utf8_lossy(contents);
        let filled = placeholders(name, *language)
            .iter()
            .fold(text.into_owned(), |text, (key, value)| text.replace(&format!("{{{{{key}}}}}"), value));
        // Git would take a template's own for the repository's, and cargo a template for a package.
        let path = match path {
            "gitignore" => ".gitignore",
            "Cargo.toml.template" => "Cargo.toml",
            "cargo-config.toml" => ".cargo/config.toml",
            other => other,
        };
        write_if_changed(&folder.join(path), filled.as_bytes())?;
        files.push(PathBuf::from(path));
    }
    files.sort();
    embedded::write_sdk(&folder, *language)?;
    if *language == Language::Rust {
        // The versions that the SDK was tested with; cargo drops what the plugin does not use.
        let lock = folder.join(embedded::SDK).join("plugins/Cargo.lock");
        fs::copy(&lock, folder.join("Cargo.lock"))
            .with_context(|| format!("cannot copy {}", lock.display()))?;
    }
    let mut next: Vec<String> = Vec::new();
    if matches!(language, Language::JavaScript | Language::TypeScript) {
        next.push(format!("npm install --prefix {}", folder.display()));
    }
    next.push(format!("nacre plugin build {}", folder.display()));
    next.push(format!("nacre plugin test {}", folder.display()));
    next.push(format!("nacre serve --model-repository {}", parent.display()));
    Ok(NewReport { name: name.clone(), language: *language, folder, files, next })
}

/// A plugin's name is that of a model, a folder and (in Rust and JavaScript) of a package.
fn check_name(name: &str) -> Result<()> {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
    let goes_on = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if !begins || !goes_on || name.len() > 64 {
        bail!(
            "'{name}' cannot be a plugin's name: expected a letter, then letters, digits, '_' and '-', 64 in all at most"
        );
    }
    if name == "nacre" || name == "plugin" || name == "test" {
        bail!(
            "'{name}' cannot be a plugin's name, as languages use it for something else: choose another one"
        );
    }
    Ok(())
}

/// What stands in the templates between double braces, and what goes there.
fn placeholders(name: &str, language: Language) -> Vec<(&'static str, String)> {
    vec![
        ("name", name.to_owned()),
        ("package", name.to_ascii_lowercase()),
        ("language", language.name().to_owned()),
        ("ziglang", versions::ZIGLANG.to_owned()),
        ("componentize-py", versions::COMPONENTIZE_PY.to_owned()),
        ("componentize-qjs", versions::COMPONENTIZE_QJS.to_owned()),
        ("esbuild", versions::ESBUILD.to_owned()),
        ("typescript", versions::TYPESCRIPT.to_owned()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(language: Language) -> (tempfile::TempDir, NewReport) {
        let parent = tempfile::tempdir().unwrap();
        let options = NewOptions { name: "scale".to_owned(), language, parent: parent.path().to_owned() };
        let report = new(&options).unwrap();
        (parent, report)
    }

    #[test]
    fn a_project_is_complete_and_nothing_is_left_to_fill_in() {
        for language in Language::ALL {
            let (_parent, report) = made(language);
            for file in &report.files {
                let text = fs::read_to_string(report.folder.join(file)).unwrap();
                assert!(!text.contains("{{"), "{language}: {}", file.display());
            }
            let project = super::super::Project::open(&report.folder).unwrap();
            assert_eq!((project.name.as_str(), project.language), ("scale", language));
            assert!(report.folder.join(&project.sources[0]).is_file(), "{language}");
        }
    }

    #[test]
    fn a_folder_that_is_there_is_left_alone() {
        let (parent, _) = made(Language::C);
        let options = NewOptions {
            name: "scale".to_owned(),
            language: Language::Zig,
            parent: parent.path().to_owned(),
        };
        assert!(new(&options).unwrap_err().to_string().contains("is there already"));
        assert!(parent.path().join("scale/plugin.c").is_file());
    }

    #[test]
    fn names_that_no_model_or_package_can_have_are_refused() {
        for name in ["", "1st", "a b", "../up", "größe", "a/b", "plugin"] {
            assert!(check_name(name).is_err(), "{name}");
        }
        check_name("tokenize_2-b").unwrap();
    }
}
