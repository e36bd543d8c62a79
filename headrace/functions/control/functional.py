"""Folds and scans over rows, as loops over tensor arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core import hooks
from headrace.core.families import named
from headrace.functions.array.array import shape
from headrace.functions.control.map_fn import flattened, packed, stacked
from headrace.functions.control.tensor_array import TensorArray
from headrace.functions.control.while_loop import while_loop
from headrace.functions.values import nest
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.declaration.convert import convert_to_tensor

Step = Callable[[Any, Any], Any]


def _fold(
    called: str, first_sentence: str, first_row: str, run: Callable[..., Any], example: str = ""
) -> Any:
    """A function that folds; `run` says where to start, and what a step and its condition are."""

    @named(
        called,
        f"""{first_sentence}

    Args:
      fn: takes what was computed so far and a row of `elems`.
      elems: a tensor, or a nested structure of tensors with equal first dimensions.
      initializer: what to start from; the {first_row} row if not given.
      parallel_iterations: how many calls may overlap.
      back_prop: gradients may be asked for.
      swap_memory: accepted; everything is in main memory already.
      name: a scope for the nodes.

    Raises:
      TypeError: `fn` is not callable.{example}
    """,
    )
    def function(
        fn: Step,
        elems: Any,
        initializer: Any = None,
        parallel_iterations: int = 10,
        back_prop: bool = True,
        swap_memory: bool = False,
        name: str | None = None,
    ) -> Any:
        _check(fn)
        with name_scope(name, called, nest.flatten(elems)), hooks.cached_reads.value():
            count, rows = _rows(elems)

            def row(i: Any) -> Any:
                return nest.map_structure(lambda a: a.read(i), rows)

            start, going, step = run(fn, count, row, initializer)
            options = (parallel_iterations, back_prop, swap_memory)
            return while_loop(going, step, start, None, *options, maximum_iterations=count)[1]

    return function


def _forwards(fn: Step, count: Any, row: Callable[[Any], Any], initializer: Any) -> Any:
    if initializer is None:
        initializer, start = row(0), constant(1)
    else:
        start = constant(0)

    def step(i: Tensor, value: Any) -> Any:
        value = fn(value, row(i))
        return [i + 1, value]

    return [start, initializer], lambda i, _: i < count, step


def _backwards(fn: Step, count: Any, row: Callable[[Any], Any], initializer: Any) -> Any:
    start = count
    if initializer is None:
        start = count - 1
        initializer = row(start)

    def step(i: Tensor, value: Any) -> Any:
        i = i - 1
        return [i, fn(value, row(i))]

    return [start, initializer], lambda i, _: i > 0, step


foldl = _fold(
    "foldl",
    "fn(...fn(fn(initializer, row 0), row 1)..., last row).",
    "first",
    _forwards,
    """

    Example:
      >>> tf.foldl(lambda a, x: a + x, tf.constant([1, 2, 3]))        # 6""",
)
foldr = _fold("foldr", "Like foldl, from the last row to the first.", "last", _backwards)


def scan(
    fn: Step,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """All values that a fold goes through, stacked.

    Args:
      fn: takes what was computed so far and a row of `elems`; returns the structure of
        `initializer`, or of `elems` where that is not given.
      elems: a tensor, or a nested structure of tensors with equal first dimensions.
      initializer: what to start from; not given, the first row is the first value.
      parallel_iterations: how many calls may overlap.
      back_prop: gradients may be asked for.
      swap_memory: accepted; everything is in main memory already.
      infer_shape: all values have one shape.
      reverse: from the last row to the first; value i is still at row i.
      name: a scope for the nodes.

    Raises:
      TypeError: `fn` is not callable, or its result has another structure.
      ValueError: the structures have different lengths.

    Example:
      >>> tf.scan(lambda a, x: a + x, tf.constant([1, 2, 3]))        # [1, 3, 6]
    """
    _check(fn)
    form = elems if initializer is None else initializer
    flat = flattened(elems, elems)
    with name_scope(name, "scan", flat), hooks.cached_reads.value():
        flat = [convert_to_tensor(elem, name="elem") for elem in flat]
        count = flat[0].shape[0].value
        if count is None:
            count = shape(flat[0])[0]
        sources = [TensorArray(t.dtype, count, False, element_shape=t.shape[1:]).unstack(t) for t in flat]
        first = count - 1 if reverse else 0
        if initializer is None:
            values = [source.read(first) for source in sources]
        else:
            values = [convert_to_tensor(t) for t in flattened(initializer, initializer)]
        results = [
            TensorArray(
                t.dtype, count, False, element_shape=t.shape if infer_shape else None, infer_shape=infer_shape
            )
            for t in values
        ]
        if initializer is None:
            results = [out.write(first, value) for out, value in zip(results, values)]

        def step(i: Tensor, values: Sequence[Tensor], results: Sequence[TensorArray]) -> Any:
            rows = packed(elems, [source.read(i) for source in sources])
            value = fn(packed(form, values), rows)
            nest.assert_same_structure(form, value)
            following = flattened(form, value)
            results = [out.write(i, t) for out, t in zip(results, following)]
            return i - 1 if reverse else i + 1, following, results

        done = 1 if initializer is None else 0
        _, _, results = while_loop(
            (lambda i, *_: i >= 0) if reverse else (lambda i, *_: i < count),
            step,
            (count - 1 - done if reverse else done, values, results),
            maximum_iterations=count,
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
        )
        return packed(form, stacked(results, flat))


def _check(fn: Any) -> None:
    if not callable(fn):
        raise TypeError("fn must be callable.")


def _rows(elems: Any) -> tuple[Any, Any]:
    """How many rows there are, and the structure of arrays of rows."""
    tensors = [convert_to_tensor(elem, name="elem") for elem in nest.flatten(elems)]
    elems = nest.pack_sequence_as(elems, tensors)
    count = tensors[0].shape[0].value or shape(tensors[0])[0]
    return count, nest.map_structure(lambda t: TensorArray(t.dtype, count, False).unstack(t), elems)
