"""Writes golden.txt: small tokenizers of each kind, and what Hugging Face's `tokenizers` 0.23 makes of odd texts.

    python make_golden.py > golden.txt

A tokenizer is a line: `tokenizer`, its name, its tokenizer.json. What becomes of texts follows in lines that are indented,
each a JSON object: the texts (or pairs of them), the options, and a row a text of `input_ids`, `attention_mask` and `token_type_ids` (of
the latter two each number is one digit).
"""

import json

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

TEXTS = [
    "",
    " ",
    "Hello, world!",
    "  two  blanks\tand\n\nlines  ",
    "unaffable UNAFFABLE don't we'll 1234567 3.14 ½ x²",
    "It was the best of times, it was the worst of times. " * 3,
    "a" * 110,
    "I ❤️ 🍕 and 👩‍👩‍👧‍👦 🇩🇪!",
    "人工智能 東京は雨 안녕하세요",
    "Ça va? Straße, nai\u0308ve fac\u0327ade; Ångström İstanbul ﬁn",
    "a\x01b\x7fc\u200bd\ufeffe\u202ef\u0085g\rh",
    "be\0fore \0 after",
    "Ωmega مرحبا привет नमस्ते ไทย mixed",
    "<mask> and[MASK] <pad> [CLS]</s> ##ing ▁x",
    "\ufffd\U0010ffff\ue000\u00a0\u2003end",
]
PAIRS = [[TEXTS[2], TEXTS[4]], [TEXTS[0], TEXTS[0]], [TEXTS[5], TEXTS[2]], [TEXTS[7], TEXTS[5]]]
BATCH = [TEXTS[2], TEXTS[0], TEXTS[7], TEXTS[5]]
OPTIONS = [
    {"max_length": 8},
    {"add_special_tokens": False},
    {"padding": {"longest": 8}},
    {"max_length": 12, "padding": {"fixed": 40}},
    {"max_length": 64, "padding": {"buckets": [64, 16, 32]}},
    {"max_length": 16, "padding": {"buckets": [64, 16, 32]}},
]
WORDS = "hello world the best worst of times it was two blanks and lines mixed end after va stra naive facade".split()


def word_piece() -> Tokenizer:
    """As BERT's: lower case, accents stripped, words in pieces."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789,.!?'#-<>[]人工智東京はёпри"
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, "un", "##aff", "##able", "##ing"]
    vocabulary += [*letters, *(f"##{letter}" for letter in letters)]
    made = Tokenizer(models.WordPiece({token: i for i, token in enumerate(vocabulary)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    made.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    made.enable_truncation(64)
    return made


def trained(made: Tokenizer, special: list[str], alphabet: list[str]) -> None:
    trainer = trainers.BpeTrainer(
        vocab_size=len(special) + len(alphabet) + 60,
        special_tokens=special,
        initial_alphabet=alphabet,
        show_progress=False,
    )
    made.train_from_iterator([" ".join(WORDS * 3), "don't we'll unaffable"], trainer)


def byte_level(pattern: str | None) -> Tokenizer:
    """As RoBERTa's, or with a pattern as GPT-4's: bytes, merged."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    if pattern:
        made.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ])  # fmt: skip
    trained(made, ["<s>", "<pad>", "</s>", "<unk>"], sorted(pre_tokenizers.ByteLevel.alphabet()))
    made.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    made.decoder = decoders.ByteLevel()
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=False)
    made.enable_padding(pad_id=1, pad_token="<pad>", pad_to_multiple_of=4)
    return made


def byte_fallback() -> Tokenizer:
    """As Llama's: characters, and the bytes of those it does not know; filled up from the left."""
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    made = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never", split=True)
    trained(made, special, list("▁abcdefghijklmnopqrstuvwxyz.,!"))
    # Bytes are tokens of the model, and none that a text could name.
    description = json.loads(made.to_str())
    description["added_tokens"] = description["added_tokens"][:3]
    made = Tokenizer.from_str(json.dumps(description))
    made.post_processor = processors.TemplateProcessing("<s> $A", "<s> $A <s>:1 $B:1", [("<s>", 1)])
    made.enable_padding(direction="left", pad_id=2, pad_token="</s>")
    return made


def unigram() -> Tokenizer:
    """As T5's: the likeliest pieces of words, after NFKC."""
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0)]
    pieces += [(f"▁{word}", -5.0 - i / 8) for i, word in enumerate(WORDS)]
    pieces += [(letter, -8.0 - i / 16) for i, letter in enumerate("etaoinshrdlcumwfgypbvkjxqzHIU.,!?1234567人工雨")]
    made = Tokenizer(models.Unigram(pieces, unk_id=2, byte_fallback=False))
    made.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.post_processor = processors.TemplateProcessing("$A </s>", "$A </s> $B </s>", [("</s>", 1)])
    made.add_special_tokens(["<pad>", "</s>", "<unk>"])
    made.enable_truncation(48)
    made.enable_padding(length=48)
    return made


GPT4 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
TOKENIZERS = {
    "word_piece": word_piece(),
    "byte_level": byte_level(None),
    "byte_level_pattern": byte_level(GPT4),
    "byte_fallback": byte_fallback(),
    "unigram": unigram(),
}


def expected(description: str, texts: list, options: dict) -> dict:
    made = Tokenizer.from_str(description)
    inputs = [tuple(text) if isinstance(text, list) else text for text in texts]
    if "max_length" in options:
        made.enable_truncation(**{**(made.truncation or {}), "max_length": options["max_length"]})
    pad = {key: value for key, value in (made.padding or {}).items() if key not in ("length", "pad_to_multiple_of")}
    if not made.padding and made.token_to_id("[PAD]") is not None:
        pad = {"pad_id": made.token_to_id("[PAD]")}
    special = options.get("add_special_tokens", True)
    padding = options.get("padding", {})
    if "longest" in padding:
        made.enable_padding(**pad, pad_to_multiple_of=padding["longest"])
    elif "fixed" in padding:
        made.enable_padding(**pad, length=padding["fixed"])
    elif "buckets" in padding:
        made.no_padding()
        longest = max(len(row) for row in made.encode_batch(inputs, add_special_tokens=special))
        made.enable_padding(**pad, length=min(length for length in padding["buckets"] if length >= longest))
    elif not made.padding:
        made.enable_padding(**pad)
    rows = made.encode_batch(inputs, add_special_tokens=special)
    return {
        "texts": texts,
        "options": options,
        "input_ids": [row.ids for row in rows],
        "attention_mask": ["".join(map(str, row.attention_mask)) for row in rows],
        "token_type_ids": ["".join(map(str, row.type_ids)) for row in rows],
    }


def main() -> None:
    for name, made in TOKENIZERS.items():
        description = made.to_str()
        print("tokenizer", name, json.dumps(json.loads(description), separators=(",", ":")))
        alone = [([text], {}) for text in TEXTS]
        together = [(BATCH, options) for options in [{}, *OPTIONS]] + [
            (PAIRS, options) for options in [{}, *OPTIONS[:2]]
        ]
        for texts, options in alone + together:
            print("", json.dumps(expected(description, texts, options), separators=(",", ":")))


if __name__ == "__main__":
    main()
