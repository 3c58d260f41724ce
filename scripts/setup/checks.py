"""What has to be there before the set-up starts: the platform, the tools, the room on the disk."""

import importlib.util
import platform
import shutil
import sys

import paths
from step import SetupError

# Program → what it is, the package that has it in Debian and in Fedora.
TOOLS = {
    "cc": ("a C compiler", "build-essential", "gcc"),
    "c++": ("a C++ compiler", "build-essential", "gcc-c++"),
    "nm": ("binutils", "binutils", "binutils"),
    "readelf": ("binutils", "binutils", "binutils"),
    "make": ("make", "make", "make"),
}
RUST = (
    "rustup and cargo (the Rust toolchain): `apt-get install rustup` on Debian 13 or later and Ubuntu 24.04 or later, "
    "`dnf install rustup && rustup-init` on Fedora, else see rustup's home page. It brings the pinned Rust by itself."
)


def platform_is_supported() -> None:
    system, machine = platform.system(), platform.machine()
    if system != "Linux" or machine not in ("x86_64", "AMD64"):
        name = {"Darwin": "macOS"}.get(system, system)
        raise SetupError(
            f"Nacre works on Linux x86-64 today, and this is {name} on {machine}. On Windows it works inside WSL 2; "
            "on macOS use a Linux virtual machine with an x86-64 processor."
        )
    libc, version = platform.libc_ver()
    if libc != "glibc" or tuple(map(int, version.split(".")[:2])) < (2, 34):
        found = f"{libc} {version}".strip() or "another C library"
        raise SetupError(
            f"Nacre and PyTorch need glibc 2.34 or later, and this system has {found}. Debian 12, Ubuntu 22.04, "
            "Fedora 35 and anything newer have it; Alpine does not."
        )


def tools_are_there() -> None:
    debian, fedora, lines = [], [], []
    for program, (what, deb, rpm) in TOOLS.items():
        if shutil.which(program) is None:
            lines.append(f"  {program}: {what}")
            debian += [deb] if deb not in debian else []
            fedora += [rpm] if rpm not in fedora else []
    if any(importlib.util.find_spec(module) is None for module in ("venv", "ensurepip")):
        lines.append("  venv: Python's module for private environments")
        debian.append(f"python{sys.version_info.major}.{sys.version_info.minor}-venv")
        fedora.append("python3")
    if debian:
        lines.append(f"    on Debian or Ubuntu: sudo apt-get install {' '.join(debian)}")
        lines.append(f"    on Fedora:           sudo dnf install {' '.join(fedora)}")
    if shutil.which("rustup") is None or shutil.which("cargo") is None:
        lines.append(f"  {RUST}")
    if lines:
        raise SetupError("this is missing:\n" + "\n".join(lines) + "\nThen run the same command again.")


def disk_has_room(needed_mb: int) -> None:
    free_mb = shutil.disk_usage(paths.ROOT).free // 1_000_000
    if free_mb < needed_mb:
        raise SetupError(
            f"this needs {needed_mb / 1000:.1f} GB of room in {paths.ROOT}, and {free_mb / 1000:.1f} GB are free. "
            "Make room, or clone the repository on a larger disk, and run the same command again."
        )
