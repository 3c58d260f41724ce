use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Languages that plugins are written in. The names are those of the command line and of nacre.toml.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lowercase")]
pub enum Language {
    /// Small and fast; the SDK has image and text steps
    Rust,
    /// Small and fast
    C,
    /// Small and fast, without exceptions
    Cpp,
    /// Small and fast
    Zig,
    /// For text and rules; much slower per number, no packages with native code
    Python,
    /// For text and rules; much slower per number
    JavaScript,
    /// JavaScript with types
    TypeScript,
}

impl Language {
    /// All of them, in the order in which they are offered.
    pub const ALL: [Self; 7] =
        [Self::Rust, Self::C, Self::Cpp, Self::Zig, Self::Python, Self::JavaScript, Self::TypeScript];

    /// The name on the command line and in nacre.toml.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::C => "c",
            Self::Cpp => "cpp",
            Self::Zig => "zig",
            Self::Python => "python",
            Self::JavaScript => "javascript",
            Self::TypeScript => "typescript",
        }
    }

    /// The source that a project has unless its manifest names others.
    pub fn source(self) -> &'static str {
        match self {
            Self::Rust => "src/lib.rs",
            Self::C => "plugin.c",
            Self::Cpp => "plugin.cpp",
            Self::Zig => "plugin.zig",
            Self::Python => "plugin.py",
            Self::JavaScript => "plugin.js",
            Self::TypeScript => "plugin.ts",
        }
    }
}

impl std::fmt::Display for Language {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
