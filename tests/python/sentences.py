"""What the sentence models should answer, computed with Hugging Face's tokenizers and PyTorch and nothing of Nacre's.

The network is the eager module, not the exported file, so that a wrong export would show too.
"""

import functools

import numpy as np
import tokenizers
import torch
from minilm import MiniLM, package

MAX_LENGTH, MULTIPLE = 256, 8
TOKENS = ("input_ids", "attention_mask", "token_type_ids")

SENTENCES = [
    "A cat sits on the mat.",
    "A kitten is resting on a rug.",
    "The stock market fell sharply today.",
    "Share prices dropped this morning.",
    "How do I bake bread?",
]
ODD = {
    "empty": "",
    "blanks": " \t\n\u00a0\u2003 ",
    "long": "It was the best of times, it was the worst of times. " * 60,
    "long_word": "a" * 5000,
    "emoji": "I ❤️ 🍕 and 👩‍👩‍👧‍👦 🇩🇪!",
    "cjk": "人工智能正在改变世界。東京は雨です。",
    "hangul": "안녕하세요 세계",
    "accents": "Ça va? Straße, naïve façade; e\u0301te\u0301, Ångström İstanbul",
    "control": "a\x01b\x7fc\u200bd\ufeffe\u202ef\u0085g",
    "nul": "be\0fore \0 after",
    "mixed": "Ωmega مرحبا привет नमस्ते ไทย 1½² ﬁn — “quoted”",
    "special_tokens": "[CLS] is [MASK] [PAD] [sep] ##ing",
    "beyond_unicode": "\ufffd\U0010ffff\ue000",
}


@functools.cache
def tokenizer() -> tokenizers.Tokenizer:
    made = tokenizers.Tokenizer.from_file(str(package() / "tokenizer.json"))
    made.enable_truncation(MAX_LENGTH)
    made.enable_padding(pad_to_multiple_of=MULTIPLE)
    return made


@functools.cache
def network() -> MiniLM:
    return MiniLM.pretrained()


def tokens(texts: list[str]) -> dict[str, np.ndarray]:
    rows = tokenizer().encode_batch(texts)
    parts = ([row.ids for row in rows], [row.attention_mask for row in rows], [row.type_ids for row in rows])
    return {name: np.array(part, dtype=np.int64) for name, part in zip(TOKENS, parts)}


def embeddings(texts: list[str]) -> np.ndarray:
    """Mean of the tokens, of length 1: FP32 [n, 384]."""
    rows = {name: torch.from_numpy(array) for name, array in tokens(texts).items()}
    with torch.inference_mode():
        vectors, mask = network()(**rows), rows["attention_mask"].unsqueeze(-1)
        mean = (vectors * mask).sum(1) / mask.sum(1)
        return torch.nn.functional.normalize(mean, dim=1).numpy()
