//! JPEG. zune-jpeg decodes the samples of each component, a stripe at a time; what follows (bringing the colour
//! components to full size, converting colours) is done here, to the numbers that libjpeg-turbo gives.

mod color;
mod headers;
mod upsample;

use zune_core::{bytestream::ZCursor, options::DecoderOptions};
use zune_jpeg::{JpegDecoder, RawImcuRowStatus};

pub(crate) use headers::{Headers, read};

use self::{
    color::ColorModel,
    upsample::{Component, Upsampling},
};
use crate::{
    Error, Format,
    resample::{Row, RowSink},
};

/// Number of channels that [`decode`] gives.
pub(crate) fn channels(headers: &Headers<'_>) -> usize {
    if headers.components.len() == 1 { 1 } else { 3 }
}

/// Decodes every row, top to bottom.
pub(crate) fn decode(bytes: &[u8], headers: &Headers<'_>, sink: &mut dyn RowSink) -> Result<(), Error> {
    let model = ColorModel::of(headers)?;
    let options = DecoderOptions::new_fast().set_max_width(usize::MAX).set_max_height(usize::MAX);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(malformed)?;
    let mut raw = decoder.raw_output();
    let layout = raw.layout().ok_or_else(|| reason("its size is not in its header"))?;

    let (across, down) = headers.sampling_maximum();
    let mut components = Vec::new();
    for (plane, (h, v)) in layout.iter().zip(headers.sampling()) {
        let upsampling = Upsampling::new(across, down, h, v, plane.width);
        components.push(Component::new(upsampling, plane.width, 8 * v));
    }
    let strides: Vec<usize> = components.iter().map(Component::stride).collect();
    let mut full: Vec<Vec<i16>> = components.iter().map(|_| vec![0; headers.width]).collect();
    let mut row = Row::new(headers.width, channels(headers));
    let mut rows_left = headers.height;

    // A stripe is given out when the one below it is there: colour is interpolated across their border.
    let mut stripes = 0;
    loop {
        let mut planes: Vec<&mut [u8]> = components.iter_mut().map(Component::next_stripe).collect();
        let last = match raw.decode_next_imcu_row(&mut planes, &strides).map_err(malformed)? {
            RawImcuRowStatus::RowReady { rows_written } => {
                components.iter_mut().zip(rows_written).for_each(|(component, rows)| component.written(rows));
                false
            }
            RawImcuRowStatus::Complete => {
                components.iter_mut().for_each(|component| component.written(0));
                true
            }
            _ => return Err(headers.cut_off(bytes.len())),
        };
        if stripes > 0 {
            for y in 0..rows_left.min(8 * down) {
                for (component, full) in components.iter().zip(&mut full) {
                    component.row(y, full);
                }
                model.convert(&full, &mut row);
                sink.push(&row);
            }
            rows_left = rows_left.saturating_sub(8 * down);
        }
        if last || rows_left == 0 {
            break;
        }
        components.iter_mut().for_each(Component::advance);
        stripes += 1;
    }
    if rows_left > 0 { Err(headers.cut_off(bytes.len())) } else { Ok(()) }
}

fn malformed(error: zune_jpeg::errors::DecodeErrors) -> Error {
    reason(&format!("{error:?}"))
}

fn reason(reason: &str) -> Error {
    Error::Malformed { format: Format::Jpeg, reason: reason.to_owned() }
}
