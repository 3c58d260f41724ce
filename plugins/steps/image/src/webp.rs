//! WebP: lossy, lossless, and an animation's first frame. Transparency is dropped, as `convert('RGB')` does.

use std::io::Cursor;

use image_webp::{DecodingError, WebPDecoder};

use crate::{Error, Format, Orientation, exif::Notes, resample::RowSink};

pub(crate) struct Headers<'a> {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) orientation: Orientation,
    decoder: WebPDecoder<Cursor<&'a [u8]>>,
}

/// Reads all headers; finds whether the whole file is there.
pub(crate) fn read(bytes: &[u8]) -> Result<Headers<'_>, Error> {
    let cut_off = |expected: String| Error::CutOff { format: Format::WebP, expected, length: bytes.len() };
    // RIFF, the number of bytes that follow, WEBP.
    let size = bytes
        .get(4..)
        .and_then(|rest| rest.first_chunk::<4>())
        .map(|size| u32::from_le_bytes(*size) as usize);
    let expected = size.unwrap_or(0).saturating_add(8);
    if expected > bytes.len() {
        return Err(cut_off(format!("its header says that it has {expected} bytes")));
    }
    let mut decoder = WebPDecoder::new(Cursor::new(bytes)).map_err(|error| malformed(&error))?;
    let (width, height) = decoder.dimensions();
    let exif = decoder.exif_metadata().ok().flatten();
    let xmp = decoder.xmp_metadata().ok().flatten();
    let orientation = Notes { exif: exif.as_deref(), xmp: xmp.as_deref() }.orientation();
    Ok(Headers { width: width as usize, height: height as usize, orientation, decoder })
}

/// Decodes every row, top to bottom.
pub(crate) fn decode(mut headers: Headers<'_>, sink: &mut dyn RowSink) -> Result<(), Error> {
    let size = headers.decoder.output_buffer_size();
    let mut picture = vec![0; size.ok_or_else(|| malformed(&DecodingError::ImageTooLarge))?];
    headers.decoder.read_image(&mut picture).map_err(|error| malformed(&error))?;
    let alpha = headers.decoder.has_alpha();
    for line in picture.chunks_exact(headers.width * if alpha { 4 } else { 3 }) {
        if alpha {
            sink.row().set_interleaved::<4>(line);
        } else {
            sink.row().set_interleaved::<3>(line);
        }
        sink.push();
    }
    Ok(())
}

fn malformed(error: &DecodingError) -> Error {
    Error::Malformed { format: Format::WebP, reason: error.to_string() }
}
