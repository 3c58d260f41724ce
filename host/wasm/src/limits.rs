use std::{collections::BTreeMap, fmt, time::Duration};

use nacre_domain::{Error, Result};
use wasmtime::ResourceLimiter;

use crate::{MODELS_PARAMETER, REUSE_PARAMETER, WasmOptions};

/// Parameter of config.pbtxt: lines of the log in a second; the rest is counted.
pub const LOG_LINES_PARAMETER: &str = "NACRE_LOG_LINES";
/// Parameter of config.pbtxt: most calls into the host that one request may make.
pub const HOST_CALLS_PARAMETER: &str = "NACRE_HOST_CALLS";
/// Parameter of config.pbtxt: share of one core that the plugin's calls may use together, in percent.
pub const CPU_PARAMETER: &str = "NACRE_CPU_PERCENT";
/// Parameter of config.pbtxt: most series of metrics of its own.
pub const METRIC_SERIES_PARAMETER: &str = "NACRE_METRIC_SERIES";

/// Parameter of config.pbtxt: most memory of one instance, in MiB.
pub const MEMORY_PARAMETER: &str = "NACRE_MEMORY_MB";
/// Parameter of config.pbtxt: most time for `process`, in milliseconds.
pub const TIMEOUT_PARAMETER: &str = "NACRE_TIMEOUT_MS";
/// Parameter of config.pbtxt: most time for `describe` and `configure` together, in milliseconds.
pub const CONFIGURE_TIMEOUT_PARAMETER: &str = "NACRE_CONFIGURE_TIMEOUT_MS";
/// Parameter of config.pbtxt: largest answer, in MiB.
pub const OUTPUT_PARAMETER: &str = "NACRE_OUTPUT_MB";

const MIB: usize = 1 << 20;

/// Entries of all function tables of an instance; interpreters have some ten thousand.
pub(crate) const TABLE_ELEMENTS: usize = 100_000;
/// Core instances in a component; one made from Python has up to 64.
pub(crate) const CORE_INSTANCES: u32 = 256;
/// Linear memories of a component.
pub(crate) const MEMORIES: u32 = 8;
/// Tables of a component.
pub(crate) const TABLES: u32 = 64;
/// Handles that a guest holds at once (streams, pollables), on its side and on ours.
pub(crate) const HANDLES: usize = 1024;
/// What a guest may pass in one call besides its output tensors: log lines, names, shapes.
pub(crate) const CALL_OVERHEAD: usize = MIB;
/// Most tensors that a plugin may describe on one side, so that comparing their names takes no time to speak of.
pub(crate) const DESCRIBED_TENSORS: usize = 1024;
/// Hundred cores.
const MOST_CPU_PERCENT: u32 = 10_000;
/// Most random bytes in one call.
pub(crate) const RANDOM_BYTES: u64 = MIB as u64;

/// The limits of one model's plugin, from its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    pub memory_mb: u32,
    pub timeout: Duration,
    pub configure_timeout: Duration,
    pub output_mb: u32,
    /// Lines of the log in a second.
    pub log_lines: u32,
    /// Calls into the host in one request.
    pub host_calls: u64,
    /// Percent of one core; `None` leaves it to the plugin threads.
    pub cpu_percent: Option<u32>,
    /// Series of the plugin's own metrics.
    pub metric_series: usize,
}

impl Limits {
    /// Reads the parameters; what they leave out has a default.
    ///
    /// # Errors
    /// Invalid argument for a value that is no number or above what the server allows.
    pub(crate) fn read(parameters: &BTreeMap<String, String>, options: &WasmOptions) -> Result<Limits> {
        let given = |name: &str, most: u64| -> Result<Option<u64>> {
            let Some(text) = parameters.get(name) else { return Ok(None) };
            let value = text.trim().parse::<u64>().ok().filter(|n| (1..=most).contains(n));
            value.map(Some).ok_or_else(|| {
                Error::invalid_argument(format!(
                    "parameter {name}: expected a whole number from 1 to {most} (what this server allows), got '{text}'"
                ))
            })
        };
        let read = |name: &str, default: u64, most: u64| -> Result<u64> {
            Ok(given(name, most)?.unwrap_or(default.min(most)))
        };
        let small = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        let most_milliseconds = u64::try_from(options.max_timeout.as_millis()).unwrap_or(u64::MAX);
        Ok(Limits {
            memory_mb: small(read(MEMORY_PARAMETER, 256, options.max_memory_mb.min(4096).into())?),
            timeout: Duration::from_millis(read(TIMEOUT_PARAMETER, 10_000, most_milliseconds)?),
            configure_timeout: Duration::from_millis(read(
                CONFIGURE_TIMEOUT_PARAMETER,
                60_000,
                most_milliseconds,
            )?),
            output_mb: small(read(OUTPUT_PARAMETER, 64, options.max_output_mb.into())?),
            log_lines: small(read(LOG_LINES_PARAMETER, 100, options.max_log_lines.into())?),
            host_calls: read(HOST_CALLS_PARAMETER, 1_000_000, options.max_host_calls)?,
            cpu_percent: given(CPU_PARAMETER, options.max_cpu_percent.unwrap_or(MOST_CPU_PERCENT).into())?
                .map(small)
                .or(options.max_cpu_percent),
            metric_series: small(read(METRIC_SERIES_PARAMETER, 100, options.max_metric_series.into())?)
                as usize,
        })
    }

    /// Names of parameters that look like ours but mean nothing.
    pub(crate) fn unknown(parameters: &BTreeMap<String, String>) -> impl Iterator<Item = &str> {
        parameters.keys().map(String::as_str).filter(|name| {
            name.starts_with("NACRE_")
                && ![
                    MEMORY_PARAMETER,
                    TIMEOUT_PARAMETER,
                    CONFIGURE_TIMEOUT_PARAMETER,
                    OUTPUT_PARAMETER,
                    LOG_LINES_PARAMETER,
                    HOST_CALLS_PARAMETER,
                    CPU_PARAMETER,
                    METRIC_SERIES_PARAMETER,
                    MODELS_PARAMETER,
                    REUSE_PARAMETER,
                ]
                .contains(name)
        })
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        usize::try_from(self.memory_mb).unwrap_or(usize::MAX).saturating_mul(MIB)
    }

    /// Bytes of an answer.
    pub(crate) fn output(&self) -> usize {
        usize::try_from(self.output_mb).unwrap_or(usize::MAX).saturating_mul(MIB)
    }
}

/// Why the store refused to grow; travels through wasmtime's error to the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LimitReached {
    Memory { wanted: usize },
    Table,
    HostCalls,
}

impl fmt::Display for LimitReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LimitReached::Memory { wanted } => write!(f, "memory limit reached, {wanted} bytes wanted"),
            LimitReached::Table => f.write_str("table limit reached"),
            LimitReached::HostCalls => f.write_str("limit of calls into the host reached"),
        }
    }
}

impl std::error::Error for LimitReached {}

/// Calls into the host that one request has left.
pub(crate) struct HostCalls {
    left: u64,
    exceeded: bool,
}

impl HostCalls {
    pub(crate) fn new(limits: &Limits) -> HostCalls {
        HostCalls { left: limits.host_calls, exceeded: false }
    }

    pub(crate) fn count(&mut self) {
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None => self.exceeded = true,
        }
    }

    /// # Errors
    /// There were more than allowed.
    pub(crate) fn check(&self) -> wasmtime::Result<()> {
        if self.exceeded { Err(LimitReached::HostCalls.into()) } else { Ok(()) }
    }
}

/// Counts what one store grows to, over all its memories and tables.
///
/// Growing beyond the limit ends the call: a guest that is told "no" mostly ends in an `unreachable` that says nothing.
pub(crate) struct Meter {
    memory: usize,
    memory_limit: usize,
    table_elements: usize,
}

impl Meter {
    pub(crate) fn new(limits: &Limits) -> Meter {
        Meter { memory: 0, memory_limit: limits.memory(), table_elements: 0 }
    }

    /// Bytes of linear memory so far. They never shrink.
    pub(crate) fn memory(&self) -> usize {
        self.memory
    }

    pub(crate) fn unlimited() -> Meter {
        Meter { memory: 0, memory_limit: usize::MAX, table_elements: 0 }
    }
}

impl ResourceLimiter for Meter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let wanted = self.memory.saturating_add(desired.saturating_sub(current));
        if wanted > self.memory_limit {
            return Err(LimitReached::Memory { wanted }.into());
        }
        self.memory = wanted;
        Ok(true)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let wanted = self.table_elements.saturating_add(desired.saturating_sub(current));
        if wanted > TABLE_ELEMENTS {
            return Err(LimitReached::Table.into());
        }
        self.table_elements = wanted;
        Ok(true)
    }

    fn instances(&self) -> usize {
        CORE_INSTANCES as usize
    }

    fn tables(&self) -> usize {
        TABLES as usize
    }

    fn memories(&self) -> usize {
        MEMORIES as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, value: &str) -> Result<Limits> {
        let parameters = BTreeMap::from([(name.to_owned(), value.to_owned())]);
        Limits::read(&parameters, &WasmOptions { max_memory_mb: 1000, ..WasmOptions::default() })
    }

    #[test]
    fn parameters_set_limits() {
        assert_eq!(read(MEMORY_PARAMETER, "12").unwrap().memory(), 12 * MIB);
        assert_eq!(read(TIMEOUT_PARAMETER, "250").unwrap().timeout, Duration::from_millis(250));
        assert_eq!(read("other", "x").unwrap().output_mb, 64);
    }

    #[test]
    fn the_share_of_the_cpu_is_the_servers_unless_the_plugin_asks_for_less() {
        let read = |server: Option<u32>, text: Option<&str>| {
            let parameters = text.map(|text| (CPU_PARAMETER.to_owned(), text.to_owned()));
            let options = WasmOptions { max_cpu_percent: server, ..WasmOptions::default() };
            Limits::read(&parameters.into_iter().collect(), &options).map(|limits| limits.cpu_percent)
        };
        assert_eq!(read(None, None).unwrap(), None);
        assert_eq!(read(None, Some("150")).unwrap(), Some(150));
        assert_eq!(read(Some(50), None).unwrap(), Some(50));
        assert_eq!(read(Some(50), Some("20")).unwrap(), Some(20));
        assert!(read(Some(50), Some("60")).is_err());
    }

    #[test]
    fn wrong_values_are_refused_with_what_would_be_right() {
        for value in ["", "0", "-1", "1.5", "12MB", "1001", "99999999999999999999"] {
            let error = read(MEMORY_PARAMETER, value).unwrap_err();
            assert!(
                error.message().contains("NACRE_MEMORY_MB: expected a whole number from 1 to 1000"),
                "{error}"
            );
            assert!(error.message().contains(&format!("got '{value}'")), "{error}");
        }
    }

    #[test]
    fn names_parameters_that_mean_nothing() {
        let parameters =
            BTreeMap::from([("NACRE_MEMROY_MB".to_owned(), "1".to_owned()), ("k".into(), "5".into())]);
        assert_eq!(Limits::unknown(&parameters).collect::<Vec<_>>(), ["NACRE_MEMROY_MB"]);
    }

    #[test]
    fn growth_is_counted_over_all_memories_and_tables_of_an_instance() {
        let mut meter = Meter::new(&read(MEMORY_PARAMETER, "2").unwrap());
        assert!(meter.memory_growing(0, MIB, None).unwrap());
        assert!(meter.memory_growing(0, MIB, None).unwrap());
        let error = meter.memory_growing(MIB, MIB + 1, None).unwrap_err();
        assert_eq!(error.downcast_ref(), Some(&LimitReached::Memory { wanted: 2 * MIB + 1 }));

        assert!(meter.table_growing(0, TABLE_ELEMENTS - 1, None).unwrap());
        assert!(meter.table_growing(0, 1, None).unwrap());
        let error = meter.table_growing(1, 2, None).unwrap_err();
        assert_eq!(error.downcast_ref(), Some(&LimitReached::Table));
    }
}
