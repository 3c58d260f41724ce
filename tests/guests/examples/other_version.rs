//! Built for a version of the interface that does not exist yet.
#[allow(clippy::all)]
mod bindings {
    wit_bindgen::generate!({ path: "wit/other-version" });
}

struct FromTheFuture;

impl bindings::exports::nacre::plugin::step::Guest for FromTheFuture {
    fn process(data: Vec<u8>) -> Vec<u8> {
        data
    }
}

bindings::export!(FromTheFuture with_types_in bindings);
