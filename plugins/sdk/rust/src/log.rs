//! Lines for the server's log. The server adds the model, its version and the request's id, and limits their rate.

use crate::bindings::nacre::plugin::log;
pub use log::Level;

/// Writes a line with values beside it: `write(Level::Warn, "label is missing", &[("index", "7")])`.
pub fn write(level: Level, message: &str, fields: &[(&str, &str)]) {
    let fields: Vec<_> = fields.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    log::write(level, message, &fields);
}

/// A line that only someone looking for a fault wants to see.
pub fn debug(message: &str) {
    log::write(Level::Debug, message, &[]);
}

/// A line about the ordinary course of things.
pub fn info(message: &str) {
    log::write(Level::Info, message, &[]);
}

/// A line about something that works, but not as somebody may have meant it.
pub fn warn(message: &str) {
    log::write(Level::Warn, message, &[]);
}

/// A line about something that failed.
pub fn error(message: &str) {
    log::write(Level::Error, message, &[]);
}
