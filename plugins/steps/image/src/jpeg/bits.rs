//! Entropy-coded data: bits, Huffman codes.

use super::headers::next_marker;

/// Codes up to this length are looked up at once.
const LOOKUP_BITS: u32 = 10;

/// The file's data is damaged: a code that no table has, or fewer bits than its pixels take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Damaged;

/// Reads bits up to the next marker.
pub(super) struct Bits<'a> {
    data: &'a [u8],
    at: usize,
    /// The next bits, from the highest down.
    buffer: u64,
    count: u32,
    /// Zeros that were added behind the end of the data.
    added: u32,
}

impl<'a> Bits<'a> {
    pub(super) fn new(data: &'a [u8], at: usize) -> Self {
        Self { data, at, buffer: 0, count: 0, added: 0 }
    }

    /// Where the data goes on; if it has been read to its end, at a marker.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Makes sure that at least 32 bits are there, of which those behind the end are zeros.
    #[inline(always)]
    fn refill(&mut self) {
        if self.count > 32 {
            return;
        }
        if let Some(bytes) = self.data.get(self.at..).and_then(|rest| rest.first_chunk::<4>()) {
            let word = u32::from_be_bytes(*bytes);
            // None of the four is 0xFF.
            if (!word).wrapping_sub(0x0101_0101) & word & 0x8080_8080 == 0 {
                self.buffer |= u64::from(word) << (32 - self.count);
                self.count += 32;
                self.at += 4;
                return;
            }
        }
        self.refill_slowly();
    }

    #[cold]
    fn refill_slowly(&mut self) {
        while self.count <= 56 {
            let byte = match (self.data.get(self.at), self.data.get(self.at + 1)) {
                (Some(0xFF), Some(0)) => {
                    self.at += 2;
                    0xFF
                }
                (Some(0xFF), _) | (None, _) => {
                    self.added += 8;
                    0
                }
                (Some(&byte), _) => {
                    self.at += 1;
                    byte
                }
            };
            self.buffer |= u64::from(byte) << (56 - self.count);
            self.count += 8;
        }
    }

    /// The next 1 to 16 bits, of which at least as many must be there.
    #[inline(always)]
    fn take(&mut self, count: u32) -> u32 {
        let bits = (self.buffer >> (64 - count)) as u32;
        self.drop(count);
        bits
    }

    #[inline(always)]
    fn drop(&mut self, count: u32) {
        self.buffer <<= count;
        self.count -= count;
    }

    #[inline]
    pub(super) fn bit(&mut self) -> bool {
        self.refill();
        self.take(1) == 1
    }

    /// Up to 16 bits as a number.
    #[inline]
    pub(super) fn number(&mut self, count: u32) -> u32 {
        self.refill();
        if count == 0 { 0 } else { self.take(count) }
    }

    /// A value of `size` bits, whose first bit says that it is positive.
    #[inline(always)]
    fn value(&mut self, size: u32) -> i32 {
        if size == 0 {
            return 0;
        }
        let bits = self.take(size) as i32;
        if bits < 1 << (size - 1) { bits - (1 << size) + 1 } else { bits }
    }

    /// A code, and the value of as many bits as its symbol says.
    #[inline]
    pub(super) fn difference(&mut self, table: &Huffman) -> Result<i32, Damaged> {
        let size = u32::from(self.symbol(table)?);
        if size > 15 {
            return Err(Damaged);
        }
        Ok(self.value(size))
    }

    /// A code. Afterwards 16 bits are there still.
    #[inline(always)]
    pub(super) fn symbol(&mut self, table: &Huffman) -> Result<u8, Damaged> {
        self.refill();
        let (symbol, length) = table.lookup[(self.buffer >> (64 - LOOKUP_BITS)) as usize];
        if length == 0 {
            return self.long_symbol(table);
        }
        self.drop(u32::from(length));
        Ok(symbol)
    }

    fn long_symbol(&mut self, table: &Huffman) -> Result<u8, Damaged> {
        let bits = (self.buffer >> 48) as u32;
        for length in LOOKUP_BITS + 1..=16 {
            let code = bits >> (16 - length);
            let row = table.rows[length as usize];
            if code.wrapping_sub(row.first_code) < row.count {
                self.drop(length);
                return Ok(table.symbols[(row.first_symbol + code - row.first_code) as usize]);
            }
        }
        Err(Damaged)
    }

    /// A run of zeros and the value after it: `(run, value)`; the value is 0 where the symbol has no bits.
    #[inline(always)]
    pub(super) fn run_and_value(&mut self, table: &Huffman) -> Result<(usize, i32, u8), Damaged> {
        self.refill();
        let short = table.short_values[(self.buffer >> (64 - LOOKUP_BITS)) as usize];
        if short.bits != 0 {
            self.drop(u32::from(short.bits));
            return Ok((usize::from(short.run), i32::from(short.value), 1));
        }
        let symbol = self.symbol(table)?;
        let size = u32::from(symbol & 15);
        Ok((usize::from(symbol >> 4), self.value(size), symbol & 15))
    }

    /// At a place where data may end: whether more bits were taken than were there.
    pub(super) fn check(&self) -> Result<(), Damaged> {
        if self.added > self.count { Err(Damaged) } else { Ok(()) }
    }

    /// Goes behind the restart marker that must follow.
    pub(super) fn restart(&mut self) -> Result<(), Damaged> {
        self.check()?;
        match next_marker(self.data, &mut self.at) {
            Some(0xD0..=0xD7) => {
                (self.buffer, self.count, self.added) = (0, 0, 0);
                Ok(())
            }
            _ => Err(Damaged),
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct CodeRow {
    first_code: u32,
    count: u32,
    first_symbol: u32,
}

/// A code and its value, if both fit into the lookup's bits.
#[derive(Debug, Clone, Copy, Default)]
struct ShortValue {
    value: i16,
    run: u8,
    bits: u8,
}

/// A Huffman table.
pub(super) struct Huffman {
    /// Symbol and code length; length 0 where the code is longer.
    lookup: Box<[(u8, u8); 1 << LOOKUP_BITS]>,
    short_values: Box<[ShortValue; 1 << LOOKUP_BITS]>,
    /// By code length.
    rows: [CodeRow; 17],
    symbols: Vec<u8>,
}

impl Huffman {
    /// From the number of codes of each length, 1 to 16, and the symbols in the order of their codes. `None` if there are more
    /// codes than a length allows.
    pub(super) fn new(counts: &[u8; 16], symbols: &[u8]) -> Option<Self> {
        let mut table = Self {
            lookup: Box::new([(0, 0); 1 << LOOKUP_BITS]),
            short_values: Box::new([ShortValue::default(); 1 << LOOKUP_BITS]),
            rows: [CodeRow::default(); 17],
            symbols: symbols.to_vec(),
        };
        let (mut code, mut index) = (0_u32, 0_u32);
        for (length, &count) in (1_u32..).zip(counts) {
            let count = u32::from(count);
            table.rows[length as usize] = CodeRow { first_code: code, count, first_symbol: index };
            if code + count > 1 << length || (index + count) as usize > symbols.len() {
                return None;
            }
            if length <= LOOKUP_BITS {
                for (code, &symbol) in (code..).zip(&symbols[index as usize..(index + count) as usize]) {
                    let start = (code << (LOOKUP_BITS - length)) as usize;
                    table.lookup[start..start + (1 << (LOOKUP_BITS - length))].fill((symbol, length as u8));
                }
            }
            index += count;
            code = (code + count) << 1;
        }
        for (bits, (&(symbol, length), short)) in
            table.lookup.iter().zip(table.short_values.iter_mut()).enumerate()
        {
            let (size, length) = (u32::from(symbol & 15), u32::from(length));
            if length > 0 && size > 0 && length + size <= LOOKUP_BITS {
                let value = (bits as i32 >> (LOOKUP_BITS - length - size)) & ((1 << size) - 1);
                let value = if value < 1 << (size - 1) { value - (1 << size) + 1 } else { value };
                *short = ShortValue { value: value as i16, run: symbol >> 4, bits: (length + size) as u8 };
            }
        }
        Some(table)
    }
}
