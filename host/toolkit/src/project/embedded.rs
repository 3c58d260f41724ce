//! Files of the repository that this binary carries: the interface, the SDKs, the templates.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use super::Language;

/// Each with its path in the repository.
static FILES: &[(&str, &[u8])] = &include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// Folder of a project that holds what this binary put there; git ignores it.
pub const SDK: &str = ".nacre";
/// Where builds leave what they need again; a folder of [`SDK`].
pub const SCRATCH: &str = "build";

/// The files of a language's template, with their paths in a project.
pub fn template(language: Language) -> impl Iterator<Item = (&'static str, &'static [u8])> {
    let own = format!("plugins/templates/{}/", language.name());
    FILES.iter().filter_map(move |&(path, contents)| {
        let path = path.strip_prefix("plugins/templates/common/").or_else(|| path.strip_prefix(&own))?;
        Some((path, contents))
    })
}

/// Brings a project's `.nacre` to what this binary carries. It has the repository's layout; a file that is right
/// already stays as it is, so that compilers that look at dates have nothing to do.
pub fn write_sdk(project: &Path, language: Language) -> Result<()> {
    let folder = project.join(SDK);
    let mut files: Vec<(PathBuf, Vec<u8>)> = FILES
        .iter()
        .filter(|(path, _)| belongs_to(path, language))
        .map(|&(path, contents)| {
            let contents = if path == "plugins/Cargo.toml" { workspace(contents) } else { contents.to_vec() };
            (PathBuf::from(path), contents)
        })
        .collect();
    files.push((PathBuf::from(".gitignore"), b"*\n".to_vec()));
    for (path, contents) in &files {
        write_if_changed(&folder.join(path), contents)?;
    }
    let known: BTreeSet<&Path> = files.iter().map(|(path, _)| path.as_path()).collect();
    for top in ["wit", "plugins"] {
        remove_others(&folder, Path::new(top), &known)?;
    }
    Ok(())
}

/// Whether a file of the repository goes into projects of that language.
fn belongs_to(path: &str, language: Language) -> bool {
    let sdks: &[&str] = match language {
        Language::Rust => {
            &["plugins/sdk/rust/", "plugins/steps/", "plugins/Cargo.toml", "plugins/Cargo.lock"]
        }
        Language::C => &["plugins/sdk/c/"],
        Language::Cpp => &["plugins/sdk/c/", "plugins/sdk/cpp/"],
        Language::Zig => &["plugins/sdk/c/", "plugins/sdk/zig/"],
        Language::Python => &["plugins/sdk/python/"],
        Language::JavaScript | Language::TypeScript => &["plugins/sdk/javascript/"],
    };
    path.starts_with("wit/") || sdks.iter().any(|sdk| path.starts_with(sdk))
}

/// The manifest of the plugins' workspace without the members that a project has not.
fn workspace(manifest: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(manifest);
    let lines = text
        .lines()
        .map(|line| if line.starts_with("members") { "members = [\"sdk/rust\", \"steps/*\"]" } else { line });
    lines.flat_map(|line| [line, "\n"]).collect::<String>().into_bytes()
}

/// Deletes what lies in `folder/top` and is not known: files of an earlier version.
fn remove_others(folder: &Path, top: &Path, known: &BTreeSet<&Path>) -> Result<()> {
    let Ok(entries) = fs::read_dir(folder.join(top)) else { return Ok(()) };
    for entry in entries.flatten() {
        let relative = top.join(entry.file_name());
        if entry.path().is_dir() {
            remove_others(folder, &relative, known)?;
        } else if !known.contains(relative.as_path()) && !relative.ends_with("plugins/Cargo.lock") {
            fs::remove_file(entry.path())
                .with_context(|| format!("cannot delete {}", entry.path().display()))?;
        }
    }
    Ok(())
}

/// Writes a file, and the folders above it, unless it holds that already. Whether it did.
pub fn write_if_changed(path: &Path, contents: &[u8]) -> Result<bool> {
    if fs::read(path).is_ok_and(|old| old == contents) {
        return Ok(false);
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    fs::write(path, contents).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_its_source_and_what_all_share() {
        for language in Language::ALL {
            let paths: Vec<_> = template(language).map(|(path, _)| path).collect();
            for path in [language.source(), "config.pbtxt", "nacre.toml", "README.md", "tests/scale.json"] {
                assert!(paths.contains(&path), "{language}: {path} is missing of {paths:?}");
            }
        }
    }

    #[test]
    fn the_sdk_of_another_language_and_of_another_version_goes() {
        let folder = tempfile::tempdir().unwrap();
        let stale = folder.path().join(".nacre/plugins/sdk/c/old.h");
        write_if_changed(&stale, b"").unwrap();
        write_sdk(folder.path(), Language::C).unwrap();
        assert!(!stale.exists());
        assert!(folder.path().join(".nacre/plugins/sdk/c/nacre.h").is_file());
        assert!(folder.path().join(".nacre/wit/step.wit").is_file());
        assert!(!folder.path().join(".nacre/plugins/sdk/python").exists());
    }
}
