//! `nacre plugin` over a folder of plugins, and what it says.

use std::{
    fs,
    process::{Command, Output},
};

use serde_json::Value;

use crate::{Repository, binary, guest};

/// A configuration of the tensors that most guests have.
pub const TENSORS: &str = r#"
backend: "wasm"
input { name: "IN" data_type: TYPE_UINT8 dims: [ -1 ] }
output { name: "OUT" data_type: TYPE_UINT8 dims: [ -1 ] }
"#;

/// Exit code: done.
pub const DONE: i32 = 0;
/// Exit code: the plugin does not build, is refused or fails.
pub const PLUGIN: i32 = 1;
/// Exit code: the command line or a file that it names is wrong.
pub const USAGE: i32 = 2;
/// Exit code: a compiler is missing.
pub const COMPILER: i32 = 3;
/// Exit code: something on this computer is in the way.
pub const SYSTEM: i32 = 4;

/// A folder of plugins, each with a component.
#[derive(Default)]
pub struct Plugins(pub Repository);

impl Plugins {
    /// Adds a component of tests/guests.
    pub fn guest(self, name: &str, config: &str) -> Plugins {
        let component = guest(name);
        Plugins(self.0.model(name, config).file(name, "plugin.wasm", &component))
    }

    /// Adds a component of these bytes.
    pub fn bytes(self, name: &str, bytes: &[u8]) -> Plugins {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), bytes).unwrap();
        Plugins(self.0.model(name, TENSORS).file(name, "plugin.wasm", file.path()))
    }

    /// Writes a file, its path relative to the folder.
    pub fn write(self, path: &str, text: &str) -> Plugins {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// `nacre plugin`, to be run in the folder.
    pub fn command(&self) -> Command {
        let mut command = Command::new(binary());
        command.current_dir(self.0.path()).env("XDG_CACHE_HOME", self.0.path().join(".cache")).arg("plugin");
        command
    }

    /// Runs it with these arguments.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command().args(arguments).output().unwrap()
    }

    /// Exit code and sentences are as expected, and the same as JSON.
    #[track_caller]
    pub fn fails(&self, arguments: &[&str], code: i32, sentences: &[&str]) {
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

/// Everything that it wrote.
pub fn said(output: &Output) -> String {
    String::from_utf8([output.stdout.as_slice(), output.stderr.as_slice()].concat()).unwrap()
}

/// The one object on standard output.
pub fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", said(output)))
}
