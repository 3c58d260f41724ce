//! Answers with what is not true, in the way that the parameter `lie` of config.pbtxt says.
use std::sync::OnceLock;

use nacre_guests::{DataType, ErrorCode, answer, error, guest, parameter};

static LIE: OnceLock<String> = OnceLock::new();

guest!(
    |_| {
        let mut response = answer(vec![1, 2, 3, 4]);
        let outputs = &mut response.outputs;
        match LIE.get().map_or("", String::as_str) {
            "dtype" => outputs[0].data_type = DataType::Fp32,
            "rank" => outputs[0].shape = vec![2, 2],
            "size" => outputs[0].shape = vec![5],
            "negative" => outputs[0].shape = vec![-1],
            "overflow" => outputs[0].shape = vec![i64::MAX],
            "name" => outputs[0].name = "OTHER".into(),
            "twice" => outputs.push(outputs[0].clone()),
            "missing" => outputs.clear(),
            // Says that 2 GiB follow where there are 4 bytes.
            "length" => {
                let data = std::mem::take(&mut outputs[0].data).leak();
                // SAFETY: not sound at all; what the host makes of it is what is tested.
                outputs[0].data = unsafe { Vec::from_raw_parts(data.as_mut_ptr(), 2 << 30, 2 << 30) };
            }
            _ => return Err(error(ErrorCode::InvalidArgument, "no such lie")),
        }
        Ok(response)
    },
    |settings| {
        let _ = LIE.set(parameter(&settings, "lie"));
        Ok(())
    }
);
