use crate::format::Format;

/// Why a picture could not be made a tensor. All of them are the sender's to mend.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Error {
    /// The bytes are no picture that this crate decodes. The text says what they are instead.
    #[error("the image is {found}: expected a JPEG, PNG or WebP file")]
    Unsupported {
        /// What the bytes look like, with an article.
        found: String,
    },

    /// The file ends before the picture does.
    #[error("the {format} image is cut off: {expected}, but the file has only {length} bytes")]
    CutOff {
        /// What it began as.
        format: Format,
        /// What should have been there, as a clause.
        expected: String,
        /// Bytes that were there.
        length: usize,
    },

    /// The file breaks its format's rules, or uses a part of it that is not decoded here.
    #[error("the {format} image cannot be decoded: {reason}")]
    Malformed {
        /// What it began as.
        format: Format,
        /// The decoder's words.
        reason: String,
    },

    /// A picture without pixels.
    #[error("the {format} image has no pixels: its header says {width}×{height}")]
    Empty {
        /// What it began as.
        format: Format,
        /// As stored, in pixels.
        width: usize,
        /// As stored, in pixels.
        height: usize,
    },

    /// More pixels than allowed; found in the header, before anything was decoded.
    #[error(
        "the {format} image is too large: its header says {width}×{height}, which is {pixels} pixels; at most {limit} \
         are decoded (parameter 'max_pixels')"
    )]
    TooLarge {
        /// What it began as.
        format: Format,
        /// As stored, in pixels.
        width: usize,
        /// As stored, in pixels.
        height: usize,
        /// Their product.
        pixels: u64,
        /// The most that is allowed.
        limit: u64,
    },

    /// An array that is no picture.
    #[error("the image array has the shape {shape:?}: expected [height, width, 3] with at least one pixel")]
    Shape {
        /// As it came.
        shape: Vec<i64>,
    },
}
