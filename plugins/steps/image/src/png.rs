//! PNG: every colour type and depth, interlaced or not. Transparency is dropped, as `convert('RGB')` does.

use std::io::Cursor;

use png::{BitDepth, ColorType, Decoder, Transformations};

use crate::{
    Error, Format,
    exif::Notes,
    resample::{Row, RowSink},
};

/// Text of notes is not unpacked beyond this.
const LONGEST_NOTE: usize = 1 << 20;

#[derive(Debug, Default)]
pub(crate) struct Headers {
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// 1 for grey, 3 for colour.
    pub(crate) channels: usize,
    pub(crate) orientation: crate::Orientation,
}

/// Reads all chunks up to the last; finds whether all of them are there.
pub(crate) fn read(bytes: &[u8]) -> Result<Headers, Error> {
    let mut headers = Headers::default();
    let mut notes = OwnedNotes::default();
    let mut at = 8;
    loop {
        let cut_off = |expected: String| Error::CutOff { format: Format::Png, expected, length: bytes.len() };
        let Some((length, kind)) = bytes.get(at..).and_then(chunk_header) else {
            return Err(cut_off(format!("a chunk must start at byte {at}, and the last one is IEND")));
        };
        let start = at + 8;
        // The check sum follows.
        let end = start.saturating_add(length).saturating_add(4);
        let Some(data) = bytes.get(start..end).and_then(|data| data.get(..length)) else {
            let kind = kind.escape_ascii();
            return Err(cut_off(format!("chunk {kind} at byte {at} says that it ends at byte {end}")));
        };
        match &kind {
            b"IHDR" => headers.image_header(data)?,
            b"IEND" => break,
            _ => notes.chunk(&kind, data),
        }
        at = end;
    }
    if headers.channels == 0 {
        return Err(malformed("it has no header chunk, which gives its size"));
    }
    headers.orientation = Notes { exif: notes.exif.as_deref(), xmp: notes.xmp.as_deref() }.orientation();
    Ok(headers)
}

fn chunk_header(bytes: &[u8]) -> Option<(usize, [u8; 4])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_be_bytes(*length) as usize, *rest.first_chunk::<4>()?))
}

impl Headers {
    fn image_header(&mut self, data: &[u8]) -> Result<(), Error> {
        let &[w3, w2, w1, w0, h3, h2, h1, h0, _, color, ..] = data else {
            return Err(malformed("its header chunk is too short"));
        };
        self.width = u32::from_be_bytes([w3, w2, w1, w0]) as usize;
        self.height = u32::from_be_bytes([h3, h2, h1, h0]) as usize;
        // Bit 1: colour.
        self.channels = if color & 2 == 0 { 1 } else { 3 };
        Ok(())
    }
}

#[derive(Default)]
struct OwnedNotes {
    exif: Option<Vec<u8>>,
    xmp: Option<Vec<u8>>,
}

impl OwnedNotes {
    fn chunk(&mut self, kind: &[u8; 4], data: &[u8]) {
        match kind {
            b"eXIf" => self.exif = Some(data.to_vec()),
            b"tEXt" => {
                if let Some(text) = data.strip_prefix(b"Raw profile type exif\0") {
                    self.raw_profile(text);
                }
            }
            b"zTXt" => {
                let packed = data.strip_prefix(b"Raw profile type exif\0\0");
                if let Some(text) = packed.and_then(unpacked) {
                    self.raw_profile(&text);
                }
            }
            b"iTXt" => {
                if let Some([packed, _, rest @ ..]) = data.strip_prefix(b"XML:com.adobe.xmp\0") {
                    // A language and a translated keyword stand before the text.
                    let mut parts = rest.splitn(3, |&byte| byte == 0);
                    let text = parts.nth(2);
                    self.xmp = if *packed == 0 { text.map(<[u8]>::to_vec) } else { text.and_then(unpacked) };
                }
            }
            _ => {}
        }
    }

    /// ImageMagick's way: the name, the length and hexadecimal digits on lines of their own.
    fn raw_profile(&mut self, text: &[u8]) {
        if self.exif.is_some() {
            return;
        }
        let lines = text.split(|&byte| byte == b'\n').skip(3);
        let digits: Vec<u8> =
            lines.flatten().filter_map(|&byte| (byte as char).to_digit(16)).map(|d| d as u8).collect();
        self.exif = Some(digits.as_chunks::<2>().0.iter().map(|[high, low]| high << 4 | low).collect());
    }
}

fn unpacked(data: &[u8]) -> Option<Vec<u8>> {
    fdeflate::decompress_to_vec_bounded(data, LONGEST_NOTE).ok()
}

/// Decodes every row, top to bottom.
pub(crate) fn decode(bytes: &[u8], headers: &Headers, sink: &mut dyn RowSink) -> Result<(), Error> {
    let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), png::Limits { bytes: usize::MAX });
    decoder.set_transformations(Transformations::EXPAND);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let mut reader = decoder.read_info().map_err(|error| malformed(&error.to_string()))?;
    // A grey picture with one transparent level is still a grey picture.
    let grey16 = reader.info().color_type == ColorType::Grayscale;
    let pixels = Pixels::of(reader.output_color_type(), grey16)?;

    if !reader.info().interlaced {
        for _ in 0..headers.height {
            let line = reader.next_row().map_err(|error| malformed(&error.to_string()))?;
            let line = line.ok_or_else(|| malformed("it has fewer rows than its header says"))?;
            pixels.read(line.data(), sink.row());
            sink.push();
        }
        return Ok(());
    }
    // Rows of an interlaced picture are whole only at its end. They wait as pixels of 8 bits.
    let mut row = Row::new(headers.width, headers.channels);
    let length = headers.width * headers.channels;
    let mut picture = vec![0_u8; length * headers.height];
    let mut reduced = vec![0_u8; length];
    while let Some(line) = reader.next_interlaced_row().map_err(|error| malformed(&error.to_string()))? {
        if let png::InterlaceInfo::Adam7(pass) = line.interlace() {
            pixels.read(line.data(), &mut row);
            row.interleave(&mut reduced);
            png::expand_interlaced_row(&mut picture, length, &reduced, pass, 8 * headers.channels as u8);
        }
    }
    for line in picture.chunks_exact(length) {
        match headers.channels {
            1 => sink.row().set_interleaved::<1>(line),
            _ => sink.row().set_interleaved::<3>(line),
        }
        sink.push();
    }
    Ok(())
}

/// How a row of expanded pixels is read.
#[derive(Debug, Clone, Copy)]
enum Pixels {
    /// Bytes, so many a pixel; the first of them are the channels.
    Bytes(usize),
    /// 16 bits, of which the higher 8 count; bytes a pixel.
    HighBytes(usize),
    /// Grey of 16 bits, divided by 257 and rounded; bytes a pixel.
    Grey16(usize),
}

impl Pixels {
    fn of((color, depth): (ColorType, BitDepth), grey: bool) -> Result<Self, Error> {
        Ok(match depth {
            BitDepth::Eight => Self::Bytes(color.samples()),
            BitDepth::Sixteen if grey => Self::Grey16(2 * color.samples()),
            BitDepth::Sixteen => Self::HighBytes(2 * color.samples()),
            _ => return Err(malformed("its pixels were not expanded to whole bytes")),
        })
    }

    fn read(self, line: &[u8], row: &mut Row) {
        match self {
            Self::Bytes(1) => row.set_interleaved::<1>(line),
            Self::Bytes(2) => row.set_interleaved::<2>(line),
            Self::Bytes(3) => row.set_interleaved::<3>(line),
            Self::Bytes(_) => row.set_interleaved::<4>(line),
            Self::HighBytes(size) => {
                for (channel, plane) in row.planes_mut().enumerate() {
                    for (sample, pixel) in plane.iter_mut().zip(line.chunks_exact(size)) {
                        *sample = i16::from(pixel[2 * channel]);
                    }
                }
            }
            Self::Grey16(size) => {
                for plane in row.planes_mut() {
                    for (sample, pixel) in plane.iter_mut().zip(line.chunks_exact(size)) {
                        *sample = ((u32::from(u16::from_be_bytes([pixel[0], pixel[1]])) + 128) / 257) as i16;
                    }
                }
            }
        }
    }
}

fn malformed(reason: &str) -> Error {
    Error::Malformed { format: Format::Png, reason: reason.to_owned() }
}
