//! The layers of ARCHITECTURE.md, held against what cargo says the crates depend on.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

use nacre_tests::root;
use serde_json::Value;

/// Which of our own crates each crate may depend on: those below it.
const LAYERS: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("proto", &[]),
    ("config", &["domain", "proto"]),
    ("telemetry", &["domain"]),
    ("backend", &["domain", "config"]),
    ("repository", &["domain", "config"]),
    ("torch", &["domain", "config", "backend", "telemetry"]),
    ("wasm", &["domain", "config", "backend", "telemetry"]),
    ("scheduler", &["domain", "config", "backend", "telemetry"]),
    ("engine", &["domain", "config", "telemetry", "backend", "repository", "scheduler"]),
    ("api", &["domain", "config", "proto", "telemetry", "engine"]),
    // The image steps are plugins' own, shared so that a picture in a case has the same pixels.
    ("toolkit", &["domain", "config", "telemetry", "backend", "wasm", "image"]),
    (
        "server",
        &[
            "domain",
            "config",
            "telemetry",
            "backend",
            "repository",
            "torch",
            "wasm",
            "scheduler",
            "engine",
            "api",
            "toolkit",
        ],
    ),
];

/// Who alone may name a heavy dependency.
const HOMES: &[(&str, &[&str])] = &[
    ("tch", &["torch"]),
    ("torch-sys", &["torch"]),
    ("wasmtime", &["wasm"]),
    ("axum", &["api"]),
    ("tonic", &["api"]),
    ("tokio", &["scheduler", "engine", "api", "server", "toolkit", "wasm"]),
];

/// Each of our crates with what it depends on outside its tests. Asked of cargo itself: a crate that wraps the question
/// would bring features along that make every dependency compile twice.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version=1", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let name = |of: &Value| of["name"].as_str().unwrap().to_owned();
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages
        .map(|package| {
            let dependencies = package["dependencies"].as_array().unwrap().iter();
            (name(package), dependencies.filter(|d| d["kind"].is_null()).map(name).collect())
        })
        .collect()
}

#[test]
fn crates_import_downwards_only() {
    let layers: BTreeMap<_, _> = LAYERS.iter().copied().collect();
    for (package, dependencies) in dependencies() {
        let Some(name) = package.strip_prefix("nacre-").filter(|name| *name != "tests") else { continue };
        let allowed = layers.get(name).unwrap_or_else(|| panic!("{package} has no layer in this test"));
        for dependency in dependencies.iter().filter_map(|d| d.strip_prefix("nacre-")) {
            assert!(allowed.contains(&dependency), "{package} must not depend on nacre-{dependency}");
        }
    }
}

#[test]
fn heavy_dependencies_have_one_home() {
    for (package, dependencies) in dependencies() {
        let Some(name) = package.strip_prefix("nacre-").filter(|name| *name != "tests") else { continue };
        for (heavy, homes) in HOMES {
            assert!(
                !dependencies.contains(*heavy) || homes.contains(&name),
                "{package} must not depend on {heavy}: only {homes:?} may"
            );
        }
    }
}
