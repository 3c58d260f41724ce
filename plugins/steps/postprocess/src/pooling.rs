/// How the vectors of a text's tokens become one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooling {
    /// The mean of each component.
    Mean,
    /// The vector of the first token, which many models put there for it.
    Cls,
    /// The largest of each component.
    Max,
}

impl Pooling {
    /// Words for a parameter of a plugin, as the SDK's `Settings::choose` takes them.
    pub const WORDS: [(&str, Self); 3] = [("mean", Self::Mean), ("cls", Self::Cls), ("max", Self::Max)];

    /// Pools one text. `tokens` is `[length, width]`, with `mask` 0 for what only fills a row up and anything else for
    /// a token; writes `width` values. A text without tokens gives zeros.
    ///
    /// What lies in `tokens` for padding is not looked at, NaN or not.
    ///
    /// # Panics
    /// If `tokens` has not `mask.len() * pooled.len()` values.
    pub fn pool(self, tokens: &[f32], mask: &[i64], pooled: &mut [f32]) {
        assert_eq!(tokens.len(), mask.len() * pooled.len(), "values of tokens");
        if pooled.is_empty() {
            return;
        }
        let kept = tokens.chunks_exact(pooled.len()).zip(mask).filter(|(_, mask)| **mask != 0);
        let mut vectors = kept.map(|(vector, _)| vector);
        match vectors.next() {
            Some(first) => pooled.copy_from_slice(first),
            None => return pooled.fill(0.0),
        }
        match self {
            Self::Cls => {}
            Self::Mean => {
                let mut count = 1.0;
                for vector in vectors {
                    pooled.iter_mut().zip(vector).for_each(|(sum, value)| *sum += value);
                    count += 1.0;
                }
                pooled.iter_mut().for_each(|sum| *sum /= count);
            }
            Self::Max => {
                for vector in vectors {
                    pooled.iter_mut().zip(vector).for_each(|(most, value)| *most = most.max(*value));
                }
            }
        }
    }
}
