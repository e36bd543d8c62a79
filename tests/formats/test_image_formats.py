"""PNG, GIF, BMP and JPEG: what is written is read, and damaged files are refused."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest

from headrace.formats.images import bmp, gif, jpeg, jpeg_encode, png

pytestmark = pytest.mark.pure


def picture(height, width, channels, dtype=np.uint8, seed=0):
    """Smooth with some noise."""
    rng = np.random.default_rng(seed)
    ramp = np.add.outer(np.arange(height) * 3, np.arange(width) * 2)[..., None]
    noise = rng.integers(0, 9, size=(height, width, channels))
    most = np.iinfo(dtype).max
    return ((ramp * np.arange(1, channels + 1) + noise) * (most // 255) % (most + 1)).astype(dtype)


def written_png(samples, depth, color, extra=(), interlace=0, passes=None):
    """A PNG without filters, of any kind."""
    height, width = samples.shape[:2]
    raw = b""
    for part in passes or [samples]:
        for row in part:
            bits = np.unpackbits(row.astype(">u2").reshape(-1, 1).view(np.uint8), axis=1)
            raw += b"\0" + np.packbits(bits[:, 16 - depth :].reshape(-1)).tobytes()

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlace)
    chunks = [(b"IHDR", header), *extra, (b"IDAT", zlib.compress(raw)), (b"IEND", b"")]
    return png.SIGNATURE + b"".join(chunk(*c) for c in chunks)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("size", [(1, 1), (13, 7), (40, 33)])
def test_png_comes_back(channels, dtype, size):
    image = picture(*size, channels, dtype)
    bits = 8 * image.itemsize
    assert np.array_equal(png.decode(png.encode(image), 0 if channels != 2 else 2, bits), image)


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_png_of_few_bits(depth):
    samples = np.arange(35).reshape(5, 7, 1) % (1 << depth)
    found = png.decode(written_png(samples, depth, 0))
    assert np.array_equal(found, samples * (255 // ((1 << depth) - 1)))
    palette = bytes(range(3 << depth))
    found = png.decode(written_png(samples, depth, 3, [(b"PLTE", palette)]))
    assert np.array_equal(found, samples * 3 + np.arange(3))


def test_png_interlaced():
    samples = np.arange(13 * 11).reshape(13, 11, 1)
    starts = [
        (0, 0, 8, 8),
        (0, 4, 8, 8),
        (4, 0, 8, 4),
        (0, 2, 4, 4),
        (2, 0, 4, 2),
        (0, 1, 2, 2),
        (1, 0, 2, 1),
    ]
    passes = [samples[r::down, c::across] for r, c, down, across in starts]
    data = written_png(samples, 8, 0, interlace=1, passes=passes)
    assert np.array_equal(png.decode(data), samples)


@pytest.mark.parametrize(
    "gamma, narrow, wide, cut",  # what TensorFlow makes of 8 bits, of 16 bits, and of 8 bits of these
    [
        (None, [1, 124, 77, 9], [473, 31190, 19354, 2276], [1, 121, 75, 8]),
        (100_000, [1, 124, 77, 9], [473, 31190, 19354, 2276], [1, 121, 75, 8]),
        (45_455, [0, 137, 147, 9], [581, 34298, 36984, 2276], [0, 133, 144, 9]),
        (105_001, [2, 120, 73, 9], [370, 30053, 18209, 2276], [1, 117, 71, 9]),
        (20_000, [0, 159, 200, 9], [0, 39920, 50287, 2276], [0, 155, 196, 9]),
        ("sRGB", [0, 137, 147, 9], [581, 34298, 36984, 2276], [0, 133, 144, 9]),
    ],
)
def test_png_in_gray(gamma, narrow, wide, cut):
    pixels = np.array([[[1, 2, 3], [200, 100, 50], [255, 0, 7], [9, 9, 9]]])
    extra = [] if gamma is None else [(b"sRGB", b"\0")]
    if isinstance(gamma, int):
        extra = [(b"gAMA", struct.pack(">I", gamma))]
    small, large = (written_png(x, d, 2, extra) for x, d in ((pixels, 8), (pixels * 251 + 17, 16)))
    assert png.decode(small, 1)[0, :, 0].tolist() == narrow
    assert png.decode(large, 1, 16)[0, :, 0].tolist() == wide
    assert png.decode(large, 1)[0, :, 0].tolist() == cut


def test_png_transparency():
    samples = np.array([[[0], [5], [9]]])
    data = written_png(samples, 8, 0, [(b"tRNS", b"\0\5")])
    assert np.array_equal(png.decode(data, 2)[0], [[0, 255], [5, 0], [9, 255]])
    assert png.decode(data).shape == (1, 3, 1)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"progressive": True},
        {"optimize": True},
        {"downsample": False},
        {"progressive": True, "optimize": True},
        {"quality": 60},
    ],
)
@pytest.mark.parametrize("size", [(1, 1), (8, 8), (17, 30), (40, 33)])
@pytest.mark.parametrize("channels", [1, 3])
def test_jpeg_comes_back_nearly(options, size, channels):
    height, width = size
    image = np.add.outer(np.arange(height), np.arange(width))[..., None] + np.arange(channels) * 9
    image = (100 + image).astype(np.uint8)
    data = jpeg_encode.encode(image, **options)
    found = jpeg.decode(data)
    assert jpeg.read_shape(data) == image.shape == found.shape
    assert np.abs(found.astype(int) - image).mean() < 3


def test_jpeg_progressive_and_sequential_hold_the_same_numbers():
    image = picture(37, 41, 3)
    plain, slow = (jpeg.decode(jpeg_encode.encode(image, progressive=p)) for p in (False, True))
    assert np.array_equal(plain, slow)


def test_jpeg_smaller():
    image = np.full((40, 48, 3), 77, np.uint8)
    for ratio in (2, 4, 8):
        found = jpeg.decode(jpeg_encode.encode(image), ratio=ratio)
        assert found.shape == (40 // ratio, 48 // ratio, 3)
        assert np.abs(found.astype(int) - 77).max() <= 1


def test_jpeg_truncated():
    data = jpeg_encode.encode(picture(64, 64, 3))
    half = data[: len(data) // 2]
    with pytest.raises(ValueError, match="Premature end"):
        jpeg.decode(half)
    part = jpeg.decode(half, acceptable_fraction=0.1)
    assert part.shape == (64, 64, 3) and part[:8].any() and not part[-8:].any()
    assert jpeg.decode(half, recover=True).shape == (64, 64, 3)


def lzw(indices, size):
    """GIF's codes without any compression: clear before the code grows."""
    clear, codes = 1 << size, []
    for i, index in enumerate(indices):
        if i % ((1 << size) - 2) == 0:
            codes.append(clear)
        codes.append(index)
    codes.append(clear + 1)
    total = 0
    for i, code in enumerate(codes):
        total |= code << (i * (size + 1))
    return total.to_bytes((len(codes) * (size + 1) + 7) // 8, "little")


def written_gif(frames, width, height, colors, interlace=False):
    data = b"GIF89a" + struct.pack("<HHBBB", width, height, 0x81, 0, 0) + colors
    for left, top, index in frames:
        data += b"\x2c" + struct.pack(
            "<HHHHB", left, top, index.shape[1], index.shape[0], 0x40 if interlace else 0
        )
        body = lzw(index.reshape(-1).tolist(), 2)
        data += b"\2" + b"".join(
            bytes([len(body[i : i + 255])]) + body[i : i + 255] for i in range(0, len(body), 255)
        )
        data += b"\0"
    return data + b"\x3b"


def test_gif_frames_lie_over_each_other():
    colors = np.arange(12, dtype=np.uint8).reshape(4, 3)
    whole, patch = np.arange(12).reshape(3, 4) % 4, np.array([[3, 3]])
    found = gif.decode(written_gif([(0, 0, whole), (1, 2, patch)], 4, 3, colors.tobytes()))
    over = whole.copy()
    over[2, 1:3] = 3
    assert np.array_equal(found, colors[np.stack([whole, over])])


def test_gif_interlaced():
    colors = np.arange(12, dtype=np.uint8).reshape(4, 3)
    index = np.arange(22).reshape(11, 2) % 4
    order = [0, 8, 4, 2, 6, 10, 1, 3, 5, 7, 9]
    data = written_gif([(0, 0, index[order])], 2, 11, colors.tobytes(), interlace=True)
    assert np.array_equal(gif.decode(data)[0], colors[index])


def test_bmp_bottom_up_and_top_down():
    rows = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    body = b"".join(row[:, ::-1].tobytes() + bytes(3) for row in rows)
    for height, wanted in ((2, rows[::-1]), (-2, rows)):
        head = b"BM" + bytes(8) + struct.pack("<iiiihh", 54, 40, 3, height, 1, 24) + bytes(24)
        assert np.array_equal(bmp.decode(head + body), wanted)


@pytest.mark.parametrize("name", ["png", "jpeg", "progressive", "gif"])
def test_damage_is_a_value_error(name):
    image = picture(24, 20, 3)
    data, decode = {
        "png": (png.encode(image), png.decode),
        "jpeg": (jpeg_encode.encode(image), jpeg.decode),
        "progressive": (jpeg_encode.encode(image, progressive=True), jpeg.decode),
        "gif": (written_gif([(0, 0, image[..., 0] % 4)], 20, 24, bytes(12)), gif.decode),
    }[name]
    rng = np.random.default_rng(0)
    for _ in range(300):
        bad = bytearray(data)
        for _ in range(int(rng.integers(1, 4))):
            bad[rng.integers(len(bad))] = rng.integers(256)
        bad = bytes(bad[: rng.integers(1, len(bad) + 1)])
        try:
            decode(bad)
        except ValueError:
            pass
