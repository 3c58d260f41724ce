//! What a load found and what it took: for the log, for metrics, and for `nacre plugin check`, `bench` and `inspect`.

use std::time::Duration;

use nacre_domain::{DataType, TensorSpec};
use serde::{Deserialize, Serialize};

/// One load of a plugin. Kept with the compiled image in the cache, so that a load from there tells what the image once
/// took; only [`LoadReport::from_cache`] and [`LoadReport::total`] are of the load itself.
///
/// As JSON, durations are in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadReport {
    /// The plugin's own sentence about itself.
    pub summary: String,
    /// Version of `nacre:plugin` that the component was built for.
    pub interface: String,
    /// Inputs as `describe` gave them; empty if it leaves them to config.pbtxt.
    pub inputs: Vec<DescribedTensor>,
    /// Outputs as `describe` gave them; empty if it leaves them to config.pbtxt.
    pub outputs: Vec<DescribedTensor>,
    /// Size of the component's file.
    pub component_bytes: u64,
    /// Size of the machine code, with the memory that instances start from.
    pub image_bytes: u64,
    /// Compilation of the component as it is in its file.
    #[serde(rename = "compile_ms", with = "milliseconds")]
    pub compile: Duration,
    /// The call of `describe`, with the instance that it needs.
    #[serde(rename = "describe_ms", with = "milliseconds")]
    pub describe: Duration,
    /// The call of `configure`.
    #[serde(rename = "configure_ms", with = "milliseconds")]
    pub configure: Duration,
    /// The snapshot, with the compilation of what it gave.
    #[serde(rename = "snapshot_ms", with = "milliseconds")]
    pub snapshot: Duration,
    /// What a request starts from.
    pub start: Start,
    /// Whether the compiled image came from the cache; nothing of the plugin ran then.
    pub from_cache: bool,
    /// The whole load.
    #[serde(rename = "total_ms", with = "milliseconds")]
    pub total: Duration,
}

/// What a request starts from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// An instance as `configure` left it.
    Snapshot {
        /// Size of its linear memory.
        memory_bytes: u64,
    },
    /// A new instance, in which `configure` runs again.
    Configure {
        /// Why there is no snapshot.
        reason: String,
    },
}

/// A tensor that a plugin describes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DescribedTensor {
    /// Name.
    pub name: String,
    /// Name of the type in the protocol: `FP32`.
    pub data_type: String,
    /// Dimensions without the batch dimension; -1 is one that varies.
    pub dims: Vec<i64>,
    /// An input that a request may leave out.
    pub optional: bool,
}

impl DescribedTensor {
    pub(crate) fn new(spec: &TensorSpec) -> DescribedTensor {
        DescribedTensor {
            name: spec.name.clone(),
            data_type: spec.data_type.name().to_owned(),
            dims: spec.dims.clone(),
            optional: spec.optional,
        }
    }

    /// `None` for a type that this version does not know.
    pub(crate) fn spec(&self) -> Option<TensorSpec> {
        let data_type = DataType::ALL.into_iter().find(|known| known.name() == self.data_type)?;
        Some(TensorSpec {
            name: self.name.clone(),
            data_type,
            dims: self.dims.clone(),
            optional: self.optional,
        })
    }
}

mod milliseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(duration.as_secs_f64() * 1e3)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let milliseconds = f64::deserialize(deserializer)?;
        Duration::try_from_secs_f64(milliseconds / 1e3).map_err(serde::de::Error::custom)
    }
}
