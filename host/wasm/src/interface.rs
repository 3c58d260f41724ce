//! Whether a component is a plugin, and for which version of the interface it was built.

use nacre_domain::{Error, Result};
use wasmtime::component::Component;

use crate::differences;

use crate::snapshot;

/// The interface version of this host: that of `wit/`.
pub(crate) const HOST_VERSION: &str = "1.0.0";

const STEP: &str = "nacre:plugin/step";

/// What a plugin may import of `nacre:plugin`.
const INTERFACES: [&str; 5] = ["types", "log", "files", "models", "metrics"];

/// Checks names and versions before anything is linked, since wasmtime's own message would name no version.
///
/// # Errors
/// Invalid argument: built for another version, or no plugin at all.
pub(crate) fn check(component: &Component) -> Result<()> {
    let ty = component.component_type();
    let engine = component.engine();
    let imports: Vec<_> = ty.imports(engine).map(|(name, _)| name.to_owned()).collect();
    let exports = ty.exports(engine).map(|(name, _)| name.to_owned());
    let exports: Vec<_> = exports.filter(|name| !name.starts_with(snapshot::ADDED)).collect();
    check_names(&imports, &exports)
}

/// The version of `nacre:plugin` that the component was built for, if it names one.
pub(crate) fn built_for(component: &Component) -> Option<String> {
    component
        .component_type()
        .exports(component.engine())
        .find_map(|(name, _)| version_of(name).map(str::to_owned))
}

/// [`check`] of names alone.
pub(crate) fn check_names(imports: &[String], exports: &[String]) -> Result<()> {
    for version in exports.iter().chain(imports).filter_map(|name| version_of(name)) {
        if track(version) != track(HOST_VERSION) {
            return Err(Error::invalid_argument(format!(
                "it was built for nacre:plugin@{version}, but this server has nacre:plugin@{HOST_VERSION}: rebuild it \
                 against the server's version"
            )));
        }
    }
    if exports.iter().any(|name| name.split_once('@').is_some_and(|(interface, _)| interface == STEP)) {
        return Ok(());
    }
    let found = if exports.is_empty() { "nothing".to_owned() } else { exports.join(", ") };
    Err(Error::invalid_argument(format!(
        "it is no plugin: expected it to export {STEP}@{HOST_VERSION}, but it exports {found}; build it for the world \
         `plugin` of nacre:plugin"
    )))
}

/// The error for a component whose interface is not this host's, with what differs. `error` is what is known without
/// looking into it.
pub(crate) fn explained(error: Error, component: &[u8]) -> Error {
    let differences = differences::between(component);
    if differences.is_empty() {
        return error;
    }
    Error::new(error.code(), format!("{}. What differs: {differences}", error.message()))
}

/// The error for a component of this host's track that does not link.
pub(crate) fn misfit(error: Error, component: &[u8], built_for: &str) -> Error {
    let differences = differences::between(component);
    if differences.lacking.is_empty() {
        return explained(error, component);
    }
    let verb = if differences.lacking.len() == 1 { "is" } else { "are" };
    Error::invalid_argument(format!(
        "it uses {}, which {verb} not in this server's nacre:plugin@{HOST_VERSION}: it was built for \
         nacre:plugin@{built_for}; serve it with a server that has that version, or build it for \
         nacre:plugin@{HOST_VERSION}",
        differences.lacking.join(", ")
    ))
}

/// Why a component with imports that nobody provides is refused.
pub(crate) fn refused_imports(names: &[String]) -> Error {
    Error::invalid_argument(format!(
        "it imports {}, which this server does not have: expected only nacre:plugin@{HOST_VERSION} and WASI 0.2",
        names.join(", ")
    ))
}

/// The version of `nacre:plugin` in the first of the names that has one.
pub(crate) fn version_among<'a>(mut names: impl Iterator<Item = &'a String>) -> Option<String> {
    names.find_map(|name| version_of(name)).map(str::to_owned)
}

/// Whether it is an interface that this host has, in a version that fits.
pub(crate) fn is_known(name: &str) -> bool {
    let interface = name.strip_prefix("nacre:plugin/").and_then(|rest| rest.split_once('@'));
    interface.is_some_and(|(interface, version)| {
        INTERFACES.contains(&interface) && track(version) == track(HOST_VERSION)
    })
}

fn version_of(name: &str) -> Option<&str> {
    name.strip_prefix("nacre:plugin/")?.split_once('@').map(|(_, version)| version)
}

/// Versions of one track are compatible: the major, or below 1.0 the minor, as wasmtime's linker sees it.
fn track(version: &str) -> (&str, &str) {
    let mut numbers = version.split('.');
    let major = numbers.next().unwrap_or_default();
    let minor = numbers.next().unwrap_or_default();
    if major == "0" { (major, minor) } else { (major, "") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(exports: &[&str]) -> Result<()> {
        check_names(&[], &exports.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn the_host_version_is_that_of_the_interface() {
        let world = include_str!("../../../wit/world.wit");
        assert!(world.contains(&format!("package nacre:plugin@{HOST_VERSION};")));
    }

    #[test]
    fn versions_of_one_track_are_compatible() {
        assert!(check(&["nacre:plugin/step@1.0.0"]).is_ok());
        assert!(check(&["nacre:plugin/step@1.7.2"]).is_ok());
        for other in ["0.1.0", "2.0.0"] {
            let error = check(&[&format!("nacre:plugin/step@{other}")]).unwrap_err();
            assert!(error.message().contains(&format!("built for nacre:plugin@{other}")), "{error}");
            assert!(error.message().contains(&format!("has nacre:plugin@{HOST_VERSION}")), "{error}");
        }
    }

    #[test]
    fn a_component_without_the_export_is_no_plugin() {
        let error = check(&["wasi:cli/run@0.2.0"]).unwrap_err();
        assert!(error.message().contains("but it exports wasi:cli/run@0.2.0"), "{error}");
        assert!(check(&[]).unwrap_err().message().contains("exports nothing"));
    }
}
