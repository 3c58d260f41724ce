//! From wasmtime's errors to the one that the client gets and the one that the log gets.

use std::time::{Duration, Instant};

use nacre_domain::{Deadline, Error, ErrorCode, ModelKey};
use wasmtime::{PoolConcurrencyLimitError, Trap, WasmBacktrace, component::ResourceTableError};
use wasmtime_wasi::I32Exit;

use crate::{
    CONFIGURE_TIMEOUT_PARAMETER, MEMORY_PARAMETER, OUTPUT_PARAMETER, TIMEOUT_PARAMETER,
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
        Error::deadline_exceeded(match self.whose {
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
        })
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

/// The plugin's own error; of a message that would fill the log, the start.
pub(crate) fn guest_error(error: types::Error) -> Error {
    let start = |mut message: String| {
        if message.len() > LONGEST_MESSAGE {
            message.truncate(message.floor_char_boundary(LONGEST_MESSAGE));
            message.push('…');
        }
        message
    };
    let code = match error.code {
        types::ErrorCode::InvalidArgument => ErrorCode::InvalidArgument,
        types::ErrorCode::NotFound => ErrorCode::NotFound,
        types::ErrorCode::Unsupported => ErrorCode::Unsupported,
        types::ErrorCode::ResourceExhausted => ErrorCode::ResourceExhausted,
        types::ErrorCode::Unavailable => ErrorCode::Unavailable,
        types::ErrorCode::DeadlineExceeded => ErrorCode::DeadlineExceeded,
        types::ErrorCode::Internal => ErrorCode::Internal,
    };
    Error::new(code, start(error.message))
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

/// Bytes of a plugin's own error message that are handed on.
const LONGEST_MESSAGE: usize = 4096;

/// The error of a call that did not come back from the guest. Its backtrace goes to the log here.
pub(crate) fn call_error(
    error: &wasmtime::Error,
    name: &PluginName,
    limits: &Limits,
    request: &str,
    deadline: CallDeadline,
) -> Error {
    let trap = error.downcast_ref::<Trap>();
    if trap == Some(&Trap::Interrupt) {
        return deadline.error(name, limits);
    }
    if error.downcast_ref::<PoolConcurrencyLimitError>().is_some() {
        return Error::unavailable(format!("{name} found no free slot for its instance; try again"));
    }
    let kind = if let Some(limit) = error.downcast_ref::<LimitReached>() {
        match limit {
            LimitReached::Memory { wanted } => format!(
                "needs more memory than its limit: {} MiB wanted, {} MiB allowed (parameter {MEMORY_PARAMETER} of its \
                 config.pbtxt raises it)",
                wanted.div_ceil(1 << 20),
                limits.memory_mb
            ),
            LimitReached::Table => {
                format!("needs larger function tables than the limit of {TABLE_ELEMENTS} entries")
            }
        }
    } else if let Some(I32Exit(status)) = error.downcast_ref::<I32Exit>() {
        format!("called exit({status}) instead of answering")
    } else if matches!(error.downcast_ref::<ResourceTableError>(), Some(ResourceTableError::Full)) {
        format!("holds more handles (streams, timers) than the limit of {HANDLES}")
    } else if let Some(trap) = trap {
        let text = trap.to_string();
        format!("trapped: {}", text.strip_prefix("wasm trap: ").unwrap_or(&text))
    } else if is_hostcall_fuel(error) {
        format!(
            "gave more data than its limit: {} MiB allowed (parameter {OUTPUT_PARAMETER} of its config.pbtxt raises it)",
            limits.output_mb
        )
    } else {
        format!("failed: {}", error.root_cause())
    };
    let backtrace = error.downcast_ref::<WasmBacktrace>().map(|b| format!("\n{b}")).unwrap_or_default();
    tracing::error!(
        model = name.0.name.as_str(),
        version = name.0.version,
        request_id = (!request.is_empty()).then_some(request),
        "plugin {kind}{backtrace}"
    );
    Error::internal(format!("{name} {kind}"))
}

/// wasmtime gives this error no public type.
fn is_hostcall_fuel(error: &wasmtime::Error) -> bool {
    error.root_cause().to_string().contains("fuel allocated for hostcalls has been exhausted")
}
