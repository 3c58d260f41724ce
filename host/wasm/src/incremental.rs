//! Keeps compiled functions while plugins are loaded.
//!
//! A plugin is compiled twice, as it is in its file and as its snapshot; the functions are the same. What is kept for
//! the second time is bounded, and freed when no load is going on.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use wasmtime::CacheStore;

/// Bytes of compiled functions that are kept at most; more is compiled again. A component with CPython takes some 100 MB.
const MOST_BYTES: usize = 512 << 20;

/// Compiled functions by what they were compiled from.
#[derive(Debug, Default)]
pub(crate) struct CompiledFunctions {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// Loads going on.
    loads: usize,
    bytes: usize,
    functions: HashMap<Box<[u8]>, Arc<[u8]>>,
}

impl CompiledFunctions {
    /// Keeps functions from now on until the guard is dropped.
    pub(crate) fn keep(self: &Arc<CompiledFunctions>) -> Keeping {
        self.kept().loads += 1;
        Keeping(Arc::clone(self))
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A load that is going on.
pub(crate) struct Keeping(Arc<CompiledFunctions>);

impl Drop for Keeping {
    fn drop(&mut self) {
        let mut kept = self.0.kept();
        kept.loads = kept.loads.saturating_sub(1);
        if kept.loads == 0 {
            let functions = std::mem::take(&mut *kept);
            drop(kept);
            drop(functions);
        }
    }
}

impl CacheStore for CompiledFunctions {
    fn get(&self, key: &[u8]) -> Option<Cow<'_, [u8]>> {
        let function = self.kept().functions.get(key).cloned()?;
        Some(Cow::Owned(function.to_vec()))
    }

    fn insert(&self, key: &[u8], value: Vec<u8>) -> bool {
        let mut kept = self.kept();
        let bytes = kept.bytes.saturating_add(key.len()).saturating_add(value.len());
        if kept.loads == 0 || bytes > MOST_BYTES {
            return false;
        }
        kept.bytes = bytes;
        kept.functions.insert(key.into(), value.into());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_kept_while_a_load_goes_on() {
        let functions = Arc::new(CompiledFunctions::default());
        assert!(!functions.insert(b"early", vec![0]));
        let (first, second) = (functions.keep(), functions.keep());
        assert!(functions.insert(b"key", vec![1, 2]));
        drop(first);
        assert_eq!(functions.get(b"key").as_deref(), Some([1, 2].as_slice()));
        drop(second);
        assert_eq!(functions.get(b"key"), None);
        assert_eq!(functions.kept().bytes, 0);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let functions = Arc::new(CompiledFunctions::default());
        let _load = functions.keep();
        assert!(!functions.insert(b"", vec![0; MOST_BYTES + 1]));
        assert!(functions.insert(b"", vec![0; 1]));
    }
}
