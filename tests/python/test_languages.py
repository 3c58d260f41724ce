"""One plugin in seven languages: made by a script that a newcomer can follow, equal in what they answer, swapped under load."""

import json
import os
import shutil
import subprocess
import threading
import urllib.error
import urllib.request

import numpy
import pytest
import tritonclient.grpc
import tritonclient.http
from nacre_server import BINARY, ROOT, Server, free_ports

LANGUAGES = ("rust", "c", "cpp", "zig", "python", "javascript", "typescript")
# Longer than anything here takes; for what would otherwise wait for ever.
PATIENCE = 900


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A model repository with the plugin in each language."""
    folder = tmp_path_factory.mktemp("seven")
    http, grpc, metrics = free_ports(3)
    ports = {"HTTP_PORT": str(http), "GRPC_PORT": str(grpc), "METRICS_PORT": str(metrics)}
    script = subprocess.run(
        [ROOT / "scripts" / "seven_languages.sh", folder], env={**os.environ, **ports}, capture_output=True, text=True,
        timeout=PATIENCE,
    )  # fmt: skip
    print(script.stdout)
    assert script.returncode == 0, f"{script.stdout}{script.stderr}"
    return folder


@pytest.fixture(scope="module")
def served(built):
    with Server(built) as running:
        yield running


def tensors(client, x, names):
    inputs = [client.InferInput("x", [len(x)], "FP32"), client.InferInput("names", [len(names)], "BYTES")]
    inputs[0].set_data_from_numpy(x)
    inputs[1].set_data_from_numpy(numpy.array([name.encode() for name in names], dtype=object))
    return inputs


def answer(result):
    return result.as_numpy("y"), [bytes(greeting).decode() for greeting in result.as_numpy("greetings")]


def test_the_script_gets_an_answer_of_each(built):
    for language in LANGUAGES:
        outputs = {each["name"]: each["data"] for each in json.loads((built / f"{language}.json").read_text())["outputs"]}
        assert outputs == {"y": [2.5, 4.5, 6.5], "greetings": ["hello, Ada"]}, language


@pytest.mark.parametrize("language", LANGUAGES)
def test_all_answer_alike(served, language):
    """To the last bit, over both protocols."""
    rng = numpy.random.default_rng(3)
    odd = numpy.array([0.0, -0.0, numpy.inf, -numpy.inf, 1e-45, 3.4028235e38, 16777217.0, 0.1], dtype="float32")
    cases = (
        (odd, ["", "Zoë", "日本", "a" * 10_000, "\U0001f41a"]),
        (rng.normal(scale=1e3, size=100_000).astype("float32"), []),
        (numpy.zeros(0, dtype="float32"), ["nobody"] * 1000),
    )
    with (
        tritonclient.http.InferenceServerClient(served.http) as http,
        tritonclient.grpc.InferenceServerClient(served.grpc) as grpc,
    ):
        for x, names in cases:
            with numpy.errstate(over="ignore"):
                expected = x * numpy.float32(2) + numpy.float32(0.5)
            for client, module in ((http, tritonclient.http), (grpc, tritonclient.grpc)):
                y, greetings = answer(client.infer(language, tensors(module, x, names)))
                assert y.tobytes() == expected.tobytes(), (language, module.__name__)
                assert greetings == [f"hello, {name}" for name in names], (language, module.__name__)


class Load:
    """Clients that ask without a pause, half over HTTP and half over gRPC, and keep what went wrong."""

    def __init__(self, server, model):
        self.stop = threading.Event()
        self.wrong, self.answers = [], 0
        self.lock = threading.Lock()
        clients = (
            (tritonclient.http, tritonclient.http.InferenceServerClient(server.http, network_timeout=60)),
            (tritonclient.http, tritonclient.http.InferenceServerClient(server.http, network_timeout=60)),
            (tritonclient.grpc, tritonclient.grpc.InferenceServerClient(server.grpc)),
            (tritonclient.grpc, tritonclient.grpc.InferenceServerClient(server.grpc)),
        )
        self.threads = [threading.Thread(target=self.ask, args=(model, *client)) for client in clients]

    def ask(self, model, module, client):
        x, names = numpy.arange(8, dtype="float32"), ["Ada"]
        with client:
            while not self.stop.is_set():
                try:
                    y, greetings = answer(client.infer(model, tensors(module, x, names)))
                    right = y.tolist() == (x * 2 + 0.5).tolist() and greetings == ["hello, Ada"]
                    wrong = None if right else f"{module.__name__}: {y}, {greetings}"
                except Exception as error:  # noqa: BLE001 whatever a client may raise is a failed request
                    wrong = f"{module.__name__}: {error}"
                with self.lock:
                    self.answers += 1
                    if wrong:
                        self.wrong.append(wrong)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join(PATIENCE)

    def wait_for(self, count, guard):
        """Until so many more were answered."""
        goal = self.answers + count
        while self.answers < goal and guard.poll() is None:
            self.stop.wait(0.002)


def test_the_language_is_swapped_under_load(built, tmp_path):
    repository = tmp_path / "repository"
    model = repository / "scale"
    (model / "1").mkdir(parents=True)
    config = (built / "rust" / "config.pbtxt").read_text()
    (model / "config.pbtxt").write_text(config.replace('name: "rust"', 'name: "scale"'))
    component = model / "1" / "plugin.wasm"
    shutil.copy(built / "rust" / "1" / "plugin.wasm", component)
    with Server(repository) as server, Load(server, "scale") as load:
        for language in LANGUAGES * 2:
            shutil.copy(built / language / "1" / "plugin.wasm", tmp_path / "new.wasm")
            os.replace(tmp_path / "new.wasm", component)
            request = urllib.request.Request(f"http://{server.http}/v2/repository/models/scale/load", b"{}", method="POST")
            try:
                with urllib.request.urlopen(request, timeout=PATIENCE) as loaded:
                    assert loaded.status == 200
            except urllib.error.HTTPError as error:
                pytest.fail(f"{language}: {error.read().decode()}\n{server.failed('')}")
            # Some of the new one's before it goes again.
            load.wait_for(20, server.process)
    print(f"{load.answers} requests over {2 * len(LANGUAGES)} swaps")
    assert load.wrong == [], load.wrong[:5]
    assert load.answers >= 2 * len(LANGUAGES) * 20


@pytest.mark.parametrize("example", sorted(path.name for path in (ROOT / "plugins" / "examples").iterdir()))
def test_each_worked_example_holds(example):
    """As plugins/build.sh left it."""
    folder = ROOT / "plugins" / "examples" / example
    for command in ("test", "check"):
        run = subprocess.run(
            [BINARY, "plugin", command, folder], capture_output=True, text=True, timeout=PATIENCE, cwd=ROOT
        )
        assert run.returncode == 0, f"{run.stdout}{run.stderr}"


DRAWS = {
    "python": (
        "plugin.py",
        """
import random

import nacre
from nacre import Spec


class Plugin(nacre.Plugin):
    summary = "draws numbers"
    inputs = [Spec("x", "FP32", [-1])]
    outputs = [Spec("y", "FP64", [2])]

    def configure(self, settings):
        self.first = random.random()

    def process(self, request):
        return [nacre.tensor("y", "FP64", [2], [self.first, random.random()])]
""",
    ),
    "javascript": (
        "plugin.js",
        """
import { spec, tensor } from "nacre";

export default class Plugin {
  summary = "draws numbers";
  inputs = [spec("x", "FP32", [-1])];
  outputs = [spec("y", "FP64", [2])];

  configure(settings) {
    this.first = Math.random();
  }

  process(request) {
    return [tensor("y", "FP64", [2], new Float64Array([this.first, Math.random()]))];
  }
}
""",
    ),
}


@pytest.mark.parametrize("language", DRAWS)
def test_each_request_draws_numbers_of_its_own(tmp_path, language):
    def nacre(*arguments):
        run = subprocess.run(
            [BINARY, "plugin", *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE
        )
        assert run.returncode == 0, f"{run.stdout}{run.stderr}"

    nacre("new", "draw", "--language", language)
    source, text = DRAWS[language]
    (tmp_path / "draw" / source).write_text(text)
    (tmp_path / "draw" / "config.pbtxt").write_text('backend: "wasm"\n')
    nacre("build", "draw")
    x = tritonclient.http.InferInput("x", [1], "FP32")
    x.set_data_from_numpy(numpy.zeros(1, dtype="float32"))
    with Server(tmp_path) as server, tritonclient.http.InferenceServerClient(server.http) as http:
        drawn = [http.infer("draw", [x]).as_numpy("y").tolist() for _ in range(20)]
    assert len({second for _, second in drawn}) == 20, drawn
    if language == "python":
        # It starts from what `configure` left; a component in JavaScript is configured each time.
        assert len({first for first, _ in drawn}) == 1, drawn
