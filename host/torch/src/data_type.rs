use nacre_domain::DataType;

/// Number of the data type in libtorch (`c10::ScalarType`); `None` for BYTES and for those that TorchScript's
/// operators do not have.
pub(crate) fn to_scalar_type(data_type: DataType) -> Option<i32> {
    Some(match data_type {
        DataType::Uint8 => 0,
        DataType::Int8 => 1,
        DataType::Int16 => 2,
        DataType::Int32 => 3,
        DataType::Int64 => 4,
        DataType::Fp16 => 5,
        DataType::Fp32 => 6,
        DataType::Fp64 => 7,
        DataType::Bool => 11,
        DataType::Bf16 => 15,
        DataType::Uint16 | DataType::Uint32 | DataType::Uint64 | DataType::Bytes => return None,
    })
}

/// The data type of libtorch's number; `None` for those that the protocol does not have, such as complex numbers.
pub(crate) fn from_scalar_type(scalar_type: i32) -> Option<DataType> {
    DataType::ALL.into_iter().find(|&data_type| to_scalar_type(data_type) == Some(scalar_type))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_libtorch() {
        use tch::{Device, Kind, Tensor};
        let number = |kind| {
            let tensor = Tensor::empty([0], (kind, Device::Cpu));
            // SAFETY: the tensor lives.
            unsafe { torch_sys::at_scalar_type(tensor.as_ptr().cast_mut()) }
        };
        for (data_type, kind) in [
            (DataType::Uint8, Kind::Uint8),
            (DataType::Int8, Kind::Int8),
            (DataType::Int16, Kind::Int16),
            (DataType::Int32, Kind::Int),
            (DataType::Int64, Kind::Int64),
            (DataType::Fp16, Kind::Half),
            (DataType::Fp32, Kind::Float),
            (DataType::Fp64, Kind::Double),
            (DataType::Bool, Kind::Bool),
            (DataType::Bf16, Kind::BFloat16),
        ] {
            assert_eq!(to_scalar_type(data_type), Some(number(kind)), "{data_type}");
            assert_eq!(from_scalar_type(number(kind)), Some(data_type));
        }
        assert_eq!(from_scalar_type(number(Kind::ComplexFloat)), None);
    }
}
