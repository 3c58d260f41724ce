//! How a command ends other than well, and the exit codes that go with it.

use std::{fmt, process::ExitCode};

use nacre_domain::Error;
use serde::Serialize;

use crate::build::MissingToolchain;

/// Whose matter a failure is; decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Exit code 1: the plugin does not build, is refused, fails, or answers wrongly.
    Plugin,
    /// Exit code 2: the command line, or a file that it names, is wrong.
    Usage,
    /// Exit code 3: a compiler is missing.
    Toolchain,
    /// Exit code 4: this computer is in the way: a file that cannot be written, a server that is not there.
    System,
}

impl Kind {
    /// The exit code.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Plugin => 1,
            Self::Usage => 2,
            Self::Toolchain => 3,
            Self::System => 4,
        }
    }
}

/// Why a command could not do what it was asked.
#[derive(Debug, Clone, Serialize)]
pub struct Failure {
    /// Whose matter it is.
    pub kind: Kind,
    /// What is wrong, where; expected and got.
    pub message: String,
    /// The way out, where the message does not say it itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

impl Failure {
    /// A failure without a fix of its own.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), fix: None }
    }

    /// [`Kind::Usage`].
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message)
    }

    /// [`Kind::Plugin`].
    pub fn plugin(message: impl Into<String>) -> Self {
        Self::new(Kind::Plugin, message)
    }

    /// [`Kind::System`].
    pub fn system(message: impl Into<String>) -> Self {
        Self::new(Kind::System, message)
    }

    /// Adds the way out.
    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    /// What kept a project from being made or built.
    pub fn of_build(error: &anyhow::Error) -> Self {
        match error.downcast_ref::<MissingToolchain>() {
            Some(missing) => Self::new(Kind::Toolchain, missing.to_string()),
            None => Self::plugin(format!("{error:#}")),
        }
    }

    /// The process's exit code.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.kind.exit_code())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.fix {
            Some(fix) => write!(f, "\nhelp: {fix}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Failure {}

/// What the host says of a plugin.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::plugin(error.message())
    }
}
