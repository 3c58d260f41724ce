//! `nacre plugin`, as an author meets it: each mistake of a first day has its sentence, its way out and its exit code.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

use std::{fs, process::Command};

use nacre_tests::{
    binary, root,
    tool::{COMPILER, PLUGIN, Plugins, SYSTEM, TENSORS, USAGE, json, said},
};

#[test]
fn what_is_no_plugin_is_named_with_the_way_out() {
    let plugins = Plugins::default()
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
    let plugins = Plugins::default()
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
    let plugins = Plugins::default()
        .guest("echo", TENSORS)
        .write("echo/tests/typo.json", r#"{"inputs": [], "ouputs": []}"#)
        .write("trap/tests/cut.json", r#"{"inputs": ["#)
        .guest("trap", TENSORS)
        .write("picture.npy", "");
    for (arguments, code, sentences) in [
        (
            &["run", "echo"][..],
            USAGE,
            &["the request lacks inputs: 'IN'", "`--input NAME=VALUE` gives one input"][..],
        ),
        (&["bench", "echo", "--input", "IN=[[1]]"], USAGE, &["'IN'", "expected shape [-1], got [1,1]"]),
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
    let address = "http://127.0.0.1:9";
    let arguments = ["dev", "written", "--once", "--server", "127.0.0.1:9"];
    let plugins = plugins.write("written/nacre.toml", "[plugin]\nname = \"written\"\nlanguage = \"c\"\n");
    plugins.fails(&arguments, USAGE, &["'127.0.0.1:9' is no address", "http://localhost:8000"]);
    plugins.fails(&["dev", "written", "--once", "--server", address], PLUGIN, &["there is no plugin.c in"]);
    plugins.fails(&["dev", "echo", "--once"], USAGE, &["it has no nacre.toml", "nacre plugin new NAME"]);
    plugins.fails(
        &["run", "echo", "--input", "IN=[1]", "--save", "picture.npy/in"],
        SYSTEM,
        &["cannot write picture.npy/in"],
    );
    let output = plugins.run(&["bulid"]);
    assert_eq!(output.status.code(), Some(USAGE));
    assert!(said(&output).contains("a similar subcommand exists: 'build'"), "{}", said(&output));
}

#[test]
fn a_compiler_that_is_missing_is_named_with_the_commands_that_install_it() {
    let plugins = Plugins::default();
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
        let output = build.args(["build", language, "--json"]).env("PATH", "/nowhere").output().unwrap();
        assert_eq!(json(&output)["error"]["kind"], "toolchain");
        let said = said(&output);
        assert_eq!(output.status.code(), Some(COMPILER), "{said}");
        for sentence in sentences {
            assert!(said.contains(sentence), "{language}: expected '{sentence}' in: {said}");
        }
    }
}

#[test]
fn imports_that_no_server_has_are_refused_with_the_reason() {
    let plugins = [
        ("later_wasi", "wasi:io/poll@0.3.0", "build it for WASI 0.2"),
        ("unknown_wasi", "wasi:keyvalue/store@0.2.0", "there is no such part of WASI in the server"),
        ("later_interface", "nacre:plugin/gpu@1.0.0", "update the server"),
    ]
    .into_iter()
    .fold(Plugins::default(), |plugins, (name, import, fix)| {
        let text = format!(
            r#"(component
                 (import "{import}" (instance))
                 (instance $step)
                 (export "nacre:plugin/step@1.0.0" (instance $step)))"#
        );
        let plugins = plugins.bytes(name, &wat::parse_str(text).unwrap());
        plugins.fails(&["check", name], PLUGIN, &[import, fix]);
        plugins
    });
    plugins.fails(&["run", "later_wasi"], PLUGIN, &["wasi:io/poll@0.3.0"]);
}

#[test]
fn a_component_that_is_too_large_is_not_read() {
    let plugins = Plugins::default().bytes("huge", b"\0asm\x0d\0\x01\0");
    let file = fs::File::options().write(true).open(plugins.0.path().join("huge/1/plugin.wasm")).unwrap();
    file.set_len(300 << 20).unwrap();
    for command in ["check", "run", "inspect"] {
        plugins.fails(&[command, "huge"], PLUGIN, &["300 MiB", "256", "--plugin-max-component-mb"]);
    }
}
