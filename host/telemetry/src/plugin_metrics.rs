use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use metrics::{Counter, Gauge, Histogram, counter, gauge};
use nacre_domain::ModelKey;

use crate::metric_name::MetricName;

/// How a call into a plugin failed: the label `kind` of `nacre_plugin_failures_total`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PluginFailure {
    /// It said so itself.
    Error,
    /// It answered with what was not promised: an unknown output, another shape.
    Answer,
    /// It did not end in time.
    Deadline,
    /// It wanted more memory than it may have.
    Memory,
    /// It wanted larger function tables than it may have.
    Table,
    /// It gave more data than it may.
    Output,
    /// It called into the host more often than it may.
    HostCalls,
    /// It held more handles than it may.
    Handles,
    /// It called `exit`.
    Exit,
    /// Trap: an `unreachable` instruction, which is how panics and aborts end.
    Unreachable,
    /// Trap: an address outside of its memory or tables.
    OutOfBounds,
    /// Trap: calls nested too deeply.
    StackOverflow,
    /// Any other trap, such as a division by zero.
    Trap,
    /// Anything else.
    Other,
}

impl PluginFailure {
    const ALL: [PluginFailure; 14] = [
        PluginFailure::Error,
        PluginFailure::Answer,
        PluginFailure::Deadline,
        PluginFailure::Memory,
        PluginFailure::Table,
        PluginFailure::Output,
        PluginFailure::HostCalls,
        PluginFailure::Handles,
        PluginFailure::Exit,
        PluginFailure::Unreachable,
        PluginFailure::OutOfBounds,
        PluginFailure::StackOverflow,
        PluginFailure::Trap,
        PluginFailure::Other,
    ];

    const fn label(self) -> &'static str {
        match self {
            PluginFailure::Error => "error",
            PluginFailure::Answer => "answer",
            PluginFailure::Deadline => "deadline",
            PluginFailure::Memory => "memory",
            PluginFailure::Table => "table",
            PluginFailure::Output => "output",
            PluginFailure::HostCalls => "host_calls",
            PluginFailure::Handles => "handles",
            PluginFailure::Exit => "exit",
            PluginFailure::Unreachable => "unreachable",
            PluginFailure::OutOfBounds => "out_of_bounds",
            PluginFailure::StackOverflow => "stack_overflow",
            PluginFailure::Trap => "trap",
            PluginFailure::Other => "other",
        }
    }
}

/// A part of a plugin's load: the label `phase` of `nacre_plugin_load_duration_seconds`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadPhase {
    /// From the component to machine code.
    Compile,
    /// The calls of `describe` and `configure`, with the instance for them.
    Configure,
    /// Taking the snapshot of the configured memory and compiling it.
    Snapshot,
}

impl LoadPhase {
    const fn label(self) -> &'static str {
        match self {
            LoadPhase::Compile => "compile",
            LoadPhase::Configure => "configure",
            LoadPhase::Snapshot => "snapshot",
        }
    }
}

/// Numbers of one plugin version, registered once at its load: recording is an addition to what is there.
///
/// A version that is loaded again goes on counting, but its memory peak starts anew.
pub struct PluginMetrics {
    key: ModelKey,
    calls: Counter,
    failures: [Counter; PluginFailure::ALL.len()],
    instantiate_seconds: Histogram,
    memory_peak: Gauge,
    peak: AtomicUsize,
}

impl PluginMetrics {
    /// Registers the series of one version, all at zero.
    pub fn new(key: &ModelKey) -> Arc<PluginMetrics> {
        let failures = PluginFailure::ALL.map(|kind| {
            counter!(MetricName::PluginFailures.as_str(),
                "model" => key.name.clone(), "version" => key.version.to_string(), "kind" => kind.label())
        });
        let memory_peak = MetricName::PluginMemoryPeak.gauge(key);
        memory_peak.set(0);
        Arc::new(PluginMetrics {
            key: key.clone(),
            calls: MetricName::PluginCalls.counter(key),
            failures,
            instantiate_seconds: MetricName::PluginInstantiate.histogram(key),
            memory_peak,
            peak: AtomicUsize::new(0),
        })
    }

    /// Counts a call of `process`, however it ends.
    pub fn record_call(&self) {
        self.calls.increment(1);
    }

    /// Counts a failure: of a call of `process`, or of `describe` or `configure`.
    pub fn record_failure(&self, kind: PluginFailure) {
        if let Some(counter) = self.failures.get(kind as usize) {
            counter.increment(1);
        }
    }

    /// Time until an instance was there to be called.
    pub fn record_instantiate(&self, duration: Duration) {
        self.instantiate_seconds.record(duration);
    }

    /// Linear memory of an instance at its end, in bytes; the gauge shows the most of any.
    pub fn record_memory(&self, bytes: usize) {
        if bytes > self.peak.load(Ordering::Relaxed) && bytes > self.peak.fetch_max(bytes, Ordering::Relaxed)
        {
            self.memory_peak.set(bytes as f64);
        }
    }

    /// Time that a part of the last load took.
    pub fn record_load(&self, phase: LoadPhase, duration: Duration) {
        gauge!(MetricName::PluginLoad.as_str(), "model" => self.key.name.clone(),
            "version" => self.key.version.to_string(), "phase" => phase.label())
        .set(duration.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics_handle::builder;

    #[test]
    fn failures_are_told_apart_and_the_highest_memory_stays() {
        let recorder = builder().unwrap().build_recorder();
        metrics::with_local_recorder(&recorder, || {
            let metrics = PluginMetrics::new(&ModelKey { name: "scale".into(), version: 3 });
            for kind in PluginFailure::ALL {
                assert_eq!(PluginFailure::ALL[kind as usize], kind);
            }
            metrics.record_call();
            metrics.record_call();
            metrics.record_failure(PluginFailure::StackOverflow);
            metrics.record_memory(2 << 20);
            metrics.record_memory(1 << 20);
            metrics.record_instantiate(Duration::from_micros(30));
            metrics.record_load(LoadPhase::Snapshot, Duration::from_millis(250));
        });
        let text = recorder.handle().render();
        for line in [
            "nacre_plugin_calls_total{model=\"scale\",version=\"3\"} 2",
            "nacre_plugin_failures_total{model=\"scale\",version=\"3\",kind=\"stack_overflow\"} 1",
            "nacre_plugin_failures_total{model=\"scale\",version=\"3\",kind=\"deadline\"} 0",
            "nacre_plugin_memory_peak_bytes{model=\"scale\",version=\"3\"} 2097152",
            "nacre_plugin_instantiate_duration_seconds_bucket{model=\"scale\",version=\"3\",le=\"0.00005\"} 1",
            "nacre_plugin_load_duration_seconds{model=\"scale\",version=\"3\",phase=\"snapshot\"} 0.25",
        ] {
            assert!(text.lines().any(|l| l == line), "no line '{line}' in:\n{text}");
        }
    }
}
