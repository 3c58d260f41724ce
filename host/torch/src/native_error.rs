use std::{error::Error as StdError, ffi::CStr, fmt};

use nacre_domain::{Error, ErrorCode};

use crate::ffi;

/// A C++ exception. Displays as its whole text, which belongs into the log.
#[derive(Debug)]
pub(crate) struct NativeError {
    text: String,
    message: String,
    out_of_memory: bool,
}

impl NativeError {
    /// Takes over what a function of the shim gave back; null is success.
    pub(crate) fn check(error: *mut ffi::NacreError) -> Result<(), NativeError> {
        if error.is_null() {
            return Ok(());
        }
        // SAFETY: a non-null error is ours, its texts live until it is freed, which happens once, here.
        unsafe {
            let taken = NativeError {
                text: CStr::from_ptr(ffi::nacre_error_text(error)).to_string_lossy().into_owned(),
                message: CStr::from_ptr(ffi::nacre_error_message(error)).to_string_lossy().into_owned(),
                out_of_memory: ffi::nacre_error_is_out_of_memory(error),
            };
            ffi::nacre_error_free(error);
            Err(taken)
        }
    }

    /// The part that tells a reader what went wrong.
    pub(crate) fn summary(&self) -> String {
        summarize(&self.message)
    }

    /// An error that begins with `context`; of the given code, unless memory ran out.
    pub(crate) fn into_error(self, code: ErrorCode, context: impl fmt::Display) -> Error {
        let code = if self.out_of_memory { ErrorCode::ResourceExhausted } else { code };
        Error::new(code, format!("{context}: {}", self.summary())).with_source(self)
    }
}

impl fmt::Display for NativeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl StdError for NativeError {}

/// Cuts torch's message down to what was said where the exception was raised: TorchScript puts its own traceback, of
/// any length, in front of it, and C++ may add its own behind.
fn summarize(message: &str) -> String {
    let message = message.split("\nException raised from ").next().unwrap_or(message);
    let mut lines: Vec<&str> =
        message.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()).collect();
    // The traceback ends in `RuntimeError: …` or `builtins.ValueError: …`, in its own line and not indented.
    if message.contains("raceback of TorchScript")
        && let Some(start) = lines.iter().rposition(|line| is_exception_line(line))
    {
        lines.drain(..start);
    }
    const MOST_LINES: usize = 4;
    lines.truncate(MOST_LINES);
    let text = lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    let text = text.trim_end_matches("<--- HERE").trim();
    text.strip_prefix("RuntimeError: ").unwrap_or(text).to_owned()
}

/// Whether a line begins with the name of an exception and a colon.
fn is_exception_line(line: &str) -> bool {
    line.split_once(": ").is_some_and(|(name, _)| {
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '_')
            && (name.ends_with("Error") || name.ends_with("Exception") || name.contains('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::summarize;

    #[test]
    fn keeps_what_was_raised_and_drops_the_traceback() {
        let message = "The following operation failed in the TorchScript interpreter.\n\
            Traceback of TorchScript, serialized code (most recent call last):\n  \
              File \"code/__torch__/m.py\", line 9, in forward\n    \
                x: Tensor) -> Tensor:\n    _0 = torch.add(x, y)\n         ~~~~~~~~~ <--- HERE\n    return _0\n\n\
            Traceback of TorchScript, original code (most recent call last):\n  \
              File \"m.py\", line 1, in forward\n    return x + y\n           ~~~~~ <--- HERE\n\
            RuntimeError: The size of tensor a (5) must match the size of tensor b (3) at non-singleton dimension 1\n";
        assert_eq!(
            summarize(message),
            "The size of tensor a (5) must match the size of tensor b (3) at non-singleton dimension 1"
        );
    }

    #[test]
    fn keeps_the_name_of_the_models_own_exception() {
        let message = "The following operation failed in the TorchScript interpreter.\n\
            Traceback of TorchScript (most recent call last):\n  File \"m.py\", line 1\n    raise ...\n    ~~~ <--- HERE\n\
            builtins.ValueError: the sum is negative\n";
        assert_eq!(summarize(message), "builtins.ValueError: the sum is negative");
    }

    #[test]
    fn keeps_a_plain_message_and_drops_the_backtrace() {
        let message =
            "no such file\nException raised from open at io.cpp:12 (most recent call first):\nframe #0\n";
        assert_eq!(summarize(message), "no such file");
    }

    #[test]
    fn shortens_what_is_long() {
        let message = (0..60).map(|i| format!("line {i}\n")).collect::<String>();
        assert_eq!(summarize(&message), "line 0 line 1 line 2 line 3");
    }
}
