#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use nacre_domain::ErrorCode;
use nacre_repository::{ModelEntry, check_repositories, scan};
use tempfile::TempDir;

fn write(root: &Path, file: &str) {
    let path = root.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "").unwrap();
}

fn repository(files: &[&str]) -> TempDir {
    let root = TempDir::new().unwrap();
    for file in files {
        write(root.path(), file);
    }
    root
}

fn models(repositories: &[&Path]) -> Vec<ModelEntry> {
    scan(repositories).unwrap().models.into_values().collect()
}

#[test]
fn models_come_sorted_with_their_versions_and_config() {
    let root =
        repository(&["b/config.pbtxt", "b/1/model.pt", "b/10/model.pt", "b/2/model.pt", "a/1/plugin.wasm"]);
    let models = models(&[root.path()]);
    let names: Vec<_> = models.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(models[0].config_file, None);
    assert_eq!(models[1].config_file, Some(root.path().join("b/config.pbtxt")));
    assert_eq!(models[1].directory, root.path().join("b"));
    assert_eq!(models[1].versions.keys().copied().collect::<Vec<_>>(), [1, 2, 10]);
    assert_eq!(models[1].versions[&10], root.path().join("b/10"));
    assert!(models.iter().all(|m| m.problem.is_none()));
}

#[test]
fn what_is_no_model_or_version_is_passed_over() {
    let root = repository(&[
        "README.md",
        ".git/config",
        "lost+found/x",
        "m/config.pbtxt",
        "m/labels.txt",
        "m/3",
        "m/01/model.pt",
        "m/0/model.pt",
        "m/assets/x",
        "m/4/model.pt",
    ]);
    let models = models(&[root.path()]);
    assert_eq!(models.len(), 1);
    assert_eq!(models[0].versions.keys().copied().collect::<Vec<_>>(), [4]);
    assert_eq!(models[0].problem, None);
}

#[test]
fn links_to_folders_are_followed() {
    let elsewhere = repository(&["real/config.pbtxt", "weights/model.pt"]);
    let root = TempDir::new().unwrap();
    symlink(elsewhere.path().join("real"), root.path().join("m")).unwrap();
    symlink(elsewhere.path().join("weights"), elsewhere.path().join("real/1")).unwrap();
    let models = models(&[root.path()]);
    assert_eq!(models[0].name, "m");
    assert!(models[0].config_file.is_some());
    assert!(models[0].versions[&1].join("model.pt").exists());
}

#[test]
fn a_dangling_link_is_the_problem_of_its_model_alone() {
    let root = repository(&["good/1/model.pt", "half/config.pbtxt"]);
    symlink("/nowhere/at/all", root.path().join("gone")).unwrap();
    symlink("loop", root.path().join("loop")).unwrap();
    symlink("../missing", root.path().join("half/1")).unwrap();
    let models = models(&[root.path()]);
    let problem = |name: &str| models.iter().find(|m| m.name == name).unwrap().problem.clone();
    assert_eq!(problem("good"), None);
    for (name, target) in [("gone", "/nowhere/at/all"), ("loop", "loop"), ("half", "../missing")] {
        let problem = problem(name).unwrap();
        assert!(problem.starts_with(&format!("model '{name}': the link ")), "{problem}");
        assert!(problem.contains(&format!(" to {target} cannot be followed")), "{problem}");
    }
}

#[test]
fn a_name_in_two_repositories_is_the_problem_of_that_model_alone() {
    let first = repository(&["twin/1/model.pt", "a/1/model.pt"]);
    let second = repository(&["twin/1/model.pt", "z/1/model.pt"]);
    let models = models(&[first.path(), second.path()]);
    let names: Vec<_> = models.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["a", "twin", "z"]);
    let problem = models[1].problem.clone().unwrap();
    assert!(problem.contains(&first.path().join("twin").display().to_string()), "{problem}");
    assert!(problem.contains(&second.path().join("twin").display().to_string()), "{problem}");
    assert!(models[0].problem.is_none() && models[2].problem.is_none());
}

#[test]
fn a_repository_that_is_missing_or_no_folder_is_named() {
    let root = repository(&["file"]);
    for (path, what) in
        [(root.path().join("missing"), "does not exist"), (root.path().join("file"), "is not a folder")]
    {
        for error in [scan(&[&path]).unwrap_err(), check_repositories(&[&path]).unwrap_err()] {
            assert_eq!(error.code(), ErrorCode::InvalidArgument);
            assert_eq!(error.message(), format!("model repository {} {what}", path.display()));
        }
    }
    assert!(check_repositories(&[] as &[PathBuf]).is_err());
    assert!(check_repositories(&[root.path()]).is_ok());
}
