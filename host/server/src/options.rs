//! The command line. Options that Triton has keep its names, its values and, where nothing is said of it, its
//! defaults.

use std::{net::IpAddr, path::PathBuf};

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use nacre_toolkit::cli::PluginArgs;

use crate::plugin_options::PluginOptions;

/// Serves PyTorch models, with pre- and postprocessing in WebAssembly, over KServe v2.
#[derive(Debug, Parser)]
#[command(
    name = "nacre",
    version,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    max_term_width = 100,
    after_help = "`nacre --model-repository=DIR` without a subcommand is `nacre serve`, as scripts written for \
                  tritonserver expect.\n\nExample:\n  nacre serve --model-repository model_repository \
                  --gpu-fallback=cpu"
)]
pub struct Cli {
    /// What to do; without a subcommand, serve.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The options of `serve`.
    #[command(flatten)]
    pub serve: ServeOptions,
}

/// Subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the models of one or more repositories until Ctrl-C or SIGTERM.
    Serve(ServeOptions),
    /// Make, build, check, test, run and measure plugins.
    Plugin(PluginArgs),
    /// Write a script that completes the command line in a shell.
    #[command(
        after_help = "Example:\n  nacre completions bash > ~/.local/share/bash-completion/completions/nacre"
    )]
    Completions {
        /// The shell.
        shell: Shell,
    },
}

/// Options of `serve`.
#[derive(Clone, Debug, Args)]
pub struct ServeOptions {
    /// Folder of models; may be given several times.
    #[arg(long, visible_alias = "model-store", value_name = "DIR", required = true, help_heading = "Models")]
    pub model_repository: Vec<PathBuf>,

    /// Exit with an error if any model of the repository fails to load. (Triton's default is true.)
    #[arg(long, value_name = "BOOL", default_value = "false", value_parser = boolean, action = ArgAction::Set, help_heading = "Models")]
    pub exit_on_error: bool,

    /// Report ready only if every model has loaded; otherwise as soon as each has loaded or failed.
    /// (Triton's default is true.)
    #[arg(long, value_name = "BOOL", default_value = "false", value_parser = boolean, action = ArgAction::Set, help_heading = "Models")]
    pub strict_readiness: bool,

    /// How many models load at once; 0 is the number of cores.
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Models")]
    pub model_load_thread_count: usize,

    /// What to do with a model that asks for a GPU where there is none: refuse it, or serve it on the CPU.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = GpuFallback::None, help_heading = "Models")]
    pub gpu_fallback: GpuFallback,

    #[command(flatten)]
    pub plugins: PluginOptions,

    #[command(flatten)]
    pub endpoints: EndpointOptions,

    /// How long running requests may take to finish after SIGTERM or Ctrl-C.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, help_heading = "Server")]
    pub exit_timeout_secs: u64,

    /// 0: what an operator wants to know; 1: more about models and requests; 2: everything; 3: the libraries' too.
    #[arg(long, value_name = "LEVEL", default_value_t = 0, help_heading = "Server")]
    pub log_verbose: u8,

    /// Log lines for a person, or one JSON object a line.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text, help_heading = "Server")]
    pub log_format: LogFormat,
}

/// Ports, addresses and their limits. Port 0 takes a free one, which the log then names.
#[derive(Clone, Debug, Args)]
pub struct EndpointOptions {
    /// Port of KServe v2 over HTTP.
    #[arg(long, value_name = "PORT", default_value_t = 8000, help_heading = "Endpoints")]
    pub http_port: u16,
    /// Address that HTTP listens on.
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0", help_heading = "Endpoints")]
    pub http_address: IpAddr,
    /// Whether to serve HTTP.
    #[arg(long, value_name = "BOOL", default_value = "true", value_parser = boolean, action = ArgAction::Set, help_heading = "Endpoints")]
    pub allow_http: bool,
    /// Largest HTTP request body in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 64 << 20, help_heading = "Endpoints")]
    pub http_max_input_size: usize,

    /// Port of KServe v2 over gRPC.
    #[arg(long, value_name = "PORT", default_value_t = 8001, help_heading = "Endpoints")]
    pub grpc_port: u16,
    /// Address that gRPC listens on.
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0", help_heading = "Endpoints")]
    pub grpc_address: IpAddr,
    /// Whether to serve gRPC.
    #[arg(long, value_name = "BOOL", default_value = "true", value_parser = boolean, action = ArgAction::Set, help_heading = "Endpoints")]
    pub allow_grpc: bool,

    /// Port of the Prometheus metrics.
    #[arg(long, value_name = "PORT", default_value_t = 8002, help_heading = "Endpoints")]
    pub metrics_port: u16,
    /// Address that metrics listen on.
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0", help_heading = "Endpoints")]
    pub metrics_address: IpAddr,
    /// Whether to serve metrics.
    #[arg(long, value_name = "BOOL", default_value = "true", value_parser = boolean, action = ArgAction::Set, help_heading = "Endpoints")]
    pub allow_metrics: bool,
}

/// What happens to a model that wants a GPU which is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GpuFallback {
    /// It is not served; its reason names this option.
    None,
    /// It is served on the CPU, with a warning.
    Cpu,
}

/// Form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// One readable line each; coloured on a terminal.
    Text,
    /// One JSON object each.
    Json,
}

/// Triton's booleans.
fn boolean(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err("expected true, false, 1 or 0".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn parse(arguments: &[&str]) -> Cli {
        Cli::try_parse_from(std::iter::once("nacre").chain(arguments.iter().copied())).unwrap()
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn serving_needs_no_subcommand() {
        let cli = parse(&["--model-repository=/models", "--http-port", "9000", "--allow-grpc=0"]);
        assert!(cli.command.is_none());
        assert_eq!(cli.serve.endpoints.http_port, 9000);
        assert!(!cli.serve.endpoints.allow_grpc);
    }

    #[test]
    fn the_subcommand_takes_the_same_options() {
        let Some(Command::Serve(options)) =
            parse(&["serve", "--model-store", "/a", "--model-repository", "/b"]).command
        else {
            panic!("expected serve");
        };
        assert_eq!(options.model_repository, [PathBuf::from("/a"), PathBuf::from("/b")]);
    }

    #[test]
    fn booleans_are_tritons() {
        let error = Cli::try_parse_from(["nacre", "--model-repository=/m", "--allow-http=yes"]).unwrap_err();
        assert!(error.to_string().contains("expected true, false, 1 or 0"), "{error}");
    }
}
