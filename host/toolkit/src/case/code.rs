use nacre_domain::ErrorCode;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Code of an error as the interface names it: `invalid-argument`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code(pub ErrorCode);

/// The interface's names, and gRPC's where they differ by more than their writing.
const CODES: [(&str, ErrorCode); 9] = [
    ("invalid-argument", ErrorCode::InvalidArgument),
    ("not-found", ErrorCode::NotFound),
    ("unsupported", ErrorCode::Unsupported),
    ("resource-exhausted", ErrorCode::ResourceExhausted),
    ("unavailable", ErrorCode::Unavailable),
    ("deadline-exceeded", ErrorCode::DeadlineExceeded),
    ("internal", ErrorCode::Internal),
    ("cancelled", ErrorCode::Cancelled),
    ("unimplemented", ErrorCode::Unsupported),
];

impl Code {
    /// Its name.
    pub fn name(self) -> &'static str {
        CODES.iter().find(|(_, code)| *code == self.0).map_or("internal", |(name, _)| name)
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let name = text.to_ascii_lowercase().replace('_', "-");
        CODES.iter().find(|(known, _)| *known == name).map(|&(_, code)| Self(code)).ok_or_else(|| {
            let known: Vec<_> = CODES.iter().take(7).map(|(name, _)| *name).collect();
            D::Error::custom(format!("'{text}' is no code of an error; expected one of {}", known.join(", ")))
        })
    }
}
