"""scipy.misc's functions for images, on Pillow."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.modules import late

Image = late("PIL.Image")
_FILTERS = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "cubic": 3}


def imread(name: Any, flatten: bool = False, mode: str | None = None) -> Any:
    """The image of a file as an array."""
    with Image.open(name) as image:
        return fromimage(image, flatten, mode)


def fromimage(im: Any, flatten: bool = False, mode: str | None = None) -> Any:
    if mode is not None and mode != im.mode:
        im = im.convert(mode)
    elif im.mode == "P":
        im = im.convert("RGBA" if "transparency" in im.info else "RGB")
    if flatten:
        im = im.convert("F")
    return np.array(im)


def toimage(
    arr: Any, high: int = 255, low: int = 0, cmin: Any = None, cmax: Any = None, mode: str | None = None
) -> Any:
    """An image of an array, whose range becomes that of octets unless it is octets."""
    data = np.asarray(arr)
    if data.dtype != np.uint8:
        least = data.min() if cmin is None else cmin
        most = data.max() if cmax is None else cmax
        scale = (high - low) / ((most - least) or 1)
        data = np.clip((data - least) * scale + low + 0.5, low, high).astype(np.uint8)
    if data.ndim == 3 and data.shape[0] in (3, 4) and data.shape[2] not in (3, 4):
        data = np.moveaxis(data, 0, -1)
    image = Image.fromarray(data)
    return image if mode is None else image.convert(mode)


def imsave(name: Any, arr: Any, format: str | None = None) -> None:
    toimage(arr).save(name, format)


def imresize(arr: Any, size: Any, interp: str = "bilinear", mode: str | None = None) -> Any:
    """The array's image in another size: a percentage, a fraction, or (height, width)."""
    image = toimage(arr, mode=mode)
    if isinstance(size, int):
        wanted = tuple(int(side * size / 100) for side in image.size)
    elif isinstance(size, float):
        wanted = tuple(int(side * size) for side in image.size)
    else:
        wanted = (int(size[1]), int(size[0]))
    return fromimage(image.resize(wanted, resample=_FILTERS[interp]))
