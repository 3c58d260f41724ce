//! The coefficients of one block, in each of the ways in which a scan may code them.

use super::{
    bits::{Bits, Damaged, Huffman},
    idct::Block,
};

/// Where the coefficients, in the order in which they are coded, belong in a block. The order has as many places more
/// as a damaged file's run can lead beyond its end; they belong nowhere in particular.
const ZIGZAG: [u8; 80] = {
    let mut order = [63; 80];
    let (mut index, mut diagonal) = (0, 0);
    while diagonal < 15 {
        let mut step = 0;
        while step <= diagonal {
            let (x, y) = if diagonal % 2 == 0 { (step, diagonal - step) } else { (diagonal - step, step) };
            if x < 8 && y < 8 {
                order[index] = 8 * y + x;
                index += 1;
            }
            step += 1;
        }
        diagonal += 1;
    }
    order
};

/// Quantization steps in the order in which a file has them, to the order of a block.
pub(super) fn in_block_order(values: impl Iterator<Item = i32>) -> [i32; 64] {
    let mut ordered = [0; 64];
    for (&place, value) in ZIGZAG[..64].iter().zip(values) {
        ordered[usize::from(place)] = value;
    }
    ordered
}

/// Which coefficients a progressive scan has, and which of their bits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spectrum {
    pub(super) first: usize,
    pub(super) last: usize,
    /// The lowest bit.
    pub(super) low: u32,
    /// The scan adds one bit to what earlier scans gave.
    pub(super) refines: bool,
}

/// All of a block's coefficients; `dc` is the sum of the differences so far.
#[inline]
pub(super) fn sequential(
    bits: &mut Bits<'_>,
    (dc_table, ac_table): (&Huffman, &Huffman),
    dc: &mut i32,
    block: &mut Block,
) -> Result<(), Damaged> {
    *dc = dc.wrapping_add(bits.difference(dc_table)?);
    block[0] = *dc as i16;
    let mut index = 1;
    while index < 64 {
        let (run, value, size) = bits.run_and_value(ac_table)?;
        if size == 0 {
            if run < 15 {
                break;
            }
            index += 16;
            continue;
        }
        index += run;
        block[usize::from(ZIGZAG[index])] = value as i16;
        index += 1;
    }
    Ok(())
}

/// The mean of a block, in a progressive scan.
pub(super) fn progressive_dc(
    bits: &mut Bits<'_>,
    table: Option<&Huffman>,
    spectrum: Spectrum,
    dc: &mut i32,
    block: &mut Block,
) -> Result<(), Damaged> {
    if spectrum.refines {
        if bits.bit() {
            block[0] |= 1 << spectrum.low;
        }
        return Ok(());
    }
    *dc = dc.wrapping_add(bits.difference(table.ok_or(Damaged)?)?);
    block[0] = (*dc << spectrum.low) as i16;
    Ok(())
}

/// Other coefficients, in a progressive scan; `blocks_without` is how many blocks have nothing more to come.
pub(super) fn progressive_ac(
    bits: &mut Bits<'_>,
    table: &Huffman,
    spectrum: Spectrum,
    blocks_without: &mut u32,
    block: &mut Block,
) -> Result<(), Damaged> {
    if spectrum.refines {
        return refined_ac(bits, table, spectrum, blocks_without, block);
    }
    if *blocks_without > 0 {
        *blocks_without -= 1;
        return Ok(());
    }
    let mut index = spectrum.first;
    while index <= spectrum.last {
        let (run, value, size) = bits.run_and_value(table)?;
        if size == 0 {
            if run < 15 {
                *blocks_without = (1 << run) - 1 + bits.number(run as u32);
                break;
            }
            index += 16;
            continue;
        }
        index += run;
        block[usize::from(ZIGZAG[index])] = (value << spectrum.low) as i16;
        index += 1;
    }
    Ok(())
}

fn refined_ac(
    bits: &mut Bits<'_>,
    table: &Huffman,
    spectrum: Spectrum,
    blocks_without: &mut u32,
    block: &mut Block,
) -> Result<(), Damaged> {
    let step = 1_i16 << spectrum.low;
    let mut index = spectrum.first;
    // One bit for each coefficient that is not zero already.
    let refine = |bits: &mut Bits<'_>, coefficient: &mut i16| {
        if bits.bit() && *coefficient & step == 0 {
            *coefficient = coefficient.wrapping_add(if *coefficient < 0 { -step } else { step });
        }
    };
    if *blocks_without == 0 {
        while index <= spectrum.last {
            let symbol = bits.symbol(table)?;
            let (mut run, size) = (symbol >> 4, symbol & 15);
            if size == 0 && run < 15 {
                *blocks_without = (1 << run) + bits.number(u32::from(run));
                break;
            }
            let value = if size == 0 {
                0
            } else if bits.bit() {
                step
            } else {
                -step
            };
            while index <= spectrum.last {
                let coefficient = &mut block[usize::from(ZIGZAG[index])];
                if *coefficient != 0 {
                    refine(bits, coefficient);
                } else if run == 0 {
                    *coefficient = value;
                    index += 1;
                    break;
                } else {
                    run -= 1;
                }
                index += 1;
            }
        }
    }
    if *blocks_without > 0 {
        for &place in &ZIGZAG[index..index.max(spectrum.last + 1)] {
            let coefficient = &mut block[usize::from(place)];
            if *coefficient != 0 {
                refine(bits, coefficient);
            }
        }
        *blocks_without -= 1;
    }
    Ok(())
}
