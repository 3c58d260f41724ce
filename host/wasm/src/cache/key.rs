use std::hash::{Hash, Hasher};

use wasmtime::Engine;

use crate::{limits::Limits, settings::Settings};

/// Changed whenever the content of entries, or how images are made, changes.
const FORMAT: &str = "nacre plugin image 1";

/// What entries of this process have in common: server, compiler, processor.
pub(crate) struct Origin([u8; 32]);

impl Origin {
    pub(crate) fn new(engine: &Engine) -> Origin {
        let mut digest = blake3::Hasher::new();
        digest.update(FORMAT.as_bytes());
        digest.update(env!("CARGO_PKG_VERSION").as_bytes());
        // The features of the processor that the compiler uses are part of this.
        engine.precompile_compatibility_hash().hash(&mut Digest(&mut digest));
        Origin(*digest.finalize().as_bytes())
    }
}

/// Name of an entry: a digest of all that its content depends on, apart from files.
pub(crate) struct Key(String);

impl Key {
    pub(crate) fn new(origin: &Origin, component: &[u8], settings: &Settings, limits: &Limits) -> Key {
        let mut digest = blake3::Hasher::new();
        digest.update(&origin.0);
        digest.update(blake3::hash(component).as_bytes());
        // Memory is the one limit that a plugin can notice and live on with.
        let seen = format!("{settings:?} {}", limits.memory_mb);
        digest.update(seen.as_bytes());
        Key(digest.finalize().to_hex().to_string())
    }

    pub(crate) fn name(&self) -> &str {
        &self.0
    }
}

/// Takes what would be hashed into a digest instead.
struct Digest<'a>(&'a mut blake3::Hasher);

impl Hasher for Digest<'_> {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}
