//! From files to what is served: which models and versions are there, and why others are not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

mod common;

use std::{
    io,
    os::unix::{fs::symlink, net::UnixListener},
    sync::{Arc, Mutex},
};

use common::{Repository, fp32, request, values};
use nacre_domain::ErrorCode;
use nacre_engine::{Engine, EngineOptions, ModelState};

#[tokio::test]
async fn one_broken_model_costs_the_others_nothing() {
    let repository = Repository::new();
    repository
        .step("good", 0, &["x FP32 [1]"], &["y FP32 [1]"])
        .behaving("broken", "broken", 0, &["x FP32 [1]"], &["y FP32 [1]"])
        .behaving("panicking", "panicking", 0, &["x FP32 [1]"], &["y FP32 [1]"])
        .model("illegible", "backend: \"test\" max_batch_sise: 3")
        .model("torch", "backend: \"pytorch\"")
        .model("torch2", "platform: \"pytorch_libtorch\"")
        .file("torch2/1/other.pt", "");
    symlink("/nowhere/at/all", repository.path().join("dangling")).unwrap();
    let tensors = "input { name: \"x\" data_type: TYPE_FP32 dims: 1 } output { name: \"y\" data_type: TYPE_FP32 dims: 1 }";
    repository.model("socket", &format!("backend: \"pytorch\" {tensors}")).file("socket/1/other", "");
    repository.file("socket2/1/other", "");
    let _sockets = ["socket/1/model.pt", "socket2/config.pbtxt"]
        .map(|file| UnixListener::bind(repository.path().join(file)).unwrap());
    let served = repository.serve().await;
    assert!(served.is_ready());
    assert!(served.infer(request("good", vec![fp32("x", &[1], &[1.0])])).await.is_ok());
    for (name, parts) in [
        ("broken", &["the file is broken"][..]),
        ("panicking", &["panicked", "the loader fell over"]),
        ("illegible", &["illegible/config.pbtxt:1:", "max_batch_sise"]),
        ("torch", &["no version folder", "torch/1/model.pt"]),
        ("torch2", &["there is no ", "torch2/1/model.pt", "default_model_filename"]),
        ("dangling", &["the link", "/nowhere/at/all"]),
        ("socket", &["socket/1/model.pt is not a regular file"]),
        ("socket2", &["socket2/config.pbtxt is not a regular file"]),
    ] {
        let reason = served.reason(name);
        for part in parts {
            assert!(reason.contains(part), "{name}: {reason}");
        }
        assert!(!served.model_is_ready(name, None));
        assert_eq!(served.model(name, None).unwrap_err().code(), ErrorCode::Unavailable);
    }
}

#[tokio::test]
async fn a_backend_that_is_not_here_is_named_with_the_way_out() {
    let repository = Repository::new();
    let tensors = "input { name: \"x\" data_type: TYPE_FP32 dims: 1 } output { name: \"y\" data_type: TYPE_FP32 dims: 1 }";
    repository
        .model("scripted", &format!("backend: \"python\" {tensors}"))
        .file("scripted/1/model.py", "")
        .model("exported", &format!("platform: \"onnxruntime_onnx\" {tensors}"))
        .file("exported/1/model.onnx", "")
        .model("engine", &format!("platform: \"tensorrt_plan\" {tensors}"))
        .file("engine/1/model.plan", "");
    let served = repository.serve().await;
    for (name, backend) in [("scripted", "python"), ("exported", "onnxruntime"), ("engine", "tensorrt")] {
        let reason = served.reason(name);
        assert!(reason.starts_with(&format!("backend '{backend}' is not part of this server")), "{reason}");
        assert!(reason.contains("'test', 'pytorch', 'wasm', 'ensemble'"), "{reason}");
        assert!(reason.contains("plugin (backend: \"wasm\")"), "{reason}");
    }
}

#[tokio::test]
async fn a_model_without_config_is_served_if_its_file_says_whose_it_is() {
    let repository = Repository::new();
    repository
        .file("guessed/1/model.pt", "")
        .file("plug/3/plugin.wasm", "")
        .file("both/1/model.pt", "")
        .file("both/1/plugin.wasm", "")
        .file("neither/1/weights.bin", "");
    let served = repository.serve().await;
    let view = served.model("guessed", None).unwrap();
    assert_eq!((view.config.backend.as_str(), view.config.inputs[0].spec.name.as_str()), ("pytorch", "x"));
    let view = served.model("plug", None).unwrap();
    assert_eq!((view.config.backend.as_str(), view.key.version), ("wasm", 3));
    let reason = served.reason("both");
    assert!(
        reason.contains("cannot be guessed") && reason.contains("model.pt (pytorch), plugin.wasm (wasm)"),
        "{reason}"
    );
    let reason = served.reason("neither");
    assert!(reason.contains("cannot be guessed") && reason.contains("no version folder of"), "{reason}");
}

#[tokio::test]
async fn a_config_that_names_no_backend_takes_the_one_whose_file_is_there() {
    let repository = Repository::new();
    repository.model("m", "max_batch_size: 8").file("m/1/model.pt", "");
    let served = repository.serve().await;
    let view = served.model("m", None).unwrap();
    assert_eq!((view.config.backend.as_str(), view.config.max_batch_size), ("pytorch", 8));
}

#[tokio::test]
async fn the_version_policy_chooses_and_reports_what_is_missing() {
    let model = |policy: &str| {
        format!(
            "backend: \"test\" {policy} input {{ name: \"x\" data_type: TYPE_FP32 dims: 1 }} \
             output {{ name: \"y\" data_type: TYPE_FP32 dims: 1 }}"
        )
    };
    let repository = Repository::new();
    for (name, policy) in [
        ("default", ""),
        ("latest", "version_policy { latest { num_versions: 2 } }"),
        ("all", "version_policy { all {} }"),
        ("specific", "version_policy { specific { versions: [1, 9] } }"),
    ] {
        repository.model(name, &model(policy));
        for version in ["1", "2", "10", "01"] {
            repository.file(&format!("{name}/{version}/keep"), "");
        }
    }
    let served = repository.serve().await;
    for (name, versions) in
        [("default", &[10][..]), ("latest", &[2, 10]), ("all", &[1, 2, 10]), ("specific", &[1])]
    {
        let view = served.model(name, None).unwrap();
        assert_eq!(view.versions, versions, "{name}");
        assert_eq!(Some(&view.key.version), versions.last(), "{name}");
    }
    let index = served.index();
    let missing: Vec<_> = index.iter().filter(|entry| entry.state == ModelState::Unavailable).collect();
    assert_eq!(missing.len(), 1);
    assert_eq!((missing[0].name.as_str(), missing[0].version), ("specific", Some(9)));
    assert!(missing[0].reason.starts_with("version_policy names version 9, but there is no folder "));
    let error = served.model("specific", Some(9)).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Unavailable);
}

#[tokio::test]
async fn requests_reach_the_version_they_ask_for() {
    let repository = Repository::new();
    repository.model(
        "m",
        "backend: \"test\" version_policy { all {} } input { name: \"x\" data_type: TYPE_FP32 dims: 1 } \
         output { name: \"y\" data_type: TYPE_FP32 dims: 1 }",
    );
    repository.file("m/1/keep", "").file("m/2/keep", "");
    let served = repository.serve().await;
    for (version, answered) in [(None, 2), (Some(1), 1), (Some(2), 2)] {
        let mut request = request("m", vec![fp32("x", &[1], &[1.5])]);
        request.version = version;
        let response = served.infer(request).await.unwrap();
        assert_eq!(response.model.version, answered);
        assert_eq!(values(&response.outputs[0]), [1.5]);
    }
    let counts: Vec<_> = served
        .statistics(Some("m"), None)
        .unwrap()
        .into_iter()
        .map(|(key, report)| (key.version, report.success.count))
        .collect();
    assert_eq!(counts, [(1, 1), (2, 2)]);
}

#[tokio::test]
async fn labels_come_with_the_view_and_their_absence_is_no_obstacle() {
    let repository = Repository::new();
    repository
        .step(
            "m",
            0,
            &["x FP32 [2]"],
            &["y FP32 [2] label_filename:\"labels.txt\"", "z FP32 [2] label_filename:\"gone.txt\""],
        )
        .file("m/labels.txt", "cat\nEgyptian cat\n");
    let served = repository.serve().await;
    let labels = served.model("m", None).unwrap().labels;
    assert_eq!(labels.keys().collect::<Vec<_>>(), ["y"]);
    assert_eq!(*labels["y"], ["cat".to_owned(), "Egyptian cat".to_owned()]);
}

#[tokio::test]
async fn an_ensemble_has_the_labels_of_its_steps_unless_it_names_its_own() {
    let repository = Repository::new();
    let step = ["m | x=in | y=out"];
    repository
        .step("m", 0, &["x FP32 [2]"], &["y FP32 [2] label_filename:\"labels.txt\""])
        .file("m/labels.txt", "cat\ndog\n")
        .ensemble("silent", 0, &["in FP32 [2]"], &["out FP32 [2]"], &step)
        .ensemble("own", 0, &["in FP32 [2]"], &["out FP32 [2] label_filename:\"names.txt\""], &step)
        .file("own/names.txt", "Katze\nHund\n");
    let served = repository.serve().await;
    for (name, labels) in [("silent", ["cat", "dog"]), ("own", ["Katze", "Hund"])] {
        assert_eq!(*served.model(name, None).unwrap().labels["out"], labels.map(str::to_owned), "{name}");
    }
}

#[tokio::test]
async fn the_index_lists_everything_in_order() {
    let repository = Repository::new();
    repository
        .step("b", 0, &["x FP32 [1]"], &["y FP32 [1]"])
        .behaving("a", "broken", 0, &["x FP32 [1]"], &["y FP32 [1]"])
        .file("c/1/unknown", "");
    let served = repository.serve().await;
    let index: Vec<_> = served
        .index()
        .into_iter()
        .map(|e| (e.name, e.version, e.state.name(), e.reason.is_empty()))
        .collect();
    assert_eq!(
        index,
        [
            ("a".into(), Some(1), "UNAVAILABLE", false),
            ("b".into(), Some(1), "READY", true),
            ("c".into(), None, "UNAVAILABLE", false)
        ]
    );
}

#[tokio::test]
async fn strict_readiness_takes_every_model() {
    let repository = Repository::new();
    repository.model("broken", "backend: \"python\"");
    for strict_readiness in [false, true] {
        let options = EngineOptions {
            repositories: vec![repository.path().to_owned()],
            plugin_threads: 1,
            load_threads: 1,
            strict_readiness,
        };
        let engine = Engine::new(options, Vec::new()).unwrap();
        engine.load_all().await;
        assert_eq!(engine.is_ready(), !strict_readiness);
    }
}

#[test]
fn a_missing_repository_stops_the_start() {
    let options = EngineOptions {
        repositories: vec!["/nowhere/at/all".into()],
        plugin_threads: 1,
        load_threads: 1,
        strict_readiness: false,
    };
    let error = Engine::new(options, Vec::new()).err().unwrap();
    assert_eq!(error.message(), "model repository /nowhere/at/all does not exist");
}

#[tokio::test]
async fn a_model_that_lost_its_last_instance_is_no_longer_ready() {
    let repository = Repository::new();
    repository.behaving("m", "dying", 0, &["x FP32 [1]"], &["y FP32 [1]"]).ensemble(
        "whole",
        0,
        &["in FP32 [1]"],
        &["out FP32 [1]"],
        &["m | x=in | y=out"],
    );
    let served = repository.serve().await;
    assert!(served.model_is_ready("m", None) && served.model_is_ready("whole", None));
    // The execution panics, and so does the attempt to make the instance anew.
    let error = served.infer(request("m", vec![fp32("x", &[1], &[1.0])])).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Internal);
    // The next request is refused once the loss is known; until then it waits in the queue.
    let error = served.infer(request("m", vec![fp32("x", &[1], &[1.0])])).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Unavailable);
    assert!(!served.model_is_ready("m", None) && !served.model_is_ready("whole", None));
    assert!(served.reason("whole").starts_with("step 0 'm': "), "{}", served.reason("whole"));
    assert!(served.index().iter().all(|entry| entry.state == ModelState::Unavailable));
}

/// Loads the repository and gives the log of it, warnings and worse.
async fn log_of_loading(repository: &Repository) -> String {
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);
    impl io::Write for Log {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(text)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_max_level(tracing::Level::WARN)
        .with_writer(move || writer.clone())
        .finish();
    // What blocking threads log goes elsewhere; the lifecycle itself runs on this one.
    let _guard = tracing::subscriber::set_default(subscriber);
    repository.serve().await;
    let text = log.0.lock().unwrap().clone();
    String::from_utf8(text).unwrap()
}

#[tokio::test]
async fn each_reason_is_in_the_log() {
    let repository = Repository::new();
    repository.behaving("m", "broken", 0, &["x FP32 [1]"], &["y FP32 [1]"]);
    let log = log_of_loading(&repository).await;
    assert_eq!(log.lines().count(), 1, "{log}");
    assert!(log.contains("model is unavailable") && log.contains("the file is broken"), "{log}");
}

#[tokio::test]
async fn tensors_of_an_ensemble_that_nobody_reads_are_warned_about() {
    let repository = Repository::new();
    repository
        .step("m", 0, &["x FP32 [1]"], &["y FP32 [1]", "z FP32 [1]"])
        .step("n", 0, &["x FP32 [1]"], &["y FP32 [1]", "z FP32 [1]"])
        .ensemble(
            "whole",
            0,
            &["in FP32 [1]", "spare FP32 [1]"],
            &["out FP32 [1]"],
            // An output that is not mapped is nobody's concern.
            &["m | x=in | y=t z=idle", "n | x=t | y=out"],
        );
    let log = log_of_loading(&repository).await;
    assert_eq!(log.lines().count(), 2, "{log}");
    assert!(log.contains("the ensemble's input 'spare' is read by no step"), "{log}");
    assert!(
        log.contains(
            "tensor 'idle' (output 'z' of step 0 'm') is read by no step and is no output of the ensemble"
        ),
        "{log}"
    );
}
