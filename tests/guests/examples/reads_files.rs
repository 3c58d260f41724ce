//! OUT is the content of the file that IN names.
use nacre_guests::{answer, files, guest, input};

guest!(|request| files::read(&String::from_utf8_lossy(&input(request))).map(answer));
