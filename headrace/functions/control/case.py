"""Conditionals of many branches: tf.case, tf.switch_case."""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable, Sequence
from typing import Any

from headrace.core import dtypes, log
from headrace.functions.array.checks import Assert
from headrace.functions.array.stacking import stack
from headrace.functions.control import cond as conditionals
from headrace.functions.math.reduce import reduce_sum
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.math import cast, comparison

Action = Callable[[], Any]


def case(
    pred_fn_pairs: Any,
    default: Action | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """The function of the first predicate that is true, else `default`.

    Args:
      pred_fn_pairs: pairs of a scalar bool tensor and a function, as a list or dict.  A plain dict
        is taken in the order of the predicates' names.
      default: a function for when no predicate is true; without it that is an error.
      exclusive: it is an error if more than one predicate is true.
      strict: keep a list of one tensor as a list.
      name: a scope for the nodes.

    Raises:
      TypeError: the pairs are not what they should be.

    Example:
      >>> tf.case([(x < 0, lambda: -x), (x > 9, lambda: tf.constant(9))], default=lambda: x)
    """
    pairs = _pairs(pred_fn_pairs, exclusive, name)
    preds, actions = [p for p, _ in pairs], [f for _, f in pairs]
    with name_scope(name, "case", preds):
        if default is None:
            default = _last_as_default(preds, actions)
            preds, actions = preds[:-1], actions[:-1]
        elif not callable(default):
            raise TypeError("default must be callable.")
        function = default
        for pred, action in reversed(list(zip(preds, actions))):
            function = functools.partial(
                conditionals.cond, pred, true_fn=action, false_fn=function, strict=strict
            )
        if not exclusive:
            return function()
        only_one = _at_most(1, preds, "Input error: exclusive=True")
        with get_default_graph().control_dependencies([only_one]):
            return function()


def _pairs(given: Any, exclusive: bool, name: str) -> list[tuple[Tensor, Action]]:
    if not isinstance(given, (list, tuple, dict)):
        raise TypeError("fns must be a list, tuple, or dict")
    if isinstance(given, collections.OrderedDict):
        given = list(given.items())
    elif isinstance(given, dict):
        given = sorted(given.items(), key=lambda pair: pair[0].name)
        if not exclusive:
            log.warn(
                "%s: the predicates are keys of a dictionary without an order, and exclusive=False: when "
                "several are true, which of them wins is not promised.",
                name,
            )
    for pair in given:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("Each entry in pred_fn_pairs must be a 2-tuple")
        pred, action = pair
        if not isinstance(pred, Tensor):
            raise TypeError(f"pred must be a Tensor, got: {pred}")
        if pred.dtype.base is not dtypes.bool_:
            raise TypeError(f"pred must be Tensor of type bool: {pred.name}")
        if not callable(action):
            raise TypeError(f"fn for pred {pred.name} must be callable.")
    return list(given)


def _last_as_default(preds: Sequence[Tensor], actions: Sequence[Action]) -> Action:
    """The last function serves where no other predicate is true; its own must be then."""
    last = len(preds) - 1

    def checked() -> Any:
        others = _at_most(
            0,
            preds[:last],
            f"Implementation error: selected default action #{last} was called, but some of other "
            "predicates are True: ",
        )
        message = "Input error: None of conditions evaluated as True:"
        chosen = Assert(preds[last], [message, stack(list(preds), name="preds_c")])
        with get_default_graph().control_dependencies([others, chosen]):
            return actions[last]()

    return checked


def _at_most(count: int, preds: Sequence[Tensor], message: str) -> Any:
    """An assertion that no more than `count` predicates are true."""
    packed = stack(list(preds), name="preds_c")
    true = reduce_sum(cast.cast(packed, DstT=dtypes.int32), name="num_true_conds")
    enough = comparison.less_equal(true, constant(count, name="n_true_conds"))
    names = ", ".join(p.name for p in preds)
    text = f"{message}: more than {count} conditions ({names}) evaluated as True:"
    return Assert(enough, [text, packed], summarize=len(preds))


def switch_case(
    branch_index: Any, branch_fns: Any, default: Action | None = None, name: str = "switch_case"
) -> Any:
    """The function at `branch_index`, else `default`, else the last one.

    Args:
      branch_index: a scalar integer tensor.
      branch_fns: functions as a list; or pairs of an int and a function, as a list or dict.
      default: a function for other indices.
      name: a scope for the nodes.

    Raises:
      TypeError, ValueError: the functions are not what they should be, or the numbers do not run
        from 0 on.

    Example:
      >>> tf.switch_case(i, {0: lambda: x, 1: lambda: -x}, default=lambda: tf.zeros_like(x))
    """
    actions = _numbered(branch_index, branch_fns, default)
    with name_scope(name, "case", [branch_index]):
        last = len(actions) - 1
        if not last:
            return actions[0]()
        function = actions[last]
        for i in reversed(range(last)):
            pred = comparison.equal(branch_index, constant(i, branch_index.dtype))
            others = f"branch {last}" if i == last - 1 else ""
            function = functools.partial(
                conditionals.build, pred, actions[i], function, True, None, (f"branch {i}", others)
            )
        return function()


def _numbered(index: Any, given: Any, default: Any) -> list[Action]:
    if not isinstance(index, Tensor):
        raise TypeError(f"branch_index must a Tensor, got {type(index)}")
    if not index.dtype.base.is_integer:
        raise TypeError(f"branch_index must an integer Tensor, got {index.dtype}")
    if not given:
        raise ValueError("Must provide at least one item in branch_fns")
    if not isinstance(given, (list, tuple, dict)):
        raise TypeError("branch_fns must be a list, tuple, or dict")
    pairs = list(given.items()) if isinstance(given, dict) else list(given)
    if all(callable(f) for f in pairs):
        pairs = list(enumerate(pairs))
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("Each entry in branch_fns must be a 2-tuple")
        key, action = pair
        if not isinstance(key, int):
            raise TypeError(f"key must be a Python `int`, got {type(key)}")
        if not callable(action):
            raise TypeError(f"fn for key {key} must be callable.")
    keys = sorted(key for key, _ in pairs)
    if keys != list(range(len(keys))):
        found = ",".join(map(str, keys))
        raise ValueError(
            f"branch indices (keys) must form contiguous range of [0 to {len(keys)}) but found {{{found}}}"
        )
    actions = [action for _, action in sorted(pairs, key=lambda pair: pair[0])]
    return actions if default is None else [*actions, default]
