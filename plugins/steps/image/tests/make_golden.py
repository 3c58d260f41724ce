"""Writes golden.txt: small pictures in every format and variant, and what Pillow 12 makes of them.

    python make_golden.py > golden.txt

A file is a line: its name, its bytes in hexadecimal. What becomes of it follows in lines that are indented: resize,
target width and height, pixels in hexadecimal (rows of red, green, blue).
"""

import io
import struct
import zlib

import numpy as np
from PIL import Image, ImageOps, PngImagePlugin

WIDTH, HEIGHT = 13, 10


def picture(width: int = 21, height: int = 18) -> Image.Image:
    """Slopes, an edge and some noise, in colour."""
    noise = np.random.default_rng(7).integers(0, 40, (height, width, 3))
    y, x = np.mgrid[0:height, 0:width]
    red, green, blue = 200 * x / width, 200 * y / height, np.where(x + y < width, 30, 190)
    return Image.fromarray((np.dstack([red, green, blue]) + noise).astype(np.uint8))


def saved(image: Image.Image, kind: str, **options) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def exif(orientation: int) -> Image.Exif:
    block = Image.Exif()
    block[0x0112] = orientation
    return block


def png(width: int, height: int, depth: int, color: int, rows: list[bytes], interlace: int = 0, extra: bytes = b"") -> bytes:
    """A PNG that Pillow cannot write; `rows` without filter bytes, in the order in which they are stored."""
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlace)
    packed = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def adam7(pixels: np.ndarray) -> list[bytes]:
    passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
    rows = []
    for x, y, step_x, step_y in passes:
        part = pixels[y::step_y, x::step_x]
        if part.size:
            rows += [row.tobytes() for row in part]
    return rows


def moved_behind(file: bytes, kind: bytes) -> bytes:
    """The same PNG with its chunk of that kind before the last chunk."""
    at, chunks = 8, []
    while at < len(file):
        end = at + 12 + struct.unpack_from(">I", file, at)[0]
        chunks.append(file[at:end])
        at = end
    chunks.sort(key=lambda item: {kind: 1, b"IEND": 2}.get(item[4:8], 0))
    return file[:8] + b"".join(chunks)


def jpeg_files(rgb: Image.Image):
    grey = rgb.convert("L")
    for name, options in {
        "444": {"subsampling": 0},
        "422": {"subsampling": 1},
        "420": {"subsampling": 2},
        "poor": {"quality": 12},
        "progressive": {"progressive": True},
        "progressive-444": {"progressive": True, "subsampling": 0, "quality": 95},
        "restart": {"restart_marker_blocks": 1},
        "progressive-restart": {"restart_marker_rows": 1, "progressive": True},
        "optimized": {"optimize": True},
    }.items():
        yield f"jpeg-{name}", saved(rgb, "JPEG", **{"quality": 85, **options})
    yield "jpeg-grey", saved(grey, "JPEG", quality=85)
    yield "jpeg-grey-progressive", saved(grey, "JPEG", quality=85, progressive=True)
    yield "jpeg-cmyk", saved(rgb.convert("CMYK"), "JPEG", quality=90)
    yield "jpeg-rgb", saved(rgb, "JPEG", quality=90, keep_rgb=True)
    for width, height in [(1, 1), (2, 1), (3, 2), (5, 33), (17, 16), (40, 9)]:
        yield f"jpeg-{width}x{height}", saved(picture(width, height), "JPEG", quality=90)
    for orientation in range(1, 9):
        yield f"jpeg-orientation-{orientation}", saved(rgb, "JPEG", quality=90, exif=exif(orientation))


def files():
    yield from jpeg_files(picture())
    rgb = picture(WIDTH, HEIGHT)
    grey = rgb.convert("L")
    for orientation in range(1, 9):
        yield f"png-orientation-{orientation}", saved(rgb, "PNG", exif=exif(orientation))
    for orientation in (1, 6):
        yield f"webp-orientation-{orientation}", saved(rgb, "WEBP", lossless=True, exif=exif(orientation))
    yield "png-orientation-behind", moved_behind(saved(rgb, "PNG", exif=exif(6)), b"eXIf")
    for compressed in (False, True):
        info = PngImagePlugin.PngInfo()
        info.add_itxt("XML:com.adobe.xmp", '<x tiff:Orientation="8"/>', zip=compressed)
        yield f"png-xmp-{'packed' if compressed else 'plain'}", saved(rgb, "PNG", pnginfo=info)
        info = PngImagePlugin.PngInfo()
        block = exif(5).tobytes()
        info.add_text("Raw profile type exif", f"\nexif\n{len(block):8}\n{block.hex()}\n", zip=compressed)
        yield f"png-raw-profile-{'packed' if compressed else 'plain'}", saved(rgb, "PNG", pnginfo=info)

    yield "png-rgb", saved(rgb, "PNG")
    yield "png-grey", saved(grey, "PNG")
    yield "png-1-bit", saved(grey.convert("1"), "PNG")
    yield "png-grey-transparent", saved(grey, "PNG", transparency=40)
    yield "png-rgb-transparent", saved(rgb, "PNG", transparency=rgb.getpixel((3, 4)))
    rgba = rgb.copy()
    rgba.putalpha(grey.rotate(90).resize(rgb.size))
    yield "png-rgba", saved(rgba, "PNG")
    yield "png-grey-alpha", saved(rgba.convert("LA"), "PNG")
    for colors in (2, 4, 16, 200):
        yield f"png-palette-{colors}", saved(rgb.quantize(colors), "PNG", transparency=1)
    values = np.asarray(rgba).astype(np.uint16) * 257
    deep = (values + np.random.default_rng(3).integers(0, 256, values.shape)).clip(0, 65535).astype(">u2")
    for name, color, channels in [("grey", 0, [0]), ("rgb", 2, [0, 1, 2]), ("grey-alpha", 4, [0, 3]), ("rgba", 6, [0, 1, 2, 3])]:
        rows = [row.tobytes() for row in deep[:, :, channels]]
        yield f"png-16-{name}", png(WIDTH, HEIGHT, 16, color, rows)
        shallow = np.ascontiguousarray(np.asarray(rgba)[:, :, channels])
        yield f"png-interlaced-{name}", png(WIDTH, HEIGHT, 8, color, adam7(shallow), 1)
    yield "png-16-interlaced", png(WIDTH, HEIGHT, 16, 0, adam7(deep[:, :, [0]]), 1)
    for depth in (2, 4):
        samples = np.asarray(grey) >> (8 - depth)
        rows = []
        for row in samples:
            text = "".join(f"{value:0{depth}b}" for value in row)
            text += "0" * (-len(text) % 8)
            rows.append(int(text, 2).to_bytes(len(text) // 8, "big"))
        yield f"png-{depth}-bit", png(WIDTH, HEIGHT, depth, 0, rows)

    yield "webp-lossy", saved(rgb, "WEBP", quality=80)
    yield "webp-lossless", saved(rgb, "WEBP", lossless=True)
    yield "webp-lossy-alpha", saved(rgba, "WEBP", quality=80)
    yield "webp-lossless-alpha", saved(rgba, "WEBP", lossless=True, exact=True)
    yield "webp-animated", saved(rgb, "WEBP", save_all=True, append_images=[rgb.rotate(180)], duration=100)


def expected(file: bytes, resize: str, target: tuple[int, int]) -> bytes:
    image = ImageOps.exif_transpose(Image.open(io.BytesIO(file)))
    if image.mode.startswith("I;16"):
        image = Image.fromarray(np.round(np.asarray(image) / 257).astype(np.uint8))
    image = image.convert("RGB")
    if resize == "letterbox":
        image = ImageOps.pad(image, target, Image.Resampling.BICUBIC, color=(1, 2, 3))
    elif resize == "crop":
        side = max(target)
        width, height = image.size
        size = (side, side * height // width) if width <= height else (side * width // height, side)
        image = image.resize(size, Image.Resampling.BICUBIC)
        left, top = round((size[0] - target[0]) / 2), round((size[1] - target[1]) / 2)
        image = image.crop((left, top, left + target[0], top + target[1]))
    else:
        image = image.resize(target, Image.Resampling.BICUBIC)
    return image.tobytes()


def main() -> None:
    for name, file in files():
        print(name, file.hex())
        resizes = ["straight", "crop", "letterbox"] if "orientation" in name else ["straight"]
        for resize in resizes:
            for target in [(9, 7), (30, 11)] if name.startswith(("jpeg-4", "png-rgb")) else [(9, 7)]:
                print("", resize, *target, expected(file, resize, target).hex())


if __name__ == "__main__":
    main()
