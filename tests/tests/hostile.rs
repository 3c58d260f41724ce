//! Components that misbehave, behind the whole server: each costs its own request and nothing else.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

use nacre_tests::{Repository, Server, guest};
use serde_json::{Value, json};

const CONFIG: &str = r#"
backend: "wasm"
input { name: "IN" data_type: TYPE_UINT8 dims: [ -1 ] }
output { name: "OUT" data_type: TYPE_UINT8 dims: [ -1 ] }
"#;

/// Those that a time limit ends; the others meet a limit of another kind first, however slow the machine.
const ENDLESS: &[&str] = &["spin", "sleep", "spin_in_configure", "log_flood", "stdout_flood"];

fn config(name: &str) -> String {
    let limit = if ENDLESS.contains(&name) { 500 } else { 60_000 };
    let parameter =
        |key: &str| format!("parameters {{ key: \"{key}\" value {{ string_value: \"{limit}\" }} }}\n");
    format!("{CONFIG}{}{}", parameter("NACRE_TIMEOUT_MS"), parameter("NACRE_CONFIGURE_TIMEOUT_MS"))
}

fn request(text: &str) -> Value {
    json!({"inputs": [{"name": "IN", "datatype": "UINT8", "shape": [text.len()], "data": text.as_bytes()}]})
}

fn infer(server: &Server, model: &str, text: &str) -> (u16, String) {
    let answer = server.post(&format!("/v2/models/{model}/infer"), &request(text));
    let bytes: Option<Vec<u8>> = answer.body["outputs"][0]["data"]
        .as_array()
        .map(|data| data.iter().map(|byte| u8::try_from(byte.as_u64().unwrap()).unwrap()).collect());
    let text = bytes.map_or_else(|| answer.error().to_owned(), |bytes| String::from_utf8(bytes).unwrap());
    (answer.status, text)
}

fn repository(guests: &[&str]) -> Repository {
    guests.iter().fold(Repository::default(), |repository, name| {
        repository.model(name, &config(name)).file(name, "plugin.wasm", &guest(name))
    })
}

/// Guest, what it is asked, the status and a part of the sentence that the client gets.
const MISBEHAVING: &[(&str, &str, u16, &str)] = &[
    ("spin", "", 504, "500 ms"),
    ("sleep", "", 504, "500 ms"),
    ("allocate", "", 500, "NACRE_MEMORY_MB"),
    ("recurse", "", 500, "call stack exhausted"),
    ("trap", "", 500, "unreachable"),
    ("panic", "", 500, "trapped"),
    ("exit", "", 500, "exit(0)"),
    ("handles", "", 500, "handles"),
    ("huge_answer", "100", 500, "NACRE_OUTPUT_MB"),
];

#[test]
fn each_costs_its_own_request_alone() {
    let mut guests: Vec<&str> = MISBEHAVING.iter().map(|(name, ..)| *name).collect();
    guests.push("echo");
    let repository = repository(&guests);
    let server = Server::start(repository.path(), &[]);
    for (name, input, status, sentence) in MISBEHAVING {
        let (got, text) = infer(&server, name, input);
        assert_eq!(got, *status, "{name}: {text}");
        assert!(text.contains(sentence) && text.contains(name), "{name}: expected '{sentence}' in: {text}");
        assert_eq!(infer(&server, name, "behave"), (200, "well".to_owned()), "{name} afterwards");
        assert_eq!(infer(&server, "echo", "hello"), (200, "hello".to_owned()), "another model afterwards");
    }
    let metrics = server.metrics();
    for (name, ..) in MISBEHAVING {
        let failures: f64 = metrics
            .lines()
            .filter(|line| {
                line.starts_with("nv_inference_request_failure{") && line.contains(&format!("\"{name}\""))
            })
            .map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap())
            .sum();
        assert_eq!(failures, 1.0, "{name}: one failure is counted\n{metrics}");
    }
}

#[test]
fn what_cannot_be_loaded_says_why_and_the_others_serve() {
    let text = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(text.path(), "this is no component").unwrap();
    let refused = [
        "unknown_import",
        "other_version",
        "no_export",
        "describe_fails",
        "configure_fails",
        "spin_in_configure",
    ];
    let repository = repository(&refused)
        .model("text", CONFIG)
        .file("text", "plugin.wasm", text.path())
        .model("echo", CONFIG)
        .file("echo", "plugin.wasm", &guest("echo"));
    let server = Server::start(repository.path(), &[]);

    for (name, sentences) in [
        ("unknown_import", &["imports"][..]),
        ("other_version", &["9.9.9", "1.0.0"]),
        ("no_export", &["nacre:plugin"]),
        ("describe_fails", &["describe"]),
        ("configure_fails", &["configure"]),
        ("spin_in_configure", &["500 ms"]),
        ("text", &["component"]),
    ] {
        let (status, text) = infer(&server, name, "");
        assert_eq!(status, 503, "{name}: {text}");
        for sentence in sentences {
            assert!(text.contains(sentence), "{name}: expected '{sentence}' in: {text}");
        }
    }
    assert_eq!(infer(&server, "echo", "hello"), (200, "hello".to_owned()));
}

#[test]
fn floods_of_lines_are_cut_in_the_log() {
    let repository = repository(&["log_flood", "stdout_flood"]);
    let server = Server::start(repository.path(), &[]);
    for name in ["log_flood", "stdout_flood"] {
        let (status, text) = infer(&server, name, "");
        let ended = status == 504 || (status == 500 && text.contains("NACRE_HOST_CALLS"));
        assert!(ended, "{name}: {status} {text}");
        assert_eq!(infer(&server, name, "behave").0, 200);
    }
    assert!(server.log().len() < 1 << 20, "{} bytes of log", server.log().len());
}
