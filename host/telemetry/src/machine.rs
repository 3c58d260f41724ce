use std::{
    fs,
    sync::{Mutex, PoisonError},
};

use metrics::{Gauge, gauge};

use crate::metric_name::MetricName;

/// CPU and memory of the machine, read from `/proc`. Where that is not there, its gauges stay at zero.
pub(crate) struct Machine {
    utilization: Gauge,
    memory_total: Gauge,
    memory_used: Gauge,
    before: Mutex<CpuTime>,
}

/// Ticks since the machine started, over all its CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct CpuTime {
    busy: u64,
    all: u64,
}

impl Machine {
    pub(crate) fn new() -> Machine {
        Machine {
            utilization: gauge!(MetricName::CpuUtilization.as_str()),
            memory_total: gauge!(MetricName::CpuMemoryTotal.as_str()),
            memory_used: gauge!(MetricName::CpuMemoryUsed.as_str()),
            before: Mutex::new(read_cpu_time().unwrap_or_default()),
        }
    }

    /// Sets the gauges; utilization is over the time since the call before.
    pub(crate) fn update(&self) {
        if let Some(now) = read_cpu_time() {
            let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(share) = utilization(*before, now) {
                self.utilization.set(share);
                *before = now;
            }
        }
        if let Some((total, used)) =
            fs::read_to_string("/proc/meminfo").ok().and_then(|text| parse_memory(&text))
        {
            self.memory_total.set(total as f64);
            self.memory_used.set(used as f64);
        }
    }
}

fn read_cpu_time() -> Option<CpuTime> {
    parse_cpu_time(&fs::read_to_string("/proc/stat").ok()?)
}

/// From the first line: `cpu user nice system idle iowait irq softirq steal …`.
fn parse_cpu_time(text: &str) -> Option<CpuTime> {
    let ticks: Vec<u64> = text
        .lines()
        .next()?
        .strip_prefix("cpu ")?
        .split_whitespace()
        .take(8)
        .map(|field| field.parse().ok())
        .collect::<Option<_>>()?;
    let idle = ticks.get(3)?.saturating_add(*ticks.get(4)?);
    let all = ticks.iter().fold(0_u64, |sum, &n| sum.saturating_add(n));
    Some(CpuTime { busy: all.saturating_sub(idle), all })
}

/// `None` if no tick has passed.
fn utilization(before: CpuTime, now: CpuTime) -> Option<f64> {
    let all = now.all.checked_sub(before.all).filter(|&n| n > 0)?;
    Some((now.busy.saturating_sub(before.busy) as f64 / all as f64).min(1.0))
}

/// Bytes in all and bytes in use.
fn parse_memory(text: &str) -> Option<(u64, u64)> {
    let field = |name: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
    };
    let total = field("MemTotal:")?;
    Some((total, total.saturating_sub(field("MemAvailable:")?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utilization_is_the_busy_share_since_the_reading_before() {
        let before = parse_cpu_time("cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 1 1\n").unwrap();
        let now = parse_cpu_time("cpu  130 0 100 760 110 0 0 0 0 0\n").unwrap();
        assert_eq!(utilization(before, now), Some(0.3));
        assert_eq!(utilization(now, now), None);
    }

    #[test]
    fn memory_in_use_is_what_is_not_available() {
        let text = "MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:    400 kB\n";
        assert_eq!(parse_memory(text), Some((1_024_000, 614_400)));
        assert_eq!(parse_memory("MemTotal: 5 kB\n"), None);
    }
}
