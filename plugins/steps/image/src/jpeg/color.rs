//! Colour models of JPEG files, converted to RGB with the numbers of libjpeg-turbo (YCbCr) and Pillow (CMYK).

use super::{Headers, reason};
use crate::{Error, resample::Row};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColorModel {
    Grey,
    Rgb,
    YCbCr,
    /// Inverted, as Adobe writes it. Everyone follows Adobe.
    Cmyk,
    /// The same with its first three components as YCbCr.
    Ycck,
}

impl ColorModel {
    /// A file says it with an Adobe segment, with a JFIF segment, or by the names of its components.
    pub(super) fn of(headers: &Headers<'_>) -> Result<Self, Error> {
        let ids: Vec<u8> = headers.components.iter().map(|component| component.id).collect();
        Ok(match (&ids[..], headers.jfif, headers.adobe) {
            ([_], ..) => Self::Grey,
            ([_, _, _], true, _) => Self::YCbCr,
            ([_, _, _], _, Some(0)) => Self::Rgb,
            ([_, _, _], _, Some(_)) => Self::YCbCr,
            (b"RGB", ..) => Self::Rgb,
            ([_, _, _], ..) => Self::YCbCr,
            ([_, _, _, _], _, None | Some(0)) => Self::Cmyk,
            ([_, _, _, _], ..) => Self::Ycck,
            _ => return Err(reason("its number of components is not 1, 3 or 4")),
        })
    }

    /// One row of components in full size to one of channels.
    pub(super) fn convert(self, components: &[Vec<i16>], row: &mut Row) {
        let mut planes = row.planes_mut();
        match (self, components) {
            (Self::YCbCr, [y, cb, cr]) => {
                if let (Some(red), Some(green), Some(blue)) = (planes.next(), planes.next(), planes.next()) {
                    ycc_to_rgb([y, cb, cr], [red, green, blue]);
                }
            }
            (Self::Cmyk, [c, m, y, k]) => {
                for (plane, ink) in planes.zip([c, m, y]) {
                    for (sample, (&ink, &black)) in plane.iter_mut().zip(ink.iter().zip(k)) {
                        *sample = without_ink(255 - ink, black);
                    }
                }
            }
            (Self::Ycck, [y, cb, cr, k]) => {
                let (Some(red), Some(green), Some(blue)) = (planes.next(), planes.next(), planes.next())
                else {
                    return;
                };
                ycc_to_rgb([y, cb, cr], [red, green, blue]);
                for plane in [red, green, blue] {
                    for (sample, &black) in plane.iter_mut().zip(k) {
                        *sample = without_ink(*sample, black);
                    }
                }
            }
            (_, components) => {
                for (plane, component) in planes.zip(components) {
                    plane.copy_from_slice(component);
                }
            }
        }
    }
}

/// Light that is left when `ink` is printed over black; `light` is what black alone leaves.
fn without_ink(ink: i16, light: i16) -> i16 {
    let product = i32::from(ink) * i32::from(light) + 128;
    light - (((product >> 8) + product) >> 8) as i16
}

/// BT.601 with full range, in fixed-point of 16 bits.
fn ycc_to_rgb([y, cb, cr]: [&[i16]; 3], [red, green, blue]: [&mut [i16]; 3]) {
    const HALF: i32 = 1 << 15;
    const fn fixed(factor: f64) -> i32 {
        (factor * 65536.0 + 0.5) as i32
    }
    let width = y.len();
    let (y, cb, cr) = (&y[..width], &cb[..width], &cr[..width]);
    let (red, green, blue) = (&mut red[..width], &mut green[..width], &mut blue[..width]);
    for x in 0..width {
        let (luma, b, r) = (i32::from(y[x]), i32::from(cb[x]) - 128, i32::from(cr[x]) - 128);
        red[x] = (luma + ((fixed(1.402) * r + HALF) >> 16)).clamp(0, 255) as i16;
        green[x] = (luma + ((-fixed(0.344_14) * b - fixed(0.714_14) * r + HALF) >> 16)).clamp(0, 255) as i16;
        blue[x] = (luma + ((fixed(1.772) * b + HALF) >> 16)).clamp(0, 255) as i16;
    }
}
