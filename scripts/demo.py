"""Classifies three photographs and compares five sentences through the whole server, and shows what happened.
`make demo`."""

import http.client
import json
import os
import shlex
import shutil
import struct
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from nacre_server import BINARY, ROOT, Server, ServerFailed

REPOSITORY = ROOT / "model_repository"
PHOTOGRAPHS = [ROOT / ".setup" / "photographs" / name for name in ("chelsea.png", "coffee.png", "rocket.jpg")]
MODEL = "image_classifier"
STEPS = ["decode_image", "efficientnet_lite0", "top_k_labels"]
SHOWN = 3

SENTENCES = [
    "A cat sits on the mat.",
    "A kitten is resting on a rug.",
    "The stock market fell sharply today.",
    "Share prices dropped this morning.",
    "How do I bake bread?",
]
SENTENCE_MODEL = "sentence_similarity"
ALIKE = 0.4

COLOURS = sys.stdout.isatty() and "NO_COLOR" not in os.environ


def styled(text: str, code: str) -> str:
    return f"\033[{code}m{text}\033[0m" if COLOURS else text


@dataclass
class Answer:
    """What the server said of one photograph, and how long it and its steps took, in milliseconds."""

    photograph: Path
    labels: list[str]
    probabilities: list[float]
    total_ms: float
    step_ms: list[float]


def request_for(photograph: Path) -> tuple[int, bytes]:
    """A V2 request with one photograph in the binary form: a JSON header, then the file. Its header's length, and all
    of it."""
    data = photograph.read_bytes()
    element = struct.pack("<I", len(data)) + data
    header = {
        "id": photograph.stem,
        "inputs": [
            {
                "name": "image",
                "datatype": "BYTES",
                "shape": [1, 1],
                "parameters": {"binary_data_size": len(element)},
            }
        ],
    }
    text = json.dumps(header).encode()
    return len(text), text + element


class Client:
    """Just enough of a V2 client."""

    def __init__(self, server: Server):
        self.connection = http.client.HTTPConnection(server.http, timeout=60)

    def call(self, method: str, path: str, body: bytes | None = None, headers: dict | None = None) -> dict:
        self.connection.request(method, path, body, headers or {})
        response = self.connection.getresponse()
        text = response.read()
        if response.status != 200:
            raise ServerFailed(f"{method} {path}: {response.status} {text.decode(errors='replace')}")
        return json.loads(text)

    def milliseconds_in(self, model: str) -> float:
        """Time that all requests so far spent in a model, from its statistics."""
        statistics = self.call("GET", f"/v2/models/{model}/stats")["model_stats"]
        return sum(version["inference_stats"]["success"]["ns"] for version in statistics) / 1e6

    def classify(self, photograph: Path) -> Answer:
        header_length, body = request_for(photograph)
        before = [self.milliseconds_in(step) for step in STEPS]
        started = time.perf_counter()
        answer = self.call(
            "POST", f"/v2/models/{MODEL}/infer", body, {"Inference-Header-Content-Length": str(header_length)}
        )
        total = (time.perf_counter() - started) * 1000
        steps = [self.milliseconds_in(step) - earlier for step, earlier in zip(STEPS, before)]
        outputs = {output["name"]: output["data"] for output in answer["outputs"]}
        return Answer(photograph, outputs["label"], outputs["probability"], total, steps)

    def compare(self, sentences: list[str]) -> tuple[list[list[float]], float]:
        """How alike each sentence is to each, and how long the answer took, in milliseconds."""
        text = {"name": "text", "datatype": "BYTES", "shape": [len(sentences)], "data": sentences}
        request = {"inputs": [text], "outputs": [{"name": "similarity"}]}
        started = time.perf_counter()
        answer = self.call("POST", f"/v2/models/{SENTENCE_MODEL}/infer", json.dumps(request).encode())
        total = (time.perf_counter() - started) * 1000
        values = answer["outputs"][0]["data"]
        return [values[at : at + len(sentences)] for at in range(0, len(values), len(sentences))], total


def show(answers: list[Answer]) -> None:
    print()
    columns = "".join(f"{name:>20}" for name in STEPS)
    print(styled(f"{'photograph':<14}{'what it shows':<38}{columns}{'in all':>12}", "1"))
    for answer in answers:
        for rank in range(SHOWN):
            name = answer.photograph.name if rank == 0 else ""
            label = f"{answer.probabilities[rank]:.2f}  {answer.labels[rank]}"
            line = f"{name:<14}" + (styled(f"{label:<38}", "32") if rank == 0 else f"{label:<38}")
            if rank == 0:
                line += "".join(f"{ms:>17.1f} ms" for ms in answer.step_ms) + f"{answer.total_ms:>9.1f} ms"
            print(line.rstrip())
    print()


def show_similarities(similarities: list[list[float]], total_ms: float) -> None:
    columns = "".join(f"{number:>7}" for number in range(1, len(SENTENCES) + 1))
    print(styled(f"{'sentence':<42}{columns}   how alike they are", "1"))
    for number, (sentence, row) in enumerate(zip(SENTENCES, similarities), 1):
        cells = [f"{value:>7.2f}" for value in row]
        cells = [styled(cell, "32") if value > ALIKE else cell for cell, value in zip(cells, row)]
        print(f"{number}  {sentence:<39}" + "".join(cells))
    print(f"{SENTENCE_MODEL} answered in {total_ms:.1f} ms: tokenize, minilm_l6_v2, pool_sentences\n")


def show_curl(server: Server, photograph: Path) -> None:
    """Prints the request as a curl line, having run just that line."""
    file = ROOT / ".setup" / "demo" / f"{photograph.stem}.request"
    file.parent.mkdir(parents=True, exist_ok=True)
    header_length, body = request_for(photograph)
    file.write_bytes(body)

    def command(address: str) -> list[str]:
        return [
            "curl", "--silent", "--show-error", "--fail-with-body", "--data-binary", f"@{file.relative_to(ROOT)}",
            "--header", f"Inference-Header-Content-Length: {header_length}", f"http://{address}/v2/models/{MODEL}/infer",
        ]  # fmt: skip

    if shutil.which("curl"):
        ran = subprocess.run(command(server.http), cwd=ROOT, capture_output=True, text=True)
        if ran.returncode != 0:
            raise ServerFailed(f"{shlex.join(command(server.http))} failed: {ran.stdout}{ran.stderr}")
        print(
            f"The same with curl, from this folder while `make serve` runs:\n\n  {shlex.join(command('localhost:8000'))}\n"
        )
        print(f"which answers\n\n  {ran.stdout.strip()}\n")
    else:
        print(f"The same with curl (which is not installed here):\n\n  {shlex.join(command('localhost:8000'))}\n")


def main() -> None:
    print(f"starting {BINARY.relative_to(ROOT)} over {REPOSITORY.relative_to(ROOT)}", flush=True)
    started = time.perf_counter()
    with Server(REPOSITORY) as server:
        print(
            f"ready after {time.perf_counter() - started:.1f} s: HTTP {server.http}, gRPC {server.grpc}",
            flush=True,
        )
        try:
            client = Client(server)
            show([client.classify(photograph) for photograph in PHOTOGRAPHS])
            show_similarities(*client.compare(SENTENCES))
            show_curl(server, PHOTOGRAPHS[0])
        except (ServerFailed, OSError, http.client.HTTPException, KeyError, IndexError) as error:
            raise server.failed(str(error) or repr(error)) from error
    print("The server was stopped. `make serve` starts it for good.")


if __name__ == "__main__":
    try:
        main()
    except ServerFailed as failure:
        sys.exit(f"\ndemo: {failure}")
    except KeyboardInterrupt:
        sys.exit("\ndemo: stopped")
