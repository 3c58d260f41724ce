use std::{fs, path::Path};

use nacre_domain::{Error, Result};
use wasmtime::{Engine, component::Component};

/// Reads and compiles a component; takes tens of milliseconds for a small one, seconds for one with an interpreter in
/// it.
///
/// # Errors
/// The file cannot be read (not found), or is not a component (invalid argument), with what it is instead.
pub(crate) fn component(engine: &Engine, file: &Path) -> Result<Component> {
    let shown = file.display();
    let bytes =
        fs::read(file).map_err(|e| Error::not_found(format!("cannot read {shown}: {e}")).with_source(e))?;
    if let Some(problem) = not_a_component(&bytes) {
        return Err(Error::invalid_argument(format!("{shown} is not a WebAssembly component: {problem}")));
    }
    Component::new(engine, &bytes).map_err(|e| {
        let cause = e.root_cause().to_string();
        let hint = if ["unexpected end", "out of bounds (bound"].iter().any(|text| cause.contains(text)) {
            "it is cut off; copy it again"
        } else {
            "it is damaged, or uses features of WebAssembly that this server does not have"
        };
        Error::invalid_argument(format!("{shown} cannot be compiled: {hint} ({cause})"))
    })
}

/// Why the bytes cannot be a component, from their first eight.
fn not_a_component(bytes: &[u8]) -> Option<String> {
    match bytes {
        [] => Some("the file is empty".into()),
        [0, b'a', b's', b'm', 0x0d, 0, 1, 0, ..] => None,
        [0, b'a', b's', b'm', 1, 0, 0, 0, ..] => Some(
            "it is a core module; make a component of it with `wasm-tools component new`, or build it for the target \
             wasm32-wasip2"
                .into(),
        ),
        [0, b'a', b's', b'm'] | [0, b'a', b's', b'm', ..] if bytes.len() < 8 => {
            Some("it is cut off after its first bytes; copy it again".into())
        }
        [0, b'a', b's', b'm', version @ ..] => Some(format!(
            "it has the binary version {:02x?}, which is too old or too new",
            version.get(..4).unwrap_or_default()
        )),
        _ if bytes.starts_with(b"version https://git-lfs") => {
            Some("it is a pointer of Git LFS; fetch the file itself with `git lfs pull`".into())
        }
        _ if std::str::from_utf8(bytes.get(..bytes.len().min(256)).unwrap_or_default())
            .is_ok_and(|text| !text.contains('\0')) =>
        {
            Some("it is a text file".into())
        }
        _ => Some("its first bytes are not those of WebAssembly".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_a_file_is_instead() {
        for (bytes, expected) in [
            (b"".as_slice(), "is empty"),
            (b"\0asm\x01\0\0\0", "core module; make a component of it with `wasm-tools component new`"),
            (b"\0asm\x0d", "cut off"),
            (b"\0asm\x0a\0\x01\0", "binary version"),
            (b"(component)", "a text file"),
            (b"version https://git-lfs.github.com/spec/v1", "git lfs pull"),
            (b"\x7fELF\0\0\0", "not those of WebAssembly"),
        ] {
            let problem = not_a_component(bytes).unwrap();
            assert!(problem.contains(expected), "{problem}");
        }
        assert_eq!(not_a_component(b"\0asm\x0d\0\x01\0"), None);
    }
}
