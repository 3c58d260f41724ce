//! NumPy's `.npy`: one array with its type and shape. Versions 1 to 3 are read, 1.0 is written.

mod read;
mod write;

pub use read::{Array, read};
pub use write::write;

const MAGIC: &[u8] = b"\x93NUMPY";

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use nacre_domain::{DataType, Tensor};

    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        for data_type in DataType::ALL.into_iter().filter(|t| *t != DataType::Bf16) {
            let data = match data_type.size() {
                Some(size) => Bytes::from(vec![1; size * 6]),
                None => {
                    Bytes::from_static(b"\x01\0\0\0a\0\0\0\0\x03\0\0\0b\0c\x01\0\0\0a\0\0\0\0\x03\0\0\0b\0c")
                }
            };
            let tensor = Tensor { name: "t".into(), data_type, shape: vec![2, 3], data: data.clone() };
            let bytes = write(&tensor).unwrap();
            let start = bytes.len() - if data_type == DataType::Bytes { 18 } else { data.len() };
            assert_eq!((start % 64, bytes[start - 1]), (0, b'\n'), "NumPy asks for alignment");
            assert_eq!(read(&bytes).unwrap(), Array { data_type, shape: vec![2, 3], data });
        }
    }

    #[test]
    fn a_header_as_numpy_writes_it() {
        let tensor = Tensor {
            name: "t".into(),
            data_type: DataType::Fp32,
            shape: vec![2],
            data: Bytes::from_static(&[0, 0, 128, 63, 0, 0, 0, 64]),
        };
        let bytes = write(&tensor).unwrap();
        assert_eq!(&bytes[..10], b"\x93NUMPY\x01\x00\x76\x00");
        assert!(bytes[10..].starts_with(b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }   "));
    }

    #[test]
    fn orders_are_brought_to_ours() {
        let header = "{'descr': '>u2', 'fortran_order': True, 'shape': (2, 3), }\n";
        // [[1, 2, 3], [4, 5, 6]] column by column, big endian.
        let array = read(&file(header, &[0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6])).unwrap();
        assert_eq!(array.data.as_ref(), [1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]);
    }

    #[test]
    fn strings_are_bytes() {
        let points: Vec<u8> =
            [0xfc_u32, 0x62, 0x63, 0].iter().flat_map(|point| point.to_le_bytes()).collect();
        let array =
            read(&file("{'descr': '<U2', 'fortran_order': False, 'shape': (2,), }", &points)).unwrap();
        assert_eq!(array.data_type, DataType::Bytes);
        assert_eq!(array.data.as_ref(), b"\x03\0\0\0\xc3\xbcb\x01\0\0\0c");
    }

    #[test]
    fn scalars_and_empty_arrays() {
        let scalar = read(&file("{'descr': '|u1', 'fortran_order': False, 'shape': (), }", &[7])).unwrap();
        assert_eq!((scalar.shape, scalar.data.as_ref()), (vec![], &[7_u8][..]));
        let empty = read(&file("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 4), }", &[])).unwrap();
        assert_eq!((empty.shape, empty.data.len()), (vec![0, 4], 0));
    }

    #[test]
    fn says_why_a_file_cannot_be_read() {
        let float = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
        for (bytes, expected) in [
            (b"PK\x03\x04".to_vec(), "no .npy file"),
            (file(float, &[0; 7]), "it is cut off: 2 elements of 4 bytes are 8, but 7 are there"),
            (file("{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }", &[0; 16]), "its type '<c8'"),
            (
                file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", &[]),
                "astype('float32')",
            ),
            (file("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", &[]), "negative"),
            (b"\x93NUMPY\x01\x00\xff\xff".to_vec(), "cut off in its header"),
            (b"\x93NUMPY\x09\x00\xff\xff".to_vec(), "format version is [9, 0]"),
        ] {
            let error = read(&bytes).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
