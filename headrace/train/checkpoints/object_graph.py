"""Objects that belong to one another through their attributes, and the names that checkpoints give them.

A variable's key is the path of attributes that leads to it: model/dense/kernel/.ATTRIBUTES/VARIABLE_VALUE.  A
slot of an optimizer lies below its variable: model/dense/kernel/.OPTIMIZER_SLOT/optimizer/m/.ATTRIBUTES/....
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from headrace.formats import proto
from headrace.graph.defaults import get_default_graph
from headrace.train.checkpoints.saveable import SaveableObject, saveable_objects_for_op
from headrace.train.optimizers.base import Optimizer
from headrace.variables.functions.module import Module
from headrace.variables.variable import Variable

VALUE = "VARIABLE_VALUE"


class AutoTrackable:
    """An object whose attributes belong to it when it is saved."""


def is_trackable(value: Any) -> bool:
    """Can it be part of a checkpoint of objects?"""
    if isinstance(value, (Variable, Module, AutoTrackable, Optimizer)):
        return True
    if isinstance(value, dict):
        return any(map(is_trackable, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(is_trackable, value))
    return hasattr(type(value), "_checkpoint_dependencies") or _has_values(value)


def _has_values(value: Any) -> bool:
    return hasattr(type(value), "_gather_saveables_for_checkpoint")


def children(value: Any) -> Iterator[tuple[str, Any]]:
    """What belongs to an object: (name, object)."""
    if hasattr(type(value), "_checkpoint_dependencies"):
        yield from ((d.name, d.ref) for d in value._checkpoint_dependencies)
    elif isinstance(value, Optimizer):
        yield from _optimizer_variables(value)
    elif isinstance(value, dict):
        yield from ((str(k), v) for k, v in value.items() if is_trackable(v))
    elif isinstance(value, (list, tuple)):
        yield from ((str(i), v) for i, v in enumerate(value) if is_trackable(v))
    elif isinstance(value, (Module, AutoTrackable)):
        for name, item in vars(value).items():
            # private lists repeat what attributes hold: a layer's list of its weights
            if is_trackable(item) and not (name.startswith("_") and _is_container(item)):
                yield name, item


def _is_container(value: Any) -> bool:
    return isinstance(value, (list, tuple, dict))


def _optimizer_variables(optimizer: Any) -> Iterator[tuple[str, Any]]:
    graph = get_default_graph()
    for (name, owner), variable in sorted(optimizer._non_slot_dict.items(), key=lambda item: str(item[0][0])):
        if owner in (None, graph):
            yield name, variable


class ObjectGraph:
    """All objects that can be reached from a root, in the order of their distance."""

    def __init__(self, root: Any) -> None:
        self.objects: list[Any] = []
        self.ids: dict[int, int] = {}
        self.paths: list[tuple[str, ...]] = []
        self._found(root, ())
        waiting = deque([0])
        while waiting:
            at = waiting.popleft()
            for name, child in children(self.objects[at]):
                if id(child) not in self.ids:
                    waiting.append(self._found(child, (*self.paths[at], name)))
        self.slots = list(self._slots())

    def _found(self, value: Any, path: tuple[str, ...]) -> int:
        number = self.ids[id(value)] = len(self.objects)
        self.objects.append(value)
        self.paths.append(path)
        return number

    def _slots(self) -> Iterator[tuple[int, str, int, int]]:
        """(optimizer, slot name, variable, slot variable); slot variables join the objects."""
        for number, optimizer in list(enumerate(self.objects)):
            if not isinstance(optimizer, Optimizer):
                continue
            for name in optimizer.get_slot_names():
                for at, variable in list(enumerate(self.objects)):
                    slot = optimizer.get_slot(variable, name) if _is_plain(variable) else None
                    if slot is not None:
                        own = (*self.paths[at], ".OPTIMIZER_SLOT", *self.paths[number], name)
                        yield number, name, at, self._found(slot, own)

    def saveables(self) -> Iterator[tuple[int, str, SaveableObject]]:
        """(object, attribute, what saves it under its key) for every value."""
        for number, value in enumerate(self.objects):
            if isinstance(value, Variable):
                for one in saveable_objects_for_op(value, self.key(number, VALUE)):
                    yield number, VALUE, one
            elif _has_values(value):
                for attribute, factory in value._gather_saveables_for_checkpoint().items():
                    key = self.key(number, attribute)
                    made = factory(key) if callable(factory) else factory
                    for one in saveable_objects_for_op(made, key):
                        yield number, attribute, one

    def key(self, number: int, attribute: str) -> str:
        """The name of a value in checkpoints."""
        path = self.paths[number]
        parts = [p if p == ".OPTIMIZER_SLOT" else _escaped(p) for p in path]
        return "/".join([*parts, ".ATTRIBUTES", _escaped(attribute)])

    def to_proto(self) -> Any:
        """The TrackableObjectGraph of these objects."""
        message = proto.TrackableObjectGraph()
        for value in self.objects:
            node = message.nodes.add()
            for name, child in children(value):
                node.children.add(node_id=self.ids[id(child)], local_name=name)
        for optimizer, name, variable, slot in self.slots:
            message.nodes[optimizer].slot_variables.add(
                original_variable_node_id=variable, slot_name=name, slot_variable_node_id=slot
            )
        for number, attribute, one in self.saveables():
            message.nodes[number].attributes.add(
                name=attribute, full_name=full_name(self.objects[number]), checkpoint_key=one.name
            )
        return message


def _is_plain(value: Any) -> bool:
    return isinstance(value, Variable)


def full_name(value: Any) -> str:
    """The name by which a saver would know it."""
    return str(value.op.name) if isinstance(value, Variable) else ""


def _escaped(name: str) -> str:
    return name.replace(".", "..").replace("/", ".S")
