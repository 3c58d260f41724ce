"""How much a misbehaving plugin moves the latency of a model beside it.

    .venv/bin/python tests/measure/neighbour.py [--rounds 10] [--seconds 5]

Asks EfficientNet-Lite0 at a steady rate, over one connection, in turns without and with another client that has a plugin do one bad
thing after the other: trap, spin until its time limit, fill its memory, flood the log, answer what is not true. The plugin
has the limits of its config.pbtxt here: 100 ms, 64 MiB, one call at a time, a tenth of a core. Prints medians of the rounds.
"""

import argparse
import http.client
import itertools
import json
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from nacre_server import Server  # noqa: E402 the folder is known only now

ACTS = (
    "trap", "spin", "allocate", "exit", "log: for ever", "metrics: names", "files: for ever", "models: many at once",
    "random: for ever", "poll: an age", "handles: denied", "stdout: for ever", "error: long", "answer: many outputs",
)  # fmt: skip
BAD = """
backend: "wasm"
input { name: "IN" data_type: TYPE_UINT8 dims: [ -1 ] }
output { name: "OUT" data_type: TYPE_UINT8 dims: [ -1 ] }
instance_group { count: 1 }
parameters { key: "NACRE_TIMEOUT_MS" value { string_value: "100" } }
parameters { key: "NACRE_MEMORY_MB" value { string_value: "64" } }
parameters { key: "NACRE_CPU_PERCENT" value { string_value: "10" } }
"""
GOOD = ROOT / "model_repository" / "efficientnet_lite0"


def ask(connection, model, tensor, data=b""):
    header = json.dumps({"inputs": [tensor]}).encode()
    headers = {"Inference-Header-Content-Length": str(len(header))} if data else {}
    connection.request("POST", f"/v2/models/{model}/infer", header + data, headers)
    answer = connection.getresponse()
    answer.read()
    return answer.status


def good(address, seconds, rate):
    """Times of requests, each sent at its moment or when the one before was answered."""
    connection = http.client.HTTPConnection(address)
    data = bytes(4 * 3 * 224 * 224)
    tensor = {"name": "input__0", "datatype": "FP32", "shape": [1, 3, 224, 224], "parameters": {"binary_data_size": len(data)}}
    times, begin = [], time.monotonic()
    for number in range(int(seconds * rate)):
        time.sleep(max(0, begin + number / rate - time.monotonic()))
        began = time.monotonic()
        status = ask(connection, GOOD.name, tensor, data)
        assert status == 200, status
        times.append(time.monotonic() - began)
    return times


def bad(address, stop, done):
    connection = http.client.HTTPConnection(address)
    for act in itertools.cycle(ACTS):
        if stop.is_set():
            return
        data = list(act.encode())
        ask(connection, "bad", {"name": "IN", "datatype": "UINT8", "shape": [len(data)], "data": data})
        done.append(act)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=10, help="of each half of a round")
    parser.add_argument("--rate", type=float, default=15, help="requests a second")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        version = Path(folder) / "bad" / "1"
        version.mkdir(parents=True)
        (version / "plugin.wasm").write_bytes((ROOT / "tests" / "guests" / "out" / "acts.wasm").read_bytes())
        (version.parent / "config.pbtxt").write_text(BAD)
        (Path(folder) / GOOD.name).symlink_to(GOOD)
        with Server(Path(folder)) as server:
            good(server.http, 2, options.rate)
            halves, done = {"alone": [], "beside it": []}, []
            for _ in range(options.rounds):
                for half in halves:
                    stop = threading.Event()
                    thread = threading.Thread(target=bad, args=(server.http, stop, done))
                    if half == "beside it":
                        thread.start()
                    halves[half].append(sorted(good(server.http, options.seconds, options.rate)))
                    stop.set()
                    if thread.ident:
                        thread.join()
    print(f"{len(done)} bad requests")
    for percent in (50, 99):
        alone, beside = (
            statistics.median(times[int(len(times) * percent / 100)] for times in halves[half]) * 1e3 for half in halves
        )
        print(f"p{percent}: {alone:.2f} ms alone, {beside:.2f} ms beside it: {100 * (beside / alone - 1):+.1f} %")


if __name__ == "__main__":
    main()
