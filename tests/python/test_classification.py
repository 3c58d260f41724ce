"""The whole path gives what PyTorch and Pillow give, whichever way it is asked."""

import classify
import numpy as np
import pictures
import pytest
from nacre_server import ROOT

TOLERANCE = 0.02
# What these photographs show; the reference computes the rest.
NAMED = {
    "chelsea": (285, "Egyptian cat", 0.77),
    "coffee": (967, "espresso", 0.90),
    "rocket": (540, "drilling platform", 0.56),
}


@pytest.fixture(scope="session", params=classify.WAYS, ids=lambda way: way.__name__)
def ask(request, server, http, grpc):
    return lambda files: request.param(server, http, grpc, files)


@pytest.fixture(scope="session")
def labels():
    return (ROOT / "model_repository" / "top_k_labels" / "labels.txt").read_text().splitlines()


def assert_row_agrees(classification, row, expected, labels):
    """The five are the five likeliest in order, but for ties within the tolerance, named by their labels."""
    index, probability = classification.index[row], classification.probability[row]
    assert classification.label[row].tolist() == [labels[each] for each in index]
    np.testing.assert_allclose(probability, expected[index], atol=TOLERANCE)
    assert (np.diff(probability) <= 0).all()
    np.testing.assert_allclose(probability, np.sort(expected)[::-1][:5], atol=TOLERANCE)
    assert len(set(index.tolist())) == 5


@pytest.mark.parametrize("name", NAMED)
def test_named_photographs_are_recognised(ask, photograph, name):
    classification = ask([photograph[name]])
    index, label, probability = NAMED[name]
    assert (classification.index[0, 0], classification.label[0, 0]) == (index, label)
    assert classification.probability[0, 0] == pytest.approx(probability, abs=TOLERANCE)


@pytest.mark.parametrize("name", sorted(pictures.ALL))
def test_classification_agrees_with_pytorch_and_pillow(
    server, http, grpc, photograph, expected_probabilities, labels, name
):
    classification = classify.through_http(server, http, grpc, [photograph[name]])
    assert_row_agrees(classification, 0, expected_probabilities[name], labels)


def test_a_batch_of_unlike_photographs_keeps_its_order(ask, photograph, expected_probabilities, labels):
    names = ["chelsea", "large", "one_pixel", "grey_16_bit", "rocket", "animated_webp", "cmyk_jpeg", "coffee"]
    classification = ask([photograph[name] for name in names])
    assert classification.index.shape == (len(names), 5)
    for row, name in enumerate(names):
        assert_row_agrees(classification, row, expected_probabilities[name], labels)


def test_the_largest_batch_is_served(server, http, grpc, photograph, expected_probabilities, labels):
    names = (sorted(pictures.REAL) * 6)[:32]
    classification = classify.through_grpc(server, http, grpc, [photograph[name] for name in names])
    for row, name in enumerate(names):
        assert_row_agrees(classification, row, expected_probabilities[name], labels)
