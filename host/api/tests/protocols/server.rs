//! Both protocols on free ports, in front of an engine with identity models.

use std::{fs, net::SocketAddr, path::Path, sync::Arc};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use nacre_api::{ApiOptions, http_router, serve_grpc, serve_http};
use nacre_backend::identity::IdentityBackend;
use nacre_engine::{Engine, EngineOptions};
use tempfile::TempDir;
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

/// The servers, stopped when dropped.
pub struct Server {
    pub engine: Arc<Engine>,
    pub http: SocketAddr,
    pub grpc: SocketAddr,
    stop: watch::Sender<bool>,
    tasks: [JoinHandle<()>; 2],
    _repository: TempDir,
}

/// One FP32 input of two elements, in batches of at most 8.
const PAIR: &str = r#"
    backend: "identity"
    max_batch_size: 8
    input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 2 ] } ]
    output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 2 ] label_filename: "labels.txt" } ]
"#;

/// As many optional inputs as there are data types, each of any length.
fn all_types() -> String {
    let mut config = "backend: \"identity\"\n".to_owned();
    for (i, data_type) in nacre_domain::DataType::ALL.into_iter().enumerate() {
        let data_type = data_type.config_name();
        config +=
            &format!("input {{ name: \"INPUT{i}\" data_type: {data_type} dims: [ -1 ] optional: true }}\n");
        config += &format!("output {{ name: \"OUTPUT{i}\" data_type: {data_type} dims: [ -1 ] }}\n");
    }
    config
}

impl Server {
    pub async fn start() -> Server {
        Server::with(ApiOptions::default()).await
    }

    /// Models `pair`, `types`, `text` (one BYTES element), `slow` (a minute for each request), `brief` (a quarter of a
    /// second) and `broken`.
    pub async fn with(options: ApiOptions) -> Server {
        let repository = TempDir::new().unwrap();
        let delayed = |ms: u32| {
            format!("{PAIR} parameters {{ key: \"execute_delay_ms\" value {{ string_value: \"{ms}\" }} }}")
        };
        let text = PAIR.replace("TYPE_FP32 dims: [ 2 ]", "TYPE_STRING dims: [ 1 ]");
        model(repository.path(), "pair", PAIR);
        model(repository.path(), "types", &all_types());
        model(repository.path(), "text", &text);
        model(repository.path(), "slow", &delayed(60_000));
        model(repository.path(), "brief", &delayed(250));
        model(repository.path(), "broken", "backend: \"python\"");
        let engine_options = EngineOptions {
            repositories: vec![repository.path().to_owned()],
            plugin_threads: 1,
            load_threads: 1,
            strict_readiness: false,
        };
        let engine = Engine::new(engine_options, vec![Arc::new(IdentityBackend)]).unwrap();
        engine.load_all().await;

        let (stop, stopped) = watch::channel(false);
        let until =
            |mut stopped: watch::Receiver<bool>| async move { drop(stopped.wait_for(|&stop| stop).await) };
        let http = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let grpc = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Server {
            http: http.local_addr().unwrap(),
            grpc: grpc.local_addr().unwrap(),
            tasks: [
                tokio::spawn(serve_http(
                    http,
                    http_router(engine.clone(), options.clone()),
                    until(stopped.clone()),
                )),
                tokio::spawn(serve_grpc(grpc, engine.clone(), options, until(stopped))),
            ],
            engine,
            stop,
            _repository: repository,
        }
    }

    /// Begins to stop; the tasks end when both servers are drained.
    pub fn stop(&mut self) -> &mut [JoinHandle<()>; 2] {
        self.stop.send_replace(true);
        &mut self.tasks
    }

    /// Waits until a request is running.
    pub async fn request_is_running(&self) {
        while futures::poll!(std::pin::pin!(self.engine.drain())).is_ready() {
            tokio::task::yield_now().await;
        }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], Bytes::new()).await
    }

    pub async fn post(&self, path: &str, body: impl Into<Bytes>) -> Answer {
        self.send("POST", path, &[], body.into()).await
    }

    pub async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Bytes) -> Answer {
        let mut request = http::Request::builder().method(method).uri(format!("http://{}{path}", self.http));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = client(false).request(request.body(Full::new(body)).unwrap()).await.unwrap();
        let (parts, body) = response.into_parts();
        Answer {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body: body.collect().await.unwrap().to_bytes(),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}

fn model(repository: &Path, name: &str, config: &str) {
    let folder = repository.join(name);
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("config.pbtxt"), config).unwrap();
    fs::write(folder.join("labels.txt"), "cat\ndog\n").unwrap();
}

/// A client that speaks HTTP/2 alone, or HTTP/1.1.
pub fn client<B>(http2: bool) -> Client<HttpConnector, B>
where
    B: hyper::body::Body + Send,
    B::Data: Send,
{
    Client::builder(TokioExecutor::new()).http2_only(http2).build_http()
}

/// An HTTP response.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: http::HeaderMap,
    pub body: Bytes,
}

impl Answer {
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// The sentence of an error.
    pub fn error(&self) -> String {
        self.json()["error"].as_str().unwrap_or_else(|| panic!("no error: {self:?}")).to_owned()
    }
}
