"""A repository as a tutorial for Triton has it is served as it stands, and so are the tutorial's client lines.

tests/fixtures/article holds its configurations word for word. The network is a small one with random weights and
resnet50's shapes, and a plugin stands in the place of preprocess/1/model.py.
"""

import shutil

import numpy as np
import pictures
import pytest
import torch
import tritonclient.grpc
import tritonclient.http as httpclient
from nacre_server import ROOT, Server
from PIL import Image

CONFIGURATIONS = ROOT / "tests" / "fixtures" / "article"
PLUGIN = ROOT / "plugins" / "out" / "preprocess.wasm"
# ImageNet's, for values from 0 to 1.
MEAN, STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])


def small_network() -> torch.nn.Module:
    torch.manual_seed(5)
    return torch.nn.Sequential(
        torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten(), torch.nn.Linear(48, 1000), torch.nn.Tanh()
    ).eval()


@pytest.fixture(scope="module")
def network():
    return small_network()


@pytest.fixture(scope="module")
def repository(network, tmp_path_factory):
    folder = tmp_path_factory.mktemp("article") / "model_repository"
    shutil.copytree(CONFIGURATIONS, folder)
    (folder / "resnet50" / "1").mkdir()
    with torch.no_grad():
        torch.jit.trace(network, torch.rand(2, 3, 224, 224)).save(folder / "resnet50" / "1" / "model.pt")
    (folder / "resnet50" / "labels.txt").write_text("".join(f"class {number}\n" for number in range(1000)))
    (folder / "preprocess" / "1").mkdir()
    shutil.copy(PLUGIN, folder / "preprocess" / "1" / "plugin.wasm")
    return folder


@pytest.fixture(scope="module")
def server(repository):
    with Server(repository, options=("--gpu-fallback=cpu",)) as running:
        yield running


@pytest.fixture(scope="module")
def client(server):
    with httpclient.InferenceServerClient(url=server.http) as client:
        yield client


def run(network, tensors: np.ndarray) -> np.ndarray:
    with torch.inference_mode():
        return network(torch.from_numpy(tensors)).numpy()


def preprocessed(picture: Image.Image) -> np.ndarray:
    resized = np.asarray(picture.resize((224, 224), Image.Resampling.BICUBIC)) / 255
    return ((resized - MEAN) / STD).transpose(2, 0, 1).astype(np.float32)


def test_every_model_is_ready(client):
    assert client.is_server_live()
    assert client.is_server_ready()
    assert all(client.is_model_ready(name) for name in ("resnet50", "preprocess", "pipeline"))


def test_the_network_alone(client, network):
    image = np.random.default_rng(0).random((1, 3, 224, 224), dtype=np.float32)
    inputs = [httpclient.InferInput("input__0", image.shape, "FP32")]
    inputs[0].set_data_from_numpy(image)
    outputs = [httpclient.InferRequestedOutput("output__0")]
    response = client.infer(model_name="resnet50", inputs=inputs, outputs=outputs)
    result = response.as_numpy("output__0")
    assert result.shape == (1, 1000)
    np.testing.assert_allclose(result, run(network, image), atol=1e-5)


@pytest.mark.parametrize("module", [httpclient, tritonclient.grpc], ids=["http", "grpc"])
def test_the_pipeline_on_raw_pixels(server, network, module):
    picture = pictures.opened("coffee")
    raw = np.asarray(picture)[np.newaxis]
    raw_image = module.InferInput("raw_image", list(raw.shape), "UINT8")
    raw_image.set_data_from_numpy(raw)
    url = server.http if module is httpclient else server.grpc
    with module.InferenceServerClient(url=url) as client:
        result = client.infer("pipeline", [raw_image]).as_numpy("classification_result")
    assert result.shape == (1, 1000)
    # One grey level, which decides nothing, is 0.02 at the network's input.
    np.testing.assert_allclose(result, run(network, preprocessed(picture)[np.newaxis]), atol=0.01)


def test_the_pipeline_on_a_batch(client, network):
    raw = np.random.default_rng(1).integers(0, 256, (3, 40, 60, 3), dtype=np.uint8)
    raw_image = httpclient.InferInput("raw_image", list(raw.shape), "UINT8")
    raw_image.set_data_from_numpy(raw)
    result = client.infer("pipeline", [raw_image]).as_numpy("classification_result")
    expected = run(network, np.stack([preprocessed(Image.fromarray(each)) for each in raw]))
    np.testing.assert_allclose(result, expected, atol=0.01)


def test_a_wish_for_a_gpu_that_is_refused_names_the_option(repository):
    """Without --gpu-fallback the network is not served where no GPU is, and says what would help."""
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    with Server(repository) as server, httpclient.InferenceServerClient(url=server.http) as client:
        entries = {entry["name"]: entry for entry in client.get_model_repository_index()}
        assert entries["resnet50"]["state"] == "UNAVAILABLE"
        assert "--gpu-fallback=cpu" in entries["resnet50"]["reason"]
        assert entries["preprocess"]["state"] == "READY"


def test_a_pipeline_without_a_batch_size_is_refused_in_words(repository, tmp_path):
    """Its steps are batched, so it has to be."""
    shutil.copytree(repository, tmp_path / "models")
    config = tmp_path / "models" / "pipeline" / "config.pbtxt"
    config.write_text(config.read_text().replace("max_batch_size: 32\n", ""))
    options = ("--gpu-fallback=cpu",)
    with (
        Server(tmp_path / "models", options=options) as server,
        httpclient.InferenceServerClient(url=server.http) as client,
    ):
        entry = next(each for each in client.get_model_repository_index() if each["name"] == "pipeline")
        assert entry["state"] == "UNAVAILABLE"
        assert "max_batch_size" in entry["reason"]
