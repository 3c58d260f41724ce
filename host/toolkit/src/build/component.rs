//! The two steps of C, C++ and Zig beside their compiler: bindings of the interface before, the component after.

use std::path::Path;

use anyhow::{Context, Result};
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME as ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER as ADAPTER,
};
use wit_bindgen_core::{Files, wit_parser::Resolve};
use wit_component::ComponentEncoder;

use crate::project::embedded::write_if_changed;

/// Writes C bindings for the interface in `wit`: plugin.h, plugin.c and plugin_component_type.o.
pub fn bindings(wit: &Path, out: &Path) -> Result<()> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(wit).with_context(|| format!("cannot read {}", wit.display()))?;
    let world = resolve.select_world(&[package], None)?;
    let mut files = Files::default();
    wit_bindgen_c::Opts::default().build().generate(&mut resolve, world, &mut files)?;
    for (name, contents) in files.iter() {
        write_if_changed(&out.join(name), contents)?;
    }
    Ok(())
}

/// A component out of a core module whose custom section says which world it is for.
pub fn encode(module: &[u8]) -> Result<Vec<u8>> {
    ComponentEncoder::default()
        .module(module)?
        // Maps what a C library's start-up imports to the WASI that the server links.
        .adapter(ADAPTER_NAME, ADAPTER)?
        .validate(true)
        .encode()
        .context("what was linked cannot be made a component")
}
