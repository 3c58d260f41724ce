//! Plugins written by hand in WebAssembly's text format: what no compiler would make.

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::{Resolve, SourceMap};

/// A plugin that describes and configures itself as nothing, with these parts of its own.
///
/// What `describe` and `configure` return lies at address 0, where all is zero: success, with nothing in it. A response
/// is at 64: its tag, at 68 pointer and number of outputs, at 76 of parameters.
pub struct Handmade<'a> {
    /// Definitions beside those that are always there.
    pub definitions: &'a str,
    /// Body of `process`; leaves the address of the result.
    pub process: &'a str,
    /// Body of `cabi_realloc`, which makes room for what goes into the guest: old pointer, old size, alignment, new size.
    pub realloc: &'a str,
    /// The memory.
    pub memory: &'a str,
}

impl Default for Handmade<'_> {
    fn default() -> Self {
        Handmade {
            definitions: "",
            process: "(i32.const 64)",
            // Always the same room: nobody looks at it.
            realloc: "(i32.const 1024)",
            memory: "(memory (export \"memory\") 2)",
        }
    }
}

impl Handmade<'_> {
    /// The module inside, as text.
    fn text(&self) -> String {
        let eleven = "(param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)";
        let Handmade { definitions, process, realloc, memory } = self;
        format!(
            r#"(module
                {memory}
                {definitions}
                (func (export "nacre:plugin/step@1.0.0#describe") {eleven} (result i32) (i32.const 0))
                (func (export "nacre:plugin/step@1.0.0#configure") {eleven} (result i32) (i32.const 0))
                (func (export "nacre:plugin/step@1.0.0#process")
                    (param i32 i32 i32 i32 i32 i32 i32 i32) (result i32) {process})
                (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) {realloc}))"#
        )
    }

    /// The component.
    pub fn component(&self) -> Vec<u8> {
        let mut module = wat::parse_str(self.text()).unwrap();
        let mut sources = SourceMap::new();
        for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../wit")).unwrap() {
            let path = entry.unwrap().path();
            sources.push(&path, std::fs::read_to_string(&path).unwrap());
        }
        let mut resolve = Resolve::default();
        let package = resolve.push_group(sources.parse().map_err(|(_, e)| e.to_string()).unwrap()).unwrap();
        let world = resolve.packages[package].worlds["plugin"];
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
        ComponentEncoder::default().validate(false).module(&module).unwrap().encode().unwrap()
    }
}
