//! Versions of the compilers that plugins are built and tested with. They stand in what is said when one is missing, in
//! the templates, and (a test compares them) in what the set-up of the repository installs.

/// Zig, which compiles C, C++ and Zig; a package of Python's registry.
pub const ZIGLANG: &str = "0.17.1";
/// Python's compiler; a package of the same.
pub const COMPONENTIZE_PY: &str = "0.25.1";
/// The compiler of JavaScript, with the engine QuickJS; a package of npm's registry.
pub const COMPONENTIZE_QJS: &str = "0.4.5";
/// Bundles modules and takes away types; a package of the same.
pub const ESBUILD: &str = "0.28.2";
/// Checks types; a package of the same.
pub const TYPESCRIPT: &str = "5.9.3";

#[cfg(test)]
mod tests {
    use std::{fs, path::PathBuf};

    use super::*;

    #[test]
    fn the_set_up_of_the_repository_installs_the_same() {
        let scripts = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scripts/requirements");
        for (file, line) in [
            ("zig.txt", format!("ziglang=={ZIGLANG}")),
            ("componentize.txt", format!("componentize-py=={COMPONENTIZE_PY}")),
            ("javascript/package.json", format!("\"componentize-qjs\": \"{COMPONENTIZE_QJS}\"")),
            ("javascript/package.json", format!("\"esbuild\": \"{ESBUILD}\"")),
            ("javascript/package.json", format!("\"typescript\": \"{TYPESCRIPT}\"")),
        ] {
            let text = fs::read_to_string(scripts.join(file)).unwrap();
            assert!(text.contains(&line), "{file} should have {line}");
        }
    }
}
