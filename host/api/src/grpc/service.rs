use std::sync::Arc;

use nacre_domain::Error;
use nacre_engine::Engine;
use nacre_proto::inference::*;
use tokio_stream::Empty;
use tonic::{Request, Response, Status, Streaming};

use super::{deadline::deadline, generated::grpc_inference_service_server::GrpcInferenceService, message};
use crate::{ApiOptions, codec::parse_version, documents, infer, status::grpc_status};

/// The service. Each call decodes, calls and encodes.
pub struct InferenceService {
    engine: Arc<Engine>,
    options: ApiOptions,
}

impl InferenceService {
    /// The service in front of that engine.
    pub fn new(engine: Arc<Engine>, options: ApiOptions) -> InferenceService {
        InferenceService { engine, options }
    }
}

type Answer<T> = Result<Response<T>, Status>;

/// The answer of an outcome.
fn answer<T>(outcome: nacre_domain::Result<T>) -> Answer<T> {
    outcome.map(Response::new).map_err(|error| grpc_status(&error))
}

fn unsupported<T>(what: &str) -> Answer<T> {
    answer(Err(Error::unsupported(format!("{what} is not supported by this server"))))
}

/// An optional name: the empty one stands for none.
fn named(name: &str) -> Option<&str> {
    (!name.is_empty()).then_some(name)
}

#[tonic::async_trait]
impl GrpcInferenceService for InferenceService {
    async fn server_live(&self, _: Request<ServerLiveRequest>) -> Answer<ServerLiveResponse> {
        answer(Ok(ServerLiveResponse { live: self.engine.is_live() }))
    }

    async fn server_ready(&self, _: Request<ServerReadyRequest>) -> Answer<ServerReadyResponse> {
        answer(Ok(ServerReadyResponse { ready: self.engine.is_ready() }))
    }

    async fn model_ready(&self, request: Request<ModelReadyRequest>) -> Answer<ModelReadyResponse> {
        let request = request.into_inner();
        answer(
            parse_version(&request.version).map(|version| ModelReadyResponse {
                ready: self.engine.model_is_ready(&request.name, version),
            }),
        )
    }

    async fn server_metadata(&self, _: Request<ServerMetadataRequest>) -> Answer<ServerMetadataResponse> {
        answer(Ok(documents::server_metadata(&self.options)))
    }

    async fn model_metadata(&self, request: Request<ModelMetadataRequest>) -> Answer<ModelMetadataResponse> {
        let request = request.into_inner();
        answer(parse_version(&request.version).and_then(|version| {
            Ok(documents::model_metadata(&self.engine.model(&request.name, version)?, version))
        }))
    }

    async fn model_config(&self, request: Request<ModelConfigRequest>) -> Answer<ModelConfigResponse> {
        let request = request.into_inner();
        answer(parse_version(&request.version).and_then(|version| {
            let config = self.engine.model(&request.name, version)?.config.message.transcode_to();
            let config = config.map_err(|e| {
                Error::internal(format!("the configuration of model '{}' cannot be sent", request.name))
                    .with_source(e)
            })?;
            Ok(ModelConfigResponse { config: Some(config) })
        }))
    }

    async fn model_infer(&self, request: Request<ModelInferRequest>) -> Answer<ModelInferResponse> {
        let deadline = deadline(request.metadata());
        let decoded = message::decode(request.into_inner(), deadline).map_err(|error| grpc_status(&error))?;
        answer(infer::infer(&self.engine, decoded).await.map(|(response, _)| message::encode(response)))
    }

    async fn model_statistics(
        &self,
        request: Request<ModelStatisticsRequest>,
    ) -> Answer<ModelStatisticsResponse> {
        let request = request.into_inner();
        answer(
            parse_version(&request.version)
                .and_then(|version| documents::statistics(&self.engine, named(&request.name), version)),
        )
    }

    async fn repository_index(
        &self,
        request: Request<RepositoryIndexRequest>,
    ) -> Answer<RepositoryIndexResponse> {
        let request = request.into_inner();
        if !request.repository_name.is_empty() {
            return unsupported("the index of a repository by name ('repository_name')");
        }
        answer(Ok(documents::repository_index(&self.engine, request.ready)))
    }

    type ModelStreamInferStream = Empty<Result<ModelStreamInferResponse, Status>>;

    async fn model_stream_infer(
        &self,
        _: Request<Streaming<ModelInferRequest>>,
    ) -> Answer<Self::ModelStreamInferStream> {
        unsupported("a stream of inference requests (ModelStreamInfer)")
    }

    async fn repository_model_load(
        &self,
        request: Request<RepositoryModelLoadRequest>,
    ) -> Answer<RepositoryModelLoadResponse> {
        let request = request.into_inner();
        if !request.repository_name.is_empty() {
            return unsupported("loading a model of a repository by name ('repository_name')");
        }
        if let Some(name) = request.parameters.keys().next() {
            return unsupported(&format!("loading a model with the parameter '{name}'"));
        }
        let loaded = self.engine.load_model(&request.model_name).await;
        answer(loaded.map(|()| RepositoryModelLoadResponse::default()))
    }

    async fn repository_model_unload(
        &self,
        _: Request<RepositoryModelUnloadRequest>,
    ) -> Answer<RepositoryModelUnloadResponse> {
        unsupported("unloading models by request")
    }

    async fn system_shared_memory_status(
        &self,
        _: Request<SystemSharedMemoryStatusRequest>,
    ) -> Answer<SystemSharedMemoryStatusResponse> {
        unsupported("system shared memory")
    }

    async fn system_shared_memory_register(
        &self,
        _: Request<SystemSharedMemoryRegisterRequest>,
    ) -> Answer<SystemSharedMemoryRegisterResponse> {
        unsupported("system shared memory")
    }

    async fn system_shared_memory_unregister(
        &self,
        _: Request<SystemSharedMemoryUnregisterRequest>,
    ) -> Answer<SystemSharedMemoryUnregisterResponse> {
        unsupported("system shared memory")
    }

    async fn cuda_shared_memory_status(
        &self,
        _: Request<CudaSharedMemoryStatusRequest>,
    ) -> Answer<CudaSharedMemoryStatusResponse> {
        unsupported("CUDA shared memory")
    }

    async fn cuda_shared_memory_register(
        &self,
        _: Request<CudaSharedMemoryRegisterRequest>,
    ) -> Answer<CudaSharedMemoryRegisterResponse> {
        unsupported("CUDA shared memory")
    }

    async fn cuda_shared_memory_unregister(
        &self,
        _: Request<CudaSharedMemoryUnregisterRequest>,
    ) -> Answer<CudaSharedMemoryUnregisterResponse> {
        unsupported("CUDA shared memory")
    }

    async fn trace_setting(&self, _: Request<TraceSettingRequest>) -> Answer<TraceSettingResponse> {
        unsupported("changing trace settings")
    }

    async fn log_settings(&self, _: Request<LogSettingsRequest>) -> Answer<LogSettingsResponse> {
        unsupported("changing log settings")
    }
}
