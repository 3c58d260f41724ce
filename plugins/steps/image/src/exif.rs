//! The orientation that a camera has noted, from EXIF and else from XMP.

use crate::geometry::Orientation;

const ORIENTATION: u16 = 0x0112;

/// What a file says about its orientation, gathered while its headers are read.
#[derive(Debug, Default)]
pub(crate) struct Notes<'a> {
    /// The EXIF block: a TIFF file, perhaps after `Exif\0\0`.
    pub(crate) exif: Option<&'a [u8]>,
    /// The XMP packet.
    pub(crate) xmp: Option<&'a [u8]>,
}

impl Notes<'_> {
    /// EXIF's word; XMP's if EXIF has none. A value that makes no sense counts as upright.
    pub(crate) fn orientation(&self) -> Orientation {
        let exif = self.exif.and_then(from_exif);
        let value = exif.or_else(|| self.xmp.and_then(from_xmp));
        value.and_then(Orientation::from_exif).unwrap_or(Orientation::UPRIGHT)
    }
}

/// The value of the tag in the first directory of an EXIF block.
fn from_exif(mut tiff: &[u8]) -> Option<u32> {
    while let Some(rest) = tiff.strip_prefix(b"Exif\0\0") {
        tiff = rest;
    }
    let big_endian = match tiff.get(..4)? {
        b"II*\0" => false,
        b"MM\0*" => true,
        _ => return None,
    };
    let u16_at = |at: usize| {
        let bytes = tiff.get(at..)?.first_chunk::<2>()?;
        Some(if big_endian { u16::from_be_bytes(*bytes) } else { u16::from_le_bytes(*bytes) })
    };
    let u32_at = |at: usize| {
        let bytes = tiff.get(at..)?.first_chunk::<4>()?;
        Some(if big_endian { u32::from_be_bytes(*bytes) } else { u32::from_le_bytes(*bytes) })
    };
    let directory = u32_at(4)? as usize;
    for index in 0..usize::from(u16_at(directory)?) {
        let entry = directory.checked_add(2 + index * 12)?;
        if u16_at(entry)? == ORIENTATION {
            let value = entry + 8;
            return match u16_at(entry + 2)? {
                1 => tiff.get(value).map(|&byte| u32::from(byte)),
                3 => u16_at(value).map(u32::from),
                4 => u32_at(value),
                _ => None,
            };
        }
    }
    None
}

/// `tiff:Orientation`, as an attribute or as an element.
fn from_xmp(packet: &[u8]) -> Option<u32> {
    const NAME: &[u8] = b"tiff:Orientation";
    let mut rest = packet;
    while let Some(at) = rest.windows(NAME.len()).position(|window| window == NAME) {
        rest = &rest[at + NAME.len()..];
        let value = rest.strip_prefix(b"=\"").or_else(|| rest.strip_prefix(b">"));
        if let Some([digit @ b'0'..=b'9', ..]) = value {
            return Some(u32::from(digit - b'0'));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exif(value: [u8; 4], kind: u8, big_endian: bool) -> Vec<u8> {
        if big_endian {
            let mut bytes = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\0\0\0\0\x01".to_vec();
            bytes[13] = kind;
            bytes.extend(value);
            bytes
        } else {
            let mut bytes = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\0\0\x01\0\0\0".to_vec();
            bytes[18] = kind;
            bytes.extend(value);
            bytes
        }
    }

    #[test]
    fn both_byte_orders_are_read() {
        assert_eq!(from_exif(&exif([6, 0, 0, 0], 3, false)), Some(6));
        assert_eq!(from_exif(&exif([0, 8, 0, 0], 3, true)), Some(8));
        assert_eq!(from_exif(&exif([0, 0, 0, 3], 4, true)), Some(3));
    }

    #[test]
    fn a_block_that_ends_early_or_leads_nowhere_says_nothing() {
        let whole = exif([6, 0, 0, 0], 3, false);
        for length in 0..whole.len() - 2 {
            assert_eq!(from_exif(&whole[..length]), None, "{length} bytes");
        }
        assert_eq!(from_exif(b"II*\0\xff\xff\xff\xff"), None);
    }

    #[test]
    fn xmp_is_asked_when_exif_is_silent() {
        let attribute = br#"<rdf:Description tiff:Orientation="6"/>"#;
        let element = b"<tiff:Orientation>8</tiff:Orientation>";
        assert_eq!(from_xmp(attribute), Some(6));
        assert_eq!(from_xmp(element), Some(8));
        let notes = Notes { exif: Some(&exif([3, 0, 0, 0], 3, false)), xmp: Some(attribute) };
        assert_eq!(notes.orientation(), Orientation::from_exif(3).unwrap());
        let notes = Notes { exif: None, xmp: Some(attribute) };
        assert_eq!(notes.orientation(), Orientation::from_exif(6).unwrap());
    }
}
