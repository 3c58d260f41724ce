//! Metrics as a process has them: one recorder for all threads. One test, since a recorder can be installed only once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

use std::time::Duration;

use nacre_domain::ModelKey;
use nacre_telemetry::{ModelStatistics, RequestTiming, install_metrics, record_model_load};

#[test]
fn a_scrape_shows_models_of_every_thread_with_help_and_the_machine() {
    let metrics = install_metrics().unwrap();
    let key = ModelKey { name: "resnet".into(), version: 1 };
    record_model_load(&key, Duration::from_millis(1500));
    std::thread::spawn(move || {
        ModelStatistics::new(&key).record_success(1, Duration::from_millis(2), &RequestTiming::default());
    })
    .join()
    .unwrap();
    metrics.run_upkeep();
    let text = metrics.render();
    for line in [
        "# TYPE nv_inference_request_success counter",
        "nv_inference_request_success{model=\"resnet\",version=\"1\"} 1",
        "nv_model_load_duration_secs{model=\"resnet\",version=\"1\"} 1.5",
        "# TYPE nacre_request_duration_seconds histogram",
        "nacre_request_duration_seconds_bucket{model=\"resnet\",version=\"1\",le=\"0.0025\"} 1",
        "nv_inference_first_response_histogram_ms_bucket{model=\"resnet\",version=\"1\",le=\"100\"} 1",
    ] {
        assert!(text.lines().any(|l| l == line), "no line '{line}' in:\n{text}");
    }
    for line in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let name = line.split(' ').next().unwrap();
        assert!(text.contains(&format!("# HELP {name} ")), "{name} has no help");
    }
    let memory = text.lines().find_map(|line| line.strip_prefix("nv_cpu_memory_total_bytes ")).unwrap();
    assert!(memory.parse::<f64>().unwrap() > 1e6, "{memory}");
    assert!(install_metrics().is_err());
}
