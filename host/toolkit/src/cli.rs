//! The command line of `nacre plugin`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::{help, project::Language};

/// Make, build, check, test, run and measure plugins.
#[derive(Debug, Args)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Exit codes: 0 done; 1 the plugin does not build, is refused or fails; 2 the command line or a file that \
                  it names is wrong; 3 a compiler is missing; 4 something on this computer is in the way.\n\nExample:\n  \
                  nacre plugin new scale --language rust\n  nacre plugin build scale\n  nacre plugin test scale\n  nacre \
                  serve --model-repository ."
)]
pub struct PluginArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: PluginCommand,
}

/// Subcommands of `nacre plugin`.
#[derive(Debug, Subcommand)]
pub enum PluginCommand {
    /// Make the folder of a new plugin: sources, config.pbtxt, cases.
    #[command(after_help = help::NEW, mut_arg("verbose", |verbose| verbose.hide(true)))]
    New(NewArgs),
    /// Build a plugin: <PLUGIN>/1/plugin.wasm.
    #[command(after_help = help::BUILD, mut_arg("verbose", |verbose| verbose.hide(true)))]
    Build(BuildArgs),
    /// Say whether a server would serve a plugin, and if not, why and what to do.
    #[command(after_help = help::CHECK)]
    Check(CheckArgs),
    /// Run a plugin's cases: requests with the answers that are expected.
    #[command(after_help = help::TEST)]
    Test(TestArgs),
    /// Answer one request and print the tensors.
    #[command(after_help = help::RUN)]
    Run(RunArgs),
    /// Measure a plugin: latency, memory, load time, against its limits.
    #[command(after_help = help::BENCH)]
    Bench(BenchArgs),
    /// Show what a plugin is: interface, tensors, imports, size, tools it was made with.
    #[command(after_help = "Example:\n  nacre plugin inspect model_repository/decode_image")]
    Inspect(InspectArgs),
    /// Build, check and deploy at every change of a source, until Ctrl-C.
    #[command(after_help = help::DEV)]
    Dev(DevArgs),
}

/// Options of all subcommands.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct OutputArgs {
    /// Write the result to the standard output as one JSON object, for scripts.
    #[arg(long)]
    pub json: bool,
    /// Show also what the plugin logs at debug (-v) and trace (-vv).
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// Which plugin.
#[derive(Debug, Clone, Default, Args)]
pub struct TargetArgs {
    /// Folder of the plugin (with nacre.toml, or a model's of a repository), or a component's file.
    #[arg(value_name = "PLUGIN", default_value = ".")]
    pub path: PathBuf,
    /// Another config.pbtxt than the one in the folder. Without any, the plugin says what its tensors are.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Set a parameter of config.pbtxt, or a limit such as NACRE_TIMEOUT_MS; may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    pub set: Vec<(String, String)>,
    /// Build it first.
    #[arg(short, long)]
    pub build: bool,
}

/// Options of `new`.
#[derive(Debug, Clone, Default, Args)]
pub struct NewArgs {
    /// Name of the plugin, its folder and the model.
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// What to write it in.
    #[arg(short, long, value_enum)]
    pub language: Option<Language>,
    /// Folder in which the plugin's folder is made; a model repository, for example.
    #[arg(long = "in", value_name = "DIR", default_value = ".")]
    pub parent: PathBuf,
    /// How it is reported.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Options of `build`.
#[derive(Debug, Clone, Default, Args)]
pub struct BuildArgs {
    /// Folder of the plugin.
    #[arg(value_name = "PLUGIN", default_value = ".")]
    pub path: PathBuf,
    /// How it is reported.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Options of `check`.
#[derive(Debug, Clone, Default, Args)]
pub struct CheckArgs {
    /// Which plugin.
    #[command(flatten)]
    pub target: TargetArgs,
    /// How it is reported.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Options of `test`.
#[derive(Debug, Clone, Default, Args)]
pub struct TestArgs {
    /// Which plugin.
    #[command(flatten)]
    pub target: TargetArgs,
    /// Run only cases whose name has this in it.
    #[arg(short, long, value_name = "TEXT")]
    pub filter: Option<String>,
    /// A file or folder of cases instead of the plugin's tests/; may be given several times.
    #[arg(long = "cases", value_name = "PATH")]
    pub cases: Vec<PathBuf>,
    /// How it is reported.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// The request of `run` and `bench`.
#[derive(Debug, Clone, Default, Args)]
pub struct RequestArgs {
    /// A file of cases (see `nacre plugin test --help`); the request of the first is taken, what it expects is not
    /// looked at.
    #[arg(long, value_name = "FILE", help_heading = "Request")]
    pub case: Option<PathBuf>,
    /// An input: JSON ([1,2,3], "text"), or @FILE (.npy, .jpg, .png, .webp, .json with a tensor, or raw bytes); may be
    /// given several times.
    #[arg(short, long = "input", value_name = "NAME=VALUE", value_parser = key_value, help_heading = "Request")]
    pub inputs: Vec<(String, String)>,
    /// A parameter of the request: JSON, or text; may be given several times.
    #[arg(short, long = "parameter", value_name = "KEY=VALUE", value_parser = key_value, help_heading = "Request")]
    pub parameters: Vec<(String, String)>,
    /// Ask for this output only; may be given several times.
    #[arg(short, long = "output", value_name = "NAME", help_heading = "Request")]
    pub outputs: Vec<String>,
}

/// Options of `run`.
#[derive(Debug, Clone, Default, Args)]
pub struct RunArgs {
    /// Which plugin.
    #[command(flatten)]
    pub target: TargetArgs,
    /// What it is asked.
    #[command(flatten)]
    pub request: RequestArgs,
    /// Write each output to DIR/<name>.npy.
    #[arg(long, value_name = "DIR")]
    pub save: Option<PathBuf>,
    /// Print so many elements of each output.
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub elements: usize,
    /// How it is reported.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Options of `bench`.
#[derive(Debug, Clone, Default, Args)]
pub struct BenchArgs {
    /// Which plugin.
    #[command(flatten)]
    pub target: TargetArgs,
    /// What it is asked.
    #[command(flatten)]
    pub request: RequestArgs,
    /// How long to measure.
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0)]
    pub seconds: f64,
    /// Requests at once.
    #[arg(short, long, value_name = "N", default_value_t = 1)]
    pub concurrency: usize,
    /// Measure also with instances that are used again (NACRE_REUSE).
    #[arg(long)]
    pub reuse: bool,
    /// How it is reported.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Options of `inspect`.
#[derive(Debug, Clone, Default, Args)]
pub struct InspectArgs {
    /// Which plugin.
    #[command(flatten)]
    pub target: TargetArgs,
    /// How it is reported.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Options of `dev`.
#[derive(Debug, Clone, Default, Args)]
pub struct DevArgs {
    /// Folder of the plugin.
    #[arg(value_name = "PLUGIN", default_value = ".")]
    pub path: PathBuf,
    /// Repository of a running server to copy the plugin to; by default it stays where it is.
    #[arg(long, value_name = "DIR")]
    pub repository: Option<PathBuf>,
    /// Address of a running server to tell of each build, such as http://localhost:8000.
    #[arg(long, value_name = "URL")]
    pub server: Option<String>,
    /// Run the cases as well, and deploy only what passes.
    #[arg(long)]
    pub test: bool,
    /// End after the first build.
    #[arg(long)]
    pub once: bool,
    /// How it is reported.
    #[command(flatten)]
    pub output: OutputArgs,
}

fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        plugin: PluginArgs,
    }

    #[test]
    fn the_command_line_is_consistent() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn pairs_have_a_key() {
        let parse = |text: &str| Cli::try_parse_from(["plugin", "run", "--input", text]);
        assert!(parse("x=[1,2]").is_ok());
        assert!(parse("x=").is_ok());
        assert!(parse("x").unwrap_err().to_string().contains("expected KEY=VALUE"));
        assert!(parse("=1").is_err());
    }
}
