use prost_reflect::{SerializeOptions, text_format::FormatOptions};
use serde_json::{Value, value::Serializer};

use crate::ModelConfig;

impl ModelConfig {
    /// The message as Triton's `GET /v2/models/M/config` prints it: names as in the file, every scalar, list and map
    /// there even if empty, 64-bit integers as numbers, and messages that are not set left out.
    pub fn to_json(&self) -> Value {
        let options = SerializeOptions::new()
            .use_proto_field_name(true)
            .stringify_64_bit_integers(false)
            .skip_default_fields(false);
        // Keys are strings and floats finite or printed as strings, so that nothing can fail.
        self.message.serialize_with_options(Serializer, &options).unwrap_or_default()
    }

    /// The message as text protobuf, as a config.pbtxt would have it.
    pub fn text(&self) -> String {
        let options = FormatOptions::new().pretty(true);
        let mut text = self.message.to_text_format_with_options(&options);
        text.push('\n');
        text
    }
}
