//! The interface of `wit/` as Rust types and functions: generated, and only here.

#![allow(missing_docs, clippy::all, reason = "generated")]

wit_bindgen::generate!({
    path: "../../../wit",
    world: "plugin",
    pub_export_macro: true,
    export_macro_name: "__export_plugin",
    default_bindings_module: "nacre_plugin::__private::bindings",
});
