"""Many requests, good and bad, from several clients at once: every answer is right, what the server counted is what
the clients counted, and memory stays flat.

Seeded. NACRE_SOAK=1 runs 10,000 requests, otherwise as many as fit into about half a minute.
"""

import collections
import os
import random
import re
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import classify
import numpy as np
import pictures
import pytest
import tritonclient.grpc
import tritonclient.http
from conftest import DEMO_REPOSITORY
from nacre_server import Server
from tritonclient.utils import InferenceServerException

FULL = os.environ.get("NACRE_SOAK") == "1"
REQUESTS = 10_000 if FULL else 240
CLIENTS = 4
SEED = 20_261
MODELS = ("image_classifier", "decode_image", "efficientnet_lite0", "top_k_labels")
# Photographs of unlike kinds; small ones, so that there are many requests.
NAMES = [*pictures.REAL, "grey_jpeg", "palette_with_transparency", "cmyk_jpeg", "lossy_webp", "orientation_6"]
# What memory may grow by from the first half of the run to the second, in MB. Allocators and threads reach their
# size only after some hundred requests, so the short form sees a gross leak (a tensor a request) and no smaller one.
GROWTH_MB = 60 if FULL else 120


def metrics(server) -> dict:
    """(metric, model) → value."""
    with urllib.request.urlopen(server.metrics, timeout=10) as response:
        text = response.read().decode()
    values = collections.defaultdict(float)
    for name, labels, value in re.findall(r"^(nv_\w+)\{(.*?)\} (\S+)$", text, re.MULTILINE):
        values[name, re.search(r'model="(.*?)"', labels)[1]] += float(value)
    return values


def resident_mb(pid: int) -> float:
    return int(re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[1]) / 1000


class Worker:
    """One client: its own connections, its own share of the requests, its own counts."""

    def __init__(self, server, number: int, photograph, expected):
        self.random = random.Random(SEED + number)
        self.photograph, self.expected = photograph, expected
        self.http = tritonclient.http.InferenceServerClient(server.http, network_timeout=120)
        self.grpc = tritonclient.grpc.InferenceServerClient(server.grpc)
        self.counts = collections.Counter()
        self.wrong = []

    def run(self, requests: int, after_each) -> "Worker":
        for _ in range(requests):
            if self.random.random() < 0.05:
                self.ask_wrongly()
            else:
                self.ask()
            after_each()
        self.http.close()
        self.grpc.close()
        return self

    def way(self):
        return self.random.choice(((tritonclient.http, self.http), (tritonclient.grpc, self.grpc)))

    def ask(self):
        names = self.random.choices(NAMES, k=self.random.choice((1, 1, 1, 2, 3)))
        answer = classify.through_tritonclient(*self.way(), [self.photograph[name] for name in names])
        self.counts["success"] += 1
        self.counts["rows"] += len(names)
        for row, name in enumerate(names):
            expected = self.expected[name][answer.index[row]]
            if not np.allclose(answer.probability[row], expected, atol=0.02):
                self.wrong.append((name, answer.label[row], answer.probability[row], expected))

    def ask_wrongly(self):
        file = self.photograph[self.random.choice(NAMES)]
        with pytest.raises(InferenceServerException):
            classify.through_tritonclient(*self.way(), [file[: len(file) // 3]])
        self.counts["failure"] += 1


@pytest.mark.soak
def test_counters_add_up_and_memory_stays_flat(photograph, expected_probabilities):
    for name in NAMES:
        expected_probabilities[name]  # computed before the clock runs and before threads ask
    with Server(DEMO_REPOSITORY) as server:
        memory, finished, lock = [], 0, threading.Lock()

        def after_each():
            nonlocal finished
            with lock:
                finished += 1
                if finished % (REQUESTS // 20) == 0:
                    memory.append(resident_mb(server.process.pid))

        started = time.monotonic()
        with ThreadPoolExecutor(CLIENTS) as pool:
            workers = [Worker(server, number, photograph, expected_probabilities) for number in range(CLIENTS)]
            done = list(pool.map(lambda worker: worker.run(REQUESTS // CLIENTS, after_each), workers))
        seconds = time.monotonic() - started
        counts = sum((worker.counts for worker in done), collections.Counter())
        counted = metrics(server)
    print(f"\n{dict(counts)} in {seconds:.0f} s; memory {' '.join(f'{mb:.0f}' for mb in memory)} MB")

    assert [worker.wrong for worker in done if worker.wrong] == []
    assert counts["success"] + counts["failure"] == REQUESTS
    for model in MODELS:
        assert counted["nv_inference_request_success", model] >= counts["success"]
    assert counted["nv_inference_request_success", "image_classifier"] == counts["success"]
    assert counted["nv_inference_request_failure", "image_classifier"] == counts["failure"]
    assert counted["nv_inference_count", "image_classifier"] == counts["rows"]
    # Each row went through the network once; batching made the passes fewer than the requests.
    assert counted["nv_inference_count", "efficientnet_lite0"] == counts["rows"]
    assert counted["nv_inference_exec_count", "efficientnet_lite0"] <= counts["success"]
    assert counted["nv_inference_request_failure", "decode_image"] == counts["failure"]
    assert counted["nv_inference_pending_request_count", "image_classifier"] == 0

    first, second = max(memory[: len(memory) // 2]), max(memory[len(memory) // 2 :])
    assert second - first < GROWTH_MB, f"memory grew from {first:.0f} to {second:.0f} MB: {memory}"
