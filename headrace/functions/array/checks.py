"""Assertions about values: checked while the graph is built where they are known, else by Assert."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.errors import InvalidArgumentError
from headrace.core.families import named, takes
from headrace.functions.control.cond import cond
from headrace.functions.math.elementwise import abs_
from headrace.functions.math.reduce import reduce_all
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.array import source
from headrace.ops.declaration.constants import constant_value
from headrace.ops.declaration.convert import convert_n_to_tensor, convert_to_tensor
from headrace.ops.math import checks, comparison


def Assert(condition: Any, data: Any, summarize: int | None = None, name: str | None = None) -> Node:
    """Fails with `data` in the message unless the condition is true.

    Nothing waits for it by itself: run it, or make what depends on it under
    `tf.control_dependencies`.

    Args:
      condition: a scalar bool `Tensor`.
      data: a list of tensors to print when the condition is false.
      summarize: how many elements of each to print, 3 by default; -1 for all.
      name: name of the scope.

    Returns:
      The operation that checks; None in eager mode, where it has.

    Example:
      >>> x = tf.constant([1., 2.])
      >>> with tf.control_dependencies([tf.Assert(tf.reduce_max(x) < 3., [x])]):
      ...   y = tf.identity(x)
    """
    if get_default_graph().runs_at_once:
        _assert_now(condition, data, 3 if summarize is None else summarize)
        return None  # type: ignore[return-value]
    with name_scope(name, "Assert", [condition, data]):
        kinds = {t.dtype.base for t in convert_n_to_tensor(data)}
        if kinds <= {dtypes.string, dtypes.int32}:
            return checks.assert_(condition, data, summarize=summarize, name="Assert")
        # Other data may live far away: it is looked at only where the condition is false.
        condition = convert_to_tensor(condition, name="Condition")
        result: Node = cond(
            condition,
            source.no_op,
            lambda: checks.assert_(condition, data, summarize=summarize, name="Assert"),
            name="AssertGuard",
        ).op
        return result


def _assert_now(condition: Any, data: Any, summarize: int) -> None:
    """The check of eager mode."""
    condition = convert_to_tensor(condition)
    if not condition:
        shown = "\n".join(_summary(x, summarize) for x in convert_n_to_tensor(data))
        raise InvalidArgumentError(None, None, f"Expected '{condition}' to be true. Summarized data: {shown}")


def _summary(x: Any, summarize: int) -> str:
    """The first elements, in text."""
    flat = np.asarray(x.numpy()).reshape(-1)
    if x.shape.rank == 0:
        return str(flat[0])
    shown = [str(item) for item in (flat if summarize < 0 else flat[:summarize])]
    return "[{}]".format(", ".join([*shown, "..."] if len(shown) < flat.size else shown))


def _binary_now(
    sign: str, holds: Any, x: Any, y: Any, data: Any, summarize: int | None, message: Any
) -> None:
    """A comparison of eager mode: what does not hold, and where."""
    holds = holds.numpy()
    if np.all(holds):
        return
    count = {None: 3, -1: max(x.numpy().size, y.numpy().size)}.get(summarize, summarize)
    if data is None:
        data = [f"Condition x {sign} y did not hold."]
        if count:
            data += _differences(holds, x.numpy(), y.numpy(), count)
    if message is not None:
        data = [message, *data]
    _refuse_static(list(data))


def _differences(holds: Any, x: Any, y: Any, count: int) -> list[Any]:
    found: list[Any] = []
    if np.shape(x) == np.shape(y) and np.ndim(x):
        where = np.argwhere(~holds)
        n = min(count, len(where))
        found += [f"Indices of first {n} different values:", where[:n]]
        found += ["Corresponding x values:", x[~holds][:n], "Corresponding y values:", y[~holds][:n]]
    for name, value in (("x", np.reshape(x, -1)), ("y", np.reshape(y, -1))):
        n = min(count, value.size)
        found += [f"First {n} elements of {name}:", value[:n]]
    return found


def _refuse_static(data: list[Any]) -> None:
    raise InvalidArgumentError(None, None, "\n".join(_text(item) for item in data))


def _text(item: Any) -> str:
    known = constant_value(item) if isinstance(item, Tensor) else item
    return str(item if known is None else known)


PRINTED = """
      summarize: how many elements of each to print.
      message: a prefix of the error message.
      name: name of the scope.

    Returns:
      An operation that fails with `InvalidArgumentError` if {}.
"""


_FAILS = PRINTED.format("it does not hold")
_REFUSED = f"""{_FAILS}
    Raises:
      InvalidArgumentError: it is known already that it does not hold.
"""


def printing(
    data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None
) -> None:
    """The arguments that every check takes after its own."""


def _called(argument: str, tensor: Tensor) -> str:
    """An argument by the name of its tensor; in eager mode, where there are none, by shape and type."""
    if tensor.graph.runs_at_once:
        return f"{argument} (shape={tensor.shape} dtype={tensor.dtype.name}) = "
    return f"{argument} ({tensor.name}) = "


def _binary(
    sign: str, word: str, build: Callable[..., Any], static: Callable[..., Any]
) -> Callable[..., Node]:
    @takes(printing, first="x y")
    @named(
        word,
        f"""Asserts that x {sign} y holds for every element.

    An empty `x` or `y` passes.

    Args:
      x: a `Tensor`.
      y: a `Tensor` of the same type; shapes broadcast.
      data: what to print when it does not hold; by default `x` and `y`.{_REFUSED}""",
    )
    def check(x: Any, y: Any, data: Any, summarize: Any, message: Any, name: Any) -> Node:
        if word == "assert_equal":
            with name_scope(name, word, [x, y, data]):
                if x is y:
                    return source.no_op()
        with name_scope(name, word, [x, y, data]):
            x, y = convert_to_tensor(x, name="x"), convert_to_tensor(y, name="y")
            if get_default_graph().runs_at_once:
                _binary_now(sign, build(x, y), x, y, data, summarize, message)
                return None  # type: ignore[return-value]
            if data is None:
                data = [
                    f"Condition x {sign} y did not hold element-wise:",
                    _called("x", x),
                    x,
                    _called("y", y),
                    y,
                ]
            if message is not None:
                data = [message, *data]
            condition = reduce_all(build(x, y))
            known_x, known_y = constant_value(x), constant_value(y)
            if known_x is not None and known_y is not None:
                if not np.all(static(known_x, known_y)):
                    _refuse_static(list(data))
            return Assert(condition, data, summarize=summarize)

    return check


assert_equal = _binary("==", "assert_equal", comparison.equal, np.equal)
assert_none_equal = _binary("!=", "assert_none_equal", comparison.not_equal, np.not_equal)
assert_less = _binary("<", "assert_less", comparison.less, np.less)
assert_less_equal = _binary("<=", "assert_less_equal", comparison.less_equal, np.less_equal)
assert_greater = _binary(">", "assert_greater", comparison.greater, np.greater)
assert_greater_equal = _binary(">=", "assert_greater_equal", comparison.greater_equal, np.greater_equal)


def _unary(sign: str, word: str, compare: Callable[..., Node], x_first: bool) -> Any:
    @takes(printing, first="x")
    @named(
        word,
        f"""Asserts that x {sign} 0 holds for every element.  An empty `x` passes.

    Args:
      x: a `Tensor` of real numbers.
      data: what to print when it does not hold; by default `x`.{_REFUSED}""",
    )
    def check(x: Any, data: Any, summarize: Any, message: Any, name: Any) -> Node:
        with name_scope(name, word, [x, data]):
            x = convert_to_tensor(x, name="x")
            if data is None:
                data = [message or "", f"Condition x {sign} 0 did not hold element-wise:", _called("x", x), x]
            zero = convert_to_tensor(0, x.dtype)
            pair = (x, zero) if x_first else (zero, x)
            return compare(*pair, data=data, summarize=summarize)

    return check


assert_negative = _unary("<", "assert_negative", assert_less, x_first=True)
assert_positive = _unary(">", "assert_positive", assert_less, x_first=False)
assert_non_negative = _unary(">=", "assert_non_negative", assert_less_equal, x_first=False)
assert_non_positive = _unary("<=", "assert_non_positive", assert_less_equal, x_first=True)


def _pair(x: Any, y: Any, rtol: Any = None, atol: Any = None) -> None: ...


@takes(printing, first=_pair)
@named(
    "assert_near",
    f"""Asserts that |x - y| <= atol + rtol * |y| holds for every element.

    Args:
      x: a `Tensor` of floats or complex numbers.
      y: a `Tensor` of the same type; shapes broadcast.
      rtol: relative tolerance, ten times the spacing of the type's numbers by default.
      atol: absolute tolerance, with the same default.
      data: what to print when it does not hold; by default `x` and `y`.{_FAILS}""",
)
def assert_near(
    x: Any, y: Any, rtol: Any, atol: Any, data: Any, summarize: Any, message: Any, name: Any
) -> Node:
    with name_scope(name, "assert_near", [x, y, rtol, atol, data]):
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, x.dtype, name="y")
        default = 10 * np.finfo(x.dtype.as_numpy_dtype).eps
        kind = x.dtype.base.real_dtype
        rtol = convert_to_tensor(default if rtol is None else rtol, kind, name="rtol")
        atol = convert_to_tensor(default if atol is None else atol, kind, name="atol")
        if data is None:
            data = [
                message or "",
                f"x and y not equal to tolerance rtol = {rtol}, atol = {atol}",
                _called("x", x),
                x,
                _called("y", y),
                y,
            ]
        tolerance = atol + rtol * abs_(y)
        condition = reduce_all(comparison.less(abs_(x - y), tolerance))
        return Assert(condition, data, summarize=summarize)
