"""Sequences with some places changed, and graphs in the order of their nodes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from headrace.core.modules import late

core, test_util = late("headrace.autograd.core"), late("headrace.autograd.test_util")


def subvals(x: Any, ivs: Iterable[tuple[int, Any]]) -> tuple[Any, ...]:
    """The sequence with other values at some places."""
    found = list(x)
    for i, v in ivs:
        found[i] = v
    return tuple(found)


def subval(x: Any, i: int, v: Any) -> tuple[Any, ...]:
    return subvals(x, ((i, v),))


def toposort(end_node: Any, parents: Callable[[Any], Any] = operator.attrgetter("parents")) -> Iterator[Any]:
    """Every node that the end depends on, each before its parents."""
    users: dict[Any, int] = {}
    stack = [end_node]
    while stack:
        node = stack.pop()
        if node in users:
            users[node] += 1
        else:
            users[node] = 1
            stack.extend(parents(node))
    ready = [end_node]
    while ready:
        node = ready.pop()
        yield node
        for parent in parents(node):
            if users[parent] == 1:
                ready.append(parent)
            else:
                users[parent] -= 1


def quick_grad_check(
    fun: Callable[..., Any],
    arg0: Any,
    extra_args: Iterable[Any] = (),
    kwargs: dict[str, Any] | None = None,
    verbose: bool = True,
    eps: float = 1e-4,
    rtol: float = 1e-4,
    atol: float = 1e-6,
    rs: Any = None,
) -> None:
    """The older spelling of `test_util.check_grads`."""
    core.warn_of_old("quick_grad_check", "autograd.test_util.check_grads")
    test_util.check_grads(lambda x: fun(x, *extra_args, **(kwargs or {})))(arg0)
