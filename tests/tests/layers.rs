//! The layers of ARCHITECTURE.md, held against what cargo says the crates depend on.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, MetadataCommand};

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
    (
        "server",
        &[
            "domain", "config", "telemetry", "backend", "repository", "torch", "wasm", "scheduler", "engine",
            "api",
        ],
    ),
];

/// Who alone may name a heavy dependency.
const HOMES: &[(&str, &[&str])] = &[
    ("tch", &["torch"]),
    ("torch-sys", &["torch"]),
    ("wasmtime", &["wasm"]),
    ("axum", &["api", "server"]),
    ("tonic", &["api", "server"]),
    ("tokio", &["scheduler", "engine", "api", "server", "wasm"]),
];

fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    let metadata = MetadataCommand::new().manifest_path(manifest).no_deps().exec().unwrap();
    metadata
        .packages
        .iter()
        .map(|package| {
            let normal = package.dependencies.iter().filter(|d| d.kind == DependencyKind::Normal);
            (package.name.to_string(), normal.map(|d| d.name.clone()).collect())
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
