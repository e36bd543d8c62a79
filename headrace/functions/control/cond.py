"""Conditionals: tf.cond, smart_cond."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core import dtypes
from headrace.functions.control.flow_context import CondContext, merge_any, with_summaries
from headrace.functions.control.grouping import with_dependencies
from headrace.functions.values import nest
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.array.source import identity
from headrace.ops.control import control_flow as primitives
from headrace.ops.declaration.constants import constant, constant_value
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.declaration.indexed_slices import IndexedSlices
from headrace.ops.math import cast


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """`true_fn()` where `pred` is true when the graph runs, else `false_fn()`.

    Only the nodes made inside of the functions are conditional: what they use from outside runs in
    any case.

    Args:
      pred: a scalar of type bool.
      true_fn, false_fn: functions without arguments; both return the same structure of tensors.
      strict: keep a list of one tensor as a list.
      name: a scope for the nodes.
      fn1, fn2: old names of true_fn and false_fn.

    Returns: the structure that the functions return.

    Example:
      >>> tf.cond(x < y, lambda: x + 1, lambda: y * 2)
    """
    true_fn, false_fn = _functions(true_fn, false_fn, fn1, fn2)
    if get_default_graph().runs_at_once:
        result = true_fn() if pred else false_fn()
        return result[0] if not strict and isinstance(result, (list, tuple)) and len(result) == 1 else result
    if getattr(
        get_default_graph(), "is_traced", False
    ):  # of a tf.function: TF builds these anew, always strict
        return build(pred, true_fn, false_fn, True, name, ("true_fn", "false_fn"))
    return build(pred, true_fn, false_fn, strict, name)


def build(
    pred: Any,
    true_fn: Callable[[], Any],
    false_fn: Callable[[], Any],
    strict: bool,
    name: str | None,
    labels: tuple[str, str] = ("", ""),
) -> Any:
    """`labels`: names of the branches, where one must not use what the other has made."""
    with name_scope(name, "cond", [pred]):
        if isinstance(pred, bool):
            raise TypeError("pred must not be a Python bool")
        pred = convert_to_tensor(pred, name="pred")
        switched = primitives.switch(pred, pred)
        pivot_t = identity(switched[1], name="switch_t")
        pivot_f = identity(switched[0], name="switch_f")
        pred = identity(pred, name="pred_id")
        for tensor in (*switched, pivot_t, pivot_f, pred):
            tensor.graph.prevent_fetching(tensor.op)
        context_t = CondContext(pred, pivot_t, branch=1)
        context_t.label = labels[0]
        result_t, flat_t = _branch(context_t, true_fn)
        if result_t is None:
            raise ValueError("true_fn must have a return value.")
        context_f = CondContext(pred, pivot_f, branch=0)
        context_f.label = labels[1]
        result_f, flat_f = _branch(context_f, false_fn)
        if result_f is None:
            raise ValueError("false_fn must have a return value.")
        if not strict:
            result_t, result_f = _unpacked(result_t), _unpacked(result_f)
        _check_structures(result_t, result_f, bool(labels[0]))
        if not flat_t:
            raise ValueError("true_fn and false_fn must return at least one result.")
        flat_t, flat_f = _same_types(context_t, result_t, flat_t, context_f, flat_f)
        merged = [merge_any([f, t])[0] for f, t in zip(flat_f, flat_t)]
        if context_t.outer_context is None:  # the outermost one describes those inside
            context_t.graph.add_to_collection(GraphKeys.COND_CONTEXT, context_t)
            context_t.graph.add_to_collection(GraphKeys.COND_CONTEXT, context_f)
        result = _packed(result_t, merged)
        return result if strict else _unpacked(result)


def _functions(true_fn: Any, false_fn: Any, fn1: Any, fn2: Any) -> tuple[Any, Any]:
    return _function("true_fn", true_fn, "fn1", fn1), _function("false_fn", false_fn, "fn2", fn2)


def _function(name: str, given: Any, old_name: str, old: Any) -> Any:
    """A branch's function, which an older argument may carry."""
    if given is not None and old is not None:
        raise TypeError(f"cond(): {name} and {old_name} are the same argument; give one of them.")
    chosen = given if old is None else old
    if chosen is None:
        raise TypeError(f"cond(): {name} argument required")
    if not callable(chosen):
        raise TypeError(f"{name} must be callable.")
    return chosen


def _branch(context: CondContext, function: Callable[[], Any]) -> tuple[Any, list[Tensor]]:
    """Run a branch's function inside of its context; its results as tensors of the context."""
    with context.entered():
        result = with_summaries(function)
        if result is None:
            return None, []
        flat = [_tensor(context, item) for item in nest.flatten(result, expand_composites=True)]
    context.leave(flat)
    return result, flat


def _tensor(context: CondContext, item: Any) -> Tensor:
    if isinstance(item, Node):
        # A node as result: the branch's pivot, once the node has run.
        result: Tensor = with_dependencies([item], context.pivot)
        return result
    flow = getattr(item, "flow", None)
    if isinstance(flow, Tensor):
        item = flow
    return context.output(convert_to_tensor(item))


def _check_structures(result_t: Any, result_f: Any, is_labeled: bool) -> None:
    """Both branches give one structure; the indices of slices may have different types."""
    leaves_t, leaves_f = nest.flatten(result_t), nest.flatten(result_f)
    if is_labeled:
        for i, (t, f) in enumerate(zip(leaves_t, leaves_f)):
            if isinstance(t, IndexedSlices) != isinstance(f, IndexedSlices):
                raise TypeError(
                    f"Cannot reconcile tf.cond {i}-th outputs:\n  outputs from all branches: {t}, {f}"
                )
    try:
        nest.assert_same_structure(result_t, result_f)
        for t, f in zip(leaves_t, leaves_f):
            if not (isinstance(t, IndexedSlices) and isinstance(f, IndexedSlices)):
                nest.assert_same_structure(t, f, expand_composites=True)
    except TypeError as error:
        raise TypeError(f"Incompatible return types of true_fn and false_fn: {error}") from None
    except ValueError as error:
        raise ValueError(f"Incompatible return values of true_fn and false_fn: {error}") from None


def _same_types(
    context_t: CondContext,
    result_t: Any,
    flat_t: Sequence[Tensor],
    context_f: CondContext,
    flat_f: Sequence[Tensor],
) -> tuple[list[Tensor], list[Tensor]]:
    """Indices of slices become int64 where the branches differ; other differences are refused."""
    places = {id(leaf.indices) for leaf in nest.flatten(result_t) if isinstance(leaf, IndexedSlices)}
    originals = nest.flatten(result_t, expand_composites=True)
    out_t, out_f = list(flat_t), list(flat_f)
    for i, (original, t, f) in enumerate(zip(originals, flat_t, flat_f)):
        if t.dtype.base is f.dtype.base:
            continue
        if id(original) not in places:
            raise ValueError(
                f"Outputs of true_fn and false_fn must have the same type: {t.dtype.name}, {f.dtype.name}"
            )
        for context, flat in ((context_t, out_t), (context_f, out_f)):
            if flat[i].dtype.base is not dtypes.int64:
                with context.entered():
                    flat[i] = cast.cast(flat[i], DstT=dtypes.int64)
                context.leave([flat[i]])
    return out_t, out_f


def _packed(structure: Any, merged: Sequence[Tensor]) -> Any:
    items = nest.flatten(structure, expand_composites=True)
    final = [old.with_flow(new) if hasattr(old, "with_flow") else new for old, new in zip(items, merged)]
    return nest.pack_sequence_as(structure, final, expand_composites=True)


def _unpacked(result: Any) -> Any:
    if isinstance(result, (list, tuple)) and not hasattr(result, "_fields") and len(result) == 1:
        return result[0]
    return result


def smart_cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """Like cond, but decided now where the value of `pred` is known."""
    if not callable(true_fn):
        raise TypeError("`true_fn` must be callable.")
    if not callable(false_fn):
        raise TypeError("`false_fn` must be callable.")
    known = smart_constant_value(pred)
    if known is not None:
        return true_fn() if known else false_fn()
    return cond(pred, true_fn, false_fn, name=name)


def smart_constant_value(pred: Any) -> bool | None:
    """The value of a predicate that is known while the graph is built, or None."""
    if pred in (0, 1) and not isinstance(pred, Tensor):  # ints are accepted as bools
        return bool(pred)
    if isinstance(pred, bool):
        return pred
    if isinstance(pred, Tensor):
        value = constant_value(pred)
        if value is None and pred.dtype.base is dtypes.bool_:
            value = constant(pred)
        return None if value is None else bool(value)
    raise TypeError(f"`pred` must be a Tensor, or a Python bool, or 1 or 0. Found instead: {type(pred)}")
