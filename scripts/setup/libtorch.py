"""third_party/libtorch: what the server is compiled against and loads, a view of a PyTorch that is installed.

Two kinds. The lean one is made of links into the private environment, which has PyTorch without its CUDA libraries.
With NACRE_TORCH=<folder of an installed torch> it is that one, with the GPU support that it has.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import cuda_stubs
import environment
import paths
from step import SetupError

VERSION = "2.11"
# What PyTorch is, as Python packages.
PACKAGES = ("torch", "torchgen", "functorch")
CHOICE = paths.STATE / "torch"


def chosen() -> Path | None:
    """The user's own torch, as NACRE_TORCH says now or said in an earlier run; set but empty, it is forgotten."""
    asked = os.environ.get("NACRE_TORCH")
    if asked is None:
        asked = CHOICE.read_text() if CHOICE.exists() else ""
    torch = Path(asked).expanduser().resolve() if asked else None
    if torch:
        check(torch)
    CHOICE.write_text(str(torch or ""))
    return torch


def version_of(torch: Path) -> str | None:
    """Version of an installed torch (version.py) or of an unpacked libtorch (build-version)."""
    for name, pattern in (("version.py", r"__version__ = '([^']+)'"), ("build-version", r"(\S+)")):
        if (torch / name).is_file() and (match := re.search(pattern, (torch / name).read_text())):
            return match.group(1)
    return None


def check(torch: Path) -> None:
    """Refuses a folder that is no torch, or one of another version."""
    forget = "To have the set-up install its own instead, run it with NACRE_TORCH= (empty)."
    version = version_of(torch)
    if version is None or not (torch / "lib" / "libtorch_cpu.so").is_file():
        raise SetupError(
            f"NACRE_TORCH names {torch}, where no torch is: a folder that holds lib/libtorch_cpu.so, include/ and "
            "version.py is expected. `python3 -c 'import torch; print(torch.__path__[0])'` tells where a Python has "
            f"its own. {forget}"
        )
    if not re.match(rf"{re.escape(VERSION)}(\.|$)", version):
        raise SetupError(
            f"NACRE_TORCH names {torch}, which is PyTorch {version}; Nacre is built for {VERSION}, and libtorch's "
            f"interface differs from version to version. `pip install torch=={VERSION}.0` brings the right one. {forget}"
        )
    if not (torch / "include" / "torch").is_dir():
        raise SetupError(f"{torch} has no headers (include/torch): install PyTorch {VERSION} with pip. {forget}")


def put_in_place(new: Path) -> None:
    """Makes the finished folder `new` the view."""
    old = paths.LIBTORCH.with_name("libtorch.old")
    shutil.rmtree(old, ignore_errors=True)
    if paths.LIBTORCH.is_symlink() or paths.LIBTORCH.exists():
        os.rename(paths.LIBTORCH, old)
    os.rename(new, paths.LIBTORCH)
    shutil.rmtree(old, ignore_errors=True)


def empty_view() -> Path:
    new = paths.LIBTORCH.with_name("libtorch.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    return new


def link(at: Path, target: Path) -> None:
    """A relative link, so that the checkout can be moved."""
    at.symlink_to(os.path.relpath(target, at.parent))


def view_of_environment() -> None:
    """Links the libraries that the server needs, and makes a libtorch.so without CUDA in it.

    libcudart and libcupti lie beside libtorch_cpu in the view, since that is where its `$ORIGIN` looks when it is
    loaded through a link. The server loads "libtorch.so" at its start; this one brings in the CPU's part only.
    """
    site = paths.site_packages()
    torch, cuda = site / "torch", site / "nvidia" / "cu13" / "lib"
    new = empty_view()
    link(new / "include", torch / "include")
    (new / "build-version").write_text(f"{version_of(torch).partition('+')[0]}\n")
    library = new / "lib"
    library.mkdir()
    for name in ("libtorch_cpu.so", "libc10.so", "libgomp.so.1"):
        link(library / name, torch / "lib" / name)
    for name in ("libcudart.so.13", "libcupti.so.13"):
        link(library / name, cuda / name)
    built = subprocess.run(
        ["cc", "-shared", "-Wl,-soname,libtorch.so", "-Wl,--no-as-needed", "-o", library / "libtorch.so",
         f"-L{library}", "-ltorch_cpu", "-lc10", f"-Wl,-rpath-link,{library}", "-Wl,-rpath,$ORIGIN"],
        capture_output=True, text=True,
    )  # fmt: skip
    if built.returncode != 0:
        raise SetupError(f"libtorch.so could not be linked:\n{built.stderr}")
    put_in_place(new)


def view_of(torch: Path) -> None:
    """Links the user's own torch. Its lib is linked as a folder: libraries find CUDA from there, link or not."""
    check(torch)
    new = empty_view()
    (new / "include").symlink_to(torch / "include")
    (new / "lib").symlink_to(torch / "lib")
    (new / "build-version").write_text(f"{version_of(torch).partition('+')[0]}\n")
    put_in_place(new)


def import_works() -> subprocess.CompletedProcess:
    return subprocess.run([paths.PYTHON, "-c", "import torch"], capture_output=True, text=True)


def install_python_part() -> None:
    """PyTorch into the private environment."""
    unlink_borrowed()  # or pip would write into it
    environment.install("pytorch")


def stub_cuda() -> None:
    """Writes the stubs, and sees that PyTorch can be imported with them."""
    cuda_stubs.write_stubs(paths.site_packages())
    tried = import_works()
    if tried.returncode != 0:
        raise SetupError(f"PyTorch cannot be imported:\n{tried.stderr.strip()}")


def unlink_borrowed() -> None:
    """Takes away the links that `borrow` made."""
    for name in PACKAGES:
        if (link := paths.site_packages() / name).is_symlink():
            link.unlink()


def borrow(torch: Path) -> None:
    """Lets the private environment import the user's own torch."""
    check(torch)
    unlink_borrowed()
    for name in PACKAGES:
        source, target = torch.parent / name, paths.site_packages() / name
        shutil.rmtree(target, ignore_errors=True)
        if source.is_dir():
            target.symlink_to(source)
    tried = import_works()
    if tried.returncode != 0:
        raise SetupError(
            f"{torch} cannot be imported by the Python that runs this set-up:\n{tried.stderr.strip()}\nIf it belongs "
            "to another Python, set up with that one: `make setup PYTHON=<that python>`."
        )
