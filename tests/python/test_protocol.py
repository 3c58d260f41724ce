"""Clients that were written for Triton find what they look for."""

import json
import subprocess
import urllib.request

import grpc as grpcio
import ml_dtypes
import numpy as np
import pytest
import tritonclient.grpc
import tritonclient.http
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

DEMO_MODELS = {
    *("image_classifier", "decode_image", "efficientnet_lite0", "top_k_labels"),
    *("sentence_similarity", "tokenize", "minilm_l6_v2", "pool_sentences"),
}

# Triton's name → values that survive only if each byte does.
TENSORS = {
    "BOOL": np.array([[True, False, True]]),
    "UINT8": np.array([[0, 1, 255]], np.uint8),
    "UINT16": np.array([[0, 1, 65535]], np.uint16),
    "UINT32": np.array([[0, 1, 2**32 - 1]], np.uint32),
    "UINT64": np.array([[0, 1, 2**64 - 1]], np.uint64),
    "INT8": np.array([[-128, 0, 127]], np.int8),
    "INT16": np.array([[-(2**15), 0, 2**15 - 1]], np.int16),
    "INT32": np.array([[-(2**31), 0, 2**31 - 1]], np.int32),
    "INT64": np.array([[-(2**63), 0, 2**63 - 1]], np.int64),
    "FP16": np.array([[0.5, -65504.0, 6e-8]], np.float16),
    "FP32": np.array([[0.1, -3.4e38, 1e-45]], np.float32),
    "FP64": np.array([[0.1, -1.7e308, 5e-324]], np.float64),
    "BYTES": np.array([[b"", b"\x00\xff", "größe".encode()]], np.object_),
    "BF16": np.array([[1.0, -0.5, 3e38]], ml_dtypes.bfloat16),
}
# Those have no form in JSON.
BINARY_ONLY = {"FP16", "BF16"}


@pytest.fixture(scope="session", params=["http", "grpc"])
def module_and_client(request, http, grpc):
    return {"http": (tritonclient.http, http), "grpc": (tritonclient.grpc, grpc)}[request.param]


def as_dict(answer) -> dict:
    """An HTTP client answers with a dictionary, a gRPC client with a message."""
    if isinstance(answer, (dict, list)):
        return answer
    from google.protobuf.json_format import MessageToDict

    return MessageToDict(answer, preserving_proto_field_name=True)


def test_health(module_and_client):
    _, client = module_and_client
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("image_classifier")
    assert client.is_model_ready("image_classifier", "1")
    assert not client.is_model_ready("image_classifier", "2")
    assert not client.is_model_ready("nobody")


def test_server_metadata(module_and_client):
    _, client = module_and_client
    metadata = as_dict(client.get_server_metadata())
    assert metadata["name"] == "nacre"
    assert metadata["version"]
    assert {"binary_tensor_data", "statistics"} <= set(metadata["extensions"])


def test_model_metadata(module_and_client):
    _, client = module_and_client
    metadata = as_dict(client.get_model_metadata("image_classifier"))
    assert metadata["versions"] == ["1"]
    assert metadata["platform"] == "ensemble"
    shapes = {
        tensor["name"]: (tensor["datatype"], [int(dim) for dim in tensor["shape"]])
        for tensor in metadata["inputs"] + metadata["outputs"]
    }
    assert shapes == {
        "image": ("BYTES", [-1, 1]),
        "label": ("BYTES", [-1, 5]),
        "index": ("INT32", [-1, 5]),
        "probability": ("FP32", [-1, 5]),
    }


def test_model_config(module_and_client):
    _, client = module_and_client
    config = as_dict(client.get_model_config("efficientnet_lite0"))
    config = config.get("config", config)
    assert config["max_batch_size"] == 32
    assert config["platform"] == "pytorch_libtorch"
    # Clients choose how to load a model by the presence of this message, empty or not.
    assert "dynamic_batching" in config
    assert "sequence_batching" not in config


def test_repository_index(module_and_client):
    _, client = module_and_client
    index = as_dict(client.get_model_repository_index())
    entries = index["models"] if isinstance(index, dict) else index
    states = {entry["name"]: entry["state"] for entry in entries}
    assert {name: "READY" for name in DEMO_MODELS}.items() <= states.items()


def test_statistics_have_every_field_even_at_zero(http):
    statistics = http.get_inference_statistics("echo_strings")["model_stats"][0]
    for name in (
        "success",
        "fail",
        "queue",
        "compute_input",
        "compute_infer",
        "compute_output",
        "cache_hit",
        "cache_miss",
    ):
        assert set(statistics["inference_stats"][name]) == {"count", "ns"}, name
    for name in ("name", "version", "last_inference", "inference_count", "execution_count", "batch_stats"):
        assert name in statistics


@pytest.mark.parametrize("binary", [True, False], ids=["binary", "json"])
def test_http_keeps_every_type(http, binary):
    inputs, outputs = [], []
    for position, (datatype, values) in enumerate(TENSORS.items()):
        tensor = tritonclient.http.InferInput(f"INPUT{position}", list(values.shape), datatype)
        as_binary = binary or datatype in BINARY_ONLY or datatype == "BYTES"
        tensor.set_data_from_numpy(values, binary_data=as_binary)
        inputs.append(tensor)
        outputs.append(tritonclient.http.InferRequestedOutput(f"OUTPUT{position}", binary_data=as_binary))
    assert_same_tensors(http.infer("echo_types", inputs, outputs=outputs))


def test_grpc_keeps_every_type(grpc):
    inputs = []
    for position, (datatype, values) in enumerate(TENSORS.items()):
        tensor = tritonclient.grpc.InferInput(f"INPUT{position}", list(values.shape), datatype)
        tensor.set_data_from_numpy(values)
        inputs.append(tensor)
    assert_same_tensors(grpc.infer("echo_types", inputs))


def assert_same_tensors(result):
    for position, (datatype, values) in enumerate(TENSORS.items()):
        got = result.as_numpy(f"OUTPUT{position}")
        assert got.shape == values.shape, datatype
        assert got.tolist() == values.tolist(), datatype


def test_curl_speaks_json(server):
    request = {
        "id": "from curl",
        "inputs": [
            {"name": "INPUT0", "datatype": "FP32", "shape": [2, 4], "data": [[1, 2, 3, 4], [5, 6.5, 7, 8]]},
            {"name": "INPUT1", "datatype": "INT64", "shape": [2, 1], "data": [9, -9007199254740993]},
        ],
    }
    command = [
        "curl",
        "--silent",
        "--show-error",
        "--data",
        json.dumps(request),
        f"http://{server.http}/v2/models/echo/infer",
    ]
    answer = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert answer["id"] == "from curl"
    assert answer["model_name"] == "echo"
    assert answer["model_version"] == "1"
    outputs = {output["name"]: output for output in answer["outputs"]}
    assert outputs["OUTPUT0"]["shape"] == [2, 4]
    assert outputs["OUTPUT0"]["data"] == [1, 2, 3, 4, 5, 6.5, 7, 8]
    assert outputs["OUTPUT1"]["data"] == [9, -9007199254740993]


def test_curl_speaks_json_strings(server):
    request = {
        "inputs": [{"name": "INPUT0", "datatype": "BYTES", "shape": [3], "data": ["", "perle", "grün \U0001f41a"]}]
    }
    command = [
        "curl",
        "--silent",
        "--show-error",
        "--data",
        json.dumps(request),
        f"http://{server.http}/v2/models/echo_strings/infer",
    ]
    answer = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert answer["outputs"][0]["data"] == ["", "perle", "grün \U0001f41a"]


def test_reflection_lists_the_services(server):
    with grpcio.insecure_channel(server.grpc) as channel:
        services = ProtoReflectionDescriptorDatabase(channel).get_services()
    assert {"inference.GRPCInferenceService", "grpc.health.v1.Health"} <= set(services)


def test_reflection_describes_the_inference_service(server):
    from google.protobuf.descriptor_pool import DescriptorPool

    with grpcio.insecure_channel(server.grpc) as channel:
        pool = DescriptorPool(ProtoReflectionDescriptorDatabase(channel))
        service = pool.FindServiceByName("inference.GRPCInferenceService")
        assert {"ServerLive", "ModelInfer", "ModelConfig"} <= {method.name for method in service.methods}
        # The configuration's message too, in a file of its own.
        assert pool.FindMessageTypeByName("inference.ModelConfig").fields_by_name["max_batch_size"].number == 4


def test_grpc_health(server):
    with grpcio.insecure_channel(server.grpc) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        assert health.Check(health_pb2.HealthCheckRequest()).status == health_pb2.HealthCheckResponse.SERVING


def test_metrics_are_served(server):
    with urllib.request.urlopen(server.metrics, timeout=10) as response:
        text = response.read().decode()
    assert 'nv_inference_request_success{model="echo",version="1"}' in text
