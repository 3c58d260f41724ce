//! What a file is, by its first bytes.

use std::fmt;

use crate::Error;

/// A format that is decoded here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Baseline and progressive, grey, YCbCr, RGB, CMYK and YCCK.
    Jpeg,
    /// Every colour type and depth, interlaced or not.
    Png,
    /// Lossy, lossless, and an animation's first frame.
    WebP,
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Jpeg => "JPEG",
            Self::Png => "PNG",
            Self::WebP => "WebP",
        })
    }
}

impl Format {
    /// Looks at the first bytes.
    ///
    /// # Errors
    /// `Unsupported`, which names other well-known formats, and text.
    pub fn of(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.starts_with(&[0xFF, 0xD8, 0xFF]) {
            return Ok(Self::Jpeg);
        }
        if bytes.starts_with(b"\x89PNG\r\n\x1A\n") {
            return Ok(Self::Png);
        }
        if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
            return Ok(Self::WebP);
        }
        Err(Error::Unsupported { found: describe(bytes) })
    }
}

/// Formats that people send, by the bytes at an offset.
const OTHERS: &[(usize, &[u8], &str)] = &[
    (0, b"GIF8", "a GIF file"),
    (0, b"BM", "a BMP file"),
    (0, b"II*\0", "a TIFF file"),
    (0, b"MM\0*", "a TIFF file"),
    (4, b"ftypavif", "an AVIF file"),
    (4, b"ftypavis", "an AVIF file"),
    (4, b"ftyphei", "a HEIC file"),
    (4, b"ftyphev", "a HEIC file"),
    (4, b"ftypmif1", "a HEIF file"),
    (4, b"ftyp", "an MP4 or related file"),
    (0, b"\xFF\x0A", "a JPEG XL file"),
    (0, b"\0\0\0\x0CJXL ", "a JPEG XL file"),
    (0, b"\0\0\0\x0CjP  ", "a JPEG 2000 file"),
    (0, b"\0\0\x01\0", "an ICO file"),
    (0, b"8BPS", "a Photoshop file"),
    (0, b"%PDF", "a PDF file"),
    (0, b"PK\x03\x04", "a ZIP file"),
    (0, b"\x93NUMPY", "a NumPy file"),
    (0, b"\xFF\xD8", "two bytes of a JPEG file and something else"),
];

fn describe(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "empty".to_owned();
    }
    let matching =
        |(at, magic, _): &&(usize, &[u8], &str)| bytes.get(*at..).is_some_and(|b| b.starts_with(magic));
    if let Some((_, _, name)) = OTHERS.iter().find(matching) {
        return (*name).to_owned();
    }
    let start = &bytes[..bytes.len().min(24)];
    let text = String::from_utf8_lossy(start);
    if text.trim_start().starts_with("<svg") || text.trim_start().starts_with("<?xml") {
        return "an SVG or XML file".to_owned();
    }
    if base64_of_a_picture(start) {
        return "text that looks like Base64: decode it before sending it".to_owned();
    }
    if start.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) {
        return format!("text ({} bytes that begin with '{}')", bytes.len(), text.escape_debug());
    }
    let first: Vec<_> = start.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("of an unknown format ({} bytes that begin with {})", bytes.len(), first.join(" "))
}

/// A JPEG, PNG or WebP file, or a data URL of one, in Base64.
fn base64_of_a_picture(start: &[u8]) -> bool {
    [&b"/9j/"[..], b"iVBORw0KGgo", b"UklGR", b"data:image/"].iter().any(|magic| start.starts_with(magic))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(bytes: &[u8]) -> String {
        Format::of(bytes).unwrap_err().to_string()
    }

    #[test]
    fn formats_are_known_by_their_first_bytes() {
        assert_eq!(Format::of(b"\xFF\xD8\xFF\xE0"), Ok(Format::Jpeg));
        assert_eq!(Format::of(b"\x89PNG\r\n\x1A\n\0\0"), Ok(Format::Png));
        assert_eq!(Format::of(b"RIFF\0\0\0\0WEBPVP8 "), Ok(Format::WebP));
    }

    #[test]
    fn other_formats_are_named() {
        assert_eq!(message(b"GIF89a"), "the image is a GIF file: expected a JPEG, PNG or WebP file");
        assert!(message(b"\0\0\0\x18ftypheic").contains("a HEIC file"));
        assert!(message(b"RIFF\0\0\0\0WAVEfmt ").contains("unknown format"));
    }

    #[test]
    fn text_is_shown_as_text() {
        assert_eq!(
            message(b"hello, this is not an image"),
            "the image is text (27 bytes that begin with 'hello, this is not an im'): expected a JPEG, PNG or WebP file"
        );
        assert!(message(b"iVBORw0KGgoAAAANSUhEUg").contains("Base64"));
        assert!(message(b"").contains("the image is empty"));
    }
}
