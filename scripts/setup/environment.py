"""The private Python environment and what is installed into it."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import paths
from progress import Progress
from step import SetupError

# Resumes a download that breaks off, which the pip of older Pythons cannot.
PIP = "pip==25.3"
AGAIN = "run the same command again: what is already here stays, and it goes on from there."
# Its own words → what they mean for a person.
CAUSES = {
    "No space left on device": f"The disk is full. Make room, and {AGAIN}",
    "Permission denied": f"A file or folder of the checkout belongs to another user. Change that, and {AGAIN}",
}
NO_NETWORK = f"Check the network, or pip's settings if you use a mirror or a proxy, and {AGAIN}"


def pip(purpose: str, command: str, *arguments: str) -> None:
    """Runs the environment's pip, showing how its downloads advance; what else it says is shown if it fails."""
    scratch = paths.STATE / "tmp"  # /tmp is often smaller than a wheel
    scratch.mkdir(exist_ok=True)
    environment = dict(os.environ, PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_ROOT_USER_ACTION="ignore", TMPDIR=scratch)
    environment.pop("PYTHONPATH", None)
    said = []
    whole = [paths.PYTHON, "-m", "pip", command, *arguments]
    with (
        subprocess.Popen(
            whole, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as running,
        Progress() as progress,
    ):
        for line in running.stdout:
            if advance := re.fullmatch(r"Progress (\d+) of (\d+)\n", line):
                progress.show(int(advance[1]), int(advance[2]))
                continue
            said.append(line)
            if file := re.match(r"\s*Downloading (\S+?)-", line):
                progress.name = file[1]
    shutil.rmtree(scratch, ignore_errors=True)
    if running.returncode != 0:
        words = "".join(said)
        cause = next((meaning for text, meaning in CAUSES.items() if text in words), NO_NETWORK)
        raise SetupError(f"{purpose} failed. pip says:\n\n{words}\n{cause}")


def is_healthy() -> bool:
    """Whether the environment's Python starts: it does not after the system's was replaced or removed."""
    try:
        return subprocess.run([paths.PYTHON, "-c", ""], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def create() -> None:
    """Makes the environment anew, whatever an earlier run left of it."""
    shutil.rmtree(paths.VENV, ignore_errors=True)
    made = subprocess.run(
        [sys.executable, "-m", "venv", paths.VENV],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if made.returncode != 0:
        raise SetupError(
            f"the Python environment {paths.VENV} could not be made:\n{made.stdout.strip()}\n"
            "On Debian and Ubuntu the package python3-venv may be missing."
        )
    pip(f"installing {PIP}", "install", "--quiet", PIP)


def download(part: str, *options: str) -> Path:
    """Downloads the wheels that requirements/<part>.txt names; those that an earlier run brought stay. Their folder."""
    folder = paths.WHEELS / part
    folder.mkdir(parents=True, exist_ok=True)
    for wheel in folder.glob("*.whl"):
        if not zipfile.is_zipfile(wheel):  # pip was stopped while it wrote it, and would take it as it is
            wheel.unlink()
    requirements = paths.REQUIREMENTS / f"{part}.txt"
    lines = [line for line in requirements.read_text().splitlines() if line and not line.startswith("#")]
    common = ["--progress-bar", "raw", "--no-deps", "--only-binary", ":all:", "--dest", str(folder), *options]
    # Few packages are large ones: one at a time, since pip keeps nothing of a set that was stopped before its last.
    # Many are small: at once, which is quicker.
    for what in [[line] for line in lines] if len(lines) < 5 else [["--requirement", str(requirements)]]:
        pip(f"downloading {Path(what[-1]).name}", "download", "--resume-retries", "10", *common, *what)
    return folder


def discard(part: str) -> None:
    """Deletes the wheels of a part that is done with."""
    shutil.rmtree(paths.WHEELS / part, ignore_errors=True)


def install(part: str) -> None:
    """Installs what requirements/<part>.txt names, over whatever a stopped installation left."""
    folder = download(part)
    requirements = paths.REQUIREMENTS / f"{part}.txt"
    options = ["--no-deps", "--no-index", "--find-links", str(folder), "--ignore-installed"]
    pip(f"installing {requirements.name}", "install", *options, "--requirement", str(requirements))
    discard(part)
