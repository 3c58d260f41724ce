//! A file's tables and scans, to stripes of samples.

use super::{
    Headers,
    bits::{Bits, Damaged, Huffman},
    headers::next_segment,
    idct::{self, Block},
    reason,
    scan::{self, Spectrum},
};
use crate::Error;

/// Takes the samples of a picture, a stripe at a time from top to bottom: one row of the largest units that are coded
/// together, `8 * v` rows of a component.
pub(super) trait Stripes {
    /// Room for a component's samples of the next stripe, and how far its rows are apart.
    fn samples(&mut self, component: usize) -> (&mut [u8], usize);
    /// All components' samples of it are written.
    fn finish_stripe(&mut self);
}

/// A component's place in the picture, in blocks.
struct Component {
    id: u8,
    h: usize,
    v: usize,
    /// Blocks that have samples of the picture, across and down.
    blocks: (usize, usize),
    /// Blocks that are coded when components are coded together: whole units.
    padded_blocks: (usize, usize),
    quantization_table: usize,
    /// As it was when the component's first scan began.
    quantization: Option<[i32; 64]>,
    /// Of the whole picture, for a file whose blocks are coded in several scans.
    coefficients: Vec<Block>,
}

/// Which tables code a component in a scan.
#[derive(Debug, Clone, Copy)]
struct Coded {
    component: usize,
    dc_table: usize,
    ac_table: usize,
}

pub(super) struct Decoder<'a> {
    bytes: &'a [u8],
    progressive: bool,
    /// Units across and down.
    units: (usize, usize),
    components: Vec<Component>,
    quantization: [Option<[i32; 64]>; 4],
    dc_tables: [Option<Huffman>; 4],
    ac_tables: [Option<Huffman>; 4],
    /// Units from one restart marker to the next; 0 is none.
    restart_interval: usize,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(bytes: &'a [u8], headers: &Headers<'_>) -> Self {
        let (across, down) = headers.sampling_maximum();
        let units = (headers.width.div_ceil(8 * across), headers.height.div_ceil(8 * down));
        let components = headers.components.iter().map(|component| {
            let (h, v) = component.sampling;
            Component {
                id: component.id,
                h,
                v,
                blocks: (
                    (headers.width * h).div_ceil(across).div_ceil(8),
                    (headers.height * v).div_ceil(down).div_ceil(8),
                ),
                padded_blocks: (units.0 * h, units.1 * v),
                quantization_table: usize::from(component.quantization),
                quantization: None,
                coefficients: Vec::new(),
            }
        });
        Self {
            bytes,
            progressive: headers.progressive,
            units,
            components: components.collect(),
            quantization: [None; 4],
            dc_tables: [const { None }; 4],
            ac_tables: [const { None }; 4],
            restart_interval: 0,
        }
    }

    /// Decodes the whole picture.
    pub(super) fn decode(mut self, stripes: &mut dyn Stripes) -> Result<(), Error> {
        let mut at = 2;
        while let Some((marker, segment)) = next_segment(self.bytes, &mut at)? {
            match marker {
                0xC4 => self.huffman_tables(segment)?,
                0xDB => self.quantization_tables(segment)?,
                0xDD => {
                    let interval = segment
                        .first_chunk::<2>()
                        .ok_or_else(|| reason("its restart interval is cut off"))?;
                    self.restart_interval = usize::from(u16::from_be_bytes(*interval));
                }
                0xDA => {
                    let (coded, spectrum) = self.scan_header(segment)?;
                    let mut bits = Bits::new(self.bytes, at);
                    if !self.progressive && coded.len() == self.components.len() {
                        return self.whole_picture(&mut bits, &coded, stripes);
                    }
                    self.scan(&mut bits, &coded, spectrum)?;
                    at = bits.position();
                }
                0xD9 => break,
                _ => {}
            }
        }
        self.transform_all(stripes)
    }

    fn quantization_tables(&mut self, mut segment: &[u8]) -> Result<(), Error> {
        while let [precision_and_number, rest @ ..] = segment {
            let size = if precision_and_number >> 4 == 0 { 1 } else { 2 };
            let table = self.quantization.get_mut(usize::from(precision_and_number & 15));
            let (Some(table), Some((values, rest))) = (table, rest.split_at_checked(64 * size)) else {
                return Err(reason("a quantization table is not as long as it should be"));
            };
            *table = Some(scan::in_block_order(values.chunks(size).map(|value| match *value {
                [high, low] => i32::from(u16::from_be_bytes([high, low])),
                _ => i32::from(value[0]),
            })));
            segment = rest;
        }
        Ok(())
    }

    fn huffman_tables(&mut self, mut segment: &[u8]) -> Result<(), Error> {
        let wrong = || reason("a Huffman table is not as it should be");
        while let [class_and_number, rest @ ..] = segment {
            let (counts, rest) = rest.split_first_chunk::<16>().ok_or_else(wrong)?;
            let length = counts.iter().map(|&count| usize::from(count)).sum();
            let (symbols, rest) = rest.split_at_checked(length).ok_or_else(wrong)?;
            let tables = if class_and_number >> 4 == 0 { &mut self.dc_tables } else { &mut self.ac_tables };
            let table = tables.get_mut(usize::from(class_and_number & 15)).ok_or_else(wrong)?;
            *table = Some(Huffman::new(counts, symbols).ok_or_else(wrong)?);
            segment = rest;
        }
        Ok(())
    }

    fn scan_header(&mut self, segment: &[u8]) -> Result<(Vec<Coded>, Spectrum), Error> {
        let wrong = || reason("a scan header is not as it should be");
        let (&count, rest) = segment.split_first().ok_or_else(wrong)?;
        let (listed, rest) = rest.split_at_checked(2 * usize::from(count)).ok_or_else(wrong)?;
        let mut coded = Vec::new();
        for &[id, tables] in listed.as_chunks::<2>().0 {
            let component =
                self.components.iter().position(|component| component.id == id).ok_or_else(wrong)?;
            let (dc_table, ac_table) = (usize::from(tables >> 4), usize::from(tables & 15));
            if dc_table > 3 || ac_table > 3 || coded.iter().any(|coded: &Coded| coded.component == component)
            {
                return Err(wrong());
            }
            coded.push(Coded { component, dc_table, ac_table });
            let component = &mut self.components[component];
            if component.quantization.is_none() {
                component.quantization =
                    self.quantization.get(component.quantization_table).copied().flatten();
            }
        }
        let &[first, last, bits, ..] = rest else { return Err(wrong()) };
        let spectrum = Spectrum {
            first: usize::from(first),
            last: usize::from(last),
            low: u32::from(bits & 15),
            refines: bits >> 4 != 0,
        };
        let sensible = spectrum.first <= spectrum.last
            && spectrum.last < 64
            && spectrum.low < 14
            && (spectrum.first > 0 || spectrum.last == 0)
            && (spectrum.first == 0 || coded.len() == 1);
        if coded.is_empty() || (self.progressive && !sensible) {
            return Err(wrong());
        }
        Ok((coded, spectrum))
    }

    /// A file with one scan, which goes from bits to samples a stripe at a time.
    fn whole_picture(
        &self,
        bits: &mut Bits<'_>,
        coded: &[Coded],
        stripes: &mut dyn Stripes,
    ) -> Result<(), Error> {
        let mut tables = Vec::new();
        for coded in coded {
            let component = &self.components[coded.component];
            let dc = self.dc_tables[coded.dc_table].as_ref();
            let ac = self.ac_tables[coded.ac_table].as_ref();
            match (dc, ac, &component.quantization) {
                (Some(dc), Some(ac), Some(quantization)) => {
                    tables.push((coded.component, (dc, ac), quantization))
                }
                _ => return Err(reason("a table that its scan names is missing")),
            }
        }
        let mut dc = [0; 4];
        let mut restart = Restart::new(self.restart_interval);
        for _ in 0..self.units.1 {
            for unit in 0..self.units.0 {
                if restart.is_due() {
                    bits.restart().map_err(damaged)?;
                    dc = [0; 4];
                }
                for &(index, tables, quantization) in &tables {
                    let component = &self.components[index];
                    let (samples, stride) = stripes.samples(index);
                    for y in 0..component.v {
                        for x in 0..component.h {
                            let mut block = [0; 64];
                            scan::sequential(bits, tables, &mut dc[index], &mut block).map_err(damaged)?;
                            let start = 8 * (y * stride + unit * component.h + x);
                            idct::transform(&block, quantization, &mut samples[start..], stride);
                        }
                    }
                }
            }
            bits.check().map_err(damaged)?;
            stripes.finish_stripe();
        }
        Ok(())
    }

    /// One of several scans, whose coefficients are kept.
    fn scan(&mut self, bits: &mut Bits<'_>, coded: &[Coded], spectrum: Spectrum) -> Result<(), Error> {
        for component in &mut self.components {
            let blocks = component.padded_blocks.0 * component.padded_blocks.1;
            component.coefficients.resize(blocks, [0; 64]);
        }
        // A component that is coded alone leaves out the blocks that only fill whole units.
        let units = match coded {
            [alone] => self.components[alone.component].blocks,
            _ => self.units,
        };
        let mut dc = [0; 4];
        let mut blocks_without = 0;
        let mut restart = Restart::new(self.restart_interval);
        for unit_y in 0..units.1 {
            for unit_x in 0..units.0 {
                if restart.is_due() {
                    bits.restart().map_err(damaged)?;
                    (dc, blocks_without) = ([0; 4], 0);
                }
                for part in coded {
                    let component = &mut self.components[part.component];
                    let (h, v) = if coded.len() == 1 { (1, 1) } else { (component.h, component.v) };
                    let dc_table = self.dc_tables[part.dc_table].as_ref();
                    let ac_table = self.ac_tables[part.ac_table].as_ref();
                    let dc = &mut dc[part.component];
                    for y in unit_y * v..(unit_y + 1) * v {
                        for x in unit_x * h..(unit_x + 1) * h {
                            let block = &mut component.coefficients[y * component.padded_blocks.0 + x];
                            match (dc_table, ac_table) {
                                (Some(dc_table), Some(ac_table)) if !self.progressive => {
                                    scan::sequential(bits, (dc_table, ac_table), dc, block)
                                }
                                _ if self.progressive && spectrum.first == 0 => {
                                    scan::progressive_dc(bits, dc_table, spectrum, dc, block)
                                }
                                (_, Some(ac_table)) if self.progressive => {
                                    scan::progressive_ac(bits, ac_table, spectrum, &mut blocks_without, block)
                                }
                                _ => return Err(reason("a table that its scan names is missing")),
                            }
                            .map_err(damaged)?;
                        }
                    }
                }
            }
        }
        bits.check().map_err(damaged)
    }

    /// From all coefficients to samples.
    fn transform_all(&self, stripes: &mut dyn Stripes) -> Result<(), Error> {
        for unit_y in 0..self.units.1 {
            for (index, component) in self.components.iter().enumerate() {
                let Some(quantization) =
                    component.quantization.filter(|_| !component.coefficients.is_empty())
                else {
                    return Err(reason("no scan has the samples of one of its components"));
                };
                let (samples, stride) = stripes.samples(index);
                for y in 0..component.v {
                    let row = (unit_y * component.v + y) * component.padded_blocks.0;
                    let blocks = &component.coefficients[row..row + component.padded_blocks.0];
                    for (x, block) in blocks.iter().enumerate() {
                        idct::transform(block, &quantization, &mut samples[8 * (y * stride + x)..], stride);
                    }
                }
            }
            stripes.finish_stripe();
        }
        Ok(())
    }
}

/// Counts units to the next restart marker.
struct Restart {
    interval: usize,
    left: usize,
}

impl Restart {
    fn new(interval: usize) -> Self {
        Self { interval, left: interval }
    }

    /// Whether a marker stands before the next unit.
    fn is_due(&mut self) -> bool {
        if self.interval == 0 {
            return false;
        }
        if self.left == 0 {
            self.left = self.interval - 1;
            return true;
        }
        self.left -= 1;
        false
    }
}

fn damaged(_: Damaged) -> Error {
    reason("its data is damaged: a code that no table has, or fewer bits than its pixels take")
}
