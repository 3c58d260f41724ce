"""The packages that build plugins in JavaScript and TypeScript, in a folder of the set-up's own."""

import shutil
import subprocess

import paths
from step import SetupError

REQUIREMENTS = paths.REQUIREMENTS / "javascript"
FILES = [REQUIREMENTS / "package.json", REQUIREMENTS / "package-lock.json"]
FOLDER = paths.STATE / "javascript"
OUTPUTS = [FOLDER / "node_modules" / name / "package.json" for name in ("componentize-qjs", "esbuild", "typescript")]


def is_possible() -> bool:
    """Whether Node.js is there. Without it, plugins in these two languages are neither built nor tested."""
    return shutil.which("node") is not None and shutil.which("npm") is not None


def install() -> None:
    """What package-lock.json names, and nothing else; no package runs anything while it is installed."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    for file in FILES:
        shutil.copy(file, FOLDER)
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"]
    installed = subprocess.run(command, cwd=FOLDER, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if installed.returncode != 0:
        raise SetupError(
            f"the packages for plugins in JavaScript could not be installed. npm says:\n\n{installed.stdout}\n"
            "Check the network, or npm's settings if you use a mirror or a proxy, and run the same command again."
        )
