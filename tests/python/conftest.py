"""One real server for the session, over the demo repository and the models of the tests, and real clients of it."""

import pictures
import pytest
import reference
import tritonclient.grpc
import tritonclient.http
from nacre_server import ROOT, Server

DEMO_REPOSITORY = ROOT / "model_repository"
TEST_REPOSITORY = ROOT / "tests" / "fixtures" / "models"


@pytest.fixture(scope="session")
def server():
    with Server(DEMO_REPOSITORY, TEST_REPOSITORY) as running:
        yield running


@pytest.fixture(scope="session")
def http(server):
    with tritonclient.http.InferenceServerClient(server.http, concurrency=8, network_timeout=120) as client:
        yield client


@pytest.fixture(scope="session")
def grpc(server):
    with tritonclient.grpc.InferenceServerClient(server.grpc) as client:
        yield client


class Cache(dict):
    """Computes a picture, or what should come of it, once a session."""

    def __init__(self, compute):
        self.compute = compute

    def __missing__(self, name):
        self[name] = self.compute(name)
        return self[name]


@pytest.fixture(scope="session")
def photograph():
    """A picture's file by its name."""
    return Cache(lambda name: pictures.ALL[name]())


@pytest.fixture(scope="session")
def expected_pixels(photograph):
    return Cache(lambda name: reference.pixels(photograph[name]))


@pytest.fixture(scope="session")
def expected_probabilities(photograph):
    return Cache(lambda name: reference.probabilities(photograph[name]))
