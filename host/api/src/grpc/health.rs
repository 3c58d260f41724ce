use std::sync::Arc;

use nacre_engine::Engine;
use tokio_stream::Empty;
use tonic::{Request, Response, Status};
use tonic_health::pb::{
    HealthCheckRequest, HealthCheckResponse, health_check_response::ServingStatus, health_server,
};

/// `grpc.health.v1.Health`: the readiness of the server, by the empty name or that of the inference service, and that of
/// a model by the model's name.
pub struct Health {
    engine: Arc<Engine>,
}

impl Health {
    /// The health of that engine.
    pub fn new(engine: Arc<Engine>) -> Health {
        Health { engine }
    }
}

#[tonic::async_trait]
impl health_server::Health for Health {
    type WatchStream = Empty<Result<HealthCheckResponse, Status>>;

    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        let service = &request.get_ref().service;
        let ready = match service.as_str() {
            "" | "inference.GRPCInferenceService" => self.engine.is_ready(),
            model if self.engine.index().iter().any(|entry| entry.name == model) => {
                self.engine.model_is_ready(model, None)
            }
            other => return Err(Status::not_found(format!("there is no service or model '{other}'"))),
        };
        let status = if ready { ServingStatus::Serving } else { ServingStatus::NotServing };
        Ok(Response::new(HealthCheckResponse { status: status.into() }))
    }

    async fn watch(&self, _: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        Err(Status::unimplemented("health cannot be watched; call Check from time to time"))
    }
}
