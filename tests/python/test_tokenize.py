"""What can be chosen of the tokenize plugin in config.pbtxt, and what it says of a configuration that cannot be."""

import shutil

import numpy as np
import pytest
import sentences
import tokenizers
import tritonclient.http
from minilm import package
from nacre_server import ROOT, Server
from tritonclient.utils import InferenceServerException

PLUGIN = ROOT / "plugins" / "out" / "tokenize.wasm"
PARAMETER = 'parameters {{ key: "{}" value {{ string_value: "{}" }} }}\n'
# Model → its parameters, and a part of the reason why it is not served.
REFUSED = {
    "no_file": ({"tokenizer": "vocabulary.json"}, ["vocabulary.json"]),
    "no_tokenizer": ({"tokenizer": "config.pbtxt"}, ["config.pbtxt", "expected the tokenizer.json of"]),
}


def write(folder, parameters: dict[str, str], inputs: str = "") -> None:
    (folder / "1").mkdir(parents=True)
    shutil.copy(PLUGIN, folder / "1" / "plugin.wasm")
    shutil.copy(package() / "tokenizer.json", folder)
    text = f'backend: "wasm"\n{inputs}' + "".join(PARAMETER.format(*each) for each in parameters.items())
    (folder / "config.pbtxt").write_text(text)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    repository = tmp_path_factory.mktemp("tokenize")
    write(repository / "as_the_file_says", {})
    write(repository / "buckets", {"max_length": "64", "pad_to_buckets": "64, 16,32"})
    write(repository / "bare", {"add_special_tokens": "false", "padding": "longest"})
    pair = 'input [ {{ name: "{}" data_type: TYPE_STRING dims: [ -1 ] }} ]\n'
    write(
        repository / "pairs",
        {"max_length": "32", "padding": "max_length"},
        pair.format("text") + pair.format("text_pair"),
    )
    for name, (parameters, _) in REFUSED.items():
        write(repository / name, parameters)
    with Server(repository) as running:
        yield running


@pytest.fixture(scope="module")
def client(server):
    with tritonclient.http.InferenceServerClient(server.http, network_timeout=120) as client:
        yield client


def ask(client, model: str, **texts: list[str]) -> dict[str, np.ndarray]:
    tensors = []
    for name, each in texts.items():
        tensors.append(tritonclient.http.InferInput(name, [len(each)], "BYTES"))
        tensors[-1].set_data_from_numpy(np.array([text.encode() for text in each], dtype=np.object_))
    result = client.infer(model, tensors)
    return {name: result.as_numpy(name) for name in sentences.TOKENS}


def assert_equal(answer: dict[str, np.ndarray], rows: list[tokenizers.Encoding]) -> None:
    expected = ([row.ids for row in rows], [row.attention_mask for row in rows], [row.type_ids for row in rows])
    for name, part in zip(sentences.TOKENS, expected):
        np.testing.assert_array_equal(answer[name], part, err_msg=name)


def tokenizer() -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_file(str(package() / "tokenizer.json"))


def test_without_parameters_texts_are_cut_and_padded_as_the_file_says(client):
    texts = [*sentences.SENTENCES, sentences.ODD["long"]]
    answer = ask(client, "as_the_file_says", text=texts)
    assert answer["input_ids"].shape == (6, 128)
    assert_equal(answer, tokenizer().encode_batch(texts))


def test_rows_take_the_shortest_bucket_that_fits(client):
    made = tokenizer()
    made.enable_truncation(64)
    for texts, length in ((["short"], 16), (["word " * 20, "short"], 32), ([sentences.ODD["long"]], 64)):
        made.enable_padding(length=length)
        assert_equal(ask(client, "buckets", text=texts), made.encode_batch(texts))


def test_without_special_tokens_there_is_the_text_alone(client):
    made = tokenizer()
    made.enable_padding()
    answer = ask(client, "bare", text=sentences.SENTENCES)
    assert_equal(answer, made.encode_batch(sentences.SENTENCES, add_special_tokens=False))


def test_pairs_are_rows_of_two_types(client):
    first, second = sentences.SENTENCES, [*sentences.SENTENCES[1:], sentences.ODD["long"]]
    made = tokenizer()
    made.enable_truncation(32)
    made.enable_padding(length=32)
    answer = ask(client, "pairs", text=first, text_pair=second)
    assert answer["token_type_ids"].max() == 1
    assert_equal(answer, made.encode_batch(list(zip(first, second))))


def test_a_pair_without_its_second_text_is_refused(client):
    with pytest.raises(InferenceServerException) as caught:
        ask(client, "pairs", text=["a", "b"], text_pair=["c"])
    assert "'text_pair' has 1 elements and 'text' 2" in caught.value.message()


@pytest.mark.parametrize("model", REFUSED)
def test_a_configuration_that_cannot_be_keeps_the_model_from_being_served(client, model):
    entry = next(each for each in client.get_model_repository_index() if each["name"] == model)
    assert entry["state"] == "UNAVAILABLE"
    assert all(words in entry["reason"] for words in REFUSED[model][1]), entry["reason"]
