//! Where a picture's pixels go: its orientation, the size that it is resized to, what is cut off or filled in.

use std::ops::Range;

use crate::{filter::Filter, options::Resize};

/// How a picture must be turned to be seen upright: the values 1 to 8 of EXIF's `Orientation`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Orientation {
    /// Rows become columns (mirrored at the main diagonal), before the flips.
    transposed: bool,
    /// Left and right change places.
    flip_x: bool,
    /// Top and bottom change places.
    flip_y: bool,
}

impl Orientation {
    /// As it is stored.
    pub const UPRIGHT: Self = Self { transposed: false, flip_x: false, flip_y: false };

    /// `None` for a value that EXIF does not know.
    pub fn from_exif(value: u32) -> Option<Self> {
        let (transposed, flip_x, flip_y) = match value {
            1 => (false, false, false),
            2 => (false, true, false),
            3 => (false, true, true),
            4 => (false, false, true),
            5 => (true, false, false),
            6 => (true, true, false),
            7 => (true, true, true),
            8 => (true, false, true),
            _ => return None,
        };
        Some(Self { transposed, flip_x, flip_y })
    }

    /// Width and height as they are seen, of those that are stored.
    pub(crate) fn seen(self, (width, height): (usize, usize)) -> (usize, usize) {
        if self.transposed { (height, width) } else { (width, height) }
    }
}

/// A size and a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Axis {
    /// Samples of the source.
    source: usize,
    /// Samples that the whole source is resized to.
    resized: usize,
    /// The first of them that is kept.
    start: usize,
    /// The number of them that are kept.
    kept: usize,
    /// Where they start in the target.
    offset: usize,
}

impl Axis {
    /// Centred: what is too much is cut off on both sides, what is too little filled on both sides.
    fn centred(source: usize, resized: usize, target: usize) -> Self {
        let half = |difference: usize| (difference as f64 / 2.0).round_ties_even() as usize;
        Self {
            source,
            resized,
            start: half(resized.saturating_sub(target)),
            kept: resized.min(target),
            offset: half(target.saturating_sub(resized)),
        }
    }

    /// What is kept, of the resized samples as they are stored.
    fn kept_part(&self, flipped: bool) -> Range<usize> {
        let start = if flipped { self.resized - self.start - self.kept } else { self.start };
        start..start + self.kept
    }

    fn filter(&self, flipped: bool) -> Filter {
        Filter::new(self.source, self.resized, self.kept_part(flipped))
    }
}

/// The whole way from a stored picture to the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Geometry {
    orientation: Orientation,
    /// Both as the picture is seen.
    x: Axis,
    y: Axis,
}

impl Geometry {
    /// For a picture stored with this width and height.
    pub(crate) fn new(
        (width, height): (usize, usize),
        orientation: Orientation,
        resize: Resize,
        target: (usize, usize),
    ) -> Self {
        let seen = orientation.seen((width, height));
        let resized = match resize {
            Resize::Straight => target,
            Resize::Crop { shorter_side } => covering(seen, target, shorter_side),
            Resize::Letterbox => contained(seen, target),
        };
        Self {
            orientation,
            x: Axis::centred(seen.0, resized.0, target.0),
            y: Axis::centred(seen.1, resized.1, target.1),
        }
    }

    /// Whether the stored picture's columns are what is seen as rows.
    pub(crate) fn columns_first(&self) -> bool {
        self.orientation.transposed
    }

    /// Width of the stored picture.
    pub(crate) fn source_width(&self) -> usize {
        if self.orientation.transposed { self.y.source } else { self.x.source }
    }

    /// For the rows of the stored picture.
    pub(crate) fn filter_along_rows(&self) -> Filter {
        if self.orientation.transposed {
            self.y.filter(self.orientation.flip_y)
        } else {
            self.x.filter(self.orientation.flip_x)
        }
    }

    /// For the columns of the stored picture.
    pub(crate) fn filter_along_columns(&self) -> Filter {
        if self.orientation.transposed {
            self.x.filter(self.orientation.flip_x)
        } else {
            self.y.filter(self.orientation.flip_y)
        }
    }

    /// Whether the stored picture is upright, or only flipped, and has the resized picture's size.
    pub(crate) fn keeps_size(&self) -> bool {
        !self.orientation.transposed && [self.x, self.y].iter().all(|axis| axis.source == axis.resized)
    }

    /// The part of the resized picture, as it is stored, that is kept: columns and rows. Of a picture that is stored
    /// lying on its side, as it is seen.
    pub(crate) fn kept(&self) -> (Range<usize>, Range<usize>) {
        (self.x.kept_part(self.orientation.flip_x), self.y.kept_part(self.orientation.flip_y))
    }

    /// Where the part of the target that shows the picture lies: columns and rows.
    pub(crate) fn shown(&self) -> (Range<usize>, Range<usize>) {
        let range = |axis: &Axis| axis.offset..axis.offset + axis.kept;
        (range(&self.x), range(&self.y))
    }

    /// The target's row that shows the kept part's row `y` (its column, of a picture that is stored lying on its side).
    pub(crate) fn seen_row(&self, y: usize) -> usize {
        self.y.offset + if self.orientation.flip_y { self.y.kept - 1 - y } else { y }
    }

    /// Whether the rows that are seen run against what is stored.
    pub(crate) fn flips_x(&self) -> bool {
        self.orientation.flip_x
    }
}

/// The shorter side to a given length, or as short as covers the target.
fn covering(
    (width, height): (usize, usize),
    target: (usize, usize),
    shorter_side: Option<usize>,
) -> (usize, usize) {
    let longer =
        |short: usize, long: usize, side: usize| ((long as u64 * side as u64) / short as u64) as usize;
    match shorter_side {
        Some(side) if width <= height => (side, longer(width, height, side)),
        Some(side) => (longer(height, width, side), side),
        // Compared as fractions: the side that is scaled the most decides.
        None if target.0 as u64 * height as u64 >= target.1 as u64 * width as u64 => {
            (target.0, longer(width, height, target.0).max(target.1))
        }
        None => (longer(height, width, target.1).max(target.0), target.1),
    }
}

/// The largest size of the same proportions within the target.
fn contained((width, height): (usize, usize), target: (usize, usize)) -> (usize, usize) {
    let scaled = |side: usize, other: usize, to: usize| {
        ((side as f64 / other as f64 * to as f64).round_ties_even() as usize).max(1)
    };
    if width as u64 * target.1 as u64 > target.0 as u64 * height as u64 {
        (target.0, scaled(height, width, target.0).min(target.1))
    } else {
        (scaled(width, height, target.1).min(target.0), target.1)
    }
}
