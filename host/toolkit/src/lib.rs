//! What authors of plugins use: `nacre plugin …`.
//!
//! A command reads its arguments (`cli`), finds the plugin that they name (`target`), and gives a report or a failure.
//! What runs of a plugin runs in the server's own backend (`sandbox`), so that what passes here is served there, and what
//! is refused is refused with the same sentence. `console` writes reports, for people or as JSON, and decides the exit
//! code.

pub mod build;
pub mod case;
pub mod cli;
pub mod commands;
pub mod console;
pub mod failure;
mod help;
mod log;
mod metrics;
mod mocks;
pub mod project;
pub mod sandbox;
mod server;
pub mod target;
mod watch;

use std::process::ExitCode;

use cli::{PluginArgs, PluginCommand};
use console::Console;

/// Runs a subcommand of `nacre plugin`; gives the exit code of the process.
pub fn run(args: &PluginArgs) -> ExitCode {
    match &args.command {
        PluginCommand::New(args) => {
            let console = Console::start(args.output);
            console.finish(commands::new(args, &console))
        }
        PluginCommand::Build(args) => {
            let console = Console::start(args.output);
            console.finish(commands::build(args, &console))
        }
        PluginCommand::Check(args) => {
            let console = Console::start(args.output);
            console.finish(commands::check(args, &console))
        }
        PluginCommand::Test(args) => {
            let console = Console::start(args.output);
            console.finish(commands::test(args, &console))
        }
        PluginCommand::Run(args) => {
            let console = Console::start(args.output);
            console.finish(commands::run(args, &console))
        }
        PluginCommand::Bench(args) => {
            let console = Console::start(args.output);
            console.finish(commands::bench(args, &console))
        }
        PluginCommand::Inspect(args) => {
            let console = Console::start(args.output);
            console.finish(commands::inspect(args, &console))
        }
        PluginCommand::Dev(args) => {
            let console = Console::start(args.output);
            commands::dev(args, &console).unwrap_or_else(|failure| {
                console.failure(&failure);
                failure.exit_code()
            })
        }
    }
}
