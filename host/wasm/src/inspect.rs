//! What a component's file says of itself: read, not compiled and not run.

use std::{collections::BTreeMap, path::Path, time::Duration};

use nacre_domain::{Error, Result};
use serde::Serialize;
use wasmparser::{KnownCustom, Parser, Payload};

use crate::{WasmOptions, compile, interface, limits::Limits, wasi};

/// A component, by its sections.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Inspection {
    /// Size of the file.
    pub bytes: u64,
    /// The part of it that is debug information: source lines for backtraces, nothing that runs.
    pub debug_bytes: u64,
    /// Core modules in it.
    pub modules: usize,
    /// Version of `nacre:plugin` that it was built for; `None` if it names none.
    pub interface: Option<String>,
    /// Imports, in its order.
    pub imports: Vec<Import>,
    /// Names of exports, in its order.
    pub exports: Vec<String>,
    /// The languages and tools that it was made with, each once.
    pub producers: Vec<Producer>,
    /// Why a server refuses it, as the server says it; empty if nothing that can be read is in the way.
    pub problems: Vec<String>,
}

/// An interface, or a function, that a component imports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Import {
    /// Name with its version.
    pub name: String,
    /// What a server has for it.
    pub provision: Provision,
}

/// What a server has for an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Provision {
    /// It works.
    Works,
    /// It links, and every call of it fails with "access denied".
    Denied,
    /// Nothing: the component is refused.
    Refused,
}

/// A language, compiler or tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Producer {
    /// `language`, `processed-by` or `sdk`.
    pub field: String,
    /// Its name.
    pub name: String,
    /// Its version; may be empty.
    pub version: String,
}

/// The limits of a plugin that people ask for most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PluginLimits {
    /// Memory of an instance, in MiB.
    pub memory_mb: u32,
    /// Time for `process`.
    pub timeout: Duration,
    /// Time for `describe` and `configure` together.
    pub configure_timeout: Duration,
    /// Size of an answer, in MiB.
    pub output_mb: u32,
}

/// The limits that the parameters of a config.pbtxt set, or leave as they are.
///
/// # Errors
/// Invalid argument for a value that is no number or above what the options allow.
pub fn limits(parameters: &BTreeMap<String, String>, options: &WasmOptions) -> Result<PluginLimits> {
    let Limits { memory_mb, timeout, configure_timeout, output_mb, .. } = Limits::read(parameters, options)?;
    Ok(PluginLimits { memory_mb, timeout, configure_timeout, output_mb })
}

/// Reads a component's sections.
///
/// # Errors
/// Not found: the file cannot be read. Invalid argument: it is too large for the options, no component, or damaged.
pub fn inspect(file: &Path, options: &WasmOptions) -> Result<Inspection> {
    let bytes = compile::read(file, options.max_component_mb.saturating_mul(1 << 20))?;
    let mut inspection = sections(&bytes).map_err(|e| {
        Error::invalid_argument(format!("{} cannot be read: it is damaged or cut off ({e})", file.display()))
    })?;
    inspection.bytes = bytes.len() as u64;
    let names: Vec<String> = inspection.imports.iter().map(|import| import.name.clone()).collect();
    inspection.interface = interface::version_among(inspection.exports.iter().chain(&names));
    if let Err(error) = interface::check_names(&names, &inspection.exports) {
        inspection.problems.push(error.message().to_owned());
    }
    let refused: Vec<_> = inspection
        .imports
        .iter()
        .filter(|import| import.provision == Provision::Refused)
        .map(|import| import.name.clone())
        .collect();
    if !refused.is_empty() {
        inspection.problems.push(interface::refused_imports(&refused).message().to_owned());
    }
    Ok(inspection)
}

fn sections(bytes: &[u8]) -> wasmparser::Result<Inspection> {
    let mut found = Inspection::default();
    // Of components and modules inside of it only the tools are of interest.
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload? {
            Payload::ModuleSection { .. } => {
                depth += 1;
                found.modules += 1;
            }
            Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    let name = import?.name.name;
                    found.imports.push(Import { name: name.to_owned(), provision: provision(name) });
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section {
                    found.exports.push(export?.name.name.to_owned());
                }
            }
            Payload::CustomSection(section) => {
                if section.name().starts_with(".debug_") {
                    found.debug_bytes += section.data().len() as u64;
                }
                if let KnownCustom::Producers(fields) = section.as_known() {
                    producers(fields, &mut found.producers)?;
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

fn producers(
    fields: wasmparser::ProducersSectionReader<'_>,
    found: &mut Vec<Producer>,
) -> wasmparser::Result<()> {
    for field in fields {
        let field = field?;
        for value in field.values {
            let value = value?;
            let producer = Producer {
                field: field.name.to_owned(),
                name: value.name.to_owned(),
                version: value.version.to_owned(),
            };
            if !found.contains(&producer) {
                found.push(producer);
            }
        }
    }
    Ok(())
}

fn provision(name: &str) -> Provision {
    if interface::is_known(name) { Provision::Works } else { wasi::provision(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_work_are_denied_or_refused() {
        for (name, expected) in [
            ("nacre:plugin/log@1.0.0", Provision::Works),
            ("nacre:plugin/types@1.0.0", Provision::Works),
            ("nacre:plugin/gpu@1.0.0", Provision::Refused),
            ("wasi:clocks/wall-clock@0.2.6", Provision::Works),
            ("wasi:filesystem/preopens@0.2.0", Provision::Denied),
            ("wasi:filesystem/preopens@0.3.0", Provision::Refused),
            ("acme:things/stuff", Provision::Refused),
        ] {
            assert_eq!(provision(name), expected, "{name}");
        }
    }

    #[test]
    fn an_empty_component_has_nothing() {
        let found = sections(b"\0asm\x0d\0\x01\0").unwrap();
        assert_eq!(found, Inspection::default());
        assert!(sections(b"\0asm\x0d\0\x01\0\x07\xff").is_err());
    }
}
