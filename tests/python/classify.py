"""The same classification asked for in each way that the protocol has."""

import json
import struct
import urllib.request
from dataclasses import dataclass

import numpy as np
import tritonclient.grpc
import tritonclient.grpc.service_pb2 as messages
import tritonclient.http

MODEL = "image_classifier"
OUTPUTS = ("label", "index", "probability")


@dataclass
class Classification:
    """Labels, class indices and probabilities of a batch: three arrays [n, 5]."""

    label: np.ndarray
    index: np.ndarray
    probability: np.ndarray


def image_tensor(files: list[bytes]) -> np.ndarray:
    return np.array(files, dtype=np.object_).reshape(-1, 1)


def text(array: np.ndarray) -> np.ndarray:
    return np.vectorize(bytes.decode, otypes=[str])(array)


def through_tritonclient(module, client, files: list[bytes], **options) -> Classification:
    tensor = image_tensor(files)
    image = module.InferInput("image", list(tensor.shape), "BYTES")
    image.set_data_from_numpy(tensor)
    outputs = [module.InferRequestedOutput(name) for name in OUTPUTS]
    result = client.infer(MODEL, [image], outputs=outputs, **options)
    label, index, probability = (result.as_numpy(name) for name in OUTPUTS)
    return Classification(text(label), index, probability)


def through_http(server, http, grpc, files):
    """JSON header and binary tensors both ways."""
    return through_tritonclient(tritonclient.http, http, files)


def through_grpc(server, http, grpc, files):
    """Raw contents both ways."""
    return through_tritonclient(tritonclient.grpc, grpc, files)


def through_grpc_typed(server, http, grpc, files):
    """The tensor as typed contents, one `bytes` an element."""
    image = messages.ModelInferRequest.InferInputTensor(name="image", datatype="BYTES", shape=[len(files), 1])
    image.contents.bytes_contents.extend(files)
    answer = grpc._client_stub.ModelInfer(messages.ModelInferRequest(model_name=MODEL, inputs=[image]))
    result = tritonclient.grpc.InferResult(answer)
    label, index, probability = (result.as_numpy(name) for name in OUTPUTS)
    return Classification(text(label), index, probability)


def through_http_answered_in_json(server, http, grpc, files):
    """A binary tensor in, no word of outputs: all of them come as JSON."""
    data = b"".join(struct.pack("<I", len(file)) + file for file in files)
    tensor = {
        "name": "image",
        "datatype": "BYTES",
        "shape": [len(files), 1],
        "parameters": {"binary_data_size": len(data)},
    }
    header = json.dumps({"inputs": [tensor]}).encode()
    request = urllib.request.Request(
        f"http://{server.http}/v2/models/{MODEL}/infer", header + data,
        {"Inference-Header-Content-Length": str(len(header)), "Content-Type": "application/octet-stream"},
    )  # fmt: skip
    with urllib.request.urlopen(request, timeout=120) as response:
        outputs = {output["name"]: output for output in json.load(response)["outputs"]}
    label, index, probability = (np.array(outputs[name]["data"]).reshape(outputs[name]["shape"]) for name in OUTPUTS)
    return Classification(label, index, probability)


WAYS = [through_http, through_grpc, through_grpc_typed, through_http_answered_in_json]
