"""Image files in tensors: PNG, JPEG, GIF and BMP, read and written.

DecodePng, DecodeJpeg and DecodeGif read each other's formats, too: they differ in their options and in
the shape of the result.
"""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import uint8, uint16
from headrace.core.errors import InternalError, InvalidArgumentError, require
from headrace.core.shapes import make_shape
from headrace.formats.images import bmp, gif, jpeg, jpeg_encode, png
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import with_rank, with_size
from headrace.ops.declaration.shape_rules import scalar
from headrace.ops.declaration.signature import INDEX32, String, Type
from headrace.ops.declaration.traits import HOST

JPEG_OPTIONS = {
    "channels": 0,
    "ratio": 1,
    "fancy_upscaling": True,
    "try_recover_truncated": False,
    "acceptable_fraction": 1.0,
    "dct_method": "",
}


# -- what they share ----------------------------------------------------------------------------
def image_shape(contents, *, channels):
    with_rank(contents, 0)
    require(channels >= 0, f"channels must be non-negative, got {channels}")
    return make_shape((None, None, channels or None))


def content(contents):
    shape = list(contents.shape)
    require(contents.ndim == 0, f"contents must be scalar, got shape {shape}")
    return contents.item()


def is_jpeg(data):
    return data.startswith(jpeg.SIGNATURE)


def is_png(data):
    return data.startswith(png.SIGNATURE)


def is_gif(data):
    return data.startswith(gif.SIGNATURE)


def described(data):
    """What an error calls the contents."""
    for name, check in (("JPEG", is_jpeg), ("PNG", is_png), ("GIF", is_gif)):
        if check(data):
            return name
    if not data:
        return "empty file"
    start = "".join(chr(b) if 32 <= b < 127 else f"\\{b:03o}" for b in data[:16])
    return f"unknown format starting with '{start}'"


def decoded(data, channels, bits=8, **options):
    """An image [height, width, channels], or frames of a GIF."""
    require(channels in (0, 1, 3, 4), f"channels must be 0, 1, 3, or 4, got {channels}")
    kind = described(data)
    require(kind in ("JPEG", "PNG", "GIF"), f"Expected image (JPEG, PNG, or GIF), got {kind}")
    require(kind == "PNG" or bits == 8, f"{kind} does not support uint16 output")
    if kind == "JPEG":
        return decoded_jpeg(data, channels, **options)
    if kind == "PNG":
        return decoded_png(data, channels, bits)
    require(channels in (0, 3), f"channels must be 0 or 3 for GIF, got {channels}")
    try:
        return gif.decode(data)
    except ValueError as error:
        raise refused(f"Invalid GIF data (size {len(data)}), {error}") from None


def refused(message):
    return InvalidArgumentError(None, None, message)


def decoded_png(data, channels, bits):
    try:
        png.read_header(data)
    except ValueError as error:
        text = str(error)
        large = text.startswith("PNG size")
        raise refused(text if large else f"Invalid PNG header, data size {len(data)}") from None
    try:
        return png.decode(data, channels, bits)
    except ValueError:
        raise refused(f"Invalid PNG data, size {len(data)}") from None


def decoded_jpeg(data, channels, ratio=1, smooth=True, recover=False, fraction=1.0, fast=True):
    require(channels in (0, 1, 3), f"channels must be 0, 1, or 3 for JPEG, got {channels}")
    try:
        return jpeg.decode(data, channels, ratio, smooth, recover, fraction, fast)
    except ValueError:
        raise refused(f"Invalid JPEG data or crop window, data size {len(data)}") from None


def single(image):
    """One image: a GIF must have one frame."""
    if image.ndim == 3:
        return image
    require(
        len(image) == 1,
        f"Got {len(image)} frames, but animated gifs can only be decoded by tf.image.decode_gif or "
        "tf.image.decode_image",
    )
    return image[0]


# -- JPEG ---------------------------------------------------------------------------------------
def check_jpeg(ratio, dct_method):
    require(ratio in (1, 2, 4, 8), f"ratio must be 1, 2, 4, or 8, got {ratio}")
    require(
        dct_method in ("", "INTEGER_FAST", "INTEGER_ACCURATE"),
        "dct_method must be one of {'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}",
    )


@op("DecodeJpeg", "contents: string -> image: uint8", shape=image_shape, traits={HOST}, attrs=JPEG_OPTIONS)
def decode_jpeg(
    contents, *, channels, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method
):
    """An image from the bytes of a file.  dct_method: INTEGER_FAST (also if it is empty), or the
    more exact INTEGER_ACCURATE."""
    check_jpeg(ratio, dct_method)
    return single(
        decoded(
            content(contents),
            channels,
            ratio=ratio,
            smooth=fancy_upscaling,
            recover=try_recover_truncated,
            fraction=acceptable_fraction,
            fast=dct_method != "INTEGER_ACCURATE",
        )
    )


def cropped_shape(contents, crop_window, *, channels):
    image = image_shape(contents, channels=channels)
    with_size(with_rank(crop_window, 1).dim(0), 4)
    height, width = (crop_window.as_sizes or (None,) * 4)[2:]
    return make_shape((height, width, image.sizes[2]))


@op(
    "DecodeAndCropJpeg",
    "contents: string, crop_window: int32 -> image: uint8",
    shape=cropped_shape,
    traits={HOST},
    attrs=JPEG_OPTIONS,
)
def decode_and_crop_jpeg(
    contents,
    crop_window,
    *,
    channels,
    ratio,
    fancy_upscaling,
    try_recover_truncated,
    acceptable_fraction,
    dct_method,
):
    """A part of an image: crop_window is its first row and column, its height and width."""
    check_jpeg(ratio, dct_method)
    data = content(contents)
    shape = list(crop_window.shape)
    require(crop_window.ndim == 1, f"crop_window must be 1-D, got shape {shape}")
    require(len(crop_window) == 4, f"crop_size must have four elements {shape}")
    image = single(
        decoded(
            data,
            channels,
            ratio=ratio,
            smooth=fancy_upscaling,
            recover=try_recover_truncated,
            fraction=acceptable_fraction,
            fast=dct_method != "INTEGER_ACCURATE",
        )
    )
    top, left, height, width = (int(n) for n in crop_window)
    fits = top + height <= image.shape[0] and left + width <= image.shape[1]
    require(
        min(top, left) >= 0 and min(height, width) > 0 and fits,
        f"Invalid JPEG data or crop window, data size {len(data)}",
    )
    return image[top : top + height, left : left + width]


@op(
    "EncodeJpeg",
    "image: uint8 -> contents: string",
    traits={HOST},
    shape=lambda image: scalar(with_rank(image, 3)),
    attrs={
        "format": String("", "grayscale", "rgb", default=""),
        "quality": 95,
        "progressive": False,
        "optimize_size": False,
        "chroma_downsampling": True,
        "density_unit": String("in", "cm", default="in"),
        "x_density": 300,
        "y_density": 300,
        "xmp_metadata": "",
    },
)
def encode_jpeg(
    image,
    *,
    format,
    quality,
    progressive,
    optimize_size,
    chroma_downsampling,
    density_unit,
    x_density,
    y_density,
    xmp_metadata,
):
    """The bytes of a JPEG file."""
    require(0 <= quality <= 100, f"quality must be in [0,100], got {quality}")
    require(image.ndim == 3, f"image must be 3-dimensional{list(image.shape)}")
    channels = image.shape[2]
    if format:
        wanted = 1 if format == "grayscale" else 3
        require(channels == wanted, f"format {format} expects {wanted} channels, got {list(image.shape)}")
    xmp = xmp_metadata.encode() if isinstance(xmp_metadata, str) else xmp_metadata
    return encoded_jpeg(
        image,
        quality=quality,
        progressive=progressive,
        optimize=optimize_size,
        downsample=chroma_downsampling,
        density_unit=1 if density_unit == "in" else 2,
        density=(x_density, y_density),
        xmp=xmp,
    )


def encoded_jpeg(image, **options):
    require(image.shape[2] in (1, 3), f"image must have 1 or 3 channels, got {list(image.shape)}")
    try:
        return np.array(jpeg_encode.encode(image, **options), dtype=object)
    except ValueError:
        raise InternalError(None, None, "JPEG encoding failed") from None


@op(
    "EncodeJpegVariableQuality",
    "images: uint8, quality: int32 -> contents: string",
    traits={HOST},
    shape=lambda images, quality: scalar(with_rank(images, 3)),
)
def encode_jpeg_variable_quality(images, quality):
    """EncodeJpeg with the quality as an input."""
    require(images.ndim == 3, f"image must be 3-dimensional{list(images.shape)}")
    require(quality.ndim == 0, f"quality must be scalar: {list(quality.shape)}")
    require(0 <= quality <= 100, f"quality must be in [0,100], got {quality}")
    return encoded_jpeg(images, quality=int(quality))


def jpeg_shape_shape(contents):
    with_rank(contents, 0)
    return make_shape((3,))


@op(
    "ExtractJpegShape",
    "contents: string -> image_shape: output_type",
    traits={HOST},
    output_type=INDEX32,
    shape=jpeg_shape_shape,
)
def extract_jpeg_shape(contents):
    """Height, width and channels, from the header alone."""
    data = content(contents)
    try:
        return np.array(jpeg.read_shape(data))
    except ValueError:
        raise refused(f"Invalid JPEG data, size {len(data)}") from None


# -- PNG ----------------------------------------------------------------------------------------
@op(
    "DecodePng",
    "contents: string -> image: dtype",
    shape=image_shape,
    traits={HOST},
    attrs={"channels": 0, "dtype": Type((uint8, uint16), default=uint8)},
)
def decode_png(contents, *, channels, dtype):
    """An image from the bytes of a file, in 8 or 16 bits."""
    return single(decoded(content(contents), channels, 16 if dtype is uint16 else 8))


@op(
    "EncodePng",
    "image: T -> contents: string",
    traits={HOST},
    compression=-1,
    T=Type((uint8, uint16), default=uint8),
    shape=lambda image: scalar(with_rank(image, 3)),
)
def encode_png(image, *, compression):
    """The bytes of a PNG file; compression is zlib's level, -1 its default."""
    require(-1 <= compression <= 9, f"compression should be in [-1,9], got {compression}")
    require(image.ndim == 3, f"image must be 3-dimensional{list(image.shape)}")
    channels = image.shape[2]
    require(1 <= channels <= 4, f"image must have 1, 2, 3, or 4 channels, got {list(image.shape)}")
    if not image.size:
        raise InternalError(None, None, "PNG encoding failed")
    return np.array(png.encode(image, compression), dtype=object)


# -- GIF, BMP -------------------------------------------------------------------------------------
def frames_shape(contents):
    with_rank(contents, 0)
    return make_shape((None, None, None, 3))


@op("DecodeGif", "contents: string -> image: uint8", shape=frames_shape, traits={HOST})
def decode_gif(contents):
    """All frames [frames, height, width, 3]; a frame is laid over the one before it."""
    image = decoded(content(contents), 3)
    return image if image.ndim == 4 else image[None]


@op("DecodeBmp", "contents: string -> image: uint8", channels=0, shape=image_shape, traits={HOST})
def decode_bmp(contents, *, channels):
    """An image from the bytes of an uncompressed BMP file."""
    require(channels in (0, 1, 3, 4), f"channels must be 0, 1, 3 or 4, got {channels}")
    try:
        return bmp.decode(content(contents), channels)
    except ValueError as error:
        raise refused(str(error)) from None


for _op in (
    decode_jpeg,
    decode_and_crop_jpeg,
    encode_jpeg,
    encode_jpeg_variable_quality,
    extract_jpeg_shape,
    decode_png,
    encode_png,
    decode_gif,
    decode_bmp,
):
    _op.no_gradient()


# -- samples --------------------------------------------------------------------------------------
def text(data):
    return np.array(data, dtype=object)


def picture(rng, channels=3):
    ramp = np.add.outer(np.arange(20) * 5, np.arange(26) * 4)[..., None] * np.arange(1, channels + 1)
    return (ramp % 256).astype(np.uint8)


@decode_jpeg.samples
def _(rng):
    data = text(jpeg_encode.encode(picture(rng)))
    for chosen in ({}, {"channels": 1}, {"ratio": 2}, {"fancy_upscaling": False}):
        yield Sample(data, **chosen)
    yield Sample(text(jpeg_encode.encode(picture(rng), progressive=True)))
    yield Sample(text(png.encode(picture(rng))), note="a PNG")
    yield ErrorSample(text(b"nonsense"), raises="got unknown format starting with 'nonsense'")
    yield ErrorSample(text(data.item()[:200]), raises="Invalid JPEG data or crop window")


@decode_and_crop_jpeg.samples
def _(rng):
    data = text(jpeg_encode.encode(picture(rng)))
    yield Sample(data, np.array([3, 5, 7, 9], np.int32))
    yield ErrorSample(data, np.array([3, 5, 70, 9], np.int32), raises="crop window")


@encode_jpeg.samples
def _(rng):
    for chosen in (
        {},
        {"quality": 20},
        {"progressive": True},
        {"optimize_size": True},
        {"chroma_downsampling": False, "xmp_metadata": "text"},
    ):
        yield Sample(picture(rng), **chosen)
    yield Sample(picture(rng, 1), format="grayscale")
    yield ErrorSample(picture(rng, 2), raises="image must have 1 or 3 channels")


@encode_jpeg_variable_quality.samples
def _(rng):
    yield Sample(picture(rng), np.int32(50))


@extract_jpeg_shape.samples
def _(rng):
    yield Sample(text(jpeg_encode.encode(picture(rng))))
    yield ErrorSample(text(b""), raises="Invalid JPEG data")


@decode_png.samples
def _(rng):
    for channels in (1, 2, 3, 4):
        data = text(png.encode(picture(rng, channels)))
        for wanted in (0, 1, 3, 4):
            yield Sample(data, channels=wanted)
    yield Sample(data, dtype=uint16)
    yield ErrorSample(text(b""), raises="got empty file")
    yield ErrorSample(text(data.item()[:60]), raises="Invalid PNG")


@encode_png.samples
def _(rng):
    for channels in (1, 2, 3, 4):
        yield Sample(picture(rng, channels))
        yield Sample(picture(rng, channels).astype(np.uint16) * 99, compression=9)
    yield ErrorSample(picture(rng)[:0], raises="PNG encoding failed")


@decode_gif.samples
def _(rng):
    # Two frames of two colours; the second one covers the right pixel alone.
    colors = bytes([10, 20, 30, 200, 100, 50])
    head = b"GIF89a" + bytes([2, 0, 1, 0, 0x80, 0, 0]) + colors
    first = b"\x2c" + bytes([0, 0, 0, 0, 2, 0, 1, 0, 0]) + b"\x02\x02\x44\x0a\x00"
    second = b"\x2c" + bytes([1, 0, 0, 0, 1, 0, 1, 0, 0]) + b"\x02\x02\x44\x01\x00"
    yield Sample(text(head + first + second + b"\x3b"))
    yield ErrorSample(text(head + second + b"\x3b"), raises="first frame does not fill the canvas")


@decode_bmp.samples
def _(rng):
    pixels = bytes(range(24))
    head = b"BM" + bytes(8) + (54).to_bytes(4, "little") + (40).to_bytes(4, "little")
    size = (2).to_bytes(4, "little") + (3).to_bytes(4, "little")
    yield Sample(text(head + size + b"\x01\x00\x18\x00" + bytes(24) + pixels))
    yield ErrorSample(text(b"BM"), raises="Incomplete bmp content")
