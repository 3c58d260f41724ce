use std::{
    io::{self, Write},
    path::PathBuf,
    time::Duration,
};

use nacre_wasm::{DescribedTensor, Import, Inspection, LoadReport, Provision, Start};
use serde::Serialize;

use crate::{
    cli::InspectArgs,
    console::{BAD, BOLD, Console, DIM, Report, duration, paint, size},
    failure::Failure,
    sandbox::Sandbox,
    target::Target,
};

/// What a plugin is.
#[derive(Debug, Serialize)]
pub struct InspectReport {
    /// Name of the model that it would be.
    pub name: String,
    /// The component.
    pub component: PathBuf,
    /// What its file says.
    #[serde(flatten)]
    pub inspection: Inspection,
    /// What it says itself when it is loaded; `None` if it does not load.
    pub load: Option<LoadReport>,
    /// Why it does not load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_error: Option<String>,
}

/// Reads a component, and loads it to ask what it is.
///
/// # Errors
/// Usage: nothing is there. Plugin: it is no component.
pub fn inspect(args: &InspectArgs, console: &Console) -> Result<InspectReport, Failure> {
    let target = Target::open(&args.target, console)?;
    let sandbox = Sandbox::start()?;
    let inspection = sandbox.inspect(&target)?;
    let (load, load_error) = match inspection.problems.first() {
        Some(problem) => (None, Some(problem.clone())),
        None => {
            let (config, _) = target.config()?;
            match sandbox.load_telling(&target, config, console) {
                Ok(loaded) => (Some(loaded.report), None),
                Err(error) => (None, Some(error.message().to_owned())),
            }
        }
    };
    Ok(InspectReport { name: target.name, component: target.component, inspection, load, load_error })
}

impl Report for InspectReport {
    fn render(&self, out: &mut dyn Write) -> io::Result<()> {
        let Inspection { bytes, debug_bytes, modules, interface, imports, exports, producers, .. } =
            &self.inspection;
        match self.load.as_ref().map(|load| load.summary.as_str()).filter(|summary| !summary.is_empty()) {
            Some(summary) => writeln!(out, "{}  {summary}", paint(BOLD, &self.name))?,
            None => writeln!(out, "{}", paint(BOLD, &self.name))?,
        }
        writeln!(out, "component   {}", self.component.display())?;
        let debug = match debug_bytes {
            0 => String::new(),
            bytes => format!(", {} of it debug information", size(*bytes)),
        };
        writeln!(out, "size        {}{debug}; {modules} core module{}", size(*bytes), plural(*modules))?;
        let interface =
            interface.as_deref().map_or("none".to_owned(), |version| format!("nacre:plugin@{version}"));
        writeln!(out, "interface   {interface}")?;
        if let Some(load) = &self.load {
            tensors(out, "inputs", &load.inputs)?;
            tensors(out, "outputs", &load.outputs)?;
            writeln!(out, "starts      {}", start(load))?;
        }
        lines(out, "exports", exports.iter().cloned())?;
        lines(out, "imports", imports.iter().map(import))?;
        let made = producers.iter().map(|p| format!("{} {} {}", p.name, p.version, paint(DIM, &p.field)));
        lines(out, "made with", made)?;
        match &self.load_error {
            Some(reason) => writeln!(out, "{}  {reason}", paint(BAD, "not served")),
            None => Ok(()),
        }
    }
}

fn import(import: &Import) -> String {
    match import.provision {
        Provision::Works => import.name.clone(),
        Provision::Denied => format!("{} {}", import.name, paint(DIM, "links, but every call is denied")),
        Provision::Refused => {
            format!("{} {}", import.name, paint(BAD, "not there: keeps it from being served"))
        }
    }
}

/// What a load took; of one from the cache, what it took when it was compiled.
pub(super) fn took(load: &LoadReport) -> String {
    let ms = |time: Duration| duration(time.as_secs_f64() * 1e3);
    let (compile, describe) = (ms(load.compile), ms(load.describe));
    let (configure, snapshot) = (ms(load.configure), ms(load.snapshot));
    let cached =
        if load.from_cache { format!("; from the cache in {}", ms(load.total)) } else { String::new() };
    format!("compile {compile}, describe {describe}, configure {configure}, snapshot {snapshot}{cached}")
}

/// What each request starts from.
pub(super) fn start(load: &LoadReport) -> String {
    match &load.start {
        Start::Snapshot { memory_bytes } => {
            format!("each request from a snapshot of {} that configure left", size(*memory_bytes))
        }
        Start::Configure { reason } => {
            format!("each request with configure, since there is no snapshot: {reason}")
        }
    }
}

/// A line for each tensor.
pub(super) fn tensors(out: &mut dyn Write, what: &str, tensors: &[DescribedTensor]) -> io::Result<()> {
    if tensors.is_empty() {
        return writeln!(out, "{what:<12}those of config.pbtxt");
    }
    lines(
        out,
        what,
        tensors.iter().map(|tensor| {
            let dims: Vec<_> = tensor.dims.iter().map(i64::to_string).collect();
            let optional = if tensor.optional { ", optional" } else { "" };
            format!("{} {} [{}]{optional}", tensor.name, tensor.data_type, dims.join(", "))
        }),
    )
}

fn lines(out: &mut dyn Write, what: &str, items: impl Iterator<Item = String>) -> io::Result<()> {
    let mut what = what;
    for item in items {
        writeln!(out, "{what:<12}{}", item.trim_end())?;
        what = "";
    }
    if what.is_empty() { Ok(()) } else { writeln!(out, "{what:<12}none") }
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
