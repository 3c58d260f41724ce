"""Writes what the demo needs of all-MiniLM-L6-v2: model_repository/minilm_l6_v2/1/model.pt, its encoder as
TorchScript, and model_repository/tokenize/tokenizer.json.

Input: INT64 [n, length] each of input_ids, attention_mask, token_type_ids. Output: FP32 [n, length, 384].
"""

import os
import shutil
import warnings
from pathlib import Path

import torch
from minilm import VOCABULARY, MiniLM, package

REPOSITORY = Path(__file__).resolve().parents[1] / "model_repository"
MODEL = REPOSITORY / "minilm_l6_v2" / "1" / "model.pt"
TOKENIZER = REPOSITORY / "tokenize" / "tokenizer.json"


def texts(n: int, length: int) -> tuple[torch.Tensor, ...]:
    """Random tokens of n texts, each shorter than the one before."""
    mask = (torch.arange(length) < torch.arange(length, 0, -1)[:n, None]).long()
    return torch.randint(VOCABULARY, (n, length)) * mask, mask, torch.zeros_like(mask)


def main() -> None:
    # PyTorch announces that TorchScript is on its way out. It is what libtorch serves today.
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    torch.manual_seed(0)
    network = MiniLM.pretrained()
    with torch.no_grad():
        traced = torch.jit.trace(network, texts(2, 8))
        # A trace may have frozen the sizes that it saw; this one has not if it is right on others.
        for n, length in ((1, 3), (5, 40)):
            batch = texts(n, length)
            torch.testing.assert_close(traced(*batch), network(*batch), rtol=1e-4, atol=1e-4)
    for target, write in (
        (MODEL, lambda new: torch.jit.save(traced, new)),
        (TOKENIZER, lambda new: shutil.copyfile(package() / "tokenizer.json", new)),
    ):
        target.parent.mkdir(parents=True, exist_ok=True)
        new = target.with_name(target.name + ".new")
        write(new)
        os.replace(new, target)
        print(f"      wrote {target.relative_to(REPOSITORY)}, {target.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
