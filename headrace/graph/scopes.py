"""The stacks that a new node reads: names, devices, control inputs, colocation, attributes.

They belong to a graph.  Names, control inputs and the control-flow context are per thread, as in TF;
devices and colocation are shared by all threads until `Graph.switch_to_thread_local`.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from headrace.core import device_name

if TYPE_CHECKING:
    from headrace.graph.node import Node

VALID_NODE = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\-/]*\Z")
VALID_SCOPE = re.compile(r"[A-Za-z0-9_.\-/]*\Z")


def rule_of(pattern: re.Pattern[str]) -> str:
    """What the pattern asks for, in words."""
    letters = "it may have letters, digits, '_', '.', '-' and '/'"
    return letters if pattern is VALID_SCOPE else f"{letters}, and not begin with '_', '-' or '/'"


class Local(threading.local):
    """What each thread has for itself."""

    def __init__(self) -> None:
        self.scope = ""  # of names
        self.controls: list[Control] = []
        self.context: Any = None  # of control flow


class Control:
    """One `control_dependencies` block, and the nodes made inside it so far.

    A node whose input was made in the block already waits for the block's nodes.
    """

    __slots__ = ("inputs", "made")

    def __init__(self, inputs: Sequence[Node]) -> None:
        self.inputs = list(inputs)
        self.made: set[Node] = set()


class Stacks:
    """Devices and colocation, innermost last."""

    def __init__(self) -> None:
        self.devices: list[Any] = []  # canonical text, a function node -> text, or None
        self.colocation: list[Node] = []

    def copy(self) -> Stacks:
        new = Stacks()
        new.devices, new.colocation = list(self.devices), list(self.colocation)
        return new


class ThreadStacks(threading.local):
    """Each thread starts from a copy of the stacks at the time of the switch."""

    def __init__(self, source: Stacks) -> None:
        self.stacks = source.copy()


def device_of(node: Any, devices: Sequence[Any]) -> str:
    """Ask the device scopes, innermost first.  A function sees what inner ones decided."""
    device = device_name.canonical(node.device)
    for scope in reversed(devices):
        if scope is None:
            break
        if callable(scope):
            device = device_name.canonical(scope(node))
        else:
            device = device_name.merge(scope, device)
        node._set_device_from_string(device)
    return device


def control_inputs_for(controls: Sequence[Control], inputs: Sequence[Node]) -> list[Node]:
    """The nodes that a node with these inputs must wait for, because of the blocks around it."""
    needed: list[Node] = []
    for control in controls:
        if any(n in control.made for n in inputs):
            continue
        needed += [n for n in control.inputs if n not in inputs and n not in needed]
    return needed


@contextmanager
def pushed(stack: list[Any], item: Any) -> Iterator[None]:
    stack.append(item)
    try:
        yield
    finally:
        stack.pop()


@contextmanager
def replaced(get: Callable[[], Any], put: Callable[[Any], None], value: Any) -> Iterator[None]:
    old = get()
    put(value)
    try:
        yield
    finally:
        put(old)
