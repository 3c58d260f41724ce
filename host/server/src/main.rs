//! `nacre`: reads the command line, names the concrete backends, wires the layers together, shuts them down.

mod endpoints;
mod options;
mod plugin_options;
mod report;
mod serve;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::options::{Cli, Command};

fn main() -> ExitCode {
    if std::env::args_os().len() < 2 {
        // Nothing was asked for: say what could be, instead of complaining about one missing option.
        let _ = Cli::command().print_help();
        return ExitCode::from(2);
    }
    let cli = Cli::parse();
    let options = match cli.command {
        Some(Command::Serve(options)) => options,
        Some(Command::Plugin(args)) => return nacre_toolkit::run(&args),
        Some(Command::Completions { shell }) => {
            clap_complete::generate(shell, &mut Cli::command(), "nacre", &mut std::io::stdout());
            return ExitCode::SUCCESS;
        }
        None => cli.serve,
    };
    match serve::run(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(error = format!("{error:#}"), "cannot serve");
            ExitCode::FAILURE
        }
    }
}
