//! Files in the model's folder (labels, vocabulary), read-only. They are all of the disk that a plugin can see, and
//! are best read in [`Plugin::configure`](crate::Plugin::configure), where a missing one keeps the model from being
//! served.

use crate::{Error, bindings::nacre::plugin::files};

/// The whole file. `path` is relative to the model's folder.
pub fn read(path: &str) -> Result<Vec<u8>, Error> {
    files::read(path)
}

/// The whole file as text, which must be UTF-8.
pub fn read_to_string(path: &str) -> Result<String, Error> {
    String::from_utf8(read(path)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Error::invalid_argument(format!("file '{path}' is not UTF-8 text: byte {at} starts no character"))
    })
}
