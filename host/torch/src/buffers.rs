use bytes::{Bytes, BytesMut};

/// Where every part of a buffer begins: enough for any data type and for the widest vector instructions.
const ALIGNMENT: usize = 64;

/// Host memory for batches. A buffer is used again once nothing refers to its bytes any more: large memory that is new
/// each time is paged in each time.
pub(crate) struct Buffers {
    buffers: Vec<BytesMut>,
    most: usize,
}

impl Buffers {
    /// Keeps at most so many buffers; one for each input and one more will do.
    pub(crate) fn new(most: usize) -> Buffers {
        Buffers { buffers: Vec::new(), most: most.max(1) }
    }

    /// Copies the parts behind one another.
    pub(crate) fn gather<'a>(&mut self, parts: impl Iterator<Item = &'a Bytes> + Clone) -> Bytes {
        let size: usize = parts.clone().map(Bytes::len).sum();
        let whole = size.next_multiple_of(ALIGNMENT);
        let mut buffer = match self.buffers.iter_mut().position(|buffer| buffer.try_reclaim(whole)) {
            Some(index) => self.buffers.swap_remove(index),
            None => BytesMut::with_capacity(whole),
        };
        for part in parts {
            buffer.extend_from_slice(part);
        }
        // The next part of the same buffer is to begin as well aligned as this one.
        buffer.resize(whole, 0);
        let filled = buffer.split().freeze().slice(..size);
        if self.buffers.len() >= self.most {
            self.buffers.swap_remove(0);
        }
        self.buffers.push(buffer);
        filled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gather(buffers: &mut Buffers, parts: &[&'static [u8]]) -> Bytes {
        let parts: Vec<Bytes> = parts.iter().map(|part| Bytes::from_static(part)).collect();
        buffers.gather(parts.iter())
    }

    #[test]
    fn puts_parts_behind_one_another() {
        let mut buffers = Buffers::new(2);
        assert_eq!(gather(&mut buffers, &[b"ab", b"", b"cde"]), b"abcde".as_slice());
        assert_eq!(gather(&mut buffers, &[]), b"".as_slice());
    }

    #[test]
    fn uses_memory_again_once_it_is_free_and_not_before() {
        let mut buffers = Buffers::new(2);
        let first = gather(&mut buffers, &[&[1; 200]]);
        let address = first.as_ptr();
        let second = gather(&mut buffers, &[&[2; 200]]);
        assert_ne!(second.as_ptr(), address);
        assert_eq!(first, [1; 200].as_slice());
        drop(first);
        let third = gather(&mut buffers, &[&[3; 150]]);
        assert_eq!(third.as_ptr(), address);
        assert_eq!(second, [2; 200].as_slice());
    }
}
