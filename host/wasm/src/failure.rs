//! From wasmtime's errors to the one that the client gets and the one that the log gets.

use std::time::{Duration, Instant};

use nacre_domain::{Deadline, Error, ErrorCode, ModelKey};
use nacre_telemetry::PluginFailure;
use wasmtime::{PoolConcurrencyLimitError, Trap, WasmBacktrace, component::ResourceTableError};
use wasmtime_wasi::I32Exit;

use crate::{
    CONFIGURE_TIMEOUT_PARAMETER, CPU_PARAMETER, HOST_CALLS_PARAMETER, MEMORY_PARAMETER, OUTPUT_PARAMETER,
    TIMEOUT_PARAMETER,
    bindings::types,
    limits::{HANDLES, LimitReached, Limits, TABLE_ELEMENTS},
};

/// When a call is interrupted, and for whose sake.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallDeadline {
    moment: Instant,
    whose: Whose,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    Request,
    Process,
    Configure,
}

impl CallDeadline {
    /// The earlier of the request's deadline and the plugin's limit for `process` from now.
    pub(crate) fn process(request: Deadline, limits: &Limits) -> CallDeadline {
        CallDeadline::new(request, limits.timeout, Whose::Process)
    }

    /// The earlier of the request's deadline and the plugin's limit for `describe` and `configure` from now.
    pub(crate) fn configure(request: Deadline, limits: &Limits) -> CallDeadline {
        CallDeadline::new(request, limits.configure_timeout, Whose::Configure)
    }

    fn new(request: Deadline, timeout: Duration, whose: Whose) -> CallDeadline {
        let limit = Instant::now() + timeout;
        match request.moment() {
            Some(moment) if moment <= limit => CallDeadline { moment, whose: Whose::Request },
            _ => CallDeadline { moment: limit, whose },
        }
    }

    pub(crate) fn moment(self) -> Instant {
        self.moment
    }

    pub(crate) fn has_passed(self) -> bool {
        self.moment <= Instant::now()
    }

    /// The error for a call that did not end in time.
    pub(crate) fn error(self, name: &PluginName, limits: &Limits) -> Error {
        let mut text = match self.whose {
            Whose::Request => format!("the request's deadline passed while {name} was running"),
            Whose::Process => format!(
                "{name} did not answer within {} ms (parameter {TIMEOUT_PARAMETER} of its config.pbtxt sets the limit)",
                limits.timeout.as_millis()
            ),
            Whose::Configure => format!(
                "{name} was not configured within {} ms (parameter {CONFIGURE_TIMEOUT_PARAMETER} of its config.pbtxt \
                 sets the limit)",
                limits.configure_timeout.as_millis()
            ),
        };
        if let Some(percent) = limits.cpu_percent {
            text.push_str(&format!(
                "; its calls together may use {percent} % of a core (parameter {CPU_PARAMETER} sets the share)"
            ));
        }
        Error::deadline_exceeded(text)
    }
}

/// How errors call a plugin: `plugin 'x' version 1`.
#[derive(Clone, Debug)]
pub(crate) struct PluginName(pub(crate) ModelKey);

impl std::fmt::Display for PluginName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "plugin '{}' version {}", self.0.name, self.0.version)
    }
}

/// The plugin's own error.
pub(crate) fn guest_error(error: types::Error) -> Error {
    let code = match error.code {
        types::ErrorCode::InvalidArgument => ErrorCode::InvalidArgument,
        types::ErrorCode::NotFound => ErrorCode::NotFound,
        types::ErrorCode::Unsupported => ErrorCode::Unsupported,
        types::ErrorCode::ResourceExhausted => ErrorCode::ResourceExhausted,
        types::ErrorCode::Unavailable => ErrorCode::Unavailable,
        types::ErrorCode::DeadlineExceeded => ErrorCode::DeadlineExceeded,
        types::ErrorCode::Internal => ErrorCode::Internal,
    };
    Error::new(code, start_of(error.message))
}

/// An error in which the plugin's own names or shapes may be; what would fill the log is cut.
pub(crate) fn shortened(error: Error) -> Error {
    if error.message().len() <= LONGEST_MESSAGE {
        return error;
    }
    Error::new(error.code(), start_of(error.message().to_owned()))
}

fn start_of(mut message: String) -> String {
    if message.len() > LONGEST_MESSAGE {
        message.truncate(message.floor_char_boundary(LONGEST_MESSAGE));
        message.push('…');
    }
    message
}

/// An error of the host's as the guest sees it.
pub(crate) fn error_to_guest(error: Error) -> types::Error {
    let code = match error.code() {
        ErrorCode::InvalidArgument => types::ErrorCode::InvalidArgument,
        ErrorCode::NotFound => types::ErrorCode::NotFound,
        ErrorCode::Unsupported => types::ErrorCode::Unsupported,
        ErrorCode::ResourceExhausted => types::ErrorCode::ResourceExhausted,
        ErrorCode::Unavailable => types::ErrorCode::Unavailable,
        ErrorCode::DeadlineExceeded => types::ErrorCode::DeadlineExceeded,
        // A cancelled request has no plugin left to tell.
        ErrorCode::Cancelled | ErrorCode::Internal => types::ErrorCode::Internal,
    };
    types::Error { code, message: error.to_string() }
}

/// Bytes of an error message that come from a plugin and are handed on.
const LONGEST_MESSAGE: usize = 4096;

/// The error of a call that did not come back from the guest, and how to count it. Its backtrace goes to the log here.
pub(crate) fn call_error(
    error: &wasmtime::Error,
    name: &PluginName,
    limits: &Limits,
    request: &str,
    deadline: CallDeadline,
) -> (PluginFailure, Error) {
    if error.downcast_ref::<Trap>() == Some(&Trap::Interrupt) {
        return (PluginFailure::Deadline, deadline.error(name, limits));
    }
    if error.downcast_ref::<PoolConcurrencyLimitError>().is_some() {
        let error = Error::unavailable(format!("{name} found no free slot for its instance; try again"));
        return (PluginFailure::Other, error);
    }
    let (kind, what) = what_happened(error, limits);
    let backtrace = error.downcast_ref::<WasmBacktrace>().map(|b| format!("\n{b}")).unwrap_or_default();
    tracing::error!(
        model = name.0.name.as_str(),
        version = name.0.version,
        request_id = (!request.is_empty()).then_some(request),
        "plugin {what}{backtrace}"
    );
    (kind, Error::internal(format!("{name} {what}")))
}

/// The predicate of a sentence about the plugin.
fn what_happened(error: &wasmtime::Error, limits: &Limits) -> (PluginFailure, String) {
    if let Some(limit) = error.downcast_ref::<LimitReached>() {
        return limit_reached(*limit, limits);
    }
    if let Some(I32Exit(status)) = error.downcast_ref::<I32Exit>() {
        return (PluginFailure::Exit, format!("called exit({status}) instead of answering"));
    }
    if is_handle_limit(error) {
        let what = format!("holds more handles (streams, timers) than the limit of {HANDLES}");
        return (PluginFailure::Handles, what);
    }
    if let Some(trap) = error.downcast_ref::<Trap>() {
        let text = trap.to_string();
        let what = format!("trapped: {}", text.strip_prefix("wasm trap: ").unwrap_or(&text));
        return (trap_kind(*trap), what);
    }
    if is_hostcall_fuel(error) {
        let what = format!(
            "gave more data than its limit: {} MiB allowed (parameter {OUTPUT_PARAMETER} of its config.pbtxt raises it)",
            limits.output_mb
        );
        return (PluginFailure::Output, what);
    }
    (PluginFailure::Other, format!("failed: {}", start_of(error.root_cause().to_string())))
}

fn limit_reached(limit: LimitReached, limits: &Limits) -> (PluginFailure, String) {
    match limit {
        LimitReached::Memory { wanted } => (
            PluginFailure::Memory,
            format!(
                "needs more memory than its limit: {} MiB wanted, {} MiB allowed (parameter {MEMORY_PARAMETER} of its \
                 config.pbtxt raises it)",
                wanted.div_ceil(1 << 20),
                limits.memory_mb
            ),
        ),
        LimitReached::Table => (
            PluginFailure::Table,
            format!("needs larger function tables than the limit of {TABLE_ELEMENTS} entries"),
        ),
        LimitReached::HostCalls => (
            PluginFailure::HostCalls,
            format!(
                "called into the host more often than its limit: {} calls allowed in a request (parameter \
                 {HOST_CALLS_PARAMETER} of its config.pbtxt raises it)",
                limits.host_calls
            ),
        ),
    }
}

fn trap_kind(trap: Trap) -> PluginFailure {
    match trap {
        Trap::UnreachableCodeReached => PluginFailure::Unreachable,
        Trap::MemoryOutOfBounds | Trap::HeapMisaligned | Trap::TableOutOfBounds => PluginFailure::OutOfBounds,
        Trap::StackOverflow => PluginFailure::StackOverflow,
        _ => PluginFailure::Trap,
    }
}

/// Of the host's table, or of the guest's; wasmtime gives the latter's error no public type.
fn is_handle_limit(error: &wasmtime::Error) -> bool {
    matches!(error.downcast_ref::<ResourceTableError>(), Some(ResourceTableError::Full))
        || error.root_cause().to_string().contains("handle limit exceeded")
}

/// wasmtime gives this error no public type.
fn is_hostcall_fuel(error: &wasmtime::Error) -> bool {
    error.root_cause().to_string().contains("fuel allocated for hostcalls has been exhausted")
}
