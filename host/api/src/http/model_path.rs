use axum::extract::{FromRequestParts, Path};
use http::request::Parts;
use nacre_domain::Error;
use serde::Deserialize;

use super::Failure;
use crate::codec::parse_version;

/// The model, and the version if there is one, in the path of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelPath {
    /// Name of the model.
    pub name: String,
    /// Version; without one the server chooses.
    pub version: Option<u64>,
}

#[derive(Deserialize)]
struct Raw {
    model: String,
    version: Option<String>,
}

impl<S: Send + Sync> FromRequestParts<S> for ModelPath {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<ModelPath, Failure> {
        let Path(Raw { model: name, version }) =
            Path::from_request_parts(parts, state).await.map_err(|e| {
                Error::invalid_argument(format!("the path {} is malformed: {e}", parts.uri.path()))
            })?;
        // As in Triton, a path with something else in the place of the version does not exist.
        let version =
            version.as_deref().map_or(Ok(None), parse_version).map_err(|e| Error::not_found(e.message()))?;
        Ok(ModelPath { name, version })
    }
}
