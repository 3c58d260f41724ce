//! What misbehaving plugins leave behind in the server: no thread, no file, no handle, no memory.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

use std::{fs, path::Path};

use nacre_tests::{Repository, Server, guest};
use serde_json::json;

const CONFIG: &str = r#"
backend: "wasm"
input { name: "IN" data_type: TYPE_UINT8 dims: [ -1 ] }
output { name: "OUT" data_type: TYPE_UINT8 dims: [ -1 ] }
parameters { key: "NACRE_TIMEOUT_MS" value { string_value: "50" } }
parameters { key: "NACRE_CONFIGURE_TIMEOUT_MS" value { string_value: "200" } }
parameters { key: "NACRE_MEMORY_MB" value { string_value: "64" } }
"#;

/// Words that the guest `acts` does: a limit, an import or a lie each.
const ACTS: &[&str] = &[
    "trap",
    "spin",
    "allocate",
    "exit",
    "read beyond",
    "log: for ever",
    "log: short lines",
    "metrics: names",
    "metrics: labels",
    "files: a long path",
    "files: for ever",
    "models: many at once",
    "random: much",
    "poll: an age",
    "poll: the same many times",
    "handles: dropped",
    "handles: denied",
    "stdout: for ever",
    "error: long",
    "answer: many outputs",
    "answer: many parameters",
    "answer: strings that lie",
];

/// What the server's process holds.
#[derive(Debug)]
struct Held {
    threads: usize,
    handles: usize,
    resident_kb: u64,
}

fn held(server: &Server) -> Held {
    let process = Path::new("/proc").join(server.pid().to_string());
    let count = |name: &str| fs::read_dir(process.join(name)).unwrap().count();
    let status = fs::read_to_string(process.join("status")).unwrap();
    let resident = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    let resident_kb = resident.split_whitespace().nth(1).unwrap().parse().unwrap();
    Held { threads: count("task"), handles: count("fd"), resident_kb }
}

fn request(text: &str) -> serde_json::Value {
    json!({"inputs": [{"name": "IN", "datatype": "UINT8", "shape": [text.len()], "data": text.as_bytes()}]})
}

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        // Those of one load are written while it is answered.
        .filter(|name| !name.ends_with(".tmp"))
        .collect();
    names.sort();
    names
}

/// How often everything is done before and between the two looks at what the server holds. Instances' memory and the
/// allocator's grow to their size in the first eighty rounds; a test has time for a few, `make soak` for all.
fn rounds() -> (usize, usize, u64) {
    if std::env::var_os("NACRE_SOAK").is_some() { (100, 200, 32) } else { (2, 6, 256) }
}

#[test]
fn nothing_is_left_of_acts_and_of_loads_that_fail() {
    let cache = tempfile::tempdir().unwrap();
    let text = tempfile::NamedTempFile::new().unwrap();
    fs::write(text.path(), "this is no component").unwrap();
    let looping = CONFIG.to_owned() + "parameters { key: \"configure\" value { string_value: \"spin\" } }\n";
    let repository = Repository::default()
        .model("acts", CONFIG)
        .file("acts", "plugin.wasm", &guest("acts"))
        .model("echo", CONFIG)
        .file("echo", "plugin.wasm", &guest("echo"))
        .model("never", &looping)
        .file("never", "plugin.wasm", &guest("acts"))
        .model("text", CONFIG)
        .file("text", "plugin.wasm", text.path());
    let server = Server::start(repository.path(), &["--plugin-cache", cache.path().to_str().unwrap()]);
    let round = || {
        for act in ACTS {
            // Some are refused and others do no harm: what each is answered is tested elsewhere.
            server.post("/v2/models/acts/infer", &request(act));
            let answer = server.post("/v2/models/echo/infer", &request("hello"));
            assert_eq!(answer.status, 200, "after {act}: {}", answer.error());
        }
        for model in ["never", "text"] {
            let answer = server.post(&format!("/v2/repository/models/{model}/load"), &json!({}));
            assert!(answer.status >= 400, "{model}: {}", answer.body);
        }
    };
    let (first, then, growth_mb) = rounds();
    (0..first).for_each(|_| round());
    let (before, files_before) = (held(&server), files(cache.path()));
    (0..then).for_each(|_| round());
    let after = held(&server);
    eprintln!("after {first} rounds {before:?}, after {then} more {after:?}");
    // Threads that load models end after ten idle seconds.
    assert!(after.threads <= before.threads + 24, "threads: {before:?}, {after:?}");
    assert!(after.handles <= before.handles + 4, "handles: {before:?}, {after:?}");
    assert!(after.resident_kb < before.resident_kb + growth_mb * 1024, "memory: {before:?}, {after:?}");
    assert_eq!(files(cache.path()), files_before);
    assert!(server.log().len() < 50 << 20, "a log of {} bytes", server.log().len());
}
