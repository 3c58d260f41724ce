"""The commands in docs/plugins.md, run as a reader would: one after the other, in an empty folder."""

import os
import re
import signal
import subprocess

from nacre_server import BINARY, ROOT, free_ports

DOCUMENT = ROOT / "docs" / "plugins.md"
# Where the set-up could not get Rust's target through rustup, it built one, and that is what builds Rust here.
TOOLCHAIN = ROOT / ".setup" / "wasm-toolchain" / "environment.sh"


def blocks():
    """Line number and commands of each block."""
    text = DOCUMENT.read_text()
    for match in re.finditer(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        yield text.count("\n", 0, match.start()) + 1, match[1]


def script():
    """One script of all blocks; only the ports differ from what the document says."""
    http, grpc, metrics = free_ports(3)
    serve = (
        f"nacre serve --http-port={http} --grpc-port={grpc} --metrics-port={metrics} --http-address=127.0.0.1 "
        "--grpc-address=127.0.0.1 --metrics-address=127.0.0.1"
    )
    lines = ["set -euo pipefail"]
    if TOOLCHAIN.exists():
        lines.append(f". {TOOLCHAIN}")
        lines.append("rustup() { :; }")
    for line, commands in blocks():
        commands = commands.replace("nacre serve", serve)
        commands = commands.replace("localhost:8000", f"127.0.0.1:{http}").replace("localhost:8002", f"127.0.0.1:{metrics}")
        lines.append(f"echo '== {DOCUMENT.name}:{line}' >&2\n{commands}")
    return "\n".join(lines)


def test_every_command_of_the_document_works(tmp_path):
    environment = {
        **os.environ,
        "PATH": f"{BINARY.parent}:{os.environ['PATH']}",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    folder = tmp_path / "empty"
    folder.mkdir()
    with (tmp_path / "log").open("w+") as log:
        # A group of its own, so that the server that the document leaves running goes too.
        shell = subprocess.Popen(
            ["bash", "-c", script()], cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
        )
        try:
            code = shell.wait(timeout=900)
        finally:
            os.killpg(shell.pid, signal.SIGKILL)
        log.seek(0)
        said = log.read()
    assert code == 0, said[-8000:]
    assert '"data":[2.5,4.5,6.5]' in said.replace(" ", ""), said[-8000:]
