use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use nacre_backend::{Backend, BatchedModel, Execution, Executor, Instance, LoadedModel, ModelSource};
use nacre_domain::{DataType, ModelKey, Result, Tensor, concat_bytes_elements};
use nacre_torch::{TorchBackend, TorchOptions};

/// Folder of the models that tests/python/make_test_models.py writes.
pub fn models() -> PathBuf {
    let folder = std::env::var_os("NACRE_TEST_MODELS")
        .map(PathBuf::from)
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.setup/test-models"));
    assert!(
        folder.join("identity.pt").is_file(),
        "there are no test models in {}: run `make setup`, or set NACRE_TEST_MODELS",
        folder.display()
    );
    folder
}

/// Loads a test model with the lines of a config.pbtxt.
pub fn load_with(options: TorchOptions, file: &str, lines: &str) -> Result<LoadedModel> {
    let backend = TorchBackend::new(options)?;
    let text = format!("backend: \"pytorch\"\n{lines}");
    let parsed = nacre_config::parse("m", Path::new("m/config.pbtxt"), &text).expect("a legal configuration");
    backend.load(&ModelSource {
        config: Arc::new(parsed.config),
        key: ModelKey { name: "m".to_owned(), version: 1 },
        directory: models(),
        version_directory: models(),
        file: Some(models().join(file)),
    })
}

/// Loads a test model with the lines of a config.pbtxt.
pub fn load(file: &str, lines: &str) -> Result<LoadedModel> {
    load_with(TorchOptions::default(), file, lines)
}

/// Why a test model does not load.
pub fn load_error(file: &str, lines: &str) -> String {
    load(file, lines).err().expect("the model was expected not to load").message().to_owned()
}

/// The model behind.
pub fn batched(model: &LoadedModel) -> Arc<dyn BatchedModel> {
    match &model.executor {
        Executor::Batched(model) => model.clone(),
        Executor::PerElement(_) => panic!("expected a model that takes batches"),
    }
}

/// The first instance of a model.
pub fn instance(model: &LoadedModel) -> Box<dyn Instance> {
    let model = batched(model);
    model.instantiate(&model.placements()[0]).unwrap()
}

/// Loads a model and runs it once.
pub fn run(file: &str, lines: &str, inputs: Vec<Tensor>) -> Result<Vec<Tensor>> {
    let model = load(file, lines).unwrap();
    instance(&model).execute(inputs).map(|execution: Execution| execution.outputs)
}

/// Why a run of a model fails.
pub fn run_error(file: &str, lines: &str, inputs: Vec<Tensor>) -> String {
    run(file, lines, inputs).expect_err("the run was expected to fail").message().to_owned()
}

/// A line for one input or output.
pub fn tensor_line(role: &str, name: &str, data_type: &str, dims: &str) -> String {
    format!("{role} {{ name: \"{name}\" data_type: {data_type} dims: [ {dims} ] }}\n")
}

/// Lines for a model with one input `x` and one output `y`, FP32, of the same dims.
pub fn one_to_one(dims: &str) -> String {
    tensor_line("input", "x", "TYPE_FP32", dims) + &tensor_line("output", "y", "TYPE_FP32", dims)
}

pub fn tensor(name: &str, data_type: DataType, shape: &[i64], data: impl Into<Bytes>) -> Tensor {
    Tensor { name: name.to_owned(), data_type, shape: shape.to_vec(), data: data.into() }
}

pub fn floats(name: &str, shape: &[i64], values: &[f32]) -> Tensor {
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    tensor(name, DataType::Fp32, shape, data)
}

pub fn texts(name: &str, shape: &[i64], elements: &[&[u8]]) -> Tensor {
    tensor(name, DataType::Bytes, shape, concat_bytes_elements(elements))
}

/// The elements of an FP32 tensor.
pub fn values(tensor: &Tensor) -> Vec<f32> {
    assert_eq!(tensor.data_type, DataType::Fp32);
    tensor.data.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

#[track_caller]
pub fn assert_contains(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "expected \"{part}\" in: {message}");
    }
}

/// Lines for linear.pt.
pub fn linear_lines() -> String {
    "max_batch_size: 8\n".to_owned()
        + &tensor_line("input", "input", "TYPE_FP32", "3")
        + &tensor_line("output", "y", "TYPE_FP32", "2")
}

/// Lines for convolution.pt and its kind.
pub fn convolution_lines(settings: &str) -> String {
    format!("max_batch_size: 8\n{settings}\n")
        + &tensor_line("input", "image", "TYPE_FP32", "1, -1, -1")
        + &tensor_line("output", "features", "TYPE_FP32", "4")
}
