//! Opens the host's /etc/passwd and answers with what it was told, then with its content if there is one.
use nacre_guests::{answer, guest};

guest!(|_| Ok(answer(match std::fs::read("/etc/passwd") {
    Ok(content) => content,
    Err(error) => format!("{error}").into_bytes(),
})));
