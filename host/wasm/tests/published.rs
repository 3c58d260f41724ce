//! For each published version of the interface, one component that was built for it then. It runs for ever.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

mod common;

use std::{fs, path::Path, pin::Pin, sync::Arc};

use common::{Server, TENSORS, element_model, parameter, request, source};
use nacre_backend::ModelCalls;
use nacre_domain::{DataType, InferenceRequest, InferenceResponse, ModelKey, Parameters, Tensor};
use nacre_wasm::Start;

/// The model 'other': gives its input reversed.
struct Other;

impl ModelCalls for Other {
    fn infer<'a>(
        &'a self,
        request: InferenceRequest,
    ) -> Pin<Box<dyn Future<Output = nacre_domain::Result<InferenceResponse>> + Send + 'a>> {
        Box::pin(async move {
            assert_eq!(request.model, "other");
            let data: Vec<u8> = request.inputs[0].data.iter().rev().copied().collect();
            let output = Tensor {
                name: "OUT".into(),
                data_type: DataType::Uint8,
                shape: vec![data.len() as i64],
                data: data.into(),
            };
            Ok(InferenceResponse {
                model: ModelKey { name: request.model, version: 1 },
                id: request.id,
                parameters: Parameters::new(),
                outputs: vec![output],
            })
        })
    }

    fn levels(&self) -> usize {
        1
    }
}

#[test]
fn a_component_of_each_published_version_runs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/guests/published");
    let mut versions = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        let name = file.file_name().unwrap().to_str().unwrap();
        let version = name.strip_prefix("plugin-").unwrap().strip_suffix(".wasm").unwrap().to_owned();
        let component = fs::read(&file).unwrap();
        assert!(component.len() <= 64 << 10, "{name}: {} bytes", component.len());

        let server = Server::new();
        let directory = server.folder("published", &component);
        fs::write(directory.join("greeting.txt"), "hello, ").unwrap();
        let config =
            TENSORS.to_owned() + &parameter("file", "greeting.txt") + &parameter("NACRE_MODELS", "other");
        let loaded = server.backend.load_with_report(&source("published", directory, &config));
        let (loaded, report) = loaded.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(report.interface, version);
        assert!(matches!(report.start, Start::Snapshot { .. }), "{report:?}");
        let mut request = request(b"abc");
        request.models = Some(Arc::new(Other));
        let answer = server.execute(&element_model(loaded), request).unwrap();
        assert_eq!(answer.outputs[0].data, b"hello, cbaabc".as_slice(), "{name}");
        versions.push(version);
    }
    versions.sort();
    assert_eq!(versions, ["1.0.0"], "a published version's component is never removed");
}
