//! Components with fewer samples than the picture has pixels, brought to full size. Interpolation and rounding are
//! libjpeg-turbo's ("fancy upsampling"): a pixel is 3/4 the nearer sample and 1/4 the farther one, and the bias that
//! decides halves alternates.

/// How a component reaches full size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Upsampling {
    None,
    /// Twice as wide.
    Across,
    /// Twice as high.
    Down,
    /// Both.
    Both,
    /// Each sample so many times across and down.
    Repeat(usize, usize),
    /// The component has, across and down, `(h, v)` samples where the picture has `(across, down)`.
    Fraction {
        h: usize,
        v: usize,
        across: usize,
        down: usize,
    },
}

impl Upsampling {
    pub(crate) fn new((across, down): (usize, usize), (h, v): (usize, usize), width: usize) -> Self {
        // Interpolation across takes at least three samples.
        let wide = width > 2;
        match (across.is_multiple_of(h).then_some(across / h), down.is_multiple_of(v).then_some(down / v)) {
            (Some(1), Some(1)) => Self::None,
            (Some(2), Some(1)) if wide => Self::Across,
            (Some(1), Some(2)) => Self::Down,
            (Some(2), Some(2)) if wide => Self::Both,
            (Some(times_across), Some(times_down)) => Self::Repeat(times_across, times_down),
            _ => Self::Fraction { h, v, across, down },
        }
    }
}

/// The samples of a component around the stripe that is given out.
pub(crate) struct Component {
    upsampling: Upsampling,
    width: usize,
    stride: usize,
    /// Rows of a whole stripe.
    stripe_rows: usize,
    /// Rows that are still to be written.
    rows_left: usize,
    /// The last row of the stripe above, if there is one.
    above: Option<Vec<u8>>,
    current: Stripe,
    next: Stripe,
    /// A row between two rows, for [`Upsampling::Both`].
    between: Vec<i16>,
}

#[derive(Default)]
struct Stripe {
    samples: Vec<u8>,
    rows: usize,
}

impl Component {
    /// For a component with `sampling` samples where the picture, of a size in pixels, has `maximum`.
    pub(crate) fn new(size: (usize, usize), maximum: (usize, usize), sampling: (usize, usize)) -> Self {
        let width = (size.0 * sampling.0).div_ceil(maximum.0);
        let stride = size.0.div_ceil(8 * maximum.0) * 8 * sampling.0;
        let stripe_rows = 8 * sampling.1;
        let stripe = || Stripe { samples: vec![0; stride * stripe_rows], rows: 0 };
        Self {
            upsampling: Upsampling::new(maximum, sampling, width),
            width,
            stride,
            stripe_rows,
            rows_left: (size.1 * sampling.1).div_ceil(maximum.1),
            above: None,
            current: stripe(),
            next: stripe(),
            between: vec![0; width],
        }
    }

    /// Room for the next stripe, and how far its rows are apart.
    pub(crate) fn next_stripe(&mut self) -> (&mut [u8], usize) {
        (&mut self.next.samples, self.stride)
    }

    /// The next stripe is written. Of the last one, not all rows belong to the picture.
    pub(crate) fn written(&mut self) {
        self.next.rows = self.rows_left.min(self.stripe_rows);
        self.rows_left -= self.next.rows;
    }

    /// The next stripe becomes the current one.
    pub(crate) fn advance(&mut self) {
        if let Some(last) = self.current.rows.checked_sub(1) {
            let row = &self.current.samples[last * self.stride..][..self.width];
            let above = self.above.get_or_insert_default();
            above.clear();
            above.extend_from_slice(row);
        }
        std::mem::swap(&mut self.current, &mut self.next);
        self.next.rows = 0;
    }

    /// A row of the current stripe, or the one above or below it; at the picture's edge the edge itself.
    fn samples(&self, row: isize) -> &[u8] {
        let row_of = |stripe: &'_ Stripe, row: usize| {
            row * self.stride..row * self.stride + self.width.min(stripe.samples.len())
        };
        match usize::try_from(row) {
            Err(_) => match &self.above {
                Some(above) => above,
                None => &self.current.samples[row_of(&self.current, 0)],
            },
            Ok(row) if row < self.current.rows => &self.current.samples[row_of(&self.current, row)],
            Ok(_) if self.next.rows > 0 => &self.next.samples[row_of(&self.next, 0)],
            Ok(_) => &self.current.samples[row_of(&self.current, self.current.rows.saturating_sub(1))],
        }
    }

    /// Row `y` of the current stripe, in full size.
    pub(crate) fn row(&mut self, y: usize, full: &mut [i16]) {
        let half = (y / 2) as isize;
        // The row beyond the nearer one.
        let farther = if y.is_multiple_of(2) { half - 1 } else { half + 1 };
        match self.upsampling {
            Upsampling::None => {
                for (full, &sample) in full.iter_mut().zip(self.samples(y as isize)) {
                    *full = i16::from(sample);
                }
            }
            Upsampling::Across => across(self.samples(y as isize), full),
            Upsampling::Down => {
                let bias = if y.is_multiple_of(2) { 1 } else { 2 };
                let rows = self.samples(half).iter().zip(self.samples(farther));
                for (full, (&near, &far)) in full.iter_mut().zip(rows) {
                    *full = (3 * i16::from(near) + i16::from(far) + bias) >> 2;
                }
            }
            Upsampling::Both => {
                let mut between = std::mem::take(&mut self.between);
                both(self.samples(half), self.samples(farther), &mut between, full);
                self.between = between;
            }
            Upsampling::Repeat(times_across, times_down) => {
                let samples = self.samples((y / times_down) as isize);
                for (pixels, &sample) in full.chunks_mut(times_across).zip(samples) {
                    pixels.fill(i16::from(sample));
                }
            }
            Upsampling::Fraction { h, v, across, down } => {
                let samples = self.samples((y * v / down) as isize);
                for (x, full) in full.iter_mut().enumerate() {
                    *full = i16::from(samples[(x * h / across).min(samples.len() - 1)]);
                }
            }
        }
    }
}

/// Twice as wide.
fn across(samples: &[u8], full: &mut [i16]) {
    let last = samples.len() - 1;
    let mut set = |x: usize, value: i16| {
        if let Some(full) = full.get_mut(x) {
            *full = value;
        }
    };
    let at = |index: usize| i16::from(samples[index]);
    set(0, at(0));
    set(1, (3 * at(0) + at(1) + 2) >> 2);
    set(2 * last, (3 * at(last) + at(last - 1) + 1) >> 2);
    set(2 * last + 1, at(last));
    for (pair, window) in full[2..].as_chunks_mut::<2>().0.iter_mut().zip(samples.windows(3)) {
        let near = 3 * i16::from(window[1]);
        pair[0] = (near + i16::from(window[0]) + 1) >> 2;
        pair[1] = (near + i16::from(window[2]) + 2) >> 2;
    }
}

/// Twice as wide and twice as high.
fn both(near: &[u8], far: &[u8], between: &mut [i16], full: &mut [i16]) {
    // Four times the sample between the rows.
    for (between, (&near, &far)) in between.iter_mut().zip(near.iter().zip(far)) {
        *between = 3 * i16::from(near) + i16::from(far);
    }
    let last = between.len() - 1;
    let mut set = |x: usize, value: i16| {
        if let Some(full) = full.get_mut(x) {
            *full = value;
        }
    };
    set(0, (4 * between[0] + 8) >> 4);
    set(1, (3 * between[0] + between[1] + 7) >> 4);
    set(2 * last, (3 * between[last] + between[last - 1] + 8) >> 4);
    set(2 * last + 1, (4 * between[last] + 7) >> 4);
    for (pair, window) in full[2..].as_chunks_mut::<2>().0.iter_mut().zip(between.windows(3)) {
        pair[0] = (3 * window[1] + window[0] + 8) >> 4;
        pair[1] = (3 * window[1] + window[2] + 7) >> 4;
    }
}
