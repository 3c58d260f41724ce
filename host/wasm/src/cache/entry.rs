//! An entry: the image, a header behind it, their sizes, a keyed digest of all that. The image comes first, since it is
//! mapped from the file's start.

use std::{
    fs::{self, File},
    io::{Read, Seek, SeekFrom},
    os::fd::AsRawFd,
    path::Path,
};

use serde::{Deserialize, Serialize};
use wasmtime::{Engine, component::Component};

use super::folder;
use crate::{files::SeenFile, report::LoadReport};

pub(super) const EXTENSION: &str = "image";

const DIGEST: u64 = blake3::OUT_LEN as u64;
/// The header's size as 8 little-endian bytes, then the digest.
const TRAILER: u64 = 8 + DIGEST;
/// Most bytes of a header.
const MOST_HEADER: u64 = 64 << 20;

#[derive(Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) key: String,
    pub(super) files: Vec<SeenFile>,
    pub(super) report: LoadReport,
}

pub(super) fn size(image: &[u8], header: &Header) -> Result<u64, String> {
    Ok(image.len() as u64 + encode(header)?.len() as u64 + TRAILER)
}

fn encode(header: &Header) -> Result<Vec<u8>, String> {
    serde_json::to_vec(header).map_err(|e| e.to_string())
}

/// Writes an entry beside the others and puts it into its place.
pub(super) fn write(
    folder: &Path,
    path: &Path,
    image: &[u8],
    header: &Header,
    secret: &[u8; 32],
) -> Result<(), String> {
    let header = encode(header)?;
    let size = (header.len() as u64).to_le_bytes();
    let mut digest = blake3::Hasher::new_keyed(secret);
    digest.update(image).update(&header).update(&size);
    let digest = digest.finalize();
    let temporary = folder::write_temporary(folder, &[image, &header, &size, digest.as_bytes()])
        .map_err(|e| e.to_string())?;
    fs::rename(&temporary, path).map_err(|e| {
        let _ = fs::remove_file(&temporary);
        e.to_string()
    })
}

/// The header of an entry whose digest is right.
pub(super) fn verify(file: &mut File, secret: &[u8; 32]) -> Result<Header, String> {
    let io = |e: std::io::Error| e.to_string();
    let metadata = file.metadata().map_err(io)?;
    let cut_off = || "it is cut off".to_owned();
    let signed = metadata.len().checked_sub(DIGEST).ok_or_else(cut_off)?;
    let header_end = metadata.len().checked_sub(TRAILER).ok_or_else(cut_off)?;
    let mut digest = blake3::Hasher::new_keyed(secret);
    digest.update_reader(file.by_ref().take(signed)).map_err(io)?;
    let mut written = [0; blake3::OUT_LEN];
    file.read_exact(&mut written).map_err(io)?;
    // Compared in constant time.
    if digest.finalize() != blake3::Hash::from_bytes(written) {
        return Err("it is damaged, or not made with the key of its folder".into());
    }
    let mut size = [0; 8];
    file.seek(SeekFrom::Start(header_end)).and_then(|_| file.read_exact(&mut size)).map_err(io)?;
    let size = u64::from_le_bytes(size);
    let start = header_end.checked_sub(size).filter(|_| size <= MOST_HEADER).ok_or_else(cut_off)?;
    file.seek(SeekFrom::Start(start)).map_err(io)?;
    serde_json::from_reader(std::io::BufReader::new(file.take(size))).map_err(|e| e.to_string())
}

/// Maps the image of an entry.
///
/// # Safety
/// Its bytes are those that `Component::serialize` gave, and nobody changes them.
pub(super) unsafe fn component(engine: &Engine, file: &File) -> Result<Component, String> {
    // The very file that was verified, whatever its name stands for by now.
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    // SAFETY: as the caller guarantees.
    unsafe { Component::deserialize_file(engine, path) }.map_err(|e| e.root_cause().to_string())
}
