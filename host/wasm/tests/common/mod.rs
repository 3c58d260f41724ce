//! Loads guests of tests/guests as models and calls them.
#![allow(dead_code, reason = "each test file uses its part")]

pub mod wat;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock},
};

use bytes::Bytes;
use nacre_backend::{Backend, ElementModel, ElementRequest, Execution, Executor, LoadedModel, ModelSource};
use nacre_domain::{DataType, Deadline, Error, ModelKey, Parameters, Tensor};
use nacre_wasm::{LoadReport, WasmBackend, WasmOptions};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// What every guest takes and gives.
pub const TENSORS: &str = r#"
    input { name: "IN" data_type: TYPE_UINT8 dims: [ -1 ] }
    output { name: "OUT" data_type: TYPE_UINT8 dims: [ -1 ] }
"#;

/// The component of a guest.
pub fn guest(name: &str) -> PathBuf {
    let folder = std::env::var_os("NACRE_TEST_GUESTS")
        .map(PathBuf::from)
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/guests/out"));
    let file = folder.join(format!("{name}.wasm"));
    assert!(
        file.exists(),
        "the guest '{name}' is not built: expected {}; run tests/guests/build.sh first, or set NACRE_TEST_GUESTS",
        file.display()
    );
    file
}

/// A parameter of config.pbtxt.
pub fn parameter(key: &str, value: &str) -> String {
    format!("parameters {{ key: \"{key}\" value {{ string_value: \"{value}\" }} }}\n")
}

/// A backend, a repository for it, and threads as the scheduler has them.
pub struct Server {
    pub backend: WasmBackend,
    pub repository: TempDir,
    pub runtime: Runtime,
}

impl Server {
    pub fn new() -> Server {
        Server::with(WasmOptions::default(), 2)
    }

    /// Compiles what is loaded once for all tests, which are many.
    pub fn cached() -> Server {
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plugins");
        Server::with(WasmOptions { cache: Some(cache), ..WasmOptions::default() }, 2)
    }

    pub fn with(options: WasmOptions, threads: usize) -> Server {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .enable_time()
            .build()
            .unwrap();
        Server {
            backend: WasmBackend::new(options).unwrap(),
            repository: tempfile::tempdir().unwrap(),
            runtime,
        }
    }

    /// The model's folder, with this content for its plugin.wasm.
    pub fn folder(&self, model: &str, component: &[u8]) -> PathBuf {
        let folder = self.repository.path().join(model);
        fs::create_dir_all(folder.join("1")).unwrap();
        fs::write(folder.join("1/plugin.wasm"), component).unwrap();
        folder
    }

    /// Loads a guest as the model of that name.
    pub fn load(&self, model: &str, guest_name: &str, config: &str) -> Result<LoadedModel, Error> {
        let component = fs::read(guest(guest_name)).unwrap();
        self.load_bytes(model, &component, config)
    }

    pub fn load_bytes(&self, model: &str, component: &[u8], config: &str) -> Result<LoadedModel, Error> {
        let directory = self.folder(model, component);
        self.backend.load(&source(model, directory, config))
    }

    /// Loads a guest with the usual tensors, and what the load has to tell.
    pub fn reported(&self, guest_name: &str, config: &str) -> (Arc<dyn ElementModel>, LoadReport) {
        let component = fs::read(guest(guest_name)).unwrap();
        let directory = self.folder(guest_name, &component);
        let source = source(guest_name, directory, &format!("{TENSORS}{config}"));
        let loaded = self.backend.load_with_report(&source);
        let (loaded, report) = loaded.unwrap_or_else(|error| panic!("{guest_name}: {error}"));
        (element_model(loaded), report)
    }

    /// A loaded guest with the usual tensors.
    pub fn model(&self, guest_name: &str, config: &str) -> Arc<dyn ElementModel> {
        let loaded = self.load(guest_name, guest_name, &format!("{TENSORS}{config}"));
        element_model(loaded.unwrap_or_else(|error| panic!("{guest_name}: {error}")))
    }

    /// The answer to one request.
    pub fn call(&self, model: &Arc<dyn ElementModel>, input: &[u8]) -> Result<Vec<u8>, Error> {
        self.execute(model, request(input)).map(|execution| execution.outputs[0].data.to_vec())
    }

    pub fn execute(
        &self,
        model: &Arc<dyn ElementModel>,
        request: ElementRequest,
    ) -> Result<Execution, Error> {
        let model = Arc::clone(model);
        self.runtime.block_on(self.runtime.spawn(async move { model.process(request).await })).unwrap()
    }
}

/// Version 1 of a model that lies in this folder.
pub fn source(model: &str, directory: PathBuf, config: &str) -> ModelSource {
    let config = format!("backend: \"wasm\"\n{config}");
    let parsed = nacre_config::parse(model, &directory.join("config.pbtxt"), &config)
        .unwrap_or_else(|diagnostics| panic!("{diagnostics:?}"));
    let version_directory = directory.join("1");
    ModelSource {
        config: Arc::new(parsed.config),
        key: ModelKey { name: model.into(), version: 1 },
        file: Some(version_directory.join("plugin.wasm")),
        version_directory,
        directory,
    }
}

pub fn element_model(loaded: LoadedModel) -> Arc<dyn ElementModel> {
    match loaded.executor {
        Executor::PerElement(model) => model,
        Executor::Batched(_) => panic!("a plugin takes elements"),
    }
}

/// A request with these bytes as IN.
pub fn request(input: &[u8]) -> ElementRequest {
    ElementRequest {
        id: "r-1".into(),
        parameters: Parameters::new(),
        inputs: vec![Tensor {
            name: "IN".into(),
            data_type: DataType::Uint8,
            shape: vec![input.len() as i64],
            data: Bytes::copy_from_slice(input),
        }],
        outputs: vec![],
        deadline: Deadline::NONE,
        models: None,
    }
}

/// The text of an error, whose code must be as expected.
pub fn message<T: std::fmt::Debug>(result: Result<T, Error>, code: nacre_domain::ErrorCode) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.code(), code, "{error}");
    error.message().to_owned()
}

/// The log of this process so far, collected from the first call on.
pub fn log() -> String {
    static LOG: OnceLock<Arc<Mutex<Vec<u8>>>> = OnceLock::new();
    let log = LOG.get_or_init(|| {
        let log = Arc::new(Mutex::new(Vec::new()));
        let writer = Collect(Arc::clone(&log));
        tracing_subscriber::fmt()
            .with_ansi(false)
            .with_max_level(tracing::Level::DEBUG)
            .with_writer(move || writer.clone())
            .init();
        log
    });
    String::from_utf8(log.lock().unwrap().clone()).unwrap()
}

#[derive(Clone)]
struct Collect(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Collect {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
