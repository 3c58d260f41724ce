"""The private Python environment and what is installed into it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import paths
from progress import Progress
from step import SetupError

# Resumes a download that breaks off, which the pip of older Pythons cannot.
PIP = "pip==25.3"
NO_NETWORK = (
    "could not be downloaded (pip's own words are above). Check the network, or pip's settings if you use a mirror or "
    "a proxy, and run the same command again: what is already here stays, and it goes on from there."
)


def pip(command: str, *arguments: str) -> bool:
    """Runs the environment's pip, showing how its downloads advance; what else it says is shown if it fails."""
    environment = dict(os.environ, PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_ROOT_USER_ACTION="ignore")
    environment.pop("PYTHONPATH", None)
    said = []
    whole = [paths.PYTHON, "-m", "pip", command, "--progress-bar", "raw", *arguments]
    with subprocess.Popen(
        whole, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as running, Progress() as progress:
        for line in running.stdout:
            if advance := re.fullmatch(r"Progress (\d+) of (\d+)\n", line):
                progress.show(int(advance[1]), int(advance[2]))
                continue
            said.append(line)
            if file := re.match(r"\s*Downloading (\S+?)-", line):
                progress.name = file[1]
    if running.returncode != 0:
        print("".join(said), file=sys.stderr, flush=True)
    return running.returncode == 0


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
        [sys.executable, "-m", "venv", paths.VENV], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if made.returncode != 0:
        raise SetupError(
            f"the Python environment {paths.VENV} could not be made:\n{made.stdout.strip()}\n"
            "On Debian and Ubuntu the package python3-venv may be missing."
        )
    # The pip that came with Python may be too old for what `pip` asks of it.
    upgrade = [paths.PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PIP]
    if subprocess.run(upgrade, check=False).returncode != 0:
        raise SetupError(f"{PIP} {NO_NETWORK}")


def download(part: str, *options: str) -> Path:
    """Downloads the wheels that requirements/<part>.txt names; those that an earlier run brought stay. Their folder."""
    folder = paths.WHEELS / part
    folder.mkdir(parents=True, exist_ok=True)
    requirements = paths.REQUIREMENTS / f"{part}.txt"
    lines = [line for line in requirements.read_text().splitlines() if line and not line.startswith("#")]
    common = ["--no-deps", "--only-binary", ":all:", "--dest", str(folder), "--resume-retries", "10", *options]
    # Few packages are large ones: one at a time, since pip keeps nothing of a set that was stopped before its last.
    # Many are small: at once, which is quicker.
    one_at_a_time = len(lines) < 5
    for what in [[line] for line in lines] if one_at_a_time else [["--requirement", str(requirements)]]:
        if not pip("download", *common, *what):
            raise SetupError(f"{what[-1] if one_at_a_time else f'the packages of {requirements.name}'} {NO_NETWORK}")
    return folder


def discard(part: str) -> None:
    """Deletes the wheels of a part that is done with."""
    shutil.rmtree(paths.WHEELS / part, ignore_errors=True)


def install(part: str) -> None:
    """Installs what requirements/<part>.txt names, over whatever a stopped installation left."""
    folder = download(part)
    requirements = paths.REQUIREMENTS / f"{part}.txt"
    options = ["--no-deps", "--no-index", "--find-links", str(folder), "--ignore-installed"]
    if not pip("install", *options, "--requirement", str(requirements)):
        raise SetupError(
            f"the packages of {requirements.name} could not be installed (pip's words are above). If the disk is full "
            "make room; then run the same command again."
        )
    discard(part)
