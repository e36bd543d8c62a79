"""Pillow's coders give our own numbers, and TensorFlow's; with damaged data, ours decide."""

from __future__ import annotations

import gc
import io
import itertools
import pickle

import numpy as np
import pytest

from headrace.codegen.accelerate import jpeg_colors
from headrace.core import hooks
from headrace.formats.images import jpeg, jpeg_encode, libraries, png
from tests.tensorflow_peer import needs_tensorflow, tensorflow

Image = pytest.importorskip("PIL.Image")
SIZES = [(1, 1), (2, 3), (17, 30), (33, 40), (64, 63)]


@pytest.fixture
def alone(monkeypatch):
    """Our own code, without Pillow."""

    def off():
        monkeypatch.setattr(libraries, "_pillow", lambda: None)

    return off


def picture(height, width, channels, seed=0):
    rng = np.random.default_rng(seed)
    walk = np.cumsum(rng.normal(0, 9, (height, width, channels)), 1)
    return np.clip(walk + rng.integers(0, 255), 0, 255).astype(np.uint8)


def jpegs():
    """Files of all samplings, sequential and progressive, grey and coloured."""
    for (height, width), channels in itertools.product(SIZES, (1, 3)):
        pixels = picture(height, width, channels)
        image = Image.fromarray(pixels[..., 0] if channels == 1 else pixels)
        for sampling in ("4:4:4", "4:2:2", "4:2:0", "4:1:1")[: 1 if channels == 1 else None]:
            file = io.BytesIO()
            image.save(file, "JPEG", quality=80, subsampling=sampling, progressive=width % 2 == 0)
            yield file.getvalue()


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("smooth", [True, False])
@pytest.mark.parametrize("channels", [0, 1, 3])
def test_jpeg_is_read_the_same_way(channels, smooth, fast, alone):
    files = list(jpegs())
    found = [jpeg.decode(data, channels, 1, smooth, fast=fast) for data in files]
    alone()
    for data, image in zip(files, found):
        assert np.array_equal(jpeg.decode(data, channels, 1, smooth, fast=fast), image)


def test_the_memory_of_pillow_lives_as_long_as_the_array():
    for data in jpegs():
        height, width, channels = jpeg.read_shape(data)
        if channels == 3:
            copied = libraries.jpeg_pixels(data, "YCbCr", height, width, 1, True)
            shown = [libraries.jpeg_words(data, "YCbCr", height, width, True) for _ in range(3)]
            gc.collect()
            assert all(words is None or np.array_equal(words[..., :3], copied) for words in shown)
            assert libraries.jpeg_words(data[: len(data) // 2], "YCbCr", height, width, True) is None


@pytest.mark.native
def test_compiled_colors_give_the_same_numbers(monkeypatch):
    native, used = jpeg_colors.native(), []

    def watched(image, down):
        used.append(down)
        return native(image, down)

    files = list(jpegs())
    monkeypatch.setattr(hooks.native_jpeg_colors, "value", None)
    plain = [jpeg.decode(data, 3, fast=True) for data in files]
    monkeypatch.setattr(hooks.native_jpeg_colors, "value", watched)
    for data, image in zip(files, plain):
        assert np.array_equal(jpeg.decode(data, 3, fast=True), image)
    assert {1, 2} <= set(used)


def test_the_library_is_asked():
    data = next(jpegs())
    assert libraries.jpeg_pixels(data, "L", 1, 1, 1, True).shape == (1, 1)
    assert libraries.jpeg_pixels(data[:-20], "L", 1, 1, 1, True) is None
    assert libraries.jpeg_pixels(b"no image", "L", 1, 1, 1, True) is None
    assert libraries.png_lines(b"no lines", 3, 3, 1) is None


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("size", SIZES)
def test_png_is_read_the_same_way(size, channels, alone):
    data = png.encode(picture(*size, channels))
    found = png.decode(data, channels)
    assert np.array_equal(found, picture(*size, channels))
    alone()
    assert np.array_equal(png.decode(data, channels), found)


OPTIONS = list(itertools.product((1, 2, 4, 8), (0, 1, 3), (True, False), ("", "INTEGER_ACCURATE")))
WRITING = list(itertools.product((0, 1, 30, 95, 100), (False, True), (False, True), (False, True)))
PROGRAM = """
import pickle
files, pictures, options, writing = pickle.load(open("asked", "rb"))
read = [[tf.raw_ops.DecodeJpeg(contents=data, ratio=r, channels=c, fancy_upscaling=s, dct_method=m).numpy()
         for r, c, s, m in options] for data in files]
written = [[tf.raw_ops.EncodeJpeg(image=image, quality=q, progressive=p, optimize_size=o, x_density=72,
                                  y_density=50, chroma_downsampling=h,
                                  xmp_metadata="<x/>" if p else "").numpy()
            for q, p, o, h in writing] for image in pictures]
pickle.dump((read, written), open("found", "wb"))
print("null")
"""


@needs_tensorflow
def test_numbers_and_files_are_tensorflows(tmp_path):
    files = list(jpegs())
    pictures = [picture(*size, channels) for size in SIZES for channels in (1, 3)]
    (tmp_path / "asked").write_bytes(pickle.dumps((files, pictures, OPTIONS, WRITING)))
    tensorflow(tmp_path, PROGRAM)
    read, written = pickle.loads((tmp_path / "found").read_bytes())
    for data, images in zip(files, read):
        for (ratio, channels, smooth, method), image in zip(OPTIONS, images):
            found = jpeg.decode(data, channels, ratio, smooth, fast=method != "INTEGER_ACCURATE")
            assert np.array_equal(found, image), (ratio, channels, smooth, method)
    for image, files in zip(pictures, written):
        for (quality, progressive, optimize, halves), data in zip(WRITING, files):
            xmp = b"<x/>" if progressive else b""
            made = jpeg_encode.encode(
                image, quality, progressive, optimize, halves, density=(72, 50), xmp=xmp
            )
            assert made == data
