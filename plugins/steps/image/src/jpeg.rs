//! JPEG: baseline and progressive, to the numbers that libjpeg-turbo gives, so that what a network sees is what it saw
//! when it was trained. (Other decoders round otherwise, which makes single pixels differ by a few levels.)

mod bits;
mod color;
mod decoder;
mod headers;
mod idct;
mod scan;
mod upsample;

pub(crate) use headers::{Headers, read};

use self::{
    color::ColorModel,
    decoder::{Decoder, Stripes},
    upsample::Component,
};
use crate::{Error, Format, resample::RowSink};

/// Number of channels that [`decode`] gives.
pub(crate) fn channels(headers: &Headers<'_>) -> usize {
    if headers.components.len() == 1 { 1 } else { 3 }
}

/// Decodes every row, top to bottom.
pub(crate) fn decode(bytes: &[u8], headers: &Headers<'_>, sink: &mut dyn RowSink) -> Result<(), Error> {
    let mut rows = Rows::new(headers, sink)?;
    Decoder::new(bytes, headers).decode(&mut rows)?;
    rows.finish();
    Ok(())
}

/// Makes rows of pixels of stripes of samples. A stripe becomes rows when the one below it is there, since colour is
/// interpolated across their border.
struct Rows<'a> {
    model: ColorModel,
    components: Vec<Component>,
    /// Rows of pixels in a stripe.
    stripe_rows: usize,
    rows_left: usize,
    /// Whether a stripe waits for the one below it.
    waiting: bool,
    /// A row of each component, in full size.
    full: Vec<Vec<i16>>,
    sink: &'a mut dyn RowSink,
}

impl<'a> Rows<'a> {
    fn new(headers: &Headers<'_>, sink: &'a mut dyn RowSink) -> Result<Self, Error> {
        let maximum = headers.sampling_maximum();
        let size = (headers.width, headers.height);
        Ok(Self {
            model: ColorModel::of(headers)?,
            components: headers.sampling().map(|sampling| Component::new(size, maximum, sampling)).collect(),
            stripe_rows: 8 * maximum.1,
            rows_left: headers.height,
            waiting: false,
            full: vec![vec![0; headers.width]; headers.components.len()],
            sink,
        })
    }

    fn give_stripe(&mut self) {
        for y in 0..self.rows_left.min(self.stripe_rows) {
            for (component, full) in self.components.iter_mut().zip(&mut self.full) {
                component.row(y, full);
            }
            self.model.convert(&self.full, self.sink.row());
            self.sink.push();
        }
        self.rows_left = self.rows_left.saturating_sub(self.stripe_rows);
    }

    fn finish(mut self) {
        self.give_stripe();
    }
}

impl Stripes for Rows<'_> {
    fn samples(&mut self, component: usize) -> (&mut [u8], usize) {
        self.components[component].next_stripe()
    }

    fn finish_stripe(&mut self) {
        self.components.iter_mut().for_each(Component::written);
        if self.waiting {
            self.give_stripe();
        }
        self.components.iter_mut().for_each(Component::advance);
        self.waiting = true;
    }
}

fn reason(reason: &str) -> Error {
    Error::Malformed { format: Format::Jpeg, reason: reason.to_owned() }
}
