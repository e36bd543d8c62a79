"""What cells of tf.contrib.rnn share: linear maps, normalisation and split weights, with the variable
names of TF1's checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.contrib.layers.norms import layer_norm
from headrace.functions.array.stacking import concat
from headrace.functions.linalg.linalg import matmul
from headrace.functions.nn.activation import bias_add
from headrace.functions.values import nest
from headrace.layers.rnn.rnn_cells import BIAS, KERNEL
from headrace.variables.initializers.initializers import Constant
from headrace.variables.scope import get_variable, get_variable_scope, variable_scope


def depths_of(args: list[Any]) -> list[int]:
    """The sizes of the rows of matrices, which must be known."""
    shapes = [x.shape for x in args]
    if any(shape.rank != 2 for shape in shapes):
        raise ValueError(f"linear is expecting 2D arguments: {shapes}")
    for shape in shapes:
        if shape.dim(1) is None:
            raise ValueError(
                f"linear expects shape[1] to be provided for shape {shape}, but saw {shape.dim(1)}"
            )
    return [shape.dim(1) for shape in shapes]


def linear(
    args: Any,
    output_size: int,
    bias: bool = True,
    bias_initializer: Callable[..., Any] | None = None,
    kernel_initializer: Callable[..., Any] | None = None,
) -> Any:
    """Matrices side by side times a kernel, plus a bias, in the current variable scope."""
    if args is None or (nest.is_sequence(args) and not args):
        raise ValueError("`args` must be specified")
    args = args if nest.is_sequence(args) else [args]
    dtype = args[0].dtype
    kernel = get_variable(
        KERNEL, [sum(depths_of(args)), output_size], dtype=dtype, initializer=kernel_initializer
    )
    added = whole_bias(output_size, dtype, bias_initializer) if bias else None
    product = matmul(args[0] if len(args) == 1 else concat(args, 1), kernel)
    return product if added is None else bias_add(product, added)


def whole_bias(size: int, dtype: Any, initializer: Any = None) -> Any:
    """The variable "bias", zero unless something else is said, of one part whatever the partitioner says."""
    with variable_scope(get_variable_scope()) as scope:
        scope.set_partitioner(None)
        initializer = Constant(0.0, dtype=dtype) if initializer is None else initializer
        return get_variable(BIAS, [size], dtype=dtype, initializer=initializer)


def normalized(x: Any, scope: str, gain: float, shift: float) -> Any:
    """Layer normalisation whose gamma and beta begin with given values."""
    size = x.shape.sizes[-1:]
    with variable_scope(scope):
        for name, start in (("gamma", gain), ("beta", shift)):
            get_variable(name, size, dtype=x.dtype, initializer=Constant(start))
    return layer_norm(x, reuse=True, scope=scope)


def split_weights(name: str, shape: list[int], dtype: Any, parts: int) -> Any:
    """A matrix whose rows are kept in variables `name_0`, `name_1`, ...; their join where there are
    several.

    Raises:
      ValueError: there are fewer rows than parts.
    """
    rows, rest = divmod(shape[0], parts)
    if not rows:
        raise ValueError(f"Too many shards: shape={shape}, num_shards={parts}")
    sizes = [rows + (i < rest) for i in range(parts)]
    found = [get_variable(f"{name}_{i}", [size, *shape[1:]], dtype=dtype) for i, size in enumerate(sizes)]
    return found[0] if parts == 1 else concat(found, 0, name=f"{name}/concat")


def known_depth(inputs: Any) -> int:
    """The size of a row of a cell's inputs.

    Raises:
      ValueError: it is not known.
    """
    depth: int | None = inputs.shape.with_rank(2).dim(1)
    if depth is None:
        raise ValueError("Could not infer input size from inputs.get_shape()[-1]")
    return depth
