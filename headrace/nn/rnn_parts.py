"""What recurrent loops share: what counts as a cell, sizes, types, and one step of sequences that
have ended or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.shapes import Shape, as_shape
from headrace.functions.array.array import expand_dims, shape, zeros
from headrace.functions.array.indexing import where
from headrace.functions.array.stacking import concat
from headrace.functions.control.cond import cond
from headrace.functions.control.tensor_array import TensorArray
from headrace.functions.platform.scopes import colocate_with
from headrace.functions.values import nest
from headrace.graph.defaults import get_default_graph
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.declaration.constants import constant_value


def assert_like_rnncell(cell_name: str, cell: Any) -> None:
    """Refuse what is not a cell: sizes, a first state, and a call."""
    wanted = (
        (hasattr(cell, "output_size"), "'output_size' property is missing"),
        (hasattr(cell, "state_size"), "'state_size' property is missing"),
        (
            hasattr(cell, "zero_state") or hasattr(cell, "get_initial_state"),
            "either 'zero_state' or 'get_initial_state' method is required",
        ),
        (callable(cell), "is not callable"),
    )
    missing = [message for holds, message in wanted if not holds]
    if missing:
        raise TypeError(f"The argument {cell_name!r} ({cell}) is not an RNNCell: {', '.join(missing)}.")


def is_keras_cell(cell: Any) -> bool:
    """A layer that keeps its state in a list, and has no zero_state."""
    return getattr(cell, "zero_state", None) is None and hasattr(cell, "add_weight")


def first_state(cell: Any, batch_size: Any, dtype: Any) -> Any:
    make = getattr(cell, "get_initial_state", None)
    if make is not None:
        return make(inputs=None, batch_size=batch_size, dtype=dtype)
    return cell.zero_state(batch_size, dtype)


# -- sizes ----------------------------------------------------------------------------------------
def joined_sizes(prefix: Any, suffix: Any) -> Tensor:
    """Sizes one after the other, as a vector.  Each is a tensor, a number, or a shape."""
    parts = [_vector(x, word) for x, word in ((prefix, "prefix"), (suffix, "suffix"))]
    if any(part is None for part in parts):
        raise ValueError(f"Provided a prefix or suffix of None: {prefix} and {suffix}")
    result: Tensor = concat(parts, 0)
    return result


def _vector(sizes: Any, word: str) -> Any:
    if isinstance(sizes, Tensor):
        if sizes.shape.rank == 0:
            return expand_dims(sizes, 0)
        if sizes.shape.rank != 1:
            raise ValueError(f"{word} tensor must be either a scalar or vector, but saw tensor: {sizes}")
        return sizes
    known = as_shape(sizes)
    return constant(known.as_list(), dtypes.int32) if known.is_full else None


def static_sizes(prefix: Any, suffix: Any) -> Shape:
    """What is known of them."""
    return _known(prefix).concatenate(_known(suffix))


def _known(sizes: Any) -> Shape:
    if isinstance(sizes, Tensor):
        value = constant_value(sizes)
        if value is None:
            return Shape(None)
        return Shape(value.ravel().tolist())
    return as_shape(sizes)


def static_shape(size: Any) -> Any:
    """A size that may be a tensor, as a shape."""
    return as_shape(constant_value(size)) if isinstance(size, Tensor) else size


def zero_states(state_size: Any, batch_size: Any, dtype: Any) -> Any:
    """A structure of zeros: one row of `state_size` for every member of the batch."""

    def make(size: Any) -> Tensor:
        state = zeros(joined_sizes(batch_size, size), dtype=dtype)
        for sizes, word in ((batch_size, "prefix"), (size, "suffix")):
            _vector(sizes, word)  # 1.15 makes these nodes twice, and later names count them
        state.set_shape(static_sizes(batch_size, size))
        return state

    return nest.map_structure(make, state_size)


def batch_size_of(flat_input: Sequence[Tensor]) -> Any:
    """The second dimension of inputs whose first is time: a number if one of them tells."""
    for tensor in flat_input:
        if tensor.shape.rank is None:
            continue
        if tensor.shape.rank < 2:
            raise ValueError(f"Expected input tensor {tensor} to have rank at least 2")
        size = tensor.shape.dim(1)
        if size is not None:
            return size
    return shape(flat_input[0])[1]


def state_type(dtype: Any, state: Any) -> Any:
    """The type of outputs: given, or that of the state."""
    if dtype is not None:
        return dtype
    if not nest.is_sequence(state):
        return state.dtype
    found = [part.dtype for part in nest.flatten(state)]
    if not found:
        raise ValueError("Unable to infer dtype from empty state.")
    if any(other != found[0] for other in found):
        raise ValueError(
            "State has tensors of different inferred_dtypes. Unable to infer a single representative dtype."
        )
    return found[0]


def cache_reads(scope: Any) -> None:
    """Outside of loops: variables of a scope are read once, beside their user."""
    context = get_default_graph()._get_control_flow_context()
    in_loop = context is not None and context.while_context() is not None
    if not in_loop and scope.caching_device is None:
        scope.set_caching_device(lambda node: node.device)


# -- one step -------------------------------------------------------------------------------------
def select_rows(chosen: Tensor, old: Any, new: Any) -> Any:
    """Rows of `old` where chosen; arrays and scalars have no rows, and are new."""
    if isinstance(old, TensorArray) or old.shape.rank == 0:
        return new
    with colocate_with(new):
        return where(chosen, old, new)


def step(
    time: Any,
    sequence_length: Tensor,
    shortest: Tensor,
    longest: Tensor,
    zero_output: Any,
    state: Any,
    call_cell: Callable[[], Any],
    skip_conditionals: bool = False,
) -> tuple[Any, Any]:
    """Output and state after one step: a sequence that has ended gives zeros and keeps its state."""
    flat_state, flat_zero = nest.flatten(state), nest.flatten(zero_output)
    ended = time >= sequence_length

    def called() -> tuple[list[Any], list[Any]]:
        output, new_state = call_cell()
        nest.assert_same_structure(zero_output, output)
        nest.assert_same_structure(state, new_state)
        return nest.flatten(new_state), nest.flatten(output)

    def some(new_state: list[Any], output: list[Any]) -> list[Any]:
        outputs = [select_rows(ended, zero, new) for zero, new in zip(flat_zero, output)]
        return outputs + [select_rows(ended, old, new) for old, new in zip(flat_state, new_state)]

    def all_or_some() -> Any:
        new_state, output = called()
        return cond(time < shortest, lambda: output + new_state, lambda: some(new_state, output))

    if skip_conditionals:
        final = some(*called())
    else:
        final = cond(time >= longest, lambda: flat_zero + flat_state, all_or_some)
    outputs, states = final[: len(flat_zero)], final[len(flat_zero) :]
    for new, old in zip(final, flat_zero + flat_state):
        if not isinstance(new, TensorArray):
            new.set_shape(old.shape)
    return nest.pack_sequence_as(zero_output, outputs), nest.pack_sequence_as(state, states)
