"""decode_image gives the tensor that Pillow gives, within one grey level."""

import classify
import numpy as np
import pictures
import pytest
import tritonclient.http


@pytest.mark.parametrize("name", sorted(pictures.ALL))
def test_pixels_agree_with_pillow(http, photograph, expected_pixels, name):
    tensor = classify.image_tensor([photograph[name]])
    image = tritonclient.http.InferInput("image", list(tensor.shape), "BYTES")
    image.set_data_from_numpy(tensor)
    pixels = http.infer("decode_image", [image]).as_numpy("pixels")
    assert pixels.shape == (1, 3, 224, 224)
    levels = np.abs(pixels[0] - expected_pixels[name]) * 128
    worst = np.unravel_index(levels.argmax(), levels.shape)
    assert levels.max() <= 1.0 + 1e-3, (
        f"{levels.max():.2f} grey levels apart at {worst}, {levels.mean():.3f} on average"
    )
