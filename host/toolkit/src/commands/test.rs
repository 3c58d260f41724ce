use std::{
    collections::BTreeMap,
    io::{self, Write},
    path::PathBuf,
    time::Instant,
};

use nacre_domain::{Error, Result as DomainResult};
use serde::Serialize;

use crate::{
    case::{self, Case, Code, ExpectedError, compare},
    cli::TestArgs,
    console::{BAD, BOLD, Console, DIM, GOOD, Report, duration, paint},
    failure::Failure,
    sandbox::{Loaded, Sandbox},
    target::Target,
};

/// What the cases of a plugin gave.
#[derive(Debug, Serialize)]
pub struct TestReport {
    /// Name of the plugin.
    pub name: String,
    /// Cases that passed.
    pub passed: usize,
    /// Cases that did not.
    pub failed: usize,
    /// Cases that `--filter` left out.
    pub skipped: usize,
    /// Each that ran.
    pub cases: Vec<CaseReport>,
}

/// What one case gave.
#[derive(Debug, Serialize)]
pub struct CaseReport {
    /// Its name.
    pub name: String,
    /// Its file.
    pub file: PathBuf,
    /// Whether the answer is as expected.
    pub passed: bool,
    /// How long the plugin took to answer.
    pub milliseconds: Option<f64>,
    /// What is not as expected.
    pub problems: Vec<String>,
}

/// Runs the cases of a plugin.
///
/// # Errors
/// Usage: nothing is there, there are no cases, or a file of them does not hold. A case that does not pass is in the
/// report.
pub fn test(args: &TestArgs, console: &Console) -> Result<TestReport, Failure> {
    let target = Target::open(&args.target, console)?;
    let cases = if args.cases.is_empty() { case::read_folder(&target.cases())? } else { given(args)? };
    if cases.is_empty() {
        return Err(Failure::usage(format!("there are no cases in {}", target.cases().display()))
            .fix("write one as `nacre plugin test --help` shows, in a file that ends in .json"));
    }
    run_cases(&Sandbox::start()?, &target, cases, args.filter.as_deref(), console)
}

fn given(args: &TestArgs) -> Result<Vec<Case>, Failure> {
    let mut cases = Vec::new();
    for path in &args.cases {
        cases.extend(if path.is_dir() { case::read_folder(path)? } else { case::read(path)? });
    }
    Ok(cases)
}

pub(super) fn run_cases(
    sandbox: &Sandbox,
    target: &Target,
    cases: Vec<Case>,
    filter: Option<&str>,
    console: &Console,
) -> Result<TestReport, Failure> {
    let all = cases.len();
    let cases: Vec<_> =
        cases.into_iter().filter(|case| filter.is_none_or(|text| case.name.contains(text))).collect();
    if cases.is_empty() {
        let text = filter.unwrap_or_default();
        return Err(Failure::usage(format!("none of the {all} cases has '{text}' in its name")));
    }
    let mut runner = Runner { sandbox, target, console, loaded: BTreeMap::new() };
    let skipped = all - cases.len();
    let reports = cases.iter().map(|case| runner.run(case)).collect::<Result<Vec<_>, _>>()?;
    let passed = reports.iter().filter(|report| report.passed).count();
    Ok(TestReport {
        name: target.name.clone(),
        passed,
        failed: reports.len() - passed,
        skipped,
        cases: reports,
    })
}

struct Runner<'a> {
    sandbox: &'a Sandbox,
    target: &'a Target,
    console: &'a Console,
    /// By the parameters of the case: each set is a load.
    loaded: BTreeMap<BTreeMap<String, String>, DomainResult<Loaded>>,
}

impl Runner<'_> {
    fn run(&mut self, case: &Case) -> Result<CaseReport, Failure> {
        let parameters = case.config_parameters.clone();
        if !self.loaded.contains_key(&parameters) {
            let (mut config, _) = self.target.config()?;
            config.parameters.extend(parameters.clone());
            self.loaded
                .insert(parameters.clone(), self.sandbox.load_telling(self.target, config, self.console));
        }
        let mut milliseconds = None;
        let problems = match self.loaded.get(&parameters) {
            Some(Ok(loaded)) => match self.ask(loaded, case, &mut milliseconds) {
                Ok(problems) => problems,
                // A file of the case, not the plugin.
                Err(failure) => vec![failure.to_string()],
            },
            Some(Err(error)) => judge_error(case.error.as_ref(), error),
            None => Vec::new(),
        };
        Ok(CaseReport {
            name: case.name.clone(),
            file: case.file.clone(),
            passed: problems.is_empty(),
            milliseconds,
            problems,
        })
    }

    fn ask(
        &self,
        loaded: &Loaded,
        case: &Case,
        milliseconds: &mut Option<f64>,
    ) -> Result<Vec<String>, Failure> {
        let request = loaded.request(case)?;
        let started = Instant::now();
        let answer = self.sandbox.process(loaded, request);
        *milliseconds = Some(started.elapsed().as_secs_f64() * 1e3);
        let execution = match (answer, &case.error) {
            (Err(error), expected) => return Ok(judge_error(expected.as_ref(), &error)),
            (Ok(_), Some(expected)) => {
                return Ok(vec![format!("it answered, but the case expects an error{}", wanted(expected))]);
            }
            (Ok(execution), None) => execution,
        };
        let expected: Result<Vec<_>, Failure> = case
            .outputs
            .iter()
            .map(|source| {
                let spec = loaded.config.output(&source.name).map(|output| &output.spec);
                source.load(&case.folder, spec)
            })
            .collect();
        let mut problems = compare::outputs(&expected?, &execution.outputs, case.tolerance);
        problems.extend(compare::parameters(&case.output_parameters, &execution.parameters));
        Ok(problems)
    }
}

fn judge_error(expected: Option<&ExpectedError>, error: &Error) -> Vec<String> {
    let got = format!("{}: {}", Code(error.code()), error.message());
    let Some(expected) = expected else { return vec![got] };
    let code = expected.code.is_none_or(|code| code.0 == error.code());
    let text = expected.contains.as_ref().is_none_or(|text| error.message().contains(text));
    if code && text { Vec::new() } else { vec![format!("expected an error{}, got {got}", wanted(expected))] }
}

fn wanted(expected: &ExpectedError) -> String {
    let code = expected.code.map(|code| format!(" {code}")).unwrap_or_default();
    let text = expected.contains.as_ref().map(|text| format!(" with '{text}' in it")).unwrap_or_default();
    format!("{code}{text}")
}

impl Report for TestReport {
    fn passed(&self) -> bool {
        self.failed == 0
    }

    fn render(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", paint(BOLD, &self.name))?;
        for case in &self.cases {
            let word = if case.passed { paint(GOOD, "ok  ") } else { paint(BAD, "FAIL") };
            let took = case.milliseconds.map(|ms| paint(DIM, duration(ms))).unwrap_or_default();
            writeln!(out, "  {word}  {}  {took}", case.name)?;
            for problem in &case.problems {
                for line in problem.lines() {
                    writeln!(out, "        {line}")?;
                }
            }
            if !case.passed {
                writeln!(out, "        {}", paint(DIM, case.file.display()))?;
            }
        }
        let skipped = match self.skipped {
            0 => String::new(),
            count => format!(", {count} left out"),
        };
        match self.failed {
            0 => writeln!(out, "{} {} passed{skipped}", paint(GOOD, "ok:"), self.passed),
            failed => {
                writeln!(out, "{} {failed} failed, {} passed{skipped}", paint(BAD, "failed:"), self.passed)
            }
        }
    }
}
