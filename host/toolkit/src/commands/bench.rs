use std::{
    io::{self, Write},
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use nacre_backend::ElementRequest;
use nacre_domain::{DataType, Deadline, Parameters, Tensor, TensorSpec, element_count};
use nacre_wasm::LoadReport;
use serde::Serialize;

use super::{
    inspect::{start, took},
    run::request,
};
use crate::{
    case::{self, Case},
    cli::BenchArgs,
    console::{BOLD, Console, DIM, Report, duration, paint, size},
    failure::Failure,
    metrics::Metrics,
    sandbox::{Loaded, Sandbox},
    target::Target,
};

/// What a plugin costs.
#[derive(Debug, Serialize)]
pub struct BenchReport {
    /// Name of the plugin.
    pub name: String,
    /// Where the request came from.
    pub request: String,
    /// Requests at once.
    pub concurrency: usize,
    /// What loading took and gave.
    pub load: LoadReport,
    /// The first request after the load.
    pub first_ms: f64,
    /// A fresh instance for each request, as a server has it.
    pub fresh: Measured,
    /// Instances that are used again; `None` unless it was asked for.
    pub reused: Option<Measured>,
    /// Bytes of the outputs of one answer.
    pub output_bytes: u64,
    /// The limits that hold, from config.pbtxt or by default.
    pub limits: Limits,
}

/// Limits of a plugin.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Limits {
    /// Of an instance, in MiB.
    pub memory_mb: u32,
    /// Of `process`, in milliseconds.
    pub timeout_ms: f64,
    /// Of an answer, in MiB.
    pub output_mb: u32,
}

/// Latencies in milliseconds.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Measured {
    /// Requests that were answered.
    pub requests: usize,
    /// Of them in a second.
    pub per_second: f64,
    /// The median.
    pub p50_ms: f64,
    /// Nine in ten are faster.
    pub p90_ms: f64,
    /// 99 in a hundred are faster.
    pub p99_ms: f64,
    /// The slowest.
    pub max_ms: f64,
    /// Most linear memory that an instance had at the end of a request.
    pub memory_bytes: u64,
}

/// Requests before the measurement; they bring what is called often into the caches.
const WARM_UP: usize = 20;

/// Measures a plugin with one request, again and again.
///
/// # Errors
/// Usage: the plugin or a file of the request is not there. Plugin: it is refused, or answers with an error.
pub fn bench(args: &BenchArgs, console: &Console) -> Result<BenchReport, Failure> {
    if !(args.seconds > 0.0 && args.seconds <= 3600.0) || args.concurrency == 0 || args.concurrency > 200 {
        return Err(Failure::usage(
            "expected --seconds above 0, up to 3600, and --concurrency from 1 to 200",
        ));
    }
    let target = Target::open(&args.target, console)?;
    let (case, source) = chosen(args, &target)?;
    let metrics = Metrics::start();
    let sandbox = Sandbox::start()?;
    let mut measured = Vec::new();
    let mut load = None;
    for reuse in if args.reuse { vec![false, true] } else { vec![false] } {
        let (mut config, _) = target.config()?;
        if let Some(case) = &case {
            config.parameters.extend(case.config_parameters.clone());
        }
        if reuse {
            config.parameters.insert("NACRE_REUSE".to_owned(), args.concurrency.to_string());
        } else {
            config.parameters.remove("NACRE_REUSE");
        }
        let loaded = Arc::new(sandbox.load_telling(&target, config, console)?);
        let request = match &case {
            Some(case) => loaded.request(case)?,
            None => zeros(&loaded),
        };
        loaded.accepts(&request)?;
        let began = Instant::now();
        let answer = sandbox.process(&loaded, request.clone())?;
        let first = began.elapsed();
        console.step(if reuse { "measuring reused instances" } else { "measuring fresh instances" });
        for _ in 0..WARM_UP {
            sandbox.process(&loaded, request.clone())?;
        }
        let latencies = measure(&sandbox, &loaded, &request, args)?;
        measured.push(Measured { memory_bytes: metrics.memory_peak(), ..latencies });
        if !reuse {
            let bytes: usize = answer.outputs.iter().map(|tensor| tensor.data.len()).sum();
            load = Some((loaded, first, bytes));
        }
    }
    let (loaded, first, output_bytes) = load.ok_or_else(|| Failure::system("nothing was measured"))?;
    let limits = sandbox.limits(&loaded.config)?;
    let mut measured = measured.into_iter();
    Ok(BenchReport {
        name: target.name,
        request: source,
        concurrency: args.concurrency,
        load: loaded.report.clone(),
        first_ms: milliseconds(first),
        fresh: measured.next().unwrap_or_default(),
        reused: measured.next(),
        output_bytes: output_bytes as u64,
        limits: Limits {
            memory_mb: limits.memory_mb,
            timeout_ms: milliseconds(limits.timeout),
            output_mb: limits.output_mb,
        },
    })
}

/// The request: the arguments', else that of the first case that expects an answer, else none.
fn chosen(args: &BenchArgs, target: &Target) -> Result<(Option<Case>, String), Failure> {
    if let Some(case) = request(&args.request)? {
        let source = match &args.request.case {
            Some(file) => file.display().to_string(),
            None => "the command line".to_owned(),
        };
        return Ok((Some(case), source));
    }
    let case = case::read_folder(&target.cases())?.into_iter().find(|case| case.error.is_none());
    Ok(match case {
        Some(case) => {
            let source = format!("case '{}'", case.name);
            (Some(case), source)
        }
        None => (None, "zeros, as there is no case; --case or --input give another".to_owned()),
    })
}

/// Zeros, or empty strings, for each input; 1 for each dimension that varies.
fn zeros(loaded: &Loaded) -> ElementRequest {
    let tensor = |spec: &TensorSpec| {
        let shape: Vec<i64> = spec.dims.iter().map(|&dim| if dim == -1 { 1 } else { dim }).collect();
        let count = element_count(&shape).unwrap_or_default();
        // An empty string is its length, four bytes.
        let size = spec.data_type.size().unwrap_or(4);
        debug_assert!(spec.data_type.size().is_some() || spec.data_type == DataType::Bytes);
        Tensor {
            name: spec.name.clone(),
            data_type: spec.data_type,
            shape,
            data: Bytes::from(vec![0; count.saturating_mul(size)]),
        }
    };
    ElementRequest {
        id: "bench".to_owned(),
        parameters: Parameters::new(),
        inputs: loaded.config.inputs.iter().map(|input| tensor(&input.spec)).collect(),
        outputs: Vec::new(),
        deadline: Deadline::NONE,
        models: None,
    }
}

fn measure(
    sandbox: &Sandbox,
    loaded: &Arc<Loaded>,
    request: &ElementRequest,
    args: &BenchArgs,
) -> Result<Measured, Failure> {
    let began = Instant::now();
    let end = began + Duration::from_secs_f64(args.seconds);
    let one = || {
        let (loaded, request) = (Arc::clone(loaded), request.clone());
        async move {
            let mut latencies = Vec::new();
            while Instant::now() < end {
                let asked = Instant::now();
                loaded.answer(request.clone()).await?;
                latencies.push(asked.elapsed());
            }
            Ok::<_, nacre_domain::Error>(latencies)
        }
    };
    let mut latencies = Vec::new();
    for answered in sandbox.run_all((0..args.concurrency).map(|_| one()))? {
        latencies.extend(answered?);
    }
    let seconds = began.elapsed().as_secs_f64();
    latencies.sort_unstable();
    let quantile = |share: f64| {
        let index = ((latencies.len() as f64 * share).ceil() as usize).saturating_sub(1);
        latencies.get(index).copied().map(milliseconds).unwrap_or_default()
    };
    Ok(Measured {
        requests: latencies.len(),
        per_second: latencies.len() as f64 / seconds,
        p50_ms: quantile(0.5),
        p90_ms: quantile(0.9),
        p99_ms: quantile(0.99),
        max_ms: quantile(1.0),
        memory_bytes: 0,
    })
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

impl Report for BenchReport {
    fn render(&self, out: &mut dyn Write) -> io::Result<()> {
        let BenchReport { load, limits, .. } = self;
        writeln!(
            out,
            "{}  {}",
            paint(BOLD, &self.name),
            paint(DIM, format_args!("request: {}", self.request))
        )?;
        writeln!(out, "load      {}", took(load))?;
        writeln!(out, "starts    {}", start(load))?;
        writeln!(out, "first     {}", duration(self.first_ms))?;
        line(out, "fresh", &self.fresh)?;
        if let Some(reused) = &self.reused {
            line(out, "reused", reused)?;
        }
        let share = |part: f64, of: f64| paint(DIM, format_args!("{:.1} % of", 100.0 * part / of));
        let timeout = limits.timeout_ms;
        writeln!(
            out,
            "time      {} {} (NACRE_TIMEOUT_MS), by p99",
            share(self.fresh.p99_ms, timeout),
            duration(timeout)
        )?;
        let mib = f64::from(1_u32 << 20);
        if self.fresh.memory_bytes > 0 {
            let memory = self.fresh.memory_bytes as f64;
            writeln!(
                out,
                "memory    {}, {} {} MiB (NACRE_MEMORY_MB)",
                size(self.fresh.memory_bytes),
                share(memory, f64::from(limits.memory_mb) * mib),
                limits.memory_mb
            )?;
        }
        writeln!(
            out,
            "output    {}, {} {} MiB (NACRE_OUTPUT_MB)",
            size(self.output_bytes),
            share(self.output_bytes as f64, f64::from(limits.output_mb) * mib),
            limits.output_mb
        )
    }
}

fn line(out: &mut dyn Write, what: &str, measured: &Measured) -> io::Result<()> {
    writeln!(
        out,
        "{what:<8}  p50 {}, p90 {}, p99 {}, most {}; {:.0} a second ({} requests)",
        paint(BOLD, duration(measured.p50_ms)),
        duration(measured.p90_ms),
        paint(BOLD, duration(measured.p99_ms)),
        duration(measured.max_ms),
        measured.per_second,
        measured.requests
    )
}
