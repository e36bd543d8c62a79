"""Grey morphology of images: tf.nn.dilation2d, erosion2d."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.functions.values.old_names import renamed
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array.reverse import reverse_v2
from headrace.ops.math import arithmetic
from headrace.ops.nn import morphology


def dilation2d(
    input: Any,
    filter: Any = None,
    strides: int | Sequence[int] | None = None,
    rates: Sequence[int] | None = None,
    padding: str | None = None,
    name: str | None = None,
    filters: Any = None,
    dilations: int | Sequence[int] | None = None,
) -> Tensor:
    """Grey dilation: the maximum of image plus filter under a window.

    Args:
      input: images [batch, height, width, channels].
      filter: [height, width, channels].
      strides: four numbers.
      rates: four numbers: how far the elements of the filter are apart.
      padding: "SAME" or "VALID".
      name: name of the node.
      filters: another name of `filter`.
      dilations: another name of `rates`.
    """
    filter = renamed("filters", filters, "filter", filter)
    rates = renamed("dilations", dilations, "rates", rates)
    return morphology.dilation2d(input, filter, strides, rates, padding, name=name)


def erosion2d(
    value: Any, kernel: Any, strides: Any, rates: Any, padding: str, name: str | None = None
) -> Tensor:
    """Grey erosion: the minimum of image minus kernel under a window.

    Args:
      value: images [batch, height, width, channels].
      kernel: [height, width, channels].
      strides: four numbers.
      rates: four numbers: how far the elements of the kernel are apart.
      padding: "SAME" or "VALID".
      name: name of the node.
    """
    with name_scope(name, "erosion2d", [value, kernel]) as scope:
        turned = reverse_v2(kernel, [0, 1])
        grown = morphology.dilation2d(arithmetic.neg(value), turned, strides, rates, padding, name=scope)
        return arithmetic.neg(grown)
