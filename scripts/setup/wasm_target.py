"""Rust's WebAssembly target, for the plugins."""

import shutil
import subprocess

import paths
from step import SetupError

TARGET = "wasm32-wasip2"
# Read by the build of the plugins when it is there.
ENVIRONMENT = paths.WASM_TOOLCHAIN / "environment.sh"
FALLBACK = paths.ROOT / "scripts" / "setup" / "debian_wasm_toolchain.sh"


def add() -> None:
    """Through rustup, which also brings the Rust that rust-toolchain.toml pins; where that cannot be, from Debian."""
    added = subprocess.run(["rustup", "target", "add", TARGET], cwd=paths.ROOT, stderr=subprocess.PIPE, text=True)
    if added.returncode == 0:
        shutil.rmtree(paths.WASM_TOOLCHAIN, ignore_errors=True)
        return
    said = added.stderr.strip()
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        raise SetupError(
            f"`rustup target add {TARGET}` failed:\n{said}\nCheck the network, and run the same command again. (If "
            "your Rust comes from the distribution: Fedora's package is rust-std-static-wasm32-wasip2.)"
        )
    print(f"      `rustup target add {TARGET}` failed ({said.splitlines()[-1] if said else 'no reason given'});")
    print("      building the target from Debian's packages instead (about 150 MB more to download, two minutes)")
    if subprocess.run(["bash", FALLBACK, paths.WASM_TOOLCHAIN], check=False).returncode != 0:
        raise SetupError(
            f"`rustup target add {TARGET}` failed:\n{said}\nand the target could not be built from Debian's packages "
            "either (see above). Check the network, and run the same command again."
        )
