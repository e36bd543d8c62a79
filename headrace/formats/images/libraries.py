"""Pillow's coders of JPEG and PNG, where it is installed (`pip install headrace[image]`): they are libjpeg's
and zlib's, and run outside of the interpreter's lock.

They only give raw numbers; what an image means (colours, sampling, missing parts) is decided by our own
readers.  None: there is no Pillow, or it does not like the data, and our own code has the last word.
"""

from __future__ import annotations

import ctypes
import importlib
import io
from functools import cache
from typing import Any

import numpy as np

from headrace.core import options

_pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_REFUSALS = (ValueError, OSError, TypeError, SystemError, KeyError, AttributeError)


@cache
def _pillow() -> Any:
    """PIL.Image, or None."""
    if "pillow" in options.without():
        return None
    try:
        return importlib.import_module("PIL.Image")
    except ImportError:
        return None


def _decoded(mode: str, height: int, width: int, data: bytes, *how: Any) -> Any:
    pillow = _pillow()
    if pillow is None:
        return None
    try:
        return np.asarray(pillow.frombytes(mode, (width, height), data, *how))
    except _REFUSALS:
        return None


def jpeg_pixels(data: bytes, mode: str, height: int, width: int, ratio: int, is_fast: bool) -> Any:
    """A JPEG as "RGB", "YCbCr" or "L".  `height` and `width`: those of the result.  `is_fast`: the less exact
    transform, and colours that are repeated instead of interpolated."""
    return _decoded(mode, height, width, data, "jpeg", mode, "", ratio, int(is_fast))


class _ArrowArray(ctypes.Structure):
    """Arrow's C interface, by which Pillow shows the memory of an image."""


_ArrowArray._fields_ = [
    *[(name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")],
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_ArrowArray))),
    *[(name, ctypes.c_void_p) for name in ("dictionary", "release", "private_data")],
]


def jpeg_words(data: bytes, mode: str, height: int, width: int, is_fast: bool) -> Any:
    """A JPEG of full size as [height, width, 4]: "RGB" or "YCbCr", and a byte that says nothing.  The memory
    is Pillow's own, so that nothing is copied."""
    pillow = _pillow()
    if pillow is None:
        return None
    try:
        image = pillow.core.new_block(mode, (width, height))
        decoder = pillow._getdecoder(mode, "jpeg", (mode, "", 1, int(is_fast)))
        decoder.setimage(image, None)
        rest, fault = decoder.decode(data)
        shown = image.__arrow_c_array__()
    except _REFUSALS:
        return None
    if rest >= 0 or fault:
        return None
    array = _ArrowArray.from_address(_pointer_in(shown, b"arrow_array"))
    if array.length != height * width or array.n_children != 1:
        return None
    octets: Any = (ctypes.c_uint8 * (4 * height * width)).from_address(array.children[0].contents.buffers[1])
    octets.shown = shown  # as long as the array is used
    return np.frombuffer(octets, np.uint8).reshape(height, width, 4)


def jpeg_file(
    image: Any, quality: int, is_progressive: bool, is_optimized: bool, halves: bool
) -> bytes | None:
    """The JPEG of [height, width, 1 or 3] bytes; `halves`: colours at half the height and width."""
    pillow = _pillow()
    if pillow is None:
        return None
    file = io.BytesIO()
    try:
        pillow.fromarray(np.ascontiguousarray(image[..., 0] if image.shape[2] == 1 else image)).save(
            file,
            "JPEG",
            quality=max(quality, 1),
            progressive=is_progressive,
            optimize=is_optimized,
            subsampling=2 if halves else 0,
        )
    except _REFUSALS:
        return None
    return file.getvalue()


_OF_BYTES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}  # PNG's filters look at whole pixels, of so many bytes


def png_lines(packed: bytes, height: int, stride: int, step: int) -> Any:
    """Lines of `stride` bytes, unpacked and without their filters; `step`: bytes of a pixel."""
    mode = _OF_BYTES.get(step)
    if mode is None or stride % step:
        return None
    found = _decoded(mode, height, stride // step, packed, "zip", mode, 0)
    return None if found is None else found.reshape(height, stride)
