//! KServe v2 over gRPC, through real sockets.

use std::{collections::HashMap, time::Duration};

use crate::server::Server;
use bytes::Bytes;
use http::uri::PathAndQuery;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use nacre_domain::DataType;
use nacre_proto::inference::{infer_parameter::ParameterChoice, model_infer_request::*, *};
use prost::Message;
use tokio::time::timeout;
use tonic::{Code, Request, Status, client::Grpc};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};
use tonic_prost::ProstCodec;
use tonic_reflection::pb::v1::{
    ServerReflectionRequest, server_reflection_request, server_reflection_response,
};

/// Longer than anything here takes, shorter than the slow model.
const SOON: Duration = Duration::from_secs(30);

/// A client that sends what it is given and times nothing out on its side.
fn client(server: &Server) -> Grpc<Client<HttpConnector, tonic::body::Body>> {
    let origin = format!("http://{}", server.grpc).parse().unwrap();
    Grpc::with_origin(crate::server::client(true), origin).max_decoding_message_size(usize::MAX)
}

async fn send<M, R>(server: &Server, path: &'static str, request: Request<M>) -> Result<R, Status>
where
    M: Message + Send + Sync + 'static,
    R: Message + Default + Send + Sync + 'static,
{
    let answer =
        client(server).unary(request, PathAndQuery::from_static(path), ProstCodec::<M, R>::default()).await;
    answer.map(tonic::Response::into_inner)
}

async fn call<M, R>(server: &Server, path: &'static str, message: M) -> Result<R, Status>
where
    M: Message + Send + Sync + 'static,
    R: Message + Default + Send + Sync + 'static,
{
    send(server, path, Request::new(message)).await
}

macro_rules! service {
    ($name:literal) => {
        concat!("/inference.GRPCInferenceService/", $name)
    };
}

fn pair(model: &str) -> ModelInferRequest {
    let input = InferInputTensor {
        name: "INPUT0".into(),
        datatype: "FP32".into(),
        shape: vec![1, 2],
        ..InferInputTensor::default()
    };
    ModelInferRequest {
        model_name: model.into(),
        id: "id".into(),
        inputs: vec![input],
        raw_input_contents: vec![Bytes::from_static(&[0, 0, 128, 63, 0, 0, 0, 64])],
        ..ModelInferRequest::default()
    }
}

async fn infer(server: &Server, request: ModelInferRequest) -> Result<ModelInferResponse, Status> {
    call(server, service!("ModelInfer"), request).await
}

fn parameter(name: &str, value: i64) -> HashMap<String, InferParameter> {
    HashMap::from([(
        name.to_owned(),
        InferParameter { parameter_choice: Some(ParameterChoice::Int64Param(value)) },
    )])
}

#[tokio::test]
async fn health_metadata_config_index_and_statistics_are_answered() {
    let server = &Server::start().await;
    let live: ServerLiveResponse = call(server, service!("ServerLive"), ServerLiveRequest {}).await.unwrap();
    let ready: ServerReadyResponse =
        call(server, service!("ServerReady"), ServerReadyRequest {}).await.unwrap();
    assert!(live.live && ready.ready);
    for (name, version, expected) in [
        ("pair", "", true),
        ("pair", "1", true),
        ("pair", "2", false),
        ("nothing", "", false),
        ("broken", "", false),
    ] {
        let request = ModelReadyRequest { name: name.into(), version: version.into() };
        let answer: ModelReadyResponse = call(server, service!("ModelReady"), request).await.unwrap();
        assert_eq!(answer.ready, expected, "{name} {version}");
    }
    let metadata: ServerMetadataResponse =
        call(server, service!("ServerMetadata"), ServerMetadataRequest {}).await.unwrap();
    assert_eq!(metadata.name, "nacre");

    let request = ModelMetadataRequest { name: "pair".into(), version: String::new() };
    let metadata: ModelMetadataResponse = call(server, service!("ModelMetadata"), request).await.unwrap();
    assert_eq!((metadata.versions, &metadata.inputs[0].shape[..]), (vec!["1".to_owned()], &[-1, 2][..]));

    let request = ModelConfigRequest { name: "pair".into(), version: String::new() };
    let config: ModelConfigResponse = call(server, service!("ModelConfig"), request).await.unwrap();
    let config = config.config.unwrap();
    assert_eq!(
        (config.name.as_str(), config.max_batch_size, &config.input[0].dims[..]),
        ("pair", 8, &[2][..])
    );

    let request = RepositoryIndexRequest { ready: true, ..Default::default() };
    let index: RepositoryIndexResponse = call(server, service!("RepositoryIndex"), request).await.unwrap();
    assert!(index.models.iter().all(|model| model.state == "READY" && model.version == "1"));
    assert_eq!(index.models.len(), 5);

    infer(server, pair("pair")).await.unwrap();
    let request = ModelStatisticsRequest { name: "pair".into(), version: String::new() };
    let statistics: ModelStatisticsResponse =
        call(server, service!("ModelStatistics"), request).await.unwrap();
    assert_eq!(statistics.model_stats[0].inference_stats.unwrap().success.unwrap().count, 1);
}

#[tokio::test]
async fn every_type_comes_back_in_raw_contents() {
    let server = &Server::start().await;
    for (i, data_type) in DataType::ALL.into_iter().enumerate() {
        let data = Bytes::from(match data_type.size() {
            Some(_) if data_type == DataType::Bool => vec![1, 0],
            Some(size) => vec![7; 2 * size],
            None => b"\x03\0\0\0cat\0\0\0\0".to_vec(),
        });
        let request = ModelInferRequest {
            model_name: "types".into(),
            model_version: "1".into(),
            id: "x".into(),
            inputs: vec![InferInputTensor {
                name: format!("INPUT{i}"),
                datatype: data_type.name().into(),
                shape: vec![2],
                ..Default::default()
            }],
            outputs: vec![InferRequestedOutputTensor { name: format!("OUTPUT{i}"), ..Default::default() }],
            raw_input_contents: vec![data.clone()],
            ..Default::default()
        };
        let response = infer(server, request).await.unwrap();
        assert_eq!(response.raw_output_contents, [data], "{data_type}");
        assert_eq!(
            (response.model_name.as_str(), response.model_version.as_str(), response.id.as_str()),
            ("types", "1", "x")
        );
        let output = &response.outputs[0];
        assert_eq!((output.datatype.as_str(), &output.shape[..]), (data_type.name(), &[2][..]));
    }
}

#[tokio::test]
async fn typed_contents_and_classification_are_taken() {
    let server = &Server::start().await;
    let mut request = pair("pair");
    request.raw_input_contents.clear();
    request.inputs[0].contents =
        Some(InferTensorContents { fp32_contents: vec![0.25, 4.0], ..Default::default() });
    request.outputs = vec![InferRequestedOutputTensor {
        name: "OUTPUT0".into(),
        parameters: parameter("classification", 1),
    }];
    let response = infer(server, request).await.unwrap();
    assert_eq!(
        (response.outputs[0].datatype.as_str(), &response.outputs[0].shape[..]),
        ("BYTES", &[1, 1][..])
    );
    assert_eq!(response.raw_output_contents, [Bytes::from_static(b"\x0e\0\0\x004.000000:1:dog")]);
}

#[tokio::test]
async fn a_message_larger_than_tonics_default_is_taken_and_given() {
    let server = &Server::start().await;
    let data = Bytes::from(vec![7; 9 << 20]);
    let request = ModelInferRequest {
        model_name: "types".into(),
        inputs: vec![InferInputTensor {
            name: "INPUT1".into(),
            datatype: "UINT8".into(),
            shape: vec![9 << 20],
            ..Default::default()
        }],
        outputs: vec![InferRequestedOutputTensor { name: "OUTPUT1".into(), ..Default::default() }],
        raw_input_contents: vec![data.clone()],
        ..Default::default()
    };
    assert_eq!(infer(server, request).await.unwrap().raw_output_contents, [data]);
}

#[tokio::test]
async fn wrong_requests_get_their_code_and_a_sentence() {
    let server = &Server::start().await;
    let version = |version: &str| ModelInferRequest { model_version: version.into(), ..pair("pair") };
    let mut short = pair("pair");
    short.raw_input_contents = vec![Bytes::from_static(b"1234567")];
    for (request, code, words) in [
        (pair("nothing"), Code::NotFound, ["nothing", ""]),
        (version("7"), Code::NotFound, ["pair", "7"]),
        (version("x"), Code::InvalidArgument, ["pair", "version 'x'"]),
        (pair("broken"), Code::Unavailable, ["broken", "python"]),
        (short, Code::InvalidArgument, ["INPUT0", "7"]),
        (
            ModelInferRequest { inputs: vec![], raw_input_contents: vec![], ..pair("pair") },
            Code::InvalidArgument,
            ["pair", "INPUT0"],
        ),
    ] {
        let status = infer(server, request).await.unwrap_err();
        assert_eq!(status.code(), code, "{status}");
        assert!(words.iter().all(|word| status.message().contains(word)), "{status}");
    }
    let unload = RepositoryModelUnloadRequest::default();
    let status = call::<_, RepositoryModelUnloadResponse>(server, service!("RepositoryModelUnload"), unload)
        .await
        .unwrap_err();
    assert_eq!(
        (status.code(), status.message()),
        (Code::Unimplemented, "unloading models by request is not supported by this server")
    );
    for (model, code) in [("pair", Code::Ok), ("nowhere", Code::NotFound), ("broken", Code::Unavailable)] {
        let load = RepositoryModelLoadRequest { model_name: model.into(), ..Default::default() };
        let loaded =
            call::<_, RepositoryModelLoadResponse>(server, service!("RepositoryModelLoad"), load).await;
        assert_eq!(loaded.map_or_else(|status| status.code(), |_| Code::Ok), code, "{model}");
    }
    assert!(infer(server, pair("pair")).await.is_ok(), "the server goes on");
}

#[tokio::test]
async fn a_long_message_is_cut_to_what_clients_take_in_a_trailer() {
    let server = &Server::start().await;
    let status = infer(server, pair(&"é".repeat(50_000))).await.unwrap_err();
    assert_eq!(status.code(), Code::NotFound);
    assert!(
        status.message().starts_with("unknown model 'éé") && status.message().ends_with("é…"),
        "{status}"
    );
    assert!(status.message().len() < 2100, "{} bytes", status.message().len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_beyond_its_deadline_is_deadline_exceeded() {
    let server = &Server::start().await;
    let mut by_header = Request::new(pair("slow"));
    by_header.metadata_mut().insert("grpc-timeout", "50m".parse().unwrap());
    let by_parameter =
        Request::new(ModelInferRequest { parameters: parameter("timeout", 50_000), ..pair("slow") });
    for request in [by_header, by_parameter] {
        let answer = send::<_, ModelInferResponse>(server, service!("ModelInfer"), request);
        assert_eq!(timeout(SOON, answer).await.unwrap().unwrap_err().code(), Code::DeadlineExceeded);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_cancels_its_request() {
    let server = Server::start().await;
    let mut client = client(&server);
    let path = PathAndQuery::from_static(service!("ModelInfer"));
    let codec = ProstCodec::<ModelInferRequest, ModelInferResponse>::default();
    let call = tokio::spawn(async move { client.unary(Request::new(pair("slow")), path, codec).await });
    timeout(SOON, server.request_is_running()).await.unwrap();
    call.abort();
    timeout(SOON, server.engine.drain()).await.expect("the request ends with its call");
}

#[tokio::test]
async fn standard_health_checking_knows_the_server_and_its_models() {
    let server = &Server::start().await;
    let check = async |service: &str| {
        let request = HealthCheckRequest { service: service.into() };
        call::<_, HealthCheckResponse>(server, "/grpc.health.v1.Health/Check", request)
            .await
            .map(|answer| answer.status)
    };
    assert_eq!(check("").await.unwrap(), 1);
    assert_eq!(check("inference.GRPCInferenceService").await.unwrap(), 1);
    assert_eq!(check("pair").await.unwrap(), 1);
    assert_eq!(check("broken").await.unwrap(), 2);
    assert_eq!(check("nothing").await.unwrap_err().code(), Code::NotFound);
    server.engine.begin_shutdown();
    assert_eq!(check("").await.unwrap(), 2);
}

#[tokio::test]
async fn reflection_lists_the_services_in_both_versions() {
    let server = &Server::start().await;
    for path in [
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    ] {
        // The messages of both versions are the same on the wire.
        let request = ServerReflectionRequest {
            message_request: Some(server_reflection_request::MessageRequest::ListServices(String::new())),
            ..Default::default()
        };
        let codec = ProstCodec::<ServerReflectionRequest, tonic_reflection::pb::v1::ServerReflectionResponse>::default();
        let requests = Request::new(tokio_stream::once(request));
        let mut answers = client(server)
            .streaming(requests, PathAndQuery::from_static(path), codec)
            .await
            .unwrap()
            .into_inner();
        let answer = answers.message().await.unwrap().unwrap().message_response.unwrap();
        let server_reflection_response::MessageResponse::ListServicesResponse(list) = answer else {
            panic!("{answer:?}");
        };
        let names: Vec<&str> = list.service.iter().map(|service| service.name.as_str()).collect();
        for name in ["inference.GRPCInferenceService", "grpc.health.v1.Health"] {
            assert!(names.contains(&name), "{names:?}");
        }
    }
}
