"""tf.hessians: second derivatives, row by row, in a loop."""

from __future__ import annotations

from typing import Any

from headrace.autodiff.gradients import gradients
from headrace.functions.array.array import reshape, shape, size
from headrace.functions.array.stacking import concat
from headrace.functions.control.tensor_array import TensorArray
from headrace.functions.control.while_loop import while_loop
from headrace.ops.array.constant import constant


def hessians(
    ys: Any,
    xs: Any,
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
) -> list[Any]:
    """The Hessian of sum(ys) with respect to each of xs.

    Args:
      ys: a tensor or a list of tensors.
      xs: a tensor or a list of tensors.
      name: not used.
      colocate_gradients_with_ops, gate_gradients, aggregation_method: as for tf.gradients.

    Returns: a list like xs: for an x of shape s a tensor of shape s + s.

    Raises:
      LookupError: an op on the way has no gradient.
    """
    xs = list(xs) if isinstance(xs, (list, tuple)) else [xs]
    options: dict[str, Any] = {
        "colocate_gradients_with_ops": colocate_gradients_with_ops,
        "gate_gradients": gate_gradients,
        "aggregation_method": aggregation_method,
    }
    return [_hessian(first, x) for first, x in zip(gradients(ys, xs, **options), xs)]


def _hessian(first: Any, x: Any) -> Any:
    """`first` is the gradient of x."""
    first = reshape(first, [-1])
    count = size(x)

    def row(i: Any, rows: TensorArray) -> Any:
        return i + 1, rows.write(i, gradients(first[i], x)[0])

    _, rows = while_loop(lambda i, _: i < count, row, [constant(0), TensorArray(x.dtype, count)])
    sizes = shape(x)
    return reshape(rows.stack(), concat((sizes, sizes), 0))
