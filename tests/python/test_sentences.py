"""Sentences in, embeddings and similarities out, as Hugging Face's tokenizer and PyTorch have them."""

import concurrent.futures

import numpy as np
import pytest
import sentences
import tritonclient.grpc
import tritonclient.http
from tritonclient.utils import InferenceServerException

TOLERANCE = 1e-4
MODEL = "sentence_similarity"


@pytest.fixture(params=["http", "grpc"])
def ask(request, http, grpc):
    """Asks a model; inputs and outputs by name."""
    module, client = (tritonclient.http, http) if request.param == "http" else (tritonclient.grpc, grpc)

    def ask(model: str, inputs: dict[str, np.ndarray], outputs: tuple[str, ...]) -> dict[str, np.ndarray]:
        tensors = []
        for name, array in inputs.items():
            data_type = {"O": "BYTES", "i": "INT64", "f": "FP32"}[array.dtype.kind]
            tensors.append(module.InferInput(name, list(array.shape), data_type))
            tensors[-1].set_data_from_numpy(array)
        wanted = [module.InferRequestedOutput(name) for name in outputs]
        result = client.infer(model, tensors, outputs=wanted)
        return {name: result.as_numpy(name) for name in outputs}

    return ask


def text(texts) -> dict[str, np.ndarray]:
    return {"text": np.array([each if isinstance(each, bytes) else each.encode() for each in texts], dtype=np.object_)}


def compared(ask, texts: list[str]) -> dict[str, np.ndarray]:
    return ask(MODEL, text(texts), ("embedding", "similarity"))


def assert_agrees(answer: dict[str, np.ndarray], texts: list[str]) -> None:
    expected = sentences.embeddings(texts)
    np.testing.assert_allclose(answer["embedding"], expected, atol=TOLERANCE)
    np.testing.assert_allclose(answer["similarity"], expected @ expected.T, atol=TOLERANCE)


@pytest.mark.parametrize("name", sentences.ODD)
def test_tokens_of_odd_texts_are_those_of_the_reference(ask, name):
    texts = [sentences.ODD[name]]
    answer, expected = ask("tokenize", text(texts), sentences.TOKENS), sentences.tokens(texts)
    for output in sentences.TOKENS:
        np.testing.assert_array_equal(answer[output], expected[output], err_msg=output)


def test_a_list_is_padded_to_its_longest_text(ask):
    texts = [*sentences.SENTENCES, *sentences.ODD.values()]
    answer, expected = ask("tokenize", text(texts), sentences.TOKENS), sentences.tokens(texts)
    assert answer["input_ids"].shape == (len(texts), 256)
    for output in sentences.TOKENS:
        np.testing.assert_array_equal(answer[output], expected[output], err_msg=output)


def test_embeddings_and_similarities_agree_with_pytorch(ask):
    answer = compared(ask, sentences.SENTENCES)
    assert_agrees(answer, sentences.SENTENCES)
    # The two about cats and the two about shares are alike, and nothing else is.
    similarity = answer["similarity"] - np.eye(len(sentences.SENTENCES))
    assert similarity.argmax(1)[:4].tolist() == [1, 0, 3, 2]
    assert similarity[4].max() < 0.3


def test_odd_texts_agree_with_pytorch(ask):
    texts = list(sentences.ODD.values())
    assert_agrees(compared(ask, texts), texts)


def test_one_sentence_is_a_list_too(ask):
    answer = compared(ask, sentences.SENTENCES[:1])
    assert_agrees(answer, sentences.SENTENCES[:1])
    assert answer["similarity"].shape == (1, 1)


def test_lists_of_several_clients_that_run_in_one_batch_stay_apart(server, http):
    """Their rows are padded to one length, so the encoder may put them into one batch."""
    lists = [[sentence] * (1 + i % 3) for i, sentence in enumerate(sentences.SENTENCES * 4)]

    def one(texts):
        with tritonclient.http.InferenceServerClient(server.http, network_timeout=120) as client:
            tensor = tritonclient.http.InferInput("text", [len(texts)], "BYTES")
            tensor.set_data_from_numpy(text(texts)["text"])
            return client.infer(MODEL, [tensor]).as_numpy("embedding")

    with concurrent.futures.ThreadPoolExecutor(len(lists)) as pool:
        for texts, embedding in zip(lists, pool.map(one, lists)):
            np.testing.assert_allclose(embedding, sentences.embeddings(texts), atol=TOLERANCE)


def test_only_the_output_asked_for_comes(ask):
    assert list(ask("tokenize", text(["a"]), ("input_ids",))) == ["input_ids"]
    assert ask(MODEL, text(["a"]), ("embedding",))["embedding"].shape == (1, 384)


@pytest.mark.parametrize(
    ("model", "inputs", "outputs", "words"),
    [
        (MODEL, text([]), ("similarity",), ["'tokenize'", "'text'", "at least one text"]),
        (MODEL, text([b"good", b"\xc3("]), ("similarity",), ["element 1", "'text'", "UTF-8"]),
        (MODEL, text(["x"] * 65), ("similarity",), ["minilm_l6_v2", "65", "64"]),
        ("tokenize", {"text": np.array([["a"]], dtype=np.object_)}, ("input_ids",), ["'text'", "[1,1]", "[-1]"]),
        ("tokenize", {"text": np.zeros(1, dtype=np.float32)}, ("input_ids",), ["'text'", "FP32", "BYTES"]),
        (
            "pool_sentences",
            {
                "token_embeddings": np.zeros((2, 3, 384), dtype=np.float32),
                "attention_mask": np.ones((2, 4), dtype=np.int64),
            },
            ("embedding",),
            ["'attention_mask'", "[2, 4]", "[2, 3]"],
        ),
    ],
    ids=["empty_list", "no_utf8", "too_many", "other_shape", "other_type", "other_mask"],
)
def test_wrong_input_is_refused_with_a_sentence(ask, model, inputs, outputs, words):
    with pytest.raises(InferenceServerException) as caught:
        ask(model, inputs, outputs)
    message = caught.value.message()
    assert all(word in message for word in words), message
