use std::collections::BTreeMap;

use nacre_domain::{DataType, ShapeDisplay, TensorSpec};
use nacre_proto::inference::{self as proto, model_input::Format};

use crate::{
    ModelInput, ModelOutput,
    backends::TENSORRT_PLAN,
    text::{element, join},
    validate::{Faults, file_name},
};

/// What inputs and outputs have in common.
struct Common<'a> {
    name: &'a str,
    data_type: proto::DataType,
    dims: &'a [i64],
    reshape: Option<&'a [i64]>,
    optional: bool,
    is_shape_tensor: bool,
    is_non_linear_format_io: bool,
}

pub(crate) fn inputs(message: &proto::ModelConfig, faults: &mut Faults) -> Vec<ModelInput> {
    let mut names = BTreeMap::new();
    let mut inputs = Vec::new();
    for (index, input) in message.input.iter().enumerate() {
        let path = element("input", index);
        let common = Common {
            name: &input.name,
            data_type: input.data_type(),
            dims: &input.dims,
            reshape: input.reshape.as_ref().map(|reshape| reshape.shape.as_slice()),
            optional: input.optional,
            is_shape_tensor: input.is_shape_tensor,
            is_non_linear_format_io: input.is_non_linear_format_io,
        };
        let spec = check(message, &path, &common, &mut names, faults);
        if input.format() != Format::None && input.dims.len() != 3 {
            let text = format!(
                "{} is the format of 3 dims, but dims is {}",
                input.format().as_str_name(),
                ShapeDisplay(&input.dims)
            );
            faults.add(join(&path, "format"), text);
        }
        let reshape = common.reshape.map(<[i64]>::to_vec);
        inputs.push(ModelInput { spec, reshape, allow_ragged_batch: input.allow_ragged_batch });
    }
    inputs
}

pub(crate) fn outputs(message: &proto::ModelConfig, faults: &mut Faults) -> Vec<ModelOutput> {
    let mut names = BTreeMap::new();
    let mut outputs = Vec::new();
    for (index, output) in message.output.iter().enumerate() {
        let path = element("output", index);
        let common = Common {
            name: &output.name,
            data_type: output.data_type(),
            dims: &output.dims,
            reshape: output.reshape.as_ref().map(|reshape| reshape.shape.as_slice()),
            optional: false,
            is_shape_tensor: output.is_shape_tensor,
            is_non_linear_format_io: output.is_non_linear_format_io,
        };
        let spec = check(message, &path, &common, &mut names, faults);
        let label_filename = file_name(&join(&path, "label_filename"), &output.label_filename, 0, faults);
        let reshape = common.reshape.map(<[i64]>::to_vec);
        outputs.push(ModelOutput { spec, reshape, label_filename });
    }
    outputs
}

fn check<'a>(
    message: &proto::ModelConfig,
    path: &str,
    tensor: &Common<'a>,
    names: &mut BTreeMap<&'a str, String>,
    faults: &mut Faults,
) -> TensorSpec {
    if tensor.name.is_empty() {
        faults.add(join(path, "name"), "the name is missing");
    } else if let Some(first) = names.get(tensor.name) {
        faults.add(join(path, "name"), format!("'{}' is the name of {first} already", tensor.name));
    } else {
        names.insert(tensor.name, path.to_owned());
    }
    let data_type = DataType::from_config_name(tensor.data_type.as_str_name()).unwrap_or_else(|| {
        faults.add(
            join(path, "data_type"),
            "the data type is missing; write, for example, data_type: TYPE_FP32",
        );
        DataType::Fp32
    });
    let dims_path = join(path, "dims");
    if tensor.dims.is_empty() {
        faults.add(
            &dims_path,
            "the dims are missing; write them without the batch dimension, and for a scalar dims: [1] with reshape \
             { shape: [] }",
        );
    }
    let dims_hold = check_dims(&dims_path, tensor.dims, faults);
    if let Some(shape) = tensor.reshape {
        let shape_path = format!("{path}.reshape.shape");
        if shape.is_empty() && message.max_batch_size == 0 {
            faults.add(&shape_path, "an empty shape needs a batch dimension, but max_batch_size is 0");
        } else if check_dims(&shape_path, shape, faults) && dims_hold && !tensor.dims.is_empty() {
            check_reshape(&shape_path, tensor.dims, shape, faults);
        }
    }
    for (field, is_set) in [
        ("is_shape_tensor", tensor.is_shape_tensor),
        ("is_non_linear_format_io", tensor.is_non_linear_format_io),
    ] {
        if is_set && message.platform != TENSORRT_PLAN {
            faults.add(join(path, field), "only platform 'tensorrt_plan' has such tensors; leave it out");
        }
    }
    TensorSpec {
        name: tensor.name.to_owned(),
        data_type,
        dims: tensor.dims.to_vec(),
        optional: tensor.optional,
    }
}

fn check_dims(path: &str, dims: &[i64], faults: &mut Faults) -> bool {
    let mut hold = true;
    for (index, &dim) in dims.iter().enumerate() {
        if dim < 1 && dim != -1 {
            hold = false;
            faults.add(
                element(path, index),
                format!("expected 1 or more, or -1 for a dim that varies, got {dim}"),
            );
        }
    }
    if hold && parts(dims).is_none() {
        hold = false;
        faults
            .add(path, format!("a tensor of shape {} has more elements than can exist", ShapeDisplay(dims)));
    }
    hold
}

/// A reshape moves elements only between dims that do not vary: `[2,4,-1,6]` to `[8,-1,1,6]`.
fn check_reshape(path: &str, dims: &[i64], shape: &[i64], faults: &mut Faults) {
    let (dims_parts, shape_parts) = (parts(dims), parts(shape));
    if dims_parts == shape_parts {
        return;
    }
    let (dims, shape) = (ShapeDisplay(dims), ShapeDisplay(shape));
    let varying = |parts: &Option<Vec<i64>>| parts.as_ref().map_or(0, |parts| parts.len().saturating_sub(1));
    let (of_dims, of_shape) = (varying(&dims_parts), varying(&shape_parts));
    let text = if of_dims != of_shape {
        format!(
            "expected as many -1 as the dims {dims} have, {of_dims}, but the shape {shape} has {of_shape}"
        )
    } else if of_dims == 0 {
        let count =
            |parts: Option<Vec<i64>>| parts.and_then(|parts| parts.first().copied()).unwrap_or_default();
        let (of_dims, of_shape) = (count(dims_parts), count(shape_parts));
        format!(
            "expected as many elements as the dims {dims} have, {of_dims}, but the shape {shape} has {of_shape}"
        )
    } else {
        format!(
            "expected as many elements between the -1 as the dims {dims} have, but the shape {shape} has others"
        )
    };
    faults.add(path, text);
}

/// Element counts before, between and behind the dims that vary; `None` if one does not fit.
fn parts(dims: &[i64]) -> Option<Vec<i64>> {
    dims.split(|&dim| dim == -1)
        .map(|part| part.iter().try_fold(1_i64, |count, &dim| count.checked_mul(dim)))
        .collect()
}
