"""Stand-ins for the CUDA libraries, so that the PyTorch of the package index can be imported without them.

That build of PyTorch links a dozen CUDA libraries, 3 GB in all, even where no GPU is. The dynamic loader asks three
things of each before it lets `import torch` go on: a file of that name, its symbol versions, and an address for every
function whose pointer is taken. So each stand-in is a small shared library whose functions all end the process. None
is ever called while there is no GPU: PyTorch asks the driver first, and the driver is not stubbed.

They go where PyTorch's own libraries look (nvidia/cu13/lib), in the private environment only; the server never sees
them.
"""

import collections
import os
import re
import subprocess
import tempfile
from pathlib import Path

from step import SetupError

# Libraries whose symbols carry no version are told apart by how their functions' names begin.
UNVERSIONED = {"libcusparseLt.so.0": "cusparseLt", "libnccl.so.2": "nccl", "libcufile.so.0": "cuFile"}
# Elsewhere the version is the library's own name, but for this one.
VERSION_OF = {"libnvshmem_host.so.3": "NVSHMEM"}
CUDA_LIBRARY = re.compile(r"lib(cu|nc|nv)")
DRIVER = "libcuda.so.1"


def output_of(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


class Symbols:
    """What a set of libraries needs from others, and what it defines itself."""

    def __init__(self, libraries: list[Path]):
        self.libraries: set[str] = set()
        self.versioned: dict[str, set[str]] = collections.defaultdict(set)
        self.unversioned: set[str] = set()
        for library in libraries:
            self.libraries.update(re.findall(r"\(NEEDED\).*\[(.+?)\]", output_of("readelf", "-dW", str(library))))
            for line in output_of("nm", "-D", "--undefined-only", str(library)).splitlines():
                name, _, version = line.split()[-1].partition("@")
                (self.versioned[version.lstrip("@")] if version else self.unversioned).add(name)
        for library in libraries:
            defined = output_of("nm", "-D", "--defined-only", str(library)).splitlines()
            self.unversioned -= {line.split()[-1].partition("@")[0] for line in defined}

    def of(self, soname: str) -> tuple[str, list[str], list[str]]:
        """The version that the library's symbols carry, its symbols with that version and those without."""
        version = VERSION_OF.get(soname, soname)
        prefix = UNVERSIONED.get(soname)
        without = [name for name in self.unversioned if prefix and name.startswith(prefix)]
        return version, sorted(self.versioned.get(version, ())), sorted(without)


def write_stub(target: Path, version: str, with_version: list[str], without_version: list[str]) -> None:
    """Links one shared library that defines the given functions, each a trap."""
    with tempfile.TemporaryDirectory() as scratch:
        source, script, built = Path(scratch, "stub.s"), Path(scratch, "stub.map"), Path(scratch, target.name)
        functions = "".join(
            f".globl {name}\n.type {name}, @function\n{name}: ud2\n" for name in with_version + without_version
        )
        source.write_text(f'.text\n{functions}.section .note.GNU-stack, "", @progbits\n')
        command = ["cc", "-shared", "-nostdlib", "-o", str(built), str(source), f"-Wl,-soname,{target.name}"]
        if with_version:
            script.write_text(f"{version} {{ global: {' '.join(name + ';' for name in with_version)} }};\n")
            command.append(f"-Wl,--version-script={script}")
        subprocess.run(command, check=True)
        new = target.with_suffix(target.suffix + ".new")
        new.write_bytes(built.read_bytes())
        os.replace(new, target)


def write_stubs(site_packages: Path) -> int:
    """Writes a stub for each CUDA library that torch links and that is not installed. Returns how many it wrote."""
    torch = sorted((site_packages / "torch" / "lib").glob("*.so*"))
    folder = site_packages / "nvidia" / "cu13" / "lib"
    marker = folder / "nacre-stubs.txt"
    # Those of an earlier run are written anew, whatever state they are in.
    for name in marker.read_text().split() if marker.exists() else []:
        (folder / name).unlink(missing_ok=True)
    installed = {library.name for library in [*torch, *(site_packages / "nvidia").glob("**/*.so*")]}
    try:
        symbols = Symbols(torch)
        missing = sorted(name for name in symbols.libraries - installed - {DRIVER} if CUDA_LIBRARY.match(name))
        marker.write_text("\n".join(missing))
        for soname in missing:
            write_stub(folder / soname, *symbols.of(soname))
    except subprocess.CalledProcessError as error:
        raise SetupError(f"`{' '.join(error.cmd)}` failed:\n{error.stderr or ''}") from error
    return len(missing)
