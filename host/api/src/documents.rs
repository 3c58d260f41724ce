//! What the server says of itself and of its models, built once for both protocols: gRPC's messages, from which `http`
//! writes its JSON.

use nacre_config::ModelConfig;
use nacre_domain::{ModelKey, Result, TensorSpec};
use nacre_engine::{Engine, ModelState, ModelView};
use nacre_proto::inference::{
    InferBatchStatistics, InferStatistics, ModelMetadataResponse, ModelStatistics, ModelStatisticsResponse,
    RepositoryIndexResponse, ServerMetadataResponse, StatisticDuration,
    model_metadata_response::TensorMetadata, repository_index_response::ModelIndex,
};
use nacre_telemetry::{DurationCount, StatisticsReport};

use crate::ApiOptions;

/// Extensions of the protocol that work here, by Triton's names.
const EXTENSIONS: [&str; 5] =
    ["classification", "model_configuration", "binary_tensor_data", "parameters", "statistics"];

/// Server metadata.
pub fn server_metadata(options: &ApiOptions) -> ServerMetadataResponse {
    ServerMetadataResponse {
        name: options.server_name.clone(),
        version: options.server_version.clone(),
        extensions: EXTENSIONS.map(str::to_owned).to_vec(),
    }
}

/// Metadata of a model; of all its ready versions unless the request named one.
pub fn model_metadata(view: &ModelView, version: Option<u64>) -> ModelMetadataResponse {
    let versions = version.map_or_else(|| view.versions.clone(), |version| vec![version]);
    let tensor = |spec: &TensorSpec| tensor_metadata(&view.config, spec);
    ModelMetadataResponse {
        name: view.key.name.clone(),
        versions: versions.iter().map(u64::to_string).collect(),
        platform: view.config.platform.clone(),
        inputs: view.config.inputs.iter().map(|input| tensor(&input.spec)).collect(),
        outputs: view.config.outputs.iter().map(|output| tensor(&output.spec)).collect(),
    }
}

/// With a leading -1 for the batch dimension, where there is one.
fn tensor_metadata(config: &ModelConfig, spec: &TensorSpec) -> TensorMetadata {
    let batch = config.is_batched().then_some(-1);
    TensorMetadata {
        name: spec.name.clone(),
        datatype: spec.data_type.name().to_owned(),
        shape: batch.into_iter().chain(spec.dims.iter().copied()).collect(),
    }
}

/// Statistics of one model, of one of its versions, or of all models.
///
/// # Errors
/// Not found or unavailable, as the engine says.
pub fn statistics(
    engine: &Engine,
    name: Option<&str>,
    version: Option<u64>,
) -> Result<ModelStatisticsResponse> {
    let model_stats = engine.statistics(name, version)?.into_iter().map(model_statistics).collect();
    Ok(ModelStatisticsResponse { model_stats })
}

fn model_statistics((key, report): (ModelKey, StatisticsReport)) -> ModelStatistics {
    ModelStatistics {
        name: key.name,
        version: key.version.to_string(),
        last_inference: report.last_inference_ms,
        inference_count: report.inference_count,
        execution_count: report.execution_count,
        inference_stats: Some(InferStatistics {
            success: duration(report.success),
            fail: duration(report.fail),
            queue: duration(report.queue),
            compute_input: duration(report.compute_input),
            compute_infer: duration(report.compute_infer),
            compute_output: duration(report.compute_output),
            cache_hit: duration(report.cache_hit),
            cache_miss: duration(report.cache_miss),
        }),
        batch_stats: report
            .batches
            .into_iter()
            .map(|batch| InferBatchStatistics {
                batch_size: batch.batch_size,
                compute_input: duration(batch.compute_input),
                compute_infer: duration(batch.compute_infer),
                compute_output: duration(batch.compute_output),
            })
            .collect(),
        ..ModelStatistics::default()
    }
}

fn duration(count: DurationCount) -> Option<StatisticDuration> {
    Some(StatisticDuration { count: count.count, ns: count.nanoseconds })
}

/// The repository index; only what is ready, if that is asked for.
pub fn repository_index(engine: &Engine, only_ready: bool) -> RepositoryIndexResponse {
    let models = engine
        .index()
        .into_iter()
        .filter(|entry| !only_ready || entry.state == ModelState::Ready)
        .map(|entry| ModelIndex {
            name: entry.name,
            version: entry.version.map(|version| version.to_string()).unwrap_or_default(),
            state: entry.state.name().to_owned(),
            reason: entry.reason,
        })
        .collect();
    RepositoryIndexResponse { models }
}
