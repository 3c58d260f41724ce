use std::{cmp::Ordering, fmt::Display, num::NonZeroUsize};

use half::{bf16, f16};
use nacre_domain::{DataType, Error, Result, Tensor, concat_bytes_elements, element_count};

/// Replaces a tensor by its highest `classes` elements, each as BYTES `value:index[:label]`, as Triton's classification
/// extension does: one list of them for each row of a batch, shape `[batch,classes]`, else `[classes]`.
///
/// Values are written with six decimals if they are floats. Of equal values the lower index comes first; NaN comes last.
///
/// # Errors
/// Invalid argument if the tensor is BOOL or BYTES.
pub fn classify(tensor: &Tensor, classes: NonZeroUsize, batched: bool, labels: &[String]) -> Result<Tensor> {
    let batch = tensor.shape.first().copied().filter(|_| batched);
    let row_shape = tensor.shape.get(usize::from(batch.is_some())..).unwrap_or_default();
    let row = element_count(row_shape)?;
    let count = classes.get().min(row);
    let data = &tensor.data;
    let top = Top { row, count, labels };
    let elements = match tensor.data_type {
        DataType::Uint8 => top.of(data, u8::from_le_bytes, u8::cmp, plain),
        DataType::Uint16 => top.of(data, u16::from_le_bytes, u16::cmp, plain),
        DataType::Uint32 => top.of(data, u32::from_le_bytes, u32::cmp, plain),
        DataType::Uint64 => top.of(data, u64::from_le_bytes, u64::cmp, plain),
        DataType::Int8 => top.of(data, i8::from_le_bytes, i8::cmp, plain),
        DataType::Int16 => top.of(data, i16::from_le_bytes, i16::cmp, plain),
        DataType::Int32 => top.of(data, i32::from_le_bytes, i32::cmp, plain),
        DataType::Int64 => top.of(data, i64::from_le_bytes, i64::cmp, plain),
        DataType::Fp16 => top.of(data, |b| f16::from_le_bytes(b).to_f64(), nan_lowest, six_decimals),
        DataType::Bf16 => top.of(data, |b| bf16::from_le_bytes(b).to_f64(), nan_lowest, six_decimals),
        DataType::Fp32 => top.of(data, |b| f64::from(f32::from_le_bytes(b)), nan_lowest, six_decimals),
        DataType::Fp64 => top.of(data, f64::from_le_bytes, nan_lowest, six_decimals),
        DataType::Bool | DataType::Bytes => {
            return Err(Error::invalid_argument(format!(
                "output '{}' is {}, which has no classes; leave out its parameter 'classification'",
                tensor.name, tensor.data_type
            )));
        }
    };
    let mut shape: Vec<i64> = batch.into_iter().collect();
    shape.push(i64::try_from(count).unwrap_or(i64::MAX));
    Ok(Tensor {
        name: tensor.name.clone(),
        data_type: DataType::Bytes,
        shape,
        data: concat_bytes_elements(&elements),
    })
}

struct Top<'a> {
    row: usize,
    count: usize,
    labels: &'a [String],
}

impl Top<'_> {
    fn of<T: Copy, const N: usize>(
        &self,
        data: &[u8],
        from_bytes: impl Fn([u8; N]) -> T,
        compare: impl Fn(&T, &T) -> Ordering,
        write: impl Fn(T) -> String,
    ) -> Vec<String> {
        let values: Vec<T> = data.as_chunks::<N>().0.iter().map(|chunk| from_bytes(*chunk)).collect();
        let mut elements = Vec::new();
        for row in values.chunks(self.row.max(1)) {
            let mut ranked: Vec<(usize, T)> = row.iter().copied().enumerate().collect();
            let order = |a: &(usize, T), b: &(usize, T)| compare(&b.1, &a.1).then(a.0.cmp(&b.0));
            if self.count < ranked.len() {
                ranked.select_nth_unstable_by(self.count, order);
                ranked.truncate(self.count);
            }
            ranked.sort_unstable_by(order);
            elements.extend(ranked.into_iter().map(|(index, value)| {
                let mut text = format!("{}:{index}", write(value));
                if let Some(label) = self.labels.get(index) {
                    text.push(':');
                    text.push_str(label);
                }
                text
            }));
        }
        elements
    }
}

fn plain(value: impl Display) -> String {
    value.to_string()
}

fn six_decimals(value: f64) -> String {
    format!("{value:.6}")
}

fn nan_lowest(a: &f64, b: &f64) -> Ordering {
    a.partial_cmp(b).unwrap_or_else(|| b.is_nan().cmp(&a.is_nan()))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use nacre_domain::bytes_elements;

    use super::*;

    fn fp32(shape: &[i64], values: &[f32]) -> Tensor {
        let data: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Tensor { name: "p".into(), data_type: DataType::Fp32, shape: shape.into(), data: data.into() }
    }

    fn strings(tensor: &Tensor) -> Vec<String> {
        tensor.validate().unwrap();
        bytes_elements(&tensor.data).map(|e| String::from_utf8(e.unwrap().to_vec()).unwrap()).collect()
    }

    fn classes(count: usize) -> NonZeroUsize {
        NonZeroUsize::new(count).unwrap()
    }

    #[test]
    fn each_row_of_a_batch_is_ranked_by_itself() {
        let labels = ["cat".to_owned(), "dog".to_owned()];
        let top =
            classify(&fp32(&[2, 3], &[0.1, 0.7, 0.2, 3.0, 1.0, 2.0]), classes(2), true, &labels).unwrap();
        assert_eq!(top.shape, [2, 2]);
        assert_eq!(strings(&top), ["0.700000:1:dog", "0.200000:2", "3.000000:0:cat", "2.000000:2"]);
    }

    #[test]
    fn without_a_batch_dimension_the_whole_tensor_is_one_list() {
        let top = classify(&fp32(&[2, 2], &[1.0, 4.0, 4.0, f32::NAN]), classes(9), false, &[]).unwrap();
        assert_eq!(top.shape, [4]);
        assert_eq!(strings(&top), ["4.000000:1", "4.000000:2", "1.000000:0", "NaN:3"]);
    }

    #[test]
    fn integers_are_ranked_exactly() {
        let data: Vec<u8> = [u64::MAX - 1, u64::MAX].iter().flat_map(|v| v.to_le_bytes()).collect();
        let tensor =
            Tensor { name: "p".into(), data_type: DataType::Uint64, shape: vec![1, 2], data: data.into() };
        assert_eq!(strings(&classify(&tensor, classes(1), true, &[]).unwrap()), ["18446744073709551615:1"]);
    }

    #[test]
    fn an_empty_batch_has_no_classes_and_text_never_has() {
        let top = classify(&fp32(&[0, 3], &[]), classes(2), true, &[]).unwrap();
        assert_eq!((top.shape.as_slice(), top.data.len()), ([0, 2].as_slice(), 0));
        let text =
            Tensor { name: "p".into(), data_type: DataType::Bytes, shape: vec![0], data: Bytes::new() };
        assert!(
            classify(&text, classes(1), false, &[]).unwrap_err().message().contains("which has no classes")
        );
    }
}
