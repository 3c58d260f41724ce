"""A wrong request gets the right code and a sentence that names what was wrong, and harms nothing else."""

import json
import struct
import urllib.error
import urllib.request

import classify
import grpc as grpcio
import numpy as np
import pytest
import tritonclient.grpc.service_pb2 as messages

GOOD = {
    "inputs": [
        {"name": "INPUT0", "datatype": "FP32", "shape": [1, 4], "data": [1, 2, 3, 4]},
        {"name": "INPUT1", "datatype": "INT64", "shape": [1, 2], "data": [5, 6]},
    ]
}


def post(server, path: str, body: bytes, headers: dict | None = None) -> tuple[int, dict]:
    request = urllib.request.Request(
        f"http://{server.http}{path}", body, {"Content-Type": "application/json"} | (headers or {})
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def changed(position: int = 0, **fields) -> bytes:
    """The good request with some fields of one input changed; None takes a field away."""
    request = json.loads(json.dumps(GOOD))
    tensor = request["inputs"][position]
    tensor.update(fields)
    request["inputs"][position] = {key: value for key, value in tensor.items() if value is not None}
    return json.dumps(request).encode()


def with_binary(size: int, given: int) -> tuple[bytes, dict]:
    """INPUT0 as binary data that claims one size and has another."""
    header = changed(data=None, parameters={"binary_data_size": size})
    return header + bytes(given), {"Inference-Header-Content-Length": str(len(header))}


def image(*files: bytes, shape=None) -> tuple[bytes, dict]:
    data = b"".join(struct.pack("<I", len(file)) + file for file in files)
    tensor = {
        "name": "image",
        "datatype": "BYTES",
        "shape": shape or [len(files), 1],
        "parameters": {"binary_data_size": len(data)},
    }
    header = json.dumps({"inputs": [tensor]}).encode()
    return header + data, {"Inference-Header-Content-Length": str(len(header))}


ECHO = "/v2/models/echo/infer"
CLASSIFIER = "/v2/models/image_classifier/infer"
GOOD_BODY = json.dumps(GOOD).encode()
CUT_OFF = object()  # stands for half of a photograph

# name: path, body and headers, status, what the sentence must name
WRONG = {
    "unknown model": ("/v2/models/nobody/infer", (GOOD_BODY, {}), 404, ["nobody"]),
    "unknown version": ("/v2/models/echo/versions/99/infer", (GOOD_BODY, {}), 404, ["echo", "99"]),
    "version that is no number": ("/v2/models/echo/versions/new/infer", (GOOD_BODY, {}), 404, ["new"]),
    "unknown input": (ECHO, (changed(name="INPUT7"), {}), 400, ["echo", "INPUT7"]),
    "missing input": (
        ECHO,
        (json.dumps({"inputs": GOOD["inputs"][:1]}).encode(), {}),
        400,
        ["echo", "INPUT1"],
    ),
    "input given twice": (
        ECHO,
        (json.dumps({"inputs": GOOD["inputs"] + GOOD["inputs"][:1]}).encode(), {}),
        400,
        ["INPUT0"],
    ),
    "unknown output": (
        ECHO,
        (json.dumps(GOOD | {"outputs": [{"name": "OUTPUT9"}]}).encode(), {}),
        400,
        ["echo", "OUTPUT9"],
    ),
    "wrong type": (ECHO, (changed(datatype="FP64"), {}), 400, ["INPUT0", "FP64", "FP32"]),
    "no type that there is": (ECHO, (changed(datatype="FLOAT"), {}), 400, ["INPUT0", "FLOAT"]),
    "wrong dim": (ECHO, (changed(shape=[1, 5], data=[1, 2, 3, 4, 5]), {}), 400, ["echo", "INPUT0", "5", "4"]),
    "wrong rank": (ECHO, (changed(shape=[4]), {}), 400, ["INPUT0", "[4]"]),
    "negative dim": (ECHO, (changed(shape=[-1, 4]), {}), 400, ["echo", "-1"]),
    "dims that overflow": (ECHO, (changed(1, shape=[1, 2**62]), {}), 400, ["INPUT1"]),
    "unequal batches": (ECHO, (changed(shape=[2, 4], data=[0] * 8), {}), 400, ["echo", "2", "1"]),
    "batch too large": (ECHO, (changed(shape=[9, 4], data=[0] * 36), {}), 400, ["echo", "9", "8"]),
    "batch of nothing": (CLASSIFIER, image(shape=[0, 1]), 400, ["image_classifier", "image"]),
    "image of no elements": (CLASSIFIER, image(shape=[1, 0]), 400, ["image_classifier", "image", "[1,0]"]),
    "too few values": (ECHO, (changed(data=[1, 2, 3]), {}), 400, ["INPUT0", "3", "4"]),
    "a value of another type": (ECHO, (changed(data=[1, 2, "three", 4]), {}), 400, ["INPUT0"]),
    "a value out of range": (ECHO, (changed(1, data=[5, 2**63]), {}), 400, ["INPUT1"]),
    "one byte too few": (ECHO, with_binary(15, 15), 400, ["INPUT0", "15", "16"]),
    "one byte too many": (ECHO, with_binary(17, 17), 400, ["INPUT0", "17", "16"]),
    "fewer bytes than announced": (ECHO, with_binary(16, 15), 400, ["INPUT0", "16", "15"]),
    "more bytes than announced": (ECHO, with_binary(16, 17), 400, ["1 bytes", "binary_data_size"]),
    "header longer than the body": (
        ECHO,
        (GOOD_BODY, {"Inference-Header-Content-Length": "100000"}),
        400,
        ["100000"],
    ),
    "no JSON": (ECHO, (b'{"inputs": [', {}), 400, ["JSON"]),
    "JSON that is no request": (ECHO, (b"[1, 2]", {}), 400, []),
    "no inputs": (ECHO, (b"{}", {}), 400, ["inputs"]),
    "empty body": (ECHO, (b"", {}), 400, []),
    "JSON a thousand levels deep": (ECHO, (b"[" * 1000 + b"]" * 1000, {}), 400, []),
    "a text file": (CLASSIFIER, image(b"this is no picture\n" * 20), 400, ["decode_image"]),
    "an empty file": (CLASSIFIER, image(b""), 400, ["decode_image"]),
    "half of a photograph": (CLASSIFIER, CUT_OFF, 400, ["decode_image"]),
}


@pytest.fixture()
def server_lives(server, http, grpc, photograph):
    """Good requests to the same and to other models succeed afterwards."""
    yield
    assert post(server, ECHO, GOOD_BODY)[0] == 200
    assert classify.through_grpc(server, http, grpc, [photograph["coffee"]]).index[0, 0] == 967


@pytest.mark.parametrize("name", WRONG)
def test_wrong_http_request(server, photograph, server_lives, name):
    path, request, status, words = WRONG[name]
    if request is CUT_OFF:
        request = image(photograph["chelsea"][: len(photograph["chelsea"]) // 2])
    got, answer = post(server, path, *request)
    assert set(answer) == {"error"}, answer
    sentence = answer["error"]
    assert got == status, sentence
    assert [word for word in words if word not in sentence] == [], sentence


def test_one_bad_photograph_of_a_batch_is_named(server, photograph, server_lives):
    body, headers = image(photograph["coffee"], b"nothing", photograph["chelsea"])
    status, answer = post(server, CLASSIFIER, body, headers)
    assert status == 400
    assert "element 1" in answer["error"], answer["error"]


def test_a_wrong_method_is_refused(server, server_lives):
    with pytest.raises(urllib.error.HTTPError) as raised:
        urllib.request.urlopen(f"http://{server.http}{ECHO}", timeout=10)
    assert raised.value.code == 405


def grpc_request(**fields) -> messages.ModelInferRequest:
    request = messages.ModelInferRequest(model_name="echo")
    arrays = (("INPUT0", "FP32", np.ones((1, 4), np.float32)), ("INPUT1", "INT64", np.ones((1, 2), np.int64)))
    for name, datatype, array in arrays:
        request.inputs.add(name=name, datatype=datatype, shape=array.shape)
        request.raw_input_contents.append(array.tobytes())
    for path, value in fields.items():
        if path == "raw":
            request.raw_input_contents[0] = value
        elif path == "typed":
            request.inputs[0].contents.fp32_contents.extend(value)
        elif path == "shape":
            request.inputs[0].shape[:] = value
        elif path in ("name", "datatype"):
            setattr(request.inputs[0], path, value)
        else:
            setattr(request, path, value)
    return request


INVALID, NOT_FOUND = grpcio.StatusCode.INVALID_ARGUMENT, grpcio.StatusCode.NOT_FOUND
WRONG_GRPC = {
    "unknown model": ({"model_name": "nobody"}, NOT_FOUND, ["nobody"]),
    "unknown version": ({"model_version": "99"}, NOT_FOUND, ["echo", "99"]),
    "unknown input": ({"name": "INPUT7"}, INVALID, ["INPUT7"]),
    "wrong type": ({"datatype": "FP64"}, INVALID, ["INPUT0", "FP64", "FP32"]),
    "wrong dim": ({"shape": [1, 5], "raw": bytes(20)}, INVALID, ["INPUT0", "5", "4"]),
    "batch too large": ({"shape": [9, 4], "raw": bytes(144)}, INVALID, ["echo", "9", "8"]),
    "one byte too few": ({"raw": bytes(15)}, INVALID, ["INPUT0", "15", "16"]),
    "one byte too many": ({"raw": bytes(17)}, INVALID, ["INPUT0", "17", "16"]),
    "raw and typed contents": ({"typed": [1, 2, 3, 4]}, INVALID, ["INPUT0"]),
}


@pytest.mark.parametrize("name", WRONG_GRPC)
def test_wrong_grpc_request(grpc, server_lives, name):
    fields, code, words = WRONG_GRPC[name]
    with pytest.raises(grpcio.RpcError) as raised:
        grpc._client_stub.ModelInfer(grpc_request(**fields))
    sentence = raised.value.details()
    assert raised.value.code() == code, sentence
    assert [word for word in words if word not in sentence] == [], sentence


def test_a_good_grpc_request_like_those_succeeds(grpc):
    answer = grpc._client_stub.ModelInfer(grpc_request())
    assert [output.name for output in answer.outputs] == ["OUTPUT0", "OUTPUT1"]
