"""Starts the built server on free ports and stops it again; for the demo and for the tests. Standard library only."""

import ctypes
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BINARY = ROOT / "target" / "release" / "nacre"
HOST = "127.0.0.1"


LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """Runs in the server's process before it starts: it is to stop if whoever started it is killed."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


class ServerFailed(Exception):
    """The server did not do what it should; the text ends with the last lines of its log."""


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind((HOST, 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


class Server:
    """A server process over some repositories, ready when the `with` block begins and stopped when it ends."""

    def __init__(self, *repositories: Path, options: tuple[str, ...] = (), ready_within: float = 120):
        self.http_port, self.grpc_port, self.metrics_port = free_ports(3)
        self.log_file = tempfile.NamedTemporaryFile(prefix="nacre-", suffix=".log")
        self.ready_within = ready_within
        self.process = None
        self.command = [str(BINARY), "serve"]
        for repository in repositories:
            self.command += ["--model-repository", str(repository)]
        for name, port in (
            ("http", self.http_port),
            ("grpc", self.grpc_port),
            ("metrics", self.metrics_port),
        ):
            self.command += [f"--{name}-address", HOST, f"--{name}-port", str(port)]
        self.command += options

    @property
    def http(self) -> str:
        return f"{HOST}:{self.http_port}"

    @property
    def grpc(self) -> str:
        return f"{HOST}:{self.grpc_port}"

    @property
    def metrics(self) -> str:
        return f"http://{HOST}:{self.metrics_port}/metrics"

    def log(self) -> str:
        return Path(self.log_file.name).read_text(errors="replace")

    def failed(self, what: str) -> ServerFailed:
        lines = self.log().splitlines()[-30:]
        return ServerFailed(f"{what}\nThe last lines of the server's log:\n" + "\n".join(f"  {line}" for line in lines))

    def __enter__(self):
        if not BINARY.is_file():
            raise ServerFailed(f"{BINARY} is not built: make build")
        self.process = subprocess.Popen(
            self.command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=self.log_file, stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for us, and we stop it
            preexec_fn=end_with_parent,
        )  # fmt: skip
        try:
            self.wait_until_ready()
        except BaseException:
            self.kill()
            raise
        return self

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + self.ready_within
        while True:
            if self.process.poll() is not None:
                raise self.failed(f"the server ended with exit code {self.process.returncode}")
            try:
                with urllib.request.urlopen(f"http://{self.http}/v2/health/ready", timeout=5):
                    return
            except (urllib.error.URLError, OSError):
                if time.monotonic() > deadline:
                    raise self.failed(f"the server was not ready within {self.ready_within:.0f} s") from None
            time.sleep(0.05)

    def stop(self, within: float = 60) -> None:
        """Asks it to end, and sees that it does so cleanly."""
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(within)
        except subprocess.TimeoutExpired:
            self.kill()
            raise self.failed(f"the server did not stop within {within:.0f} s") from None
        if code != 0:
            raise self.failed(f"the server ended with exit code {code}")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def __exit__(self, kind, *_):
        if self.process.poll() is not None:
            if kind is None:
                raise self.failed(f"the server ended by itself with exit code {self.process.returncode}")
        elif kind is None:
            self.stop()
        else:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()
