//! A JPEG file's segments up to its end: size, components, notes on orientation; and whether all of it is there.

use crate::{Error, Format, exif::Notes};

/// A component of a JPEG picture.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ComponentHeader {
    pub(crate) id: u8,
    /// Sampling factors, across and down.
    pub(crate) sampling: (usize, usize),
    /// Number of its quantization table.
    pub(crate) quantization: u8,
}

#[derive(Debug, Default)]
pub(crate) struct Headers<'a> {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) progressive: bool,
    pub(crate) components: Vec<ComponentHeader>,
    /// A JFIF segment is there.
    pub(crate) jfif: bool,
    /// The colour transform that an Adobe segment names.
    pub(crate) adobe: Option<u8>,
    pub(crate) notes: Notes<'a>,
}

impl Headers<'_> {
    pub(crate) fn sampling(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.components.iter().map(|component| component.sampling)
    }

    /// The most samples that a component has, across and down.
    pub(crate) fn sampling_maximum(&self) -> (usize, usize) {
        self.sampling().fold((1, 1), |most, (h, v)| (most.0.max(h), most.1.max(v)))
    }

    pub(crate) fn cut_off(&self, length: usize) -> Error {
        let expected = format!(
            "its header says {}×{} and an end-of-image marker must follow the pixels",
            self.width, self.height
        );
        Error::CutOff { format: Format::Jpeg, expected, length }
    }
}

/// Reads all segments, and looks for the marker that ends the picture.
pub(crate) fn read(bytes: &[u8]) -> Result<Headers<'_>, Error> {
    let mut headers = Headers::default();
    let mut at = 2;
    loop {
        match next_segment(bytes, &mut at)? {
            Some((0xD9, _)) => break,
            Some((marker, segment)) => headers.segment(marker, segment)?,
            None if headers.components.is_empty() => {
                let expected = "a header with the size must come before the pixels".to_owned();
                return Err(Error::CutOff { format: Format::Jpeg, expected, length: bytes.len() });
            }
            None => return Err(headers.cut_off(bytes.len())),
        }
    }
    if headers.components.is_empty() {
        let reason = "it has no frame header, which gives its size".to_owned();
        return Err(Error::Malformed { format: Format::Jpeg, reason });
    }
    Ok(headers)
}

impl<'a> Headers<'a> {
    fn segment(&mut self, marker: u8, segment: &'a [u8]) -> Result<(), Error> {
        match marker {
            0xC0..=0xC2 => {
                self.progressive = marker == 0xC2;
                self.frame(segment)
            }
            0xC3 | 0xC5..=0xC7 | 0xC9..=0xCB | 0xCD..=0xCF => {
                let kind = match marker {
                    0xC3 | 0xC7 | 0xCB | 0xCF => "lossless",
                    0xC9 | 0xCA | 0xCD | 0xCE => "arithmetic",
                    _ => "hierarchical",
                };
                let reason = format!("{kind} coding is not supported; baseline and progressive are");
                Err(Error::Malformed { format: Format::Jpeg, reason })
            }
            0xE0 if segment.starts_with(b"JFIF\0") => {
                self.jfif = true;
                Ok(())
            }
            0xE1 => {
                if self.notes.exif.is_none() && segment.starts_with(b"Exif\0") {
                    self.notes.exif = Some(segment);
                } else if let Some(xmp) = segment.strip_prefix(b"http://ns.adobe.com/xap/1.0/\0") {
                    self.notes.xmp = Some(xmp);
                }
                Ok(())
            }
            0xEE if segment.starts_with(b"Adobe") => {
                self.adobe = segment.get(11).copied();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn frame(&mut self, segment: &[u8]) -> Result<(), Error> {
        let malformed = |reason: &str| Error::Malformed { format: Format::Jpeg, reason: reason.to_owned() };
        let [precision, h1, h0, w1, w0, count, components @ ..] = segment else {
            return Err(malformed("its frame header is too short"));
        };
        if !self.components.is_empty() {
            return Err(malformed("it has two frame headers"));
        }
        if *precision != 8 {
            return Err(malformed(&format!("{precision} bits a sample are not supported; 8 bits are")));
        }
        self.width = usize::from(u16::from_be_bytes([*w1, *w0]));
        self.height = usize::from(u16::from_be_bytes([*h1, *h0]));
        let (components, _) = components.as_chunks::<3>();
        if components.len() != usize::from(*count) || !matches!(count, 1 | 3 | 4) {
            return Err(malformed(&format!("{count} components are not supported; 1, 3 and 4 are")));
        }
        self.components = components
            .iter()
            .map(|&[id, factors, quantization]| ComponentHeader {
                id,
                sampling: (usize::from(factors >> 4), usize::from(factors & 15)),
                quantization,
            })
            .collect();
        if self.sampling().any(|(h, v)| !(1..=4).contains(&h) || !(1..=4).contains(&v)) {
            return Err(malformed("a component's sampling factor is not 1 to 4"));
        }
        // The factors of a picture with one component have no meaning.
        if let [component] = &mut self.components[..] {
            component.sampling = (1, 1);
        }
        Ok(())
    }
}

/// The next marker and its segment; `at` moves behind it. `None` where the file ends.
pub(super) fn next_segment<'a>(bytes: &'a [u8], at: &mut usize) -> Result<Option<(u8, &'a [u8])>, Error> {
    while let Some(marker) = next_marker(bytes, at) {
        match marker {
            // Markers that stand alone.
            0x01 | 0xD0..=0xD8 => continue,
            0xD9 => return Ok(Some((marker, &[]))),
            _ => {}
        }
        let start = *at;
        let length =
            bytes.get(start..).and_then(|rest| rest.first_chunk::<2>()).map(|b| u16::from_be_bytes(*b));
        let length = usize::from(length.unwrap_or(2)).max(2);
        let Some(segment) = bytes.get(start + 2..start + length) else {
            let expected = format!("the segment at byte {start} says that it has {length} bytes");
            return Err(Error::CutOff { format: Format::Jpeg, expected, length: bytes.len() });
        };
        *at += length;
        return Ok(Some((marker, segment)));
    }
    Ok(None)
}

/// The next marker at or after `at`, over entropy-coded data; `at` moves behind it.
pub(super) fn next_marker(bytes: &[u8], at: &mut usize) -> Option<u8> {
    loop {
        let rest = bytes.get(*at..)?;
        *at += rest.iter().position(|&byte| byte == 0xFF)? + 1;
        match bytes.get(*at)? {
            0x00 => *at += 1,
            // A fill byte: the marker's own 0xFF is the last of them.
            0xFF => {}
            &marker => {
                *at += 1;
                return Some(marker);
            }
        }
    }
}
