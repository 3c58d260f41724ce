use std::{collections::BTreeMap, fmt, time::Duration};

use nacre_domain::{Error, Result};
use wasmtime::ResourceLimiter;

use crate::{MODELS_PARAMETER, WasmOptions};

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
/// Most random bytes in one call.
pub(crate) const RANDOM_BYTES: u64 = MIB as u64;

/// The limits of one model's plugin, from its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    pub memory_mb: u32,
    pub timeout: Duration,
    pub configure_timeout: Duration,
    pub output_mb: u32,
}

impl Limits {
    /// Reads the parameters; what they leave out has a default.
    ///
    /// # Errors
    /// Invalid argument for a value that is no number or above what the server allows.
    pub(crate) fn read(parameters: &BTreeMap<String, String>, options: &WasmOptions) -> Result<Limits> {
        let read = |name: &str, default: u64, most: u64| {
            match parameters.get(name) {
            None => Ok(default.min(most)),
            Some(text) => {
                text.trim().parse::<u64>().ok().filter(|n| (1..=most).contains(n)).ok_or_else(|| {
                    Error::invalid_argument(format!(
                        "parameter {name}: expected a whole number from 1 to {most} (what this server allows), got '{text}'"
                    ))
                })
            }
        }
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
                    MODELS_PARAMETER,
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
}

impl fmt::Display for LimitReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LimitReached::Memory { wanted } => write!(f, "memory limit reached, {wanted} bytes wanted"),
            LimitReached::Table => f.write_str("table limit reached"),
        }
    }
}

impl std::error::Error for LimitReached {}

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
