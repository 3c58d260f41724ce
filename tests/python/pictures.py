"""Photographs to test with: real ones, and odd files made from them. Each is a file's bytes, made when asked for."""

import io
import struct
import zlib
from pathlib import Path

import numpy as np
from PIL import Image

FOLDER = Path(__file__).resolve().parents[2] / ".setup" / "photographs"
REAL = {path.stem: path for path in sorted(FOLDER.iterdir())} if FOLDER.is_dir() else {}
ORIENTATION = 0x0112


def real(name: str) -> bytes:
    return REAL[name].read_bytes()


def opened(name: str) -> Image.Image:
    return Image.open(REAL[name]).convert("RGB")


def saved(picture: Image.Image, file_format: str, **options) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, file_format, **options)
    return buffer.getvalue()


def one_pixel() -> bytes:
    return saved(Image.new("RGB", (1, 1), (200, 100, 50)), "PNG")


def large() -> bytes:
    return saved(opened("china").resize((4000, 3000), Image.Resampling.LANCZOS), "JPEG", quality=90)


def one_row() -> bytes:
    return saved(opened("coffee").crop((0, 200, 600, 201)), "PNG")


def grey_png() -> bytes:
    return saved(opened("astronaut").convert("L"), "PNG")


def grey_jpeg() -> bytes:
    return saved(opened("astronaut").convert("L"), "JPEG", quality=95)


def grey_16_bit() -> bytes:
    grey = np.asarray(opened("coffee").convert("L")).astype(np.uint16)
    # All of the 16 bits are used: what lies below the eighth is not a copy of what lies above.
    return saved(Image.fromarray(grey * 257 ^ (grey & 0x3F)), "PNG")


def rgb_16_bit() -> bytes:
    """A PNG with 16 bits a channel, which Pillow reads but does not write."""
    wide = np.asarray(opened("chelsea")).astype(">u2") * 257
    rows = b"".join(b"\0" + row.tobytes() for row in wide)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", wide.shape[1], wide.shape[0], 16, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"")


def palette_with_transparency() -> bytes:
    return saved(opened("chelsea").quantize(64), "PNG", transparency=0)


def grey_with_alpha() -> bytes:
    picture = opened("astronaut").convert("LA")
    picture.putalpha(Image.linear_gradient("L").resize(picture.size))
    return saved(picture, "PNG")


def rgb_with_alpha() -> bytes:
    picture = opened("coffee").convert("RGBA")
    picture.putalpha(Image.linear_gradient("L").resize(picture.size))
    return saved(picture, "PNG")


def one_bit() -> bytes:
    return saved(opened("rocket").convert("1"), "PNG")


def cmyk_jpeg() -> bytes:
    return saved(opened("coffee").convert("CMYK"), "JPEG", quality=95)


def progressive_jpeg() -> bytes:
    return saved(opened("flower"), "JPEG", quality=90, progressive=True)


def unsubsampled_jpeg() -> bytes:
    return saved(opened("coffee"), "JPEG", quality=95, subsampling="4:4:4")


def lossy_webp() -> bytes:
    return saved(opened("flower"), "WEBP", quality=90)


def lossless_webp() -> bytes:
    return saved(opened("chelsea"), "WEBP", lossless=True)


def webp_with_alpha() -> bytes:
    picture = opened("chelsea").convert("RGBA")
    picture.putalpha(Image.linear_gradient("L").resize(picture.size))
    return saved(picture, "WEBP", lossless=True, exact=True)


def animated_webp() -> bytes:
    later = [opened("china").resize((451, 300))]
    return saved(opened("chelsea"), "WEBP", lossless=True, save_all=True, append_images=later, duration=100)


def oriented(orientation: int, file_format: str = "JPEG") -> bytes:
    """A picture that is not square and has no symmetry, lying as EXIF says."""
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    options = {"JPEG": {"quality": 95}, "WEBP": {"lossless": True}, "PNG": {}}[file_format]
    return saved(opened("rocket").crop((100, 0, 500, 427)), file_format, exif=exif, **options)


ODD = {
    function.__name__: function
    for function in (
        one_pixel, one_row, large, grey_png, grey_jpeg, grey_16_bit, rgb_16_bit, palette_with_transparency,
        grey_with_alpha, rgb_with_alpha, one_bit, cmyk_jpeg, progressive_jpeg, unsubsampled_jpeg, lossy_webp,
        lossless_webp, webp_with_alpha, animated_webp,
    )
}  # fmt: skip
ODD |= {f"orientation_{value}": lambda value=value: oriented(value) for value in range(1, 9)}
ODD |= {"orientation_6_png": lambda: oriented(6, "PNG"), "orientation_6_webp": lambda: oriented(6, "WEBP")}

ALL = {name: (lambda name=name: real(name)) for name in REAL} | ODD
