use std::{
    fmt,
    path::{Path, PathBuf},
};

/// Something wrong, or without effect, in a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file.
    pub file: PathBuf,
    /// Line, from 1; `None` where no line of the file stands for it.
    pub line: Option<u32>,
    /// Column in characters (a tab is one), from 1.
    pub column: Option<u32>,
    /// Path of the field: `input[0].dims`.
    pub field: Option<String>,
    /// What is wrong and what would be right, in one sentence.
    pub message: String,
}

impl Diagnostic {
    pub(crate) fn new(
        file: &Path,
        position: Option<Position>,
        field: Option<String>,
        message: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic {
            file: file.to_owned(),
            line: position.map(|p| p.line),
            column: position.map(|p| p.column),
            field,
            message: message.into(),
        }
    }
}

/// `path:line:column: input[0].dims: message`, without the parts that are not known.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
            if let Some(column) = self.column {
                write!(f, "{column}:")?;
            }
        }
        if let Some(field) = &self.field {
            write!(f, " {field}:")?;
        }
        write!(f, " {}", self.message)
    }
}

/// A place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// From 1.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
}
