//! A real server for end-to-end tests: the built binary, over a folder of the test's own, on free ports.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

pub mod tool;

use std::{
    fs,
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex},
    thread::JoinHandle,
};

use serde_json::Value;
use tempfile::TempDir;

/// The root of the checkout.
pub fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The server's binary: of the profile that this test was built in.
pub fn binary() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let binary = test.parent().unwrap().parent().unwrap().join("nacre");
    assert!(binary.is_file(), "{} is missing: build it with `make build`", binary.display());
    binary
}

/// A component of tests/guests.
pub fn guest(name: &str) -> PathBuf {
    let file = root().join(format!("tests/guests/out/{name}.wasm"));
    assert!(file.is_file(), "{} is missing: build it with tests/guests/build.sh", file.display());
    file
}

/// A model repository in a temporary folder.
pub struct Repository(TempDir);

impl Default for Repository {
    fn default() -> Repository {
        Repository(TempDir::new().unwrap())
    }
}

impl Repository {
    /// Its folder.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Adds a model with this config.pbtxt (its name is put in front).
    pub fn model(self, name: &str, config: &str) -> Repository {
        let folder = self.path().join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.pbtxt"), format!("name: \"{name}\"\n{config}\n")).unwrap();
        self
    }

    /// Puts a copy of a file into version 1 of a model.
    pub fn file(self, model: &str, name: &str, source: &Path) -> Repository {
        let folder = self.path().join(model).join("1");
        fs::create_dir_all(&folder).unwrap();
        fs::copy(source, folder.join(name)).unwrap();
        self
    }
}

/// A running server; killed when dropped.
pub struct Server {
    child: Child,
    http: SocketAddr,
    grpc: SocketAddr,
    metrics: SocketAddr,
    log: Arc<Mutex<String>>,
    readers: Vec<JoinHandle<()>>,
    agent: ureq::Agent,
}

/// Status and JSON body of an HTTP answer.
#[derive(Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// The body; null if it was no JSON.
    pub body: Value,
}

impl Answer {
    /// The sentence of an error answer.
    pub fn error(&self) -> &str {
        self.body["error"].as_str().unwrap_or_else(|| panic!("no error in {self:?}"))
    }
}

impl Server {
    /// Starts a server and waits until it has loaded or refused every model.
    pub fn start(repository: &Path, options: &[&str]) -> Server {
        let mut child = Command::new(binary())
            .arg("serve")
            .arg(format!("--model-repository={}", repository.display()))
            .args(["--http-port=0", "--grpc-port=0", "--metrics-port=0"])
            .args(["--http-address=127.0.0.1", "--grpc-address=127.0.0.1", "--metrics-address=127.0.0.1"])
            .args(options)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let mut readers = vec![collect(stderr, &log)];
        // The addresses come last of what is printed once every model has loaded or failed.
        let mut addresses = Vec::new();
        while addresses.len() < 3 {
            let mut line = String::new();
            if stdout.read_line(&mut line).unwrap() == 0 {
                panic!("the server ended at start: {:?}\n{}", child.wait().unwrap(), log.lock().unwrap());
            }
            log.lock().unwrap().push_str(&line);
            if let Some(address) = line.split_whitespace().nth(1).and_then(|word| word.parse().ok()) {
                addresses.push(address);
            }
        }
        readers.push(collect(stdout, &log));
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        Server { child, http: addresses[0], grpc: addresses[1], metrics: addresses[2], log, readers, agent }
    }

    /// Address of gRPC.
    pub fn grpc(&self) -> SocketAddr {
        self.grpc
    }

    /// Address of HTTP.
    pub fn http(&self) -> SocketAddr {
        self.http
    }

    /// GET of a path.
    pub fn get(&self, path: &str) -> Answer {
        answer(self.agent.get(format!("http://{}{path}", self.http)).call().unwrap())
    }

    /// POST of a JSON body.
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_bytes(path, body.to_string().as_bytes())
    }

    /// POST of any body.
    pub fn post_bytes(&self, path: &str, body: &[u8]) -> Answer {
        answer(self.agent.post(format!("http://{}{path}", self.http)).send(body).unwrap())
    }

    /// POST of a body with binary tensors behind its JSON; gives the status and reads the answer to its end.
    pub fn post_binary(&self, path: &str, header: usize, body: &[u8]) -> u16 {
        let request = self.agent.post(format!("http://{}{path}", self.http));
        let mut response =
            request.header("Inference-Header-Content-Length", header.to_string()).send(body).unwrap();
        response.body_mut().read_to_vec().unwrap();
        response.status().as_u16()
    }

    /// The metrics page.
    pub fn metrics(&self) -> String {
        let url = format!("http://{}/metrics", self.metrics);
        self.agent.get(url).call().unwrap().body_mut().read_to_string().unwrap()
    }

    /// Everything printed so far.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends SIGTERM.
    pub fn terminate(&self) {
        let status = Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        assert!(status.success());
    }

    /// Waits for the end; gives the exit status and everything printed.
    pub fn wait(mut self) -> (ExitStatus, String) {
        let status = self.child.wait().unwrap();
        for reader in self.readers.drain(..) {
            reader.join().unwrap();
        }
        (status, self.log())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- server log ---\n{}", self.log());
        }
    }
}

fn answer(mut response: ureq::http::Response<ureq::Body>) -> Answer {
    let status = response.status().as_u16();
    let text = response.body_mut().read_to_string().unwrap();
    Answer { status, body: serde_json::from_str(&text).unwrap_or(Value::Null) }
}

fn collect(mut from: impl BufRead + Send + 'static, log: &Arc<Mutex<String>>) -> JoinHandle<()> {
    let log = Arc::clone(log);
    std::thread::spawn(move || {
        let mut line = String::new();
        while from.read_line(&mut line).is_ok_and(|n| n > 0) {
            log.lock().unwrap().push_str(&line);
            line.clear();
        }
    })
}
