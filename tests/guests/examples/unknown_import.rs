//! Imports an interface that nobody has.
#[allow(clippy::all)]
mod bindings {
    wit_bindgen::generate!({ path: ["../../wit", "wit/unknown-import"], world: "acme:secrets/guest", generate_all });
}

use bindings::exports::nacre::plugin::step::{Description, Error, Guest, Request, Response, Settings};

struct Thief;

impl Guest for Thief {
    fn describe(_: Settings) -> Result<Description, Error> {
        Ok(Description {
            summary: bindings::acme::secrets::vault::open("all"),
            inputs: vec![],
            outputs: vec![],
        })
    }

    fn configure(_: Settings) -> Result<(), Error> {
        Ok(())
    }

    fn process(_: Request) -> Result<Response, Error> {
        Ok(Response { outputs: vec![], parameters: vec![] })
    }
}

bindings::export!(Thief with_types_in bindings);
