//! The host's side of `wit/`. Records that go into a guest borrow their bytes, so that a tensor is copied once.
#![allow(missing_docs, reason = "generated; documented in wit/")]

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "plugin",
    ownership: Borrowing { duplicate_if_necessary: true },
    imports: {
        "nacre:plugin/files.read": async | trappable,
        "nacre:plugin/models.infer": async | trappable,
        "nacre:plugin/models.infer-all": async | trappable,
        // Every call counts towards a limit.
        default: trappable,
    },
    exports: { default: async },
});

pub(crate) use self::nacre::plugin::{files, log, metrics, models, types};
pub(crate) use exports::nacre::plugin::step;
