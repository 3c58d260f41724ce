"""Where the set-up puts things; all of it is ignored by git and may be deleted."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "scripts" / "requirements"

VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"

STATE = ROOT / ".setup"
STAMPS = STATE / "stamps"
WHEELS = STATE / "wheels"
PHOTOGRAPHS = STATE / "photographs"
WASM_TOOLCHAIN = STATE / "wasm-toolchain"

LIBTORCH = ROOT / "third_party" / "libtorch"
MODELS = ROOT / "model_repository"


def site_packages() -> Path:
    """Where the private environment keeps its packages."""
    found = sorted((VENV / "lib").glob("python3.*/site-packages"))
    return found[0] if found else VENV / "lib" / "python3" / "site-packages"
