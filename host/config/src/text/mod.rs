//! Text protobuf → message, with the place of every field kept.
//!
//! The syntax is that of protobuf's own C++ parser, which is what reads these files elsewhere. The parser of
//! prost-reflect, whose messages and descriptors are used here, refuses the most common spelling of these files
//! (`input [ { … } ]`, without a colon), stops at the first error and keeps no places, which errors and validation
//! need. A test holds the two parsers against each other.

mod bind;
mod lex;
mod suggest;
mod tree;

use std::collections::BTreeMap;

use prost_reflect::{DynamicMessage, MessageDescriptor};
pub(crate) use suggest::{did_you_mean, nearest};

use crate::diagnostic::Position;

/// A text as a message.
pub(crate) struct Document {
    pub message: DynamicMessage,
    /// Where each field stands.
    pub positions: Positions,
    /// Map entries that a later one of the same key overrides.
    pub repeated_keys: Vec<Fault>,
}

/// Something wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub at: Position,
    /// Path of the field; empty if it is the text itself that is wrong.
    pub path: String,
    pub message: String,
}

/// Parses the text of one message of the given type. Every fault of a type is reported, but only the first of the
/// syntax: what stands behind it may be anything.
pub(crate) fn parse(text: &str, descriptor: MessageDescriptor) -> Result<Document, Vec<Fault>> {
    let (fields, mistake) = tree::parse(text);
    let bind::Binder { message, positions, mut faults, repeated_keys, .. } = bind::bind(&fields, descriptor);
    faults.extend(mistake.map(|lex::Mistake { at, message }| Fault { at, path: String::new(), message }));
    if faults.is_empty() {
        Ok(Document { message, positions, repeated_keys })
    } else {
        faults.sort_by_key(|fault| (fault.at.line, fault.at.column));
        Err(faults)
    }
}

/// Places of fields by path: `input[0].dims[1]`, `parameters["key"].value`.
#[derive(Debug, Default)]
pub(crate) struct Positions(BTreeMap<String, Position>);

impl Positions {
    fn add(&mut self, path: &str, at: Position) {
        self.0.entry(path.to_owned()).or_insert(at);
    }

    fn exact(&self, path: &str) -> Option<Position> {
        self.0.get(path).copied()
    }

    /// Where the field stands or, if it is missing, the message that lacks it. `None` if that is the whole text.
    pub fn find(&self, path: &str) -> Option<Position> {
        let mut path = path;
        loop {
            if let Some(position) = self.exact(path) {
                return Some(position);
            }
            path = path.get(..path.rfind(['.', '['])?)?;
        }
    }
}

/// Path of a field of the message at `path`.
pub(crate) fn join(path: &str, field: &str) -> String {
    if path.is_empty() { field.to_owned() } else { format!("{path}.{field}") }
}

/// Path of an element of the list at `path`.
pub(crate) fn element(path: &str, index: usize) -> String {
    format!("{path}[{index}]")
}
