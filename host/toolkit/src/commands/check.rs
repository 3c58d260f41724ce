use std::{
    io::{self, Write},
    path::PathBuf,
};

use nacre_config::ModelConfig;
use nacre_wasm::{Inspection, LoadReport, Provision, Start};
use serde::Serialize;

use super::inspect::{start, tensors, took};
use crate::{
    cli::CheckArgs,
    console::{BAD, BOLD, Console, GOOD, Report, WARN, duration, paint, size},
    failure::Failure,
    sandbox::Sandbox,
    target::Target,
};

/// Whether a server would serve a plugin.
#[derive(Debug, Serialize)]
pub struct CheckReport {
    /// Name of the model that it would be.
    pub name: String,
    /// The component.
    pub component: PathBuf,
    /// The configuration it was compared with; `None` if there is none.
    pub config: Option<PathBuf>,
    /// What keeps it from being served.
    pub problems: Vec<Problem>,
    /// What does not, but deserves a look.
    pub warnings: Vec<String>,
    /// What its file says; `None` if it is no component.
    pub inspection: Option<Inspection>,
    /// What loading found and took; `None` if it is refused.
    pub load: Option<LoadReport>,
}

/// What keeps a plugin from being served.
#[derive(Debug, Clone, Serialize)]
pub struct Problem {
    /// As the server says it.
    pub message: String,
    /// The way out, where the message does not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// Does what a server does with a plugin before it serves it.
///
/// # Errors
/// Usage: nothing is there, or config.pbtxt does not hold. What is wrong with the plugin is in the report.
pub fn check(args: &CheckArgs, console: &Console) -> Result<CheckReport, Failure> {
    let target = Target::open(&args.target, console)?;
    check_target(&Sandbox::start()?, &target, console)
}

pub(super) fn check_target(
    sandbox: &Sandbox,
    target: &Target,
    console: &Console,
) -> Result<CheckReport, Failure> {
    let (config, warnings) = target.config()?;
    let mut report = CheckReport {
        name: target.name.clone(),
        component: target.component.clone(),
        config: target.config_file.clone(),
        problems: Vec::new(),
        warnings: warnings.iter().map(ToString::to_string).collect(),
        inspection: None,
        load: None,
    };
    match sandbox.inspect(target) {
        Ok(inspection) => {
            let problem =
                |message: &String| Problem { message: message.clone(), fix: fix(&inspection, message) };
            report.problems = inspection.problems.iter().map(problem).collect();
            report.inspection = Some(inspection);
        }
        Err(error) => report.problems.push(Problem { message: error.message().to_owned(), fix: None }),
    }
    if report.problems.is_empty() {
        match sandbox.load_telling(target, config, console) {
            Ok(loaded) => {
                report.warnings.extend(weigh(&loaded.config, &loaded.report));
                report.load = Some(loaded.report);
            }
            Err(error) => {
                report.problems.push(Problem { message: error.message().to_owned(), fix: None });
            }
        }
    }
    Ok(report)
}

/// The way out of a refused import; other sentences bring theirs.
fn fix(inspection: &Inspection, problem: &str) -> Option<String> {
    let refused: Vec<_> = inspection
        .imports
        .iter()
        .filter(|import| import.provision == Provision::Refused && problem.contains(&import.name))
        .map(|import| import.name.as_str())
        .collect();
    let first = refused.first()?;
    Some(if first.starts_with("wasi:") && first.contains("@0.3") {
        "it was built for WASI 0.3; build it for WASI 0.2, for Rust with the target wasm32-wasip2".to_owned()
    } else if first.starts_with("wasi:") {
        "there is no such part of WASI in the server; remove what calls it, or do it in a model that the plugin calls \
         (interface models)"
            .to_owned()
    } else if first.starts_with("nacre:plugin/") {
        "the plugin was built for a later interface than this server has; update the server, or build the plugin against \
         the server's wit/"
            .to_owned()
    } else {
        format!(
            "a plugin may import nacre:plugin and WASI 0.2 alone; remove '{first}' from its world, or compose it with a \
             component that exports it"
        )
    })
}

/// What a server serves, but not as well as it could.
fn weigh(config: &ModelConfig, load: &LoadReport) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Start::Configure { reason } = &load.start {
        warnings.push(format!(
            "each request calls configure again ({}), since there is no snapshot: {reason}",
            duration(load.configure.as_secs_f64() * 1e3)
        ));
    }
    if load.outputs.is_empty() && config.outputs.is_empty() {
        warnings.push(
            "neither the plugin nor config.pbtxt names an output, so nothing that it answers is right"
                .to_owned(),
        );
    }
    warnings
}

impl Report for CheckReport {
    fn passed(&self) -> bool {
        self.problems.is_empty()
    }

    fn render(&self, out: &mut dyn Write) -> io::Result<()> {
        let summary = self.load.as_ref().map(|load| load.summary.as_str()).unwrap_or_default();
        writeln!(out, "{}", format!("{}  {summary}", paint(BOLD, &self.name)).trim_end())?;
        let component = self.component.display();
        match &self.inspection {
            None => writeln!(out, "component   {component}")?,
            Some(inspection) => {
                let interface = inspection.interface.as_deref();
                let interface =
                    interface.map_or(String::new(), |version| format!(", nacre:plugin@{version}"));
                writeln!(out, "component   {component}, {}{interface}", size(inspection.bytes))?;
                writeln!(out, "imports     {}", imports(inspection))?;
            }
        }
        match &self.config {
            Some(file) => writeln!(out, "config      {}", file.display())?,
            None => writeln!(out, "config      none: tensors are those that the plugin describes")?,
        }
        if let Some(load) = &self.load {
            tensors(out, "inputs", &load.inputs)?;
            tensors(out, "outputs", &load.outputs)?;
            writeln!(out, "load        {}", took(load))?;
            writeln!(out, "starts      {}", start(load))?;
        }
        for warning in &self.warnings {
            writeln!(out, "{} {warning}", paint(WARN, "warning:"))?;
        }
        for Problem { message, fix } in &self.problems {
            writeln!(out, "{} {message}", paint(BAD, "error:"))?;
            if let Some(fix) = fix {
                writeln!(out, "{} {fix}", paint(BOLD, "help:"))?;
            }
        }
        match self.problems.len() {
            0 => writeln!(out, "{} a server serves it", paint(GOOD, "ok:")),
            1 => writeln!(out, "{} a server refuses it", paint(BAD, "refused:")),
            count => writeln!(out, "{} a server refuses it for {count} reasons", paint(BAD, "refused:")),
        }
    }
}

fn imports(inspection: &Inspection) -> String {
    let count = |provision: Provision| {
        inspection
            .imports
            .iter()
            .filter(|import| import.name.starts_with("wasi:") && import.provision == provision)
            .count()
    };
    let mut parts: Vec<String> = inspection
        .imports
        .iter()
        .filter_map(|import| import.name.strip_prefix("nacre:plugin/"))
        .map(|name| name.split('@').next().unwrap_or(name))
        .filter(|name| *name != "types")
        .map(str::to_owned)
        .collect();
    match (count(Provision::Works), count(Provision::Denied)) {
        (0, 0) => {}
        (works, 0) => parts.push(format!("{works} of WASI")),
        (works, denied) => {
            parts.push(format!("{works} of WASI"));
            parts.push(format!("{denied} more of WASI whose calls are denied"));
        }
    }
    let refused = inspection.imports.iter().filter(|import| import.provision == Provision::Refused).count();
    if refused > 0 {
        parts.push(format!("{refused} that a server does not have"));
    }
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}
