use axum::{Json, extract::State};
use nacre_proto::inference::{
    InferStatistics, ModelStatistics, ModelStatisticsResponse, StatisticDuration,
    model_metadata_response::TensorMetadata,
};
use serde_json::{Value, json};

use super::{Api, Failure, model_path::ModelPath};
use crate::documents;

/// `GET /v2`.
pub async fn server(State(api): State<Api>) -> Json<Value> {
    let server = documents::server_metadata(&api.options);
    Json(json!({ "name": server.name, "version": server.version, "extensions": server.extensions }))
}

/// `GET /v2/models/{model}[/versions/{version}]`.
pub async fn model(State(api): State<Api>, path: ModelPath) -> Result<Json<Value>, Failure> {
    let view = api.engine.model(&path.name, path.version)?;
    let model = documents::model_metadata(&view, path.version);
    Ok(Json(json!({
        "name": model.name,
        "versions": model.versions,
        "platform": model.platform,
        "inputs": model.inputs.iter().map(tensor).collect::<Vec<_>>(),
        "outputs": model.outputs.iter().map(tensor).collect::<Vec<_>>(),
    })))
}

/// `GET /v2/models/{model}[/versions/{version}]/config`.
pub async fn config(State(api): State<Api>, path: ModelPath) -> Result<Json<Value>, Failure> {
    Ok(Json(api.engine.model(&path.name, path.version)?.config.to_json()))
}

/// `GET /v2/models/{model}[/versions/{version}]/stats`.
pub async fn statistics(State(api): State<Api>, path: ModelPath) -> Result<Json<Value>, Failure> {
    Ok(Json(all(&documents::statistics(&api.engine, Some(&path.name), path.version)?)))
}

/// `GET /v2/models/stats`.
pub async fn all_statistics(State(api): State<Api>) -> Result<Json<Value>, Failure> {
    Ok(Json(all(&documents::statistics(&api.engine, None, None)?)))
}

fn tensor(tensor: &TensorMetadata) -> Value {
    json!({ "name": tensor.name, "datatype": tensor.datatype, "shape": tensor.shape })
}

/// Every member is there even at zero: perf_analyzer reads them without asking.
fn all(response: &ModelStatisticsResponse) -> Value {
    json!({ "model_stats": response.model_stats.iter().map(of_version).collect::<Vec<_>>() })
}

fn of_version(version: &ModelStatistics) -> Value {
    let batches = version.batch_stats.iter().map(|batch| {
        json!({
            "batch_size": batch.batch_size,
            "compute_input": duration(batch.compute_input),
            "compute_infer": duration(batch.compute_infer),
            "compute_output": duration(batch.compute_output),
        })
    });
    json!({
        "name": version.name,
        "version": version.version,
        "last_inference": version.last_inference,
        "inference_count": version.inference_count,
        "execution_count": version.execution_count,
        "inference_stats": inference(version.inference_stats.unwrap_or_default()),
        "batch_stats": batches.collect::<Vec<_>>(),
    })
}

fn inference(statistics: InferStatistics) -> Value {
    json!({
        "success": duration(statistics.success),
        "fail": duration(statistics.fail),
        "queue": duration(statistics.queue),
        "compute_input": duration(statistics.compute_input),
        "compute_infer": duration(statistics.compute_infer),
        "compute_output": duration(statistics.compute_output),
        "cache_hit": duration(statistics.cache_hit),
        "cache_miss": duration(statistics.cache_miss),
    })
}

fn duration(duration: Option<StatisticDuration>) -> Value {
    let duration = duration.unwrap_or_default();
    json!({ "count": duration.count, "ns": duration.ns })
}
