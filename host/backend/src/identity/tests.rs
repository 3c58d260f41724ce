use std::{collections::BTreeMap, path::PathBuf, thread, time::Instant};

use bytes::Bytes;
use nacre_config::{InstanceGroup, InstanceKind, ModelInput, ModelOutput};
use nacre_domain::{DataType, ErrorCode, ModelKey};

use super::*;

fn spec(name: &str, data_type: DataType, dims: &[i64]) -> TensorSpec {
    TensorSpec { name: name.into(), data_type, dims: dims.into(), optional: false }
}

fn config(inputs: &[TensorSpec], outputs: &[TensorSpec]) -> ModelConfig {
    let mut config = nacre_config::without_file("echo", "identity");
    config.inputs = inputs
        .iter()
        .map(|spec| ModelInput { spec: spec.clone(), reshape: None, allow_ragged_batch: false })
        .collect();
    config.outputs = outputs
        .iter()
        .map(|spec| ModelOutput { spec: spec.clone(), reshape: None, label_filename: None })
        .collect();
    config
}

fn load(config: ModelConfig) -> Result<Arc<dyn BatchedModel>> {
    let source = ModelSource {
        config: Arc::new(config),
        key: ModelKey { name: "echo".into(), version: 1 },
        directory: PathBuf::new(),
        version_directory: PathBuf::new(),
        file: None,
    };
    match IdentityBackend.load(&source)?.executor {
        Executor::Batched(model) => Ok(model),
        Executor::PerElement(_) => panic!("identity takes batches"),
    }
}

fn instance(model: &dyn BatchedModel) -> Box<dyn Instance> {
    model.instantiate(&model.placements()[0]).unwrap()
}

fn tensor(name: &str, data_type: DataType, data: &'static [u8]) -> Tensor {
    Tensor { name: name.into(), data_type, shape: vec![1], data: Bytes::from_static(data) }
}

#[test]
fn every_data_type_comes_back_as_the_same_bytes() {
    for data_type in DataType::ALL {
        let model =
            load(config(&[spec("INPUT0", data_type, &[1])], &[spec("OUTPUT0", data_type, &[1])])).unwrap();
        let input = tensor("INPUT0", data_type, &[7; 8]);
        let data = input.data.as_ptr();
        let outputs = instance(&*model).execute(vec![input]).unwrap().outputs;
        assert_eq!((outputs[0].name.as_str(), outputs[0].data_type), ("OUTPUT0", data_type));
        assert_eq!(outputs[0].data.as_ptr(), data, "{data_type} was copied");
    }
}

#[test]
fn outputs_find_their_inputs_by_number_and_follow_the_order_of_the_configuration() {
    let fp32 = |name| spec(name, DataType::Fp32, &[1]);
    let model = load(config(&[fp32("INPUT0"), fp32("INPUT1")], &[fp32("OUTPUT1"), fp32("OUTPUT0")])).unwrap();
    let inputs = vec![tensor("INPUT0", DataType::Fp32, b"zero"), tensor("INPUT1", DataType::Fp32, b"one.")];
    let outputs = instance(&*model).execute(inputs).unwrap().outputs;
    let got: Vec<_> = outputs.iter().map(|t| (t.name.as_str(), &t.data[..])).collect();
    assert_eq!(got, [("OUTPUT1", b"one.".as_slice()), ("OUTPUT0", b"zero")]);
}

#[test]
fn names_without_number_pair_by_order() {
    let model = load(config(&[spec("in", DataType::Int8, &[-1])], &[spec("out", DataType::Int8, &[-1])]));
    let outputs =
        instance(&*model.unwrap()).execute(vec![tensor("in", DataType::Int8, b"x")]).unwrap().outputs;
    assert_eq!(outputs[0].name, "out");
}

#[test]
fn an_optional_input_left_out_leaves_its_output_out() {
    let fp32 = |name| spec(name, DataType::Fp32, &[1]);
    let model = load(config(&[fp32("INPUT0"), fp32("INPUT1")], &[fp32("OUTPUT0"), fp32("OUTPUT1")])).unwrap();
    let outputs = instance(&*model).execute(vec![tensor("INPUT1", DataType::Fp32, b"one.")]).unwrap().outputs;
    assert_eq!(outputs.iter().map(|t| t.name.as_str()).collect::<Vec<_>>(), ["OUTPUT1"]);
}

#[test]
fn a_configuration_that_cannot_be_given_back_is_refused_by_name() {
    let fp32 = |name| spec(name, DataType::Fp32, &[1]);
    for (inputs, outputs, says) in [
        (vec![], vec![], "takes both from config.pbtxt"),
        (vec![fp32("INPUT0")], vec![fp32("OUTPUT1")], "output 'OUTPUT1' has no input"),
        (
            vec![fp32("INPUT0")],
            vec![spec("OUTPUT0", DataType::Int8, &[1])],
            "'INPUT0' (TYPE_FP32, [1]) back as output 'OUTPUT0' (TYPE_INT8, [1])",
        ),
        (vec![fp32("INPUT0")], vec![spec("OUTPUT0", DataType::Fp32, &[2])], "(TYPE_FP32, [2])"),
    ] {
        let error = load(config(&inputs, &outputs)).err().unwrap();
        assert_eq!(error.code(), ErrorCode::InvalidArgument);
        assert!(error.message().contains(says) && error.message().contains("'echo'"), "{error}");
    }
    let mut delayed = config(&[fp32("INPUT0")], &[fp32("OUTPUT0")]);
    delayed.parameters = BTreeMap::from([("execute_delay_ms".into(), "soon".into())]);
    let error = load(delayed).err().unwrap();
    assert!(error.message().contains("parameters.execute_delay_ms is 'soon'"), "{error}");
}

#[test]
fn there_are_as_many_instances_as_the_groups_ask_for() {
    let group = |kind, count| InstanceGroup { kind, count, gpus: vec![] };
    let mut config =
        config(&[spec("INPUT0", DataType::Fp32, &[1])], &[spec("OUTPUT0", DataType::Fp32, &[1])]);
    assert_eq!(load(config.clone()).unwrap().placements().len(), 1);
    config.instance_groups = vec![group(InstanceKind::Cpu, Some(2)), group(InstanceKind::Auto, None)];
    let names: Vec<_> = load(config).unwrap().placements().into_iter().map(|p| p.name).collect();
    assert_eq!(names, ["cpu-0", "cpu-1", "cpu-2"]);
}

#[test]
fn the_delay_delays_and_ends_when_the_model_is_stopped() {
    let mut config =
        config(&[spec("INPUT0", DataType::Fp32, &[1])], &[spec("OUTPUT0", DataType::Fp32, &[1])]);
    config.parameters = BTreeMap::from([("execute_delay_ms".into(), "20".into())]);
    let start = Instant::now();
    instance(&*load(config.clone()).unwrap()).execute(vec![]).unwrap();
    assert!(start.elapsed() >= Duration::from_millis(20));

    // An hour: the test ends only because the delay does.
    config.parameters = BTreeMap::from([("execute_delay_ms".into(), "3600000".into())]);
    let model = load(config).unwrap();
    let running = thread::spawn({
        let model = Arc::clone(&model);
        move || instance(&*model).execute(vec![]).unwrap_err().code()
    });
    model.interrupt();
    assert_eq!(running.join().unwrap(), ErrorCode::Unavailable);
}
