//! `nacre plugin`, as an author meets it: each mistake of a first day has its sentence, its way out and its exit code.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use nacre_tests::{Repository, binary, guest, root};
use serde_json::Value;

const TENSORS: &str = r#"
backend: "wasm"
input { name: "IN" data_type: TYPE_UINT8 dims: [ -1 ] }
output { name: "OUT" data_type: TYPE_UINT8 dims: [ -1 ] }
"#;

/// Exit codes.
const DONE: i32 = 0;
const PLUGIN: i32 = 1;
const USAGE: i32 = 2;
const COMPILER: i32 = 3;

/// A folder of plugins, each with a component.
struct Plugins(Repository);

impl Plugins {
    fn new() -> Plugins {
        Plugins(Repository::default())
    }

    fn guest(self, name: &str, config: &str) -> Plugins {
        let component = guest(name);
        Plugins(self.0.model(name, config).file(name, "plugin.wasm", &component))
    }

    fn bytes(self, name: &str, bytes: &[u8]) -> Plugins {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), bytes).unwrap();
        Plugins(self.0.model(name, TENSORS).file(name, "plugin.wasm", file.path()))
    }

    fn write(self, path: &str, text: &str) -> Plugins {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn command(&self) -> Command {
        let mut command = Command::new(binary());
        command.current_dir(self.0.path()).env("XDG_CACHE_HOME", self.0.path().join(".cache")).arg("plugin");
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command().args(arguments).output().unwrap()
    }

    /// Exit code and sentences are as expected, and the same as JSON.
    #[track_caller]
    fn fails(&self, arguments: &[&str], code: i32, sentences: &[&str]) {
        for format in [&[][..], &["--json"]] {
            let output = self.run(&[arguments, format].concat());
            let said = said(&output);
            assert_eq!(output.status.code(), Some(code), "{said}");
            // Where text is wrapped or quoted for its form, the words stay.
            let words = said.replace("\\\"", "\"").split_whitespace().collect::<Vec<_>>().join(" ");
            for sentence in sentences {
                assert!(words.contains(sentence), "expected '{sentence}' in: {words}");
            }
            if !format.is_empty() {
                assert_eq!(json(&output)["ok"], false);
            }
        }
    }
}

fn said(output: &Output) -> String {
    String::from_utf8([output.stdout.as_slice(), output.stderr.as_slice()].concat()).unwrap()
}

/// The one object on standard output.
fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", said(output)))
}

#[test]
fn what_is_no_plugin_is_named_with_the_way_out() {
    let plugins = Plugins::new()
        .bytes("text", b"this is no component")
        .bytes("module", b"\0asm\x01\0\0\0")
        .bytes("empty", b"")
        .guest("other_version", TENSORS)
        .guest("no_export", TENSORS)
        .guest("unknown_import", TENSORS)
        .write("bare/config.pbtxt", TENSORS);
    for command in ["check", "run", "bench"] {
        plugins.fails(&[command, "text"], PLUGIN, &["is not a WebAssembly component: it is a text file"]);
        plugins.fails(
            &[command, "module"],
            PLUGIN,
            &["it is a core module; make a component of it with `wasm-tools component new`"],
        );
        plugins.fails(&[command, "empty"], PLUGIN, &["the file is empty"]);
        plugins.fails(
            &[command, "other_version"],
            PLUGIN,
            &["built for nacre:plugin@9.9.9, but this server has nacre:plugin@1.0.0: rebuild it"],
        );
        plugins.fails(
            &[command, "no_export"],
            PLUGIN,
            &[
                "expected it to export nacre:plugin/step@1.0.0",
                "build it for the world `plugin` of nacre:plugin",
            ],
        );
        plugins.fails(
            &[command, "unknown_import"],
            PLUGIN,
            &["it imports acme:secrets/vault@1.2.3, which this server does not have"],
        );
        plugins.fails(&[command, "bare"], USAGE, &["no plugin's folder", "nacre plugin new NAME --language"]);
        plugins.fails(&[command, "nowhere"], USAGE, &["nowhere"]);
    }
    plugins.fails(
        &["check", "unknown_import"],
        PLUGIN,
        &["remove 'acme:secrets/vault@1.2.3' from its world"],
    );
}

#[test]
fn what_does_not_load_is_told_as_a_server_would() {
    let parameter = |key: &str, value: &str| {
        format!("{TENSORS}parameters {{ key: \"{key}\" value {{ string_value: \"{value}\" }} }}")
    };
    let plugins = Plugins::new()
        .guest("configure_fails", TENSORS)
        .guest("describe_fails", TENSORS)
        .guest("spin_in_configure", &parameter("NACRE_CONFIGURE_TIMEOUT_MS", "200"))
        .guest("echo", &TENSORS.replace("TYPE_UINT8", "TYPE_FP32"))
        .guest("trap", &TENSORS.replace("dims: [ -1 ]", "dims: [ 3, 4 ]"))
        .guest("recurse", &format!("{TENSORS}max_batch_sise: 3"))
        .guest("panic", &parameter("NACRE_MEMORY_MB", "1000000"));
    for (name, code, sentences) in [
        ("configure_fails", PLUGIN, &["configure failed: parameter 'k' must be a number"][..]),
        ("describe_fails", PLUGIN, &["describe failed: no idea what I am"]),
        ("spin_in_configure", PLUGIN, &["was not configured within 200 ms", "NACRE_CONFIGURE_TIMEOUT_MS"]),
        ("echo", PLUGIN, &["input[0].data_type of 'IN': expected TYPE_UINT8, got TYPE_FP32"]),
        ("trap", PLUGIN, &["'IN'", "[-1]", "[3,4]"]),
        ("recurse", USAGE, &["recurse/config.pbtxt:6:1: max_batch_sise", "did you mean 'max_batch_size'?"]),
        ("panic", PLUGIN, &["NACRE_MEMORY_MB", "what this server allows"]),
    ] {
        plugins.fails(&["check", name], code, sentences);
    }
}

#[test]
fn wrong_requests_and_cases_name_what_is_wrong() {
    let plugins = Plugins::new()
        .guest("echo", TENSORS)
        .write("echo/tests/typo.json", r#"{"inputs": [], "ouputs": []}"#)
        .write("trap/tests/cut.json", r#"{"inputs": ["#)
        .guest("trap", TENSORS)
        .write("picture.npy", "");
    for (arguments, code, sentences) in [
        (&["run", "echo"][..], PLUGIN, &["the request lacks inputs: 'IN'"][..]),
        (&["run", "echo", "--input", "X=[1]"], USAGE, &["the plugin has no input 'X'; its inputs are 'IN'"]),
        (&["run", "echo", "--input", "IN=[1.5]"], USAGE, &["1.5 is no element of UINT8"]),
        (&["run", "echo", "--input", "IN=@nowhere.npy"], USAGE, &["nowhere.npy", "No such file"]),
        (&["run", "echo", "--input", "IN=picture.npy"], USAGE, &["`--input IN=@picture.npy` reads it"]),
        (
            &["run", "trap", "--input", "IN=[1]"],
            PLUGIN,
            &["trapped: wasm `unreachable` instruction executed"],
        ),
        (
            &["test", "echo"],
            USAGE,
            &["echo/tests/typo.json", "unknown field `ouputs`", "`nacre plugin test --help`"],
        ),
        (&["test", "trap"], USAGE, &["trap/tests/cut.json", "line 1 column 12"]),
    ] {
        plugins.fails(arguments, code, sentences);
    }
    let output = plugins.run(&["bulid"]);
    assert_eq!(output.status.code(), Some(USAGE));
    assert!(said(&output).contains("a similar subcommand exists: 'build'"), "{}", said(&output));
}

#[test]
fn a_compiler_that_is_missing_is_named_with_the_commands_that_install_it() {
    let plugins = Plugins::new();
    for (language, sentences) in [
        ("rust", &["rustup target add wasm32-wasip2", "NACRE_CARGO"][..]),
        ("c", &["pip install ziglang==", "NACRE_ZIG"]),
        ("cpp", &["pip install ziglang=="]),
        ("zig", &["pip install ziglang=="]),
        ("python", &["pip install componentize-py==", "NACRE_PYTHON"]),
        ("javascript", &["install nodejs", "NACRE_NODE"]),
        ("typescript", &["install nodejs", "NACRE_NODE"]),
    ] {
        let output = plugins.run(&["new", language, "--language", language]);
        assert!(output.status.success(), "{}", said(&output));
        // A binary that lies alone: beside the repository that built it there are compilers.
        let alone = plugins.0.path().join("nacre");
        if !alone.exists() && fs::hard_link(binary(), &alone).is_err() {
            fs::copy(binary(), &alone).unwrap();
        }
        let mut build = Command::new(alone);
        build.current_dir(plugins.0.path()).arg("plugin");
        build.env("LD_LIBRARY_PATH", root().join("third_party/libtorch/lib"));
        for variable in
            ["NACRE_CARGO", "NACRE_ZIG", "NACRE_PYTHON", "NACRE_NODE", "VIRTUAL_ENV", "RUSTUP_HOME"]
        {
            build.env_remove(variable);
        }
        let output = build.args(["build", language]).env("PATH", "/nowhere").output().unwrap();
        let said = said(&output);
        assert_eq!(output.status.code(), Some(COMPILER), "{said}");
        for sentence in sentences {
            assert!(said.contains(sentence), "{language}: expected '{sentence}' in: {said}");
        }
    }
}

#[test]
fn cases_pass_or_show_what_differs() {
    let case = |out: &str| {
        format!(
            r#"[{{"name": "gives it back", "inputs": [{{"name": "IN", "data": [1, 2, 3]}}],
                  "outputs": [{{"name": "OUT", "data": {out}}}]}}]"#
        )
    };
    let plugins = Plugins::new()
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
fn a_plugin_is_measured_and_looked_into() {
    let plugins = Plugins::new().guest("echo", TENSORS);
    let arguments = ["bench", "echo", "--input", "IN=[1]", "--seconds", "0.2", "--reuse", "--json"];
    let measured = json(&plugins.run(&arguments));
    for kind in ["fresh", "reused"] {
        for figure in ["p50_ms", "p99_ms", "memory_bytes"] {
            assert!(measured[kind][figure].as_f64().unwrap() > 0.0, "{kind} {figure}: {measured}");
        }
    }
    let inspected = json(&plugins.run(&["inspect", "echo", "--json"]));
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
fn a_plugin_that_is_served_is_the_one_that_was_checked() {
    let plugins = Plugins::new().guest("echo", TENSORS);
    let checked = json(&plugins.run(&["check", "echo", "--json"]));
    assert_eq!(checked["ok"], true, "{checked}");
    assert!(Path::new(&plugins.0.path().join("echo/1/plugin.wasm")).is_file());
    let server = nacre_tests::Server::start(plugins.0.path(), &[]);
    assert_eq!(server.get("/v2/models/echo/ready").status, 200);
}
