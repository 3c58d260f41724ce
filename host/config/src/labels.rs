use std::{fs, io, path::Path};

use nacre_domain::{Error, Result};

/// The labels of a label file: one a line, in the order of the indices.
///
/// # Errors
/// Not found if there is no such file, invalid argument if it is no UTF-8 text, else internal; the file is named.
pub fn read_labels(file: &Path) -> Result<Vec<String>> {
    let path = file.display();
    let bytes = fs::read(file).map_err(|error| {
        let message = format!("label file {path} cannot be read: {error}");
        match error.kind() {
            io::ErrorKind::NotFound => Error::not_found(message),
            _ => Error::internal(message),
        }
    })?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
        let line = valid.iter().filter(|&&byte| byte == b'\n').count() + 1;
        Error::invalid_argument(format!("label file {path} is not valid UTF-8 in line {line}"))
    })?;
    Ok(text.lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use nacre_domain::ErrorCode;

    use super::*;

    #[test]
    fn reads_a_label_a_line_and_keeps_empty_ones() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("labels.txt");
        fs::write(&file, "tench\r\n\nmañana\n").unwrap();
        assert_eq!(read_labels(&file).unwrap(), ["tench", "", "mañana"]);
    }

    #[test]
    fn names_the_file_and_the_line_of_a_fault() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("labels.txt");
        let error = read_labels(&file).unwrap_err();
        assert_eq!(error.code(), ErrorCode::NotFound);
        assert!(error.message().contains("labels.txt cannot be read"), "{error}");
        fs::write(&file, b"tench\nbad \xff\n").unwrap();
        let error = read_labels(&file).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidArgument);
        assert!(error.message().ends_with("labels.txt is not valid UTF-8 in line 2"), "{error}");
    }
}
