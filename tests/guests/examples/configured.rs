//! Does in `configure` what its parameters say; `process` answers with what is left of it.
use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::OnceLock,
};

use nacre_guests::{answer, files, guest, input, parameter};

struct Configured {
    /// Differs for each call of `configure`.
    draw: u64,
    prints: bool,
    labels: Vec<u8>,
    table: HashMap<u64, String>,
}

static CONFIGURED: OnceLock<Configured> = OnceLock::new();

guest!(
    |request| {
        let configured = CONFIGURED.get().unwrap();
        let asked = input(request);
        if configured.prints {
            println!("asked for {}", String::from_utf8_lossy(&asked));
        }
        Ok(answer(match asked.as_slice() {
            b"labels" => configured.labels.clone(),
            b"draw" => configured.draw.to_le_bytes().into(),
            key => {
                let key = String::from_utf8_lossy(key).parse().unwrap_or_default();
                configured.table.get(&key).cloned().unwrap_or_default().into_bytes()
            }
        }))
    },
    |settings| {
        let labels = match parameter(&settings, "labels").as_str() {
            "" => Vec::new(),
            path => files::read(path).unwrap_or_else(|error| error.message.into_bytes()),
        };
        // Standard output stays open.
        let prints = parameter(&settings, "print") == "yes";
        if prints {
            println!("configured");
        }
        let entries: u64 = parameter(&settings, "entries").parse().unwrap_or_default();
        let table = (0..entries).map(|i| (i, format!("entry {i}"))).collect();
        let draw = RandomState::new().hash_one(0);
        CONFIGURED.get_or_init(|| Configured { draw, prints, labels, table });
        Ok(())
    }
);
