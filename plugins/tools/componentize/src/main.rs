//! The two steps that a C plugin needs beside its compiler: bindings of the interface before, the component after.

use std::{env, fs, path::Path, process::ExitCode};

use anyhow::{Context, Result};
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME as ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER as ADAPTER,
};
use wit_bindgen_core::{Files, wit_parser::Resolve};
use wit_component::ComponentEncoder;

const USAGE: &str = "usage:
  componentize bindings WIT_FOLDER OUT_FOLDER     writes plugin.h, plugin.c and plugin_component_type.o
  componentize component MODULE.wasm OUT.wasm     makes a core module that was linked with those a component";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        ["bindings", wit, out] => bindings(wit.as_ref(), out.as_ref()),
        ["component", module, out] => component(module.as_ref(), out.as_ref()),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("componentize: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// C bindings for the world in a folder of WIT files.
fn bindings(wit: &Path, out: &Path) -> Result<()> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(wit).with_context(|| format!("cannot read {}", wit.display()))?;
    let world = resolve.select_world(&[package], None)?;
    let mut files = Files::default();
    wit_bindgen_c::Opts::default().build().generate(&mut resolve, world, &mut files)?;
    fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    for (name, contents) in files.iter() {
        write_if_changed(&out.join(name), contents)?;
    }
    Ok(())
}

/// A component out of a core module whose custom section says which world it is for.
fn component(module: &Path, out: &Path) -> Result<()> {
    let bytes = fs::read(module).with_context(|| format!("cannot read {}", module.display()))?;
    let component = ComponentEncoder::default()
        .module(&bytes)?
        .adapter(ADAPTER_NAME, ADAPTER)?
        .validate(true)
        .encode()
        .with_context(|| format!("{} cannot be made a component", module.display()))?;
    write_if_changed(out, &component)
}

/// Leaves a file with the same contents alone, for those who look at its date.
fn write_if_changed(path: &Path, contents: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|old| old == contents) {
        return Ok(());
    }
    fs::write(path, contents).with_context(|| format!("cannot write {}", path.display()))
}
