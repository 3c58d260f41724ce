//! Connects to the address that IN names and answers with the kind of error, or `connected`.
use nacre_guests::{answer, guest, input};

guest!(|request| {
    let address = String::from_utf8_lossy(&input(request)).into_owned();
    Ok(answer(match std::net::TcpStream::connect(&address) {
        Ok(_) => b"connected".to_vec(),
        Err(error) => format!("{:?}", error.kind()).into_bytes(),
    }))
});
