//! From what is on the wire to [`nacre_domain::InferenceRequest`], and back.
//!
//! What both protocols share is here once: which parameters are reserved, how outputs are wanted, classification, raw
//! bodies. `http_request` and `http_response` add the JSON and binary form; gRPC's is in `grpc`, beside its messages.

mod classification;
mod http_request;
mod http_response;
mod json;
mod output_plan;
mod parameters;
mod raw_request;

pub use classification::classify;
pub use http_request::{DecodedRequest, decode_request};
pub use http_response::{EncodedResponse, encode_response};
pub use output_plan::{OutputPlan, refuse_shared_memory};
pub use parameters::{RequestParameters, parse_version};
pub use raw_request::decode_raw_request;

use nacre_domain::{DataType, Error, Result};

/// The data type of a wire name.
///
/// # Errors
/// Invalid argument that lists the names there are.
pub fn data_type(name: &str) -> Result<DataType> {
    DataType::from_name(name).ok_or_else(|| {
        let known = DataType::ALL.map(DataType::name).join(", ");
        Error::invalid_argument(format!("datatype '{name}' is unknown; expected one of {known}"))
    })
}

#[cfg(test)]
mod tests;
