"""Conditionals: tf.cond, tf.case, smart_cond."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from headrace.core import dtypes
from headrace.functions import nest
from headrace.functions.flow_context import CondContext, merge_any
from headrace.functions.grouping import with_dependencies
from headrace.functions.structure import name_scope
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops import control_flow as primitives
from headrace.ops.constants import constant_value
from headrace.ops.convert import convert_to_tensor
from headrace.ops.source import identity


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
    with name_scope(name, "cond", [pred]):
        if isinstance(pred, (bool, str)) or pred is None:
            raise TypeError("pred must not be a Python bool")
        pred = convert_to_tensor(pred, name="pred")
        switched = primitives.switch(pred, pred)
        pivot_t = identity(switched[1], name="switch_t")
        pivot_f = identity(switched[0], name="switch_f")
        pred = identity(pred, name="pred_id")
        for tensor in (*switched, pivot_t, pivot_f, pred):
            tensor.graph.prevent_fetching(tensor.op)
        context_t = CondContext(pred, pivot_t, branch=1)
        original_t, flat_t = _branch(context_t, true_fn)
        if original_t is None:
            raise ValueError("true_fn must have a return value.")
        context_f = CondContext(pred, pivot_f, branch=0)
        original_f, flat_f = _branch(context_f, false_fn)
        if original_f is None:
            raise ValueError("false_fn must have a return value.")
        original_t, original_f = _alike(original_t, original_f, strict)
        _check_types(flat_t, flat_f)
        merged = [merge_any([f, t])[0] for f, t in zip(flat_f, flat_t)]
        _add_to_collection(context_t, context_f)
        result = _packed(original_t, merged)
        return result if strict else _unpacked(result)


def _functions(true_fn: Any, false_fn: Any, fn1: Any, fn2: Any) -> tuple[Any, Any]:
    if fn1 is not None:
        if true_fn is not None:
            raise TypeError("cond(): true_fn and fn1 may not be set simultaneously.")
        true_fn = fn1
    elif true_fn is None:
        raise TypeError("cond(): true_fn argument required")
    if fn2 is not None:
        if false_fn is not None:
            raise TypeError("cond(): false_fn and fn2 may not be set simultaneously.")
        false_fn = fn2
    elif false_fn is None:
        raise TypeError("cond(): false_fn argument required")
    if not callable(true_fn):
        raise TypeError("true_fn must be callable.")
    if not callable(false_fn):
        raise TypeError("false_fn must be callable.")
    return true_fn, false_fn


def _branch(context: CondContext, function: Callable[[], Any]) -> tuple[Any, list[Tensor]]:
    """Run a branch's function inside of its context; its results as tensors of the context."""
    with context.entered():
        result = function()
        if result is None:
            return None, []
        flat = [_tensor(context, item) for item in nest.flatten(result, expand_composites=True)]
    context.leave(flat)
    return result, flat


def _tensor(context: CondContext, item: Any) -> Tensor:
    if isinstance(item, Node):
        # A node as result: the branch's pivot, once the node has run.
        return with_dependencies([item], context.pivot)  # type: ignore[no-any-return]
    flow = getattr(item, "flow", None)
    if isinstance(flow, Tensor):
        item = flow
    return context.output(convert_to_tensor(item))


def _alike(a: Any, b: Any, strict: bool) -> tuple[Any, Any]:
    """Both branches have one structure; a list of one is as good as its element, unless strict."""
    if not strict:
        a, b = _unpacked(a), _unpacked(b)
    try:
        nest.assert_same_structure(a, b, expand_composites=True)
    except (TypeError, ValueError) as error:
        raise TypeError(f"Incompatible return types of true_fn and false_fn: {error}") from None
    return a, b


def _check_types(flat_t: Sequence[Tensor], flat_f: Sequence[Tensor]) -> None:
    for t, f in zip(flat_t, flat_f):
        if t.dtype.base is not f.dtype.base:
            raise ValueError(
                "Outputs of true_fn and false_fn must have the same type: "
                f"{t.dtype.name}, {f.dtype.name}"
            )


def _packed(structure: Any, merged: Sequence[Tensor]) -> Any:
    items = nest.flatten(structure, expand_composites=True)
    final = [
        old.with_flow(new) if hasattr(old, "with_flow") else new for old, new in zip(items, merged)
    ]
    return nest.pack_sequence_as(structure, final, expand_composites=True)


def _unpacked(result: Any) -> Any:
    if isinstance(result, (list, tuple)) and not hasattr(result, "_fields") and len(result) == 1:
        return result[0]
    return result


def _add_to_collection(context_t: CondContext, context_f: CondContext) -> None:
    from headrace.graph.keys import GraphKeys

    if context_t.outer_context is None:
        context_t.graph.add_to_collection(GraphKeys.COND_CONTEXT, context_t)
        context_f.graph.add_to_collection(GraphKeys.COND_CONTEXT, context_f)


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
    if pred in (0, 1) and not isinstance(pred, Tensor):  # ints are accepted as bools
        return bool(pred)
    if isinstance(pred, bool):
        return pred
    if isinstance(pred, Tensor):
        value = constant_value(pred)
        if value is None and pred.dtype.base is dtypes.bool_:
            from headrace.ops.constants import constant

            value = constant(pred)
        return None if value is None else bool(value)
    raise TypeError(
        f"`pred` must be a Tensor, or a Python bool, or 1 or 0. Found instead: {type(pred)}"
    )


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """The function of the first predicate that is true, else `default`.

    Args:
      pred_fn_pairs: pairs of a scalar bool tensor and a function, as a list or dict.
      default: a function for when no predicate is true; without it that is an error.
      exclusive: it is an error if more than one predicate is true.
      strict: keep a list of one tensor as a list.
      name: a scope for the nodes.

    Raises:
      TypeError: the pairs are not what they should be.
    """
    pairs = _case_pairs(pred_fn_pairs)
    if default is not None and not callable(default):
        raise TypeError("default must be callable.")
    with name_scope(name, "case", [p for p, _ in pairs]):
        preds = [p for p, _ in pairs]
        if default is None:
            default, pairs = _checked_default(pairs)
        assertion = _exclusive(preds) if exclusive else None
        function = default
        for pred, fn in reversed(pairs):
            function = functools.partial(
                cond, pred, true_fn=fn, false_fn=function, strict=strict, name="cond"
            )
        if assertion is None:
            return function()
        from headrace.graph.defaults import get_default_graph

        with get_default_graph().control_dependencies([assertion]):
            return function()


def _case_pairs(given: Any) -> list[tuple[Tensor, Callable[[], Any]]]:
    if isinstance(given, dict):
        items = list(given.items())
        if type(given) is dict:
            items.sort(key=lambda pair: pair[0].name)
    elif isinstance(given, (list, tuple)):
        items = list(given)
    else:
        raise TypeError("fns must be a list, tuple, or dict")
    for pair in items:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("Each entry in pred_fn_pairs must be a 2-tuple")
        pred, fn = pair
        if not isinstance(pred, Tensor) or pred.dtype.base is not dtypes.bool_:
            raise TypeError(f"pred must be Tensor of type bool: {pred}")
        if not callable(fn):
            raise TypeError(f"fn for pred {pred.name} must be callable.")
    return items


def _checked_default(pairs: list[Any]) -> tuple[Callable[[], Any], list[Any]]:
    """Without a default, the last function is it, and some predicate must be true."""
    from headrace.functions.checks import Assert
    from headrace.graph.defaults import get_default_graph
    from headrace.ops import constant, reduce

    preds = constant.pack([p for p, _ in pairs], name="preds_c")
    names = ", ".join(p.name for p, _ in pairs)
    message = f"None of the conditions evaluated as True. Conditions: ({names}), Values:"
    assertion = Assert(reduce.any_(preds, [0]), [message, preds], summarize=len(pairs))
    _, last = pairs[-1]

    def checked() -> Any:
        with get_default_graph().control_dependencies([assertion]):
            return last()

    return checked, pairs[:-1]


def _exclusive(preds: Sequence[Tensor]) -> Any:
    from headrace.functions.checks import Assert
    from headrace.ops import cast, comparison, constant, reduce

    packed = constant.pack(list(preds), name="preds_c")
    true = reduce.sum_(cast.cast(packed, DstT=dtypes.int32), [0], name="num_true_conds")
    names = ", ".join(p.name for p in preds)
    message = (
        "More than one condition evaluated as True but exclusive=True. "
        f"Conditions: ({names}), Values:"
    )
    return Assert(comparison.less(true, 2), [message, packed], summarize=len(preds))
