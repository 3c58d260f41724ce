"""The preprocessing of photographs as our plugins and as Triton's Python backend do it, side by side over HTTP.

    .venv/bin/python tests/measure/preprocessing.py --triton 'run_triton.sh {repository} {http} {grpc} {metrics}'

The command starts a Triton over a repository on three ports; its Python backend needs NumPy and Pillow. Each case is first
compared in what it gives, then measured in rounds that take turns: one connection for the time of a request, as its client
and as the server's statistics tell it (the step alone), four for requests a second. Prints medians of the rounds, and how
many times ours is as fast.
"""

import argparse
import http.client
import io
import json
import shlex
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

import numpy
import PIL.Image

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from nacre_server import Server, free_ports  # noqa: E402 the folder is known only now

PHOTOGRAPHS = ROOT / ".setup" / "photographs"

# What a user of the Python backend would write. The first line: its stub starts an isolated interpreter.
PYTHON_MODEL = '''
import os, sys; sys.path[:0] = [p for p in os.environ.get("PYTHONPATH", "").split(":") if p]
import io
import numpy as np
import triton_python_backend_utils as pb
from PIL import Image, ImageOps

MEAN = np.array([0.485, 0.456, 0.406], np.float32) * 255
STD = np.array([0.229, 0.224, 0.225], np.float32) * 255


class TritonPythonModel:
    def execute(self, requests):
        return [pb.InferenceResponse([pb.Tensor("tensor", self.tensor(request))]) for request in requests]

    def tensor(self, request):
        image = pb.get_input_tensor_by_name(request, "image").as_numpy()
        if image.dtype == np.object_:
            picture = ImageOps.exif_transpose(Image.open(io.BytesIO(image.reshape(-1)[0]))).convert("RGB")
        else:
            picture = Image.fromarray(image)
        if picture.size != (224, 224):
            picture = picture.resize((224, 224), Image.Resampling.BICUBIC)
        values = (np.asarray(picture).astype(np.float32) - MEAN) / STD
        return np.ascontiguousarray(values.transpose(2, 0, 1))
'''
PLUGIN_PARAMETERS = """
parameters { key: "mean" value { string_value: "123.675, 116.28, 103.53" } }
parameters { key: "std" value { string_value: "58.395, 57.12, 57.375" } }
"""


def config(backend, image):
    return f"""
backend: "{backend}"
max_batch_size: 0
input [ {{ name: "image" {image} }} ]
output [ {{ name: "tensor" data_type: TYPE_FP32 dims: [ 3, 224, 224 ] }} ]
"""


PIXELS, FILE = "data_type: TYPE_UINT8 dims: [ -1, -1, 3 ]", "data_type: TYPE_STRING dims: [ 1 ]"


def repositories(folder, instances):
    """One for each server, with the models 'pixels' and 'file'."""
    for name, plugin, output, image in (("pixels", "preprocess", "tensor", PIXELS), ("file", "decode_image", "pixels", FILE)):
        ours, theirs = folder / "ours" / name, folder / "theirs" / name
        for model in (ours, theirs):
            (model / "1").mkdir(parents=True)
        (ours / "config.pbtxt").write_text(config("wasm", image).replace('"tensor"', f'"{output}"') + PLUGIN_PARAMETERS)
        (ours / "1" / "plugin.wasm").write_bytes((ROOT / "plugins" / "out" / f"{plugin}.wasm").read_bytes())
        group = f"instance_group [ {{ count: {instances} kind: KIND_CPU }} ]\n"
        (theirs / "config.pbtxt").write_text(f'name: "{name}"\n' + config("python", image) + group)
        (theirs / "1" / "model.py").write_text(PYTHON_MODEL)


def request(datatype, shape, data):
    """Headers and body of a request whose tensors are binary both ways."""
    header = json.dumps({
        "inputs": [{"name": "image", "datatype": datatype, "shape": shape, "parameters": {"binary_data_size": len(data)}}],
        "parameters": {"binary_data_output": True},
    }).encode()  # fmt: skip
    return {"Inference-Header-Content-Length": str(len(header))}, header + data


def cases():
    rgb = PIL.Image.open(PHOTOGRAPHS / "rocket.jpg").convert("RGB")
    for name, picture in (("224×224 pixels, normalised", rgb.resize((224, 224))), (f"{rgb.width}×{rgb.height} pixels", rgb)):
        yield name, "pixels", request("UINT8", [picture.height, picture.width, 3], picture.tobytes())
    for name in ("rocket.jpg", "chelsea.png"):
        file = (PHOTOGRAPHS / name).read_bytes()
        size = "×".join(map(str, PIL.Image.open(io.BytesIO(file)).size))
        yield f"{name}, {size}", "file", request("BYTES", [1], len(file).to_bytes(4, "little") + file)


def ask(connection, model, body):
    headers, data = body
    connection.request("POST", f"/v2/models/{model}/infer", data, headers)
    answer = connection.getresponse()
    read = answer.read()
    if answer.status != 200:
        raise SystemExit(f"{model}: {answer.status}: {read[:500]!r}")
    return read[int(answer.headers["Inference-Header-Content-Length"]) :]


def step_time(address, model):
    """Requests so far, and seconds of the step in all: inputs, inference, outputs."""
    with urllib.request.urlopen(f"http://{address}/v2/models/{model}/stats", timeout=30) as answer:
        told = json.load(answer)["model_stats"][0]["inference_stats"]
    parts = [told[part] for part in ("compute_input", "compute_infer", "compute_output")]
    return int(parts[0]["count"]), sum(int(part["ns"]) for part in parts) / 1e9


def measure(address, model, body, connections, seconds):
    """Median time of a request, mean time of the step in the server, requests a second."""
    times, end = [], time.monotonic() + seconds
    count, spent = step_time(address, model)

    def client():
        connection = http.client.HTTPConnection(address)
        while (began := time.monotonic()) < end:
            ask(connection, model, body)
            times.append(time.monotonic() - began)

    threads = [threading.Thread(target=client) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    count_after, spent_after = step_time(address, model)
    return statistics.median(times), (spent_after - spent) / (count_after - count), len(times) / seconds


def wait_until_ready(address, process, log):
    while True:
        try:
            return urllib.request.urlopen(f"http://{address}/v2/health/ready", timeout=5).close()
        except OSError:
            if process.poll() is not None:
                log.seek(0)
                raise SystemExit(f"Triton did not start:\n{log.read()[-4000:]}") from None
            time.sleep(0.1)


def compare(ours, theirs, rounds, seconds):
    print(f"{'':28}{'a request, ms':28}{'the step alone, ms':28}{'a second, four connections':30}values differ by")
    for name, model, body in cases():
        answers = [numpy.frombuffer(ask(http.client.HTTPConnection(each), model, body), "float32") for each in (ours, theirs)]
        off = float(numpy.abs(answers[0] - answers[1]).max())
        taken = {(server, n): [] for server in (ours, theirs) for n in (1, 4)}
        for _ in range(rounds):
            for server, n in taken:
                taken[server, n].append(measure(server, model, body, n, seconds))

        def median(server, connections, which, taken=taken):
            return statistics.median(each[which] for each in taken[server, connections])

        line = f"{name:28}"
        for which in (0, 1):
            us, they = (median(server, 1, which) * 1e3 for server in (ours, theirs))
            line += f"{f'{us:.2f} against {they:.2f}: {they / us:.1f}×':28}"
        us, they = (median(server, 4, 2) for server in (ours, theirs))
        print(line + f"{f'{us:.0f} against {they:.0f}: {us / they:.1f}×':30}{off:.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--triton", required=True, help="with {repository}, {http}, {grpc} and {metrics} in it")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3, help="of one measurement")
    parser.add_argument("--instances", type=int, default=1, help="of Triton's Python model")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        repositories(Path(folder), options.instances)
        ports = dict(zip(("http", "grpc", "metrics"), free_ports(3), strict=True))
        command = shlex.split(options.triton.format(repository=Path(folder) / "theirs", **ports))
        with (Path(folder) / "triton.log").open("w+") as log, Server(Path(folder) / "ours") as server:
            triton = subprocess.Popen(command, stdout=log, stderr=log)
            try:
                theirs = f"127.0.0.1:{ports['http']}"
                wait_until_ready(theirs, triton, log)
                compare(server.http, theirs, options.rounds, options.seconds)
            finally:
                triton.terminate()
                triton.wait()


if __name__ == "__main__":
    main()
