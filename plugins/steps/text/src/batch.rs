//! Tokens to tensors.

use tokenizers::Encoding;

use crate::tokenizer::Pad;

/// Tokens of several texts, as rows of one length.
pub struct Batch {
    rows: Vec<Encoding>,
    length: usize,
    pad: Pad,
}

impl Batch {
    pub(crate) fn new(rows: Vec<Encoding>, length: usize, pad: Pad) -> Self {
        Self { rows, length, pad }
    }

    /// Texts and tokens of each: the shape of all three tensors.
    pub fn shape(&self) -> [i64; 2] {
        [self.rows.len() as i64, self.length as i64]
    }

    /// Tokens of each text before padding, special ones included.
    pub fn lengths(&self) -> impl ExactSizeIterator<Item = usize> {
        self.rows.iter().map(Encoding::len)
    }

    /// Writes the indices of tokens in the vocabulary.
    ///
    /// # Panics
    /// As the other two: if `values` is not of the shape's size.
    pub fn write_input_ids(&self, values: &mut [i64]) {
        self.write(values, Encoding::get_ids, self.pad.token);
    }

    /// Writes 1 for a token and 0 for padding.
    pub fn write_attention_mask(&self, values: &mut [i64]) {
        self.write(values, Encoding::get_attention_mask, 0);
    }

    /// Writes which text of a pair a token belongs to: 0 or 1. Of texts that are no pairs, 0 or what the tokenizer has.
    pub fn write_token_type_ids(&self, values: &mut [i64]) {
        self.write(values, Encoding::get_type_ids, self.pad.token_type);
    }

    fn write(&self, values: &mut [i64], of_row: impl Fn(&Encoding) -> &[u32], padding: i64) {
        assert_eq!(
            values.len(),
            self.rows.len() * self.length,
            "values of a tensor of shape {:?}",
            self.shape()
        );
        if self.length == 0 {
            return;
        }
        for (target, row) in values.chunks_exact_mut(self.length).zip(&self.rows) {
            let tokens = of_row(row);
            let left = if self.pad.left { self.length - tokens.len() } else { 0 };
            let (before, rest) = target.split_at_mut(left);
            let (middle, after) = rest.split_at_mut(tokens.len());
            before.fill(padding);
            middle.iter_mut().zip(tokens).for_each(|(value, &token)| *value = token.into());
            after.fill(padding);
        }
    }
}
