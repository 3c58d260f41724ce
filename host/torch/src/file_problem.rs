use std::{fs::File, io::Read, path::Path};

use nacre_domain::{Error, ErrorCode};

use crate::{module::archive_records, native_error::NativeError};

const WAY_OUT: &str = "save the model with torch.jit.trace or torch.jit.script and .save()";

/// Says what a file is that libtorch could not load, and what to do.
pub(crate) fn explain(file: &Path, error: NativeError) -> Error {
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
    match what_is_wrong(file, &error) {
        Some(problem) => Error::invalid_argument(format!("{name} {problem}")).with_source(error),
        None => error.into_error(ErrorCode::InvalidArgument, format!("{name} cannot be loaded")),
    }
}

/// A clause that goes on from the file's name; `None` if it looks like TorchScript.
fn what_is_wrong(file: &Path, error: &NativeError) -> Option<String> {
    let start = match read_start(file) {
        Ok(start) => start,
        Err(error) => return Some(format!("cannot be read: {error}")),
    };
    if start.is_empty() {
        return Some("is empty".to_owned());
    }
    if start.starts_with(b"version https://git-lfs") {
        return Some("is a pointer of Git LFS, not the model itself: run `git lfs pull`".to_owned());
    }
    if start.starts_with(b"PK\x03\x04") {
        return what_is_in(file, error);
    }
    if matches!(start.as_slice(), [0x80, 2..=5, ..]) {
        return Some(format!(
            "is a Python pickle, as torch.save writes for weights or modules, not a TorchScript model: {WAY_OUT}"
        ));
    }
    if std::str::from_utf8(&start).is_ok_and(|text| !text.contains('\0')) {
        return Some(format!("is a text file, not a TorchScript model: {WAY_OUT}"));
    }
    Some(format!("is not a TorchScript model (it does not begin as a zip archive does): {WAY_OUT}"))
}

/// The same for a zip archive.
fn what_is_in(file: &Path, error: &NativeError) -> Option<String> {
    let Ok(records) = archive_records(file) else {
        return Some(format!(
            "is cut off or damaged, or a zip archive that torch did not write: copy it again, or {WAY_OUT}"
        ));
    };
    let has = |name: &str| records.iter().any(|record| record == name);
    let begins = |prefix: &str| records.iter().any(|record| record.starts_with(prefix));
    if has("constants.pkl") && begins("code/") {
        // Optimising puts constants into the graph that saving leaves out.
        return error.summary().contains("required keyword attribute 'value' is undefined").then(|| {
            "was saved after torch.jit.optimize_for_inference, which loses its weights: save the model before that; \
             it is optimised while it is loaded"
                .to_owned()
        });
    }
    if has("archive_format") || has("serialized_exported_program.json") {
        return Some(format!(
            "is a program of torch.export (.pt2), which is not supported yet, not a TorchScript model: {WAY_OUT}"
        ));
    }
    if has("data.pkl") {
        return Some(format!(
            "holds what torch.save wrote, such as weights (a state_dict) or a pickled module, not a TorchScript model: \
             build the module in Python, load the weights, and {WAY_OUT}"
        ));
    }
    Some(format!("is a zip archive without a TorchScript model in it: {WAY_OUT}"))
}

/// The first bytes of a file; fewer if it has no more.
fn read_start(file: &Path) -> std::io::Result<Vec<u8>> {
    const ENOUGH: u64 = 256;
    let mut start = Vec::new();
    File::open(file)?.take(ENOUGH).read_to_end(&mut start)?;
    Ok(start)
}
