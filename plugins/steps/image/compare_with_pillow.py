"""Compares this crate's tensors with Pillow's: `compare_with_pillow.py BINARY FILE...` (BINARY: `examples/tensor.rs`).

For each file: the largest difference in grey levels, and how many values differ.
"""

import io
import subprocess
import sys

import numpy as np
from PIL import Image, ImageOps

Image.MAX_IMAGE_PIXELS = None


def upright_rgb(file: bytes) -> Image.Image:
    image = ImageOps.exif_transpose(Image.open(io.BytesIO(file)))
    if image.mode.startswith("I;16"):
        image = Image.fromarray(np.round(np.asarray(image) / 257).astype(np.uint8))
    return image.convert("RGB")


def expected(file: bytes, mode: str) -> np.ndarray:
    image = upright_rgb(file)
    if mode == "letterbox":
        image = ImageOps.pad(image, (224, 224), Image.Resampling.BICUBIC, color=(0, 0, 0))
    elif mode == "crop":
        width, height = image.size
        size = (256, 256 * height // width) if width <= height else (256 * width // height, 256)
        image = image.resize(size, Image.Resampling.BICUBIC)
        left, top = round((size[0] - 224) / 2), round((size[1] - 224) / 2)
        image = image.crop((left, top, left + 224, top + 224))
    else:
        image = image.resize((224, 224), Image.Resampling.BICUBIC)
    return np.asarray(image).astype(np.int32)


OPTIONS = {"straight": [], "crop": ["--crop", "256"], "letterbox": ["--letterbox"]}


def main() -> int:
    binary, files = sys.argv[1], sys.argv[2:]
    worst = 0
    for path in files:
        with open(path, "rb") as handle:
            file = handle.read()
        line = f"{path.rsplit('/', 1)[-1]:24}"
        for mode, options in OPTIONS.items():
            run = subprocess.run([binary, *options, path], capture_output=True, check=False)
            if run.returncode != 0:
                line += f"  {mode}: {run.stderr.decode().strip()}"
                worst = 256
                continue
            got = np.frombuffer(run.stdout, np.float32).reshape(224, 224, 3).astype(np.int32)
            difference = np.abs(got - expected(file, mode))
            worst = max(worst, int(difference.max()))
            line += f"  {mode} {difference.max():3} ({np.mean(difference > 0):6.2%})"
        print(line)
    print(f"largest difference: {worst}")
    return 0 if worst <= 1 else 1


if __name__ == "__main__":
    sys.exit(main())
