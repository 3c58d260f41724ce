//! `nacre plugin`, where all is well: cases, answers, figures, help.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

use std::process::Command;

use nacre_tests::{
    binary,
    tool::{DONE, PLUGIN, Plugins, TENSORS, json, said},
};

#[test]
fn cases_pass_or_show_what_differs() {
    let case = |out: &str| {
        format!(
            r#"[{{"name": "gives it back", "inputs": [{{"name": "IN", "data": [1, 2, 3]}}],
                  "outputs": [{{"name": "OUT", "data": {out}}}]}}]"#
        )
    };
    let plugins = Plugins::default()
        .guest("echo", TENSORS)
        .write("echo/tests/same.json", &case("[1, 2, 3]"))
        .guest("count", TENSORS);
    let output = plugins.run(&["test", "echo"]);
    assert_eq!(output.status.code(), Some(DONE), "{}", said(&output));
    assert!(said(&output).contains("ok: 1 passed"), "{}", said(&output));
    let plugins = plugins.write("echo/tests/same.json", &case("[1, 2, 4]"));
    plugins.fails(&["test", "echo"], PLUGIN, &["gives it back", "OUT", "expected 4", "got 3"]);
    let output = plugins.run(&["run", "echo", "--input", "IN=[7,8]", "--json"]);
    assert_eq!(json(&output)["outputs"][0]["data"], serde_json::json!([7, 8]));
}

#[test]
fn models_that_a_plugin_calls_are_played_by_the_case() {
    let granted =
        format!("{TENSORS}parameters {{ key: \"NACRE_MODELS\" value {{ string_value: \"secret\" }} }}");
    let case = |name: &str, models: &str, expected: &str| {
        let word: Vec<_> = "models: not granted".bytes().collect();
        format!(
            r#"{{"name": "{name}", "inputs": [{{"name": "IN", "data": {word:?}}}], "models": {models}, {expected}}}"#
        )
    };
    let busy = r#"{"error": {"code": "unavailable", "message": "busy"}}"#;
    let cases = [
        case("answers", r#"{"secret": {"outputs": []}}"#, r#""outputs": [{"name": "OUT", "data": []}]"#),
        case(
            "fails",
            &format!("{{\"secret\": [{busy}]}}"),
            r#""error": {"code": "unavailable", "contains": "busy"}"#,
        ),
    ];
    let plugins = Plugins::default()
        .guest("acts", &granted)
        .write("acts/tests/models.json", &format!("[{}]", cases.join(", ")));
    let report = json(&plugins.run(&["test", "acts", "--json"]));
    assert_eq!((&report["passed"], &report["failed"]), (&2.into(), &0.into()), "{report}");
    let plugins = plugins.write("acts/tests/models.json", &case("lacks it", "{}", r#""outputs": []"#));
    plugins.fails(
        &["test", "acts"],
        PLUGIN,
        &["'secret' is called, but the case has no answer of it; add \"models\""],
    );
}

#[test]
fn a_plugin_is_measured_and_looked_into() {
    let plugins = Plugins::default().guest("echo", TENSORS);
    let arguments = ["bench", "echo", "--input", "IN=[1]", "--seconds", "0.2", "--reuse", "--json"];
    let measured = json(&plugins.run(&arguments));
    for kind in ["fresh", "reused"] {
        for figure in ["p50_ms", "p99_ms", "memory_bytes"] {
            assert!(measured[kind][figure].as_f64().unwrap() > 0.0, "{kind} {figure}: {measured}");
        }
    }
    let inspected = json(&plugins.run(&["inspect", "echo", "--json"]));
    assert_eq!(inspected["load"]["summary"], "a guest of the tests", "{inspected}");
    assert_eq!(inspected["load"]["inputs"][0]["name"], "IN");
    assert!(inspected["producers"].as_array().unwrap().iter().any(|tool| tool["name"] == "Rust"));
    assert_eq!(inspected["interface"], "1.0.0");
    assert!(inspected["bytes"].as_u64().unwrap() > 10_000);
    let imports: Vec<_> =
        inspected["imports"].as_array().unwrap().iter().map(|import| &import["name"]).collect();
    assert!(imports.iter().any(|name| name.as_str().unwrap().starts_with("wasi:io/streams")), "{imports:?}");
}

#[test]
fn help_and_completions_are_there_for_every_command() {
    let output = Command::new(binary()).args(["plugin", "--help"]).output().unwrap();
    let help = said(&output);
    for command in ["new", "build", "check", "test", "run", "bench", "inspect", "dev"] {
        assert!(help.contains(&format!("  {command}")), "{help}");
        let output = Command::new(binary()).args(["plugin", command, "--help"]).output().unwrap();
        let text = said(&output);
        assert!(text.contains("Example") && text.contains("--json"), "{command}: {text}");
        assert!(!text.contains('\u{1b}'), "{command}: colours go to terminals only");
    }
    for shell in ["bash", "zsh", "fish"] {
        let output = Command::new(binary()).args(["completions", shell]).output().unwrap();
        assert!(said(&output).contains("inspect"), "{shell}");
    }
}

#[test]
fn without_a_configuration_the_plugin_says_what_it_takes() {
    let plugins = Plugins::default().guest("echo", TENSORS);
    std::fs::remove_file(plugins.0.path().join("echo/config.pbtxt")).unwrap();
    let checked = plugins.run(&["check", "echo/1/plugin.wasm"]);
    assert_eq!(checked.status.code(), Some(DONE), "{}", said(&checked));
    assert!(
        said(&checked).contains("none: tensors are those that the plugin describes"),
        "{}",
        said(&checked)
    );
    let answer = json(&plugins.run(&["run", "echo", "--input", "IN=[5]", "--json"]));
    assert_eq!(answer["outputs"][0]["data"], serde_json::json!([5]));
}

#[test]
fn a_plugin_that_is_served_is_the_one_that_was_checked() {
    let plugins = Plugins::default().guest("echo", TENSORS);
    let checked = json(&plugins.run(&["check", "echo", "--json"]));
    assert_eq!(checked["ok"], true, "{checked}");
    assert!(plugins.0.path().join("echo/1/plugin.wasm").is_file());
    let server = nacre_tests::Server::start(plugins.0.path(), &[]);
    assert_eq!(server.get("/v2/models/echo/ready").status, 200);
}
