"""ScaleAndTranslate: images scaled, shifted and filtered; and its gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.dtypes import float32
from headrace.core.errors import require
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.precision import widen
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.image.resample import KERNELS, apply, apply_back, spans
from headrace.ops.image.resize import PIXELS_AND_BFLOAT, checked_size, resize_shape

OPTIONS: dict[str, Any] = {"kernel_type": "lanczos3", "antialias": True}


def pair(name, values):
    require(values.ndim == 1, f"{name} must be 1-dimensional{list(values.shape)}")
    require(len(values) == 2, f"{name} must have two elements{list(values.shape)}")
    return values


def checked(scale, translation, kernel_type):
    require(kernel_type in KERNELS, f"Unrecognized kernel type: {kernel_type}")
    scale, translation = pair("scale", scale), pair("translation", translation)
    require(scale.min() > 0, "Scale must be greater than zero.")
    return scale, translation


def taps_of(sizes, out, scale, translation, kernel_type, antialias):
    """Taps along height and width."""
    scale, translation = checked(scale, translation, kernel_type)
    return [spans(n, m, s, t, kernel_type, antialias) for n, m, s, t in zip(sizes, out, scale, translation)]


@op(
    "ScaleAndTranslate",
    "images: T, size: int32, scale: float32, translation: float32 -> resized_images: float32",
    shape=lambda images, size, scale, translation: resize_shape(images, size),
    T=PIXELS_AND_BFLOAT,
    **OPTIONS,
)
def scale_and_translate(images, size, scale, translation, *, kernel_type, antialias):
    """Pixel (y, x) goes to scale * (y, x) + translation; `size` is cut out, filtered by a kernel
    (lanczos1, lanczos3, lanczos5, gaussian, box, triangle, keyscubic, mitchellcubic)."""
    out = checked_size(images, size)
    return apply(widen(images), *taps_of(images.shape[1:3], out, scale, translation, kernel_type, antialias))


@scale_and_translate.gradient
def _(node, dy):
    images, _, scale, translation = node.inputs
    given = {name: node.attrs[name] for name in OPTIONS}
    if images.dtype.base is not float32:
        return None, None, None, None
    return scale_and_translate_grad(dy, images, scale, translation, **given), None, None, None


def cases():
    for kernel in KERNELS:
        yield (4, 9), (0.8, 1.5), (0.0, 0.25), {"kernel_type": kernel}
    yield (3, 2), (0.5, 0.3), (-1.0, 2.0), {"antialias": False}


@scale_and_translate.samples
def _(rng):
    x = rng.uniform(0, 9, size=(2, 5, 6, 2)).astype(np.float32)
    for size, scale, shift, chosen in cases():
        size, scale, shift = np.array(size, np.int32), np.array(scale, "f4"), np.array(shift, "f4")
        yield Sample(x, size, scale, shift, **chosen, grad=False)
    yield ErrorSample(x, size, scale * 0, shift, raises="Scale must be greater than zero")
    yield ErrorSample(x, size, scale, shift, kernel_type="x", raises="Unrecognized kernel type")


@op(
    "ScaleAndTranslateGrad",
    "grads: T, original_image: T, scale: float32, translation: float32 -> output: T",
    shape=lambda grads, original, scale, translation: original.plain(),
    T=(float32,),
    **OPTIONS,
)
def scale_and_translate_grad(grads, original_image, scale, translation, *, kernel_type, antialias):
    """The gradient of ScaleAndTranslate with respect to its images."""
    require(grads.ndim == 4, f"input_grad must be 4-dimensional{list(grads.shape)}")
    require(original_image.ndim == 4, f"original_image must be 4-dimensional{list(original_image.shape)}")
    sizes = original_image.shape[1:3]
    if not original_image.size:
        checked(scale, translation, kernel_type)
        return np.zeros_like(original_image)
    rows, columns = taps_of(sizes, grads.shape[1:3], scale, translation, kernel_type, antialias)
    return apply_back(grads, rows, columns, *sizes, np.float32)


@scale_and_translate_grad.samples
def _(rng):
    x = rng.uniform(0, 9, size=(2, 5, 6, 2)).astype(np.float32)
    for size, scale, shift, chosen in cases():
        dy = rng.normal(size=(2, *size, 2)).astype(np.float32)
        yield Sample(dy, x, np.array(scale, "f4"), np.array(shift, "f4"), **chosen, grad=False)
        yield Sample(dy, x[:, :0], np.array(scale, "f4"), np.array(shift, "f4"), **chosen, note="no image")
    one = np.ones(1, np.float32)
    yield ErrorSample(dy, x[:, :0], np.array(scale, "f4"), one, raises="must have two elements")
