//! KServe v2 over HTTP, through real sockets.

use std::time::Duration;

use crate::server::Server;
use bytes::Bytes;
use nacre_api::ApiOptions;
use nacre_domain::DataType;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

/// Longer than anything here takes, shorter than the slow model.
const SOON: Duration = Duration::from_secs(30);

fn pair(values: [f32; 2]) -> String {
    json!({"inputs": [{"name": "INPUT0", "datatype": "FP32", "shape": [1, 2], "data": values}]}).to_string()
}

#[tokio::test]
async fn health_answers_with_status_and_body() {
    let server = Server::start().await;
    for (path, status, body) in [
        ("/v2/health/live", 200, json!({"live": true})),
        ("/v2/health/ready", 200, json!({"ready": true})),
        ("/v2/models/pair/ready", 200, json!({"ready": true})),
        ("/v2/models/pair/versions/1/ready", 200, json!({"ready": true})),
    ] {
        let answer = server.get(path).await;
        assert_eq!((answer.status, answer.json()), (status, body), "{path}");
    }
    for path in ["/v2/models/unknown/ready", "/v2/models/pair/versions/9/ready", "/v2/models/broken/ready"] {
        let answer = server.get(path).await;
        assert_eq!(answer.status, 400, "{path}");
        assert!(!answer.error().is_empty());
    }
    server.engine.begin_shutdown();
    let answer = server.get("/v2/health/ready").await;
    assert_eq!((answer.status, answer.json()), (400, json!({"ready": false})));
    let answer = server.post("/v2/models/pair/infer", pair([1.0, 2.0])).await;
    assert_eq!((answer.status, &answer.headers["retry-after"]), (503, &"1".parse().unwrap()));
}

#[tokio::test]
async fn metadata_config_index_and_statistics_are_documents_as_tritons() {
    let server = Server::start().await;
    let metadata = server.get("/v2").await.json();
    assert_eq!(metadata["name"], "nacre");
    assert!(metadata["extensions"].as_array().unwrap().contains(&json!("binary_tensor_data")));

    for path in ["/v2/models/pair", "/v2/models/pair/versions/1"] {
        assert_eq!(
            server.get(path).await.json(),
            json!({
                "name": "pair",
                "versions": ["1"],
                "platform": "identity",
                "inputs": [{"name": "INPUT0", "datatype": "FP32", "shape": [-1, 2]}],
                "outputs": [{"name": "OUTPUT0", "datatype": "FP32", "shape": [-1, 2]}],
            })
        );
    }
    assert_eq!(server.get("/v2/models/types").await.json()["inputs"][0]["shape"], json!([-1]));

    let config = server.get("/v2/models/pair/config").await.json();
    assert_eq!((&config["name"], &config["max_batch_size"]), (&json!("pair"), &json!(8)));

    let index = server.post("/v2/repository/index", "").await.json();
    let names = |index: &serde_json::Value| -> Vec<String> {
        index.as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&index), ["brief", "broken", "pair", "slow", "text", "types"]);
    assert_eq!(index[2], json!({"name": "pair", "version": "1", "state": "READY"}));
    assert_eq!(index[1]["state"], "UNAVAILABLE");
    assert!(index[1]["reason"].as_str().unwrap().contains("python"));
    let ready = server.post("/v2/repository/index", r#"{"ready":true}"#).await.json();
    assert_eq!(names(&ready), ["brief", "pair", "slow", "text", "types"]);

    let body = json!({"inputs": [{"name": "INPUT0", "datatype": "FP32", "shape": [3, 2], "data": [1, 2, 3, 4, 5, 6]}]});
    assert_eq!(server.post("/v2/models/pair/infer", body.to_string()).await.status, 200);
    let statistics = server.get("/v2/models/pair/stats").await.json()["model_stats"][0].clone();
    assert_eq!((&statistics["inference_count"], &statistics["execution_count"]), (&json!(3), &json!(1)));
    assert_eq!(statistics["inference_stats"]["success"]["count"], 1);
    assert_eq!(statistics["inference_stats"]["cache_hit"], json!({"count": 0, "ns": 0}));
    assert_eq!(statistics["batch_stats"][0]["batch_size"], 3);
    let all = server.get("/v2/models/stats").await.json();
    assert_eq!(all["model_stats"].as_array().unwrap().len(), 5);
}

#[tokio::test]
async fn json_and_binary_tensors_give_the_same_answer_in_every_type() {
    let server = Server::start().await;
    for (i, data_type) in DataType::ALL.into_iter().enumerate() {
        let data = match data_type.size() {
            Some(_) if data_type == DataType::Bool => vec![1, 0],
            Some(size) => (0..2 * size).map(|b| u8::try_from(b + 40).unwrap()).collect(),
            None => b"\x03\0\0\0cat\0\0\0\0".to_vec(),
        };
        let input = json!({
            "name": format!("INPUT{i}"), "datatype": data_type.name(), "shape": [2],
            "parameters": {"binary_data_size": data.len()},
        });
        let output = format!("OUTPUT{i}");
        let request = |binary: bool| {
            json!({"inputs": [input], "outputs": [{"name": output, "parameters": {"binary_data": binary}}]})
                .to_string()
        };
        let send = async |head: String, data: &[u8]| {
            let length = head.len().to_string();
            let body = [head.as_bytes(), data].concat().into();
            server
                .send("POST", "/v2/models/types/infer", &[("inference-header-content-length", &length)], body)
                .await
        };
        let binary = send(request(true), &data).await;
        assert_eq!(binary.status, 200, "{binary:?}");
        let length: usize =
            binary.headers["inference-header-content-length"].to_str().unwrap().parse().unwrap();
        assert_eq!(binary.headers["content-type"], "application/octet-stream");
        assert_eq!(binary.body[length..], data, "{data_type}");

        let in_json = send(request(false), &data).await;
        if matches!(data_type, DataType::Fp16 | DataType::Bf16) {
            assert_eq!(in_json.status, 400, "{data_type}");
            continue;
        }
        assert_eq!(in_json.headers["content-type"], "application/json");
        let mut input = in_json.json()["outputs"][0].clone();
        input["name"] = format!("INPUT{i}").into();
        let request = json!({
            "inputs": [input], "outputs": [{"name": output}], "parameters": {"binary_data_output": true},
        })
        .to_string();
        let back = server.post("/v2/models/types/infer", request).await;
        let length: usize =
            back.headers["inference-header-content-length"].to_str().unwrap().parse().unwrap();
        assert_eq!(back.body[length..], data, "{data_type}");
    }
}

#[tokio::test]
async fn a_raw_body_is_the_only_input_of_the_model() {
    let server = Server::start().await;
    let raw = [("inference-header-content-length", "0")];
    let answer = server.send("POST", "/v2/models/text/infer", &raw, Bytes::from_static(b"\xffpicture")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.body.ends_with(b"\x08\0\0\0\xffpicture"));
    let answer = server.send("POST", "/v2/models/pair/infer", &raw, Bytes::from_static(b"12345678")).await;
    assert!(answer.body.ends_with(b"12345678"), "{answer:?}");
    let answer = server.send("POST", "/v2/models/pair/infer", &raw, Bytes::from_static(b"1234567")).await;
    assert_eq!(answer.status, 400);
    assert!(answer.error().contains("take 8 bytes, got 7"), "{answer:?}");
}

#[tokio::test]
async fn classification_ranks_an_output_with_its_labels() {
    let server = Server::start().await;
    let body = json!({
        "inputs": [{"name": "INPUT0", "datatype": "FP32", "shape": [2, 2], "data": [[0.25, 0.75], [3, 1]]}],
        "outputs": [{"name": "OUTPUT0", "parameters": {"classification": 1}}],
    });
    let answer = server.post("/v2/models/pair/infer", body.to_string()).await;
    let output = json!({"name": "OUTPUT0", "datatype": "BYTES", "shape": [2, 1], "data": ["0.750000:1:dog", "3.000000:0:cat"]});
    assert_eq!(answer.json()["outputs"], json!([output]));
}

#[tokio::test]
async fn wrong_requests_get_their_status_and_a_sentence() {
    let server = Server::start().await;
    let infer = "/v2/models/pair/infer";
    let with = |name: &str, datatype: &str, shape: &[i64], data: &[f32]| {
        json!({"inputs": [{"name": name, "datatype": datatype, "shape": shape, "data": data}]}).to_string()
    };
    let ok = pair([1.0, 2.0]);
    let wrong_output = json!({
        "inputs": [{"name": "INPUT0", "datatype": "FP32", "shape": [1, 2], "data": [1, 2]}],
        "outputs": [{"name": "OUTPUT7"}],
    });
    for (method, path, body, status, words) in [
        ("GET", "/", "".to_owned(), 404, vec!["there is no GET /"]),
        (
            "GET",
            "/v2/models/pair/unknown",
            String::new(),
            404,
            vec!["there is no GET /v2/models/pair/unknown"],
        ),
        ("GET", infer, String::new(), 405, vec!["does not take GET"]),
        ("POST", "/v2/health/live", String::new(), 405, vec!["does not take POST"]),
        ("GET", "/v2/models/nothing", String::new(), 404, vec!["nothing"]),
        ("POST", "/v2/models/nothing/infer", ok.clone(), 404, vec!["nothing"]),
        ("POST", "/v2/models/pair/versions/7/infer", ok.clone(), 404, vec!["pair", "7"]),
        (
            "POST",
            "/v2/models/pair/versions/x/infer",
            ok.clone(),
            404,
            vec!["model version 'x' is not a positive integer"],
        ),
        ("POST", "/v2/models/broken/infer", ok.clone(), 503, vec!["broken", "python"]),
        ("GET", "/v2/models/broken/config", String::new(), 503, vec!["broken", "python"]),
        ("POST", infer, String::new(), 400, vec!["pair", "no body"]),
        ("POST", infer, "{\"inputs\":[\n}".to_owned(), 400, vec!["pair", "line 2 column 1"]),
        ("POST", infer, "{}".to_owned(), 400, vec!["'inputs'"]),
        ("POST", infer, r#"{"inputs":[]}"#.to_owned(), 400, vec!["pair", "INPUT0"]),
        ("POST", infer, with("INPUT9", "FP32", &[1, 2], &[1.0, 2.0]), 400, vec!["pair", "INPUT9"]),
        ("POST", infer, with("INPUT0", "FP64", &[1, 2], &[1.0, 2.0]), 400, vec!["INPUT0", "FP64", "FP32"]),
        ("POST", infer, with("INPUT0", "FP32", &[1, 1], &[1.0]), 400, vec!["INPUT0", "[1,1]"]),
        ("POST", infer, with("INPUT0", "FP32", &[9, 2], &[0.0; 18]), 400, vec!["pair", "9", "8"]),
        ("POST", infer, wrong_output.to_string(), 400, vec!["pair", "OUTPUT7"]),
        (
            "POST",
            "/v2/repository/index",
            r#"{"ready":1}"#.to_owned(),
            400,
            vec!["repository request", "boolean"],
        ),
        ("GET", "/v2/models/nothing/stats", String::new(), 404, vec!["nothing"]),
    ] {
        let answer = server.send(method, path, &[], body.clone().into()).await;
        assert_eq!(answer.status, status, "{method} {path} {body}: {answer:?}");
        assert_eq!(answer.headers["content-type"], "application/json");
        let error = answer.error();
        for word in words {
            assert!(error.contains(word), "{method} {path} {body}\n  answered: {error}\n  lacks: {word}");
        }
    }
    let answer = server.send("POST", infer, &[("content-encoding", "br")], ok.clone().into()).await;
    assert_eq!((answer.status, &answer.headers["accept-encoding"]), (501, &"identity".parse().unwrap()));
    let answer =
        server.send("POST", infer, &[("inference-header-content-length", "-1")], ok.clone().into()).await;
    assert!(answer.status == 400 && answer.error().contains("Inference-Header-Content-Length is '-1'"));
    assert_eq!(server.post(infer, ok).await.status, 200, "the server goes on");
}

#[tokio::test]
async fn a_tensor_without_elements_is_answered() {
    let server = Server::start().await;
    let body = json!({
        "inputs": [{"name": "INPUT11", "datatype": "FP32", "shape": [0], "data": []}],
        "outputs": [{"name": "OUTPUT11"}],
    });
    let answer = server.post("/v2/models/types/infer", body.to_string()).await;
    assert_eq!((answer.status, &answer.json()["outputs"][0]["data"]), (200, &json!([])));
}

#[tokio::test]
async fn a_body_above_the_limit_is_refused_however_it_is_sent() {
    let server = Server::with(ApiOptions { max_http_body: 100_000, ..ApiOptions::default() }).await;
    let answer = server.post("/v2/models/pair/infer", vec![b' '; 150_000]).await;
    assert_eq!(answer.status, 413);
    assert!(answer.error().contains("150000 bytes, but at most 100000"), "{answer:?}");

    let mut stream = TcpStream::connect(server.http).await.unwrap();
    stream
        .write_all(b"POST /v2/models/pair/infer HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n")
        .await
        .unwrap();
    for _ in 0..15 {
        stream.write_all(format!("2710\r\n{}\r\n", " ".repeat(10_000)).as_bytes()).await.unwrap();
    }
    stream.write_all(b"0\r\n\r\n").await.unwrap();
    assert!(head(&mut stream).await.starts_with("HTTP/1.1 413"));

    // Asked first, refused before anything is sent.
    let mut stream = TcpStream::connect(server.http).await.unwrap();
    stream
        .write_all(b"POST /v2/models/pair/infer HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 150000\r\n\r\n")
        .await
        .unwrap();
    assert!(head(&mut stream).await.starts_with("HTTP/1.1 413"));
    assert_eq!(server.post("/v2/models/pair/infer", pair([1.0, 2.0])).await.status, 200);
}

/// The first bytes of a response.
async fn head(stream: &mut TcpStream) -> String {
    let mut buffer = vec![0; 4096];
    let length = timeout(SOON, stream.read(&mut buffer)).await.unwrap().unwrap();
    String::from_utf8_lossy(&buffer[..length]).into_owned()
}

fn raw_request(model: &str) -> String {
    let body = pair([1.0, 2.0]);
    format!(
        "POST /v2/models/{model}/infer HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test]
async fn one_connection_takes_many_requests() {
    let server = Server::start().await;
    let mut stream = TcpStream::connect(server.http).await.unwrap();
    for _ in 0..3 {
        stream.write_all(raw_request("pair").as_bytes()).await.unwrap();
        assert!(head(&mut stream).await.starts_with("HTTP/1.1 200"));
    }
}

#[tokio::test]
async fn http2_without_tls_is_spoken_on_the_same_port() {
    let server = Server::start().await;
    let request = http::Request::get(format!("http://{}/v2/health/live", server.http));
    let request = request.body(http_body_util::Empty::<Bytes>::new()).unwrap();
    let response = crate::server::client(true).request(request).await.unwrap();
    assert_eq!((response.status().as_u16(), response.version()), (200, http::Version::HTTP_2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_disconnects_cancels_its_request() {
    let server = Server::start().await;
    let mut stream = TcpStream::connect(server.http).await.unwrap();
    stream.write_all(raw_request("slow").as_bytes()).await.unwrap();
    timeout(SOON, server.request_is_running()).await.unwrap();
    drop(stream);
    timeout(SOON, server.engine.drain()).await.expect("the request ends with its connection");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_takes_longer_than_its_timeout_is_504() {
    let server = Server::start().await;
    let body = json!({
        "inputs": [{"name": "INPUT0", "datatype": "FP32", "shape": [1, 2], "data": [1, 2]}],
        "parameters": {"timeout": 50_000},
    });
    let answer = timeout(SOON, server.post("/v2/models/slow/infer", body.to_string())).await.unwrap();
    assert_eq!(answer.status, 504, "{answer:?}");
    assert!(answer.error().contains("slow"));
}

#[tokio::test(flavor = "multi_thread")]
async fn shutting_down_finishes_what_is_running_and_takes_nothing_new() {
    let mut server = Server::start().await;
    let mut idle = TcpStream::connect(server.http).await.unwrap();
    idle.write_all(raw_request("pair").as_bytes()).await.unwrap();
    assert!(head(&mut idle).await.starts_with("HTTP/1.1 200"));
    let mut running = TcpStream::connect(server.http).await.unwrap();
    running.write_all(raw_request("brief").as_bytes()).await.unwrap();
    timeout(SOON, server.request_is_running()).await.unwrap();

    let (address, engine) = (server.http, server.engine.clone());
    let [http, grpc] = server.stop();
    assert_eq!(timeout(SOON, idle.read(&mut [0])).await.unwrap().unwrap(), 0, "idle connections are closed");
    timeout(SOON, http).await.unwrap().unwrap();
    assert!(
        futures::poll!(std::pin::pin!(engine.drain())).is_ready(),
        "returns when nothing is running any more"
    );
    assert!(head(&mut running).await.starts_with("HTTP/1.1 200"));
    timeout(SOON, grpc).await.unwrap().unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_model_is_loaded_anew_on_request() {
    let server = Server::start().await;
    for body in ["", "{}", r#"{"parameters": {}}"#] {
        let answer = server.post("/v2/repository/models/pair/load", body).await;
        assert_eq!((answer.status, &answer.body[..]), (200, &b""[..]), "{body}");
    }
    for (model, body, status, words) in [
        ("nowhere", "", 404, "no repository has a folder of model 'nowhere'"),
        ("broken", "", 503, "backend 'python' is not part of this server"),
        ("pair", "[", 400, "not what was expected"),
        ("pair", r#"{"parameters": {"config": "{}"}}"#, 501, "the parameter 'config'"),
    ] {
        let answer = server.post(&format!("/v2/repository/models/{model}/load"), body).await;
        assert_eq!(answer.status, status, "{model} {body}");
        assert!(answer.error().contains(words), "{}", answer.error());
    }
}
