"""What `Checkpoint.restore` returns: which objects meet which values, and the nodes that restore them."""

from __future__ import annotations

from typing import Any

from headrace.core.modules import late
from headrace.formats import proto
from headrace.functions.control.grouping import group
from headrace.graph.defaults import get_default_session
from headrace.ops.io.checkpoint import restore_v2
from headrace.train.checkpoints.object_graph import ObjectGraph
from headrace.train.checkpoints.saver import Saver
from headrace.variables.variable import Variable

checkpoint = late("headrace.formats.checkpoints.checkpoint")

_EMPTY = proto.TrackableObjectGraph.TrackableObject()


def _session(session: Any) -> Any:
    return session if session is not None else get_default_session()


def _initializers(graph: ObjectGraph, without: set[int]) -> list[Any]:
    """Initializers of variables, but for those that are restored."""
    found = []
    for number, value in enumerate(graph.objects):
        initializer = getattr(value, "initializer", None)
        if initializer is not None and number not in without:
            found.append(initializer)
    return found


class Status:
    """The result of a restore that is not yet run."""

    def __init__(self, root: Any) -> None:
        self._root = root

    def expect_partial(self) -> Status:
        """Say that not all of the checkpoint is needed."""
        return self

    def assert_consumed(self) -> Status:
        raise AssertionError(f"{type(self).__name__}: no checkpoint was specified.")

    def assert_existing_objects_matched(self) -> Status:
        raise AssertionError(f"{type(self).__name__}: no checkpoint was specified.")

    def assert_nontrivial_match(self) -> Status:
        raise AssertionError(f"{type(self).__name__}: no checkpoint was specified.")

    def run_restore_ops(self, session: Any = None) -> None:
        raise AssertionError(
            "No checkpoint specified, so no restore ops are available (save_path=None to restore)."
        )

    def initialize_or_restore(self, session: Any = None) -> None:
        raise NotImplementedError


class InitializationOnlyStatus(Status):
    """There was no checkpoint: variables are initialised."""

    def initialize_or_restore(self, session: Any = None) -> None:
        """Initialise all variables that belong to the object."""
        _session(session).run(_initializers(ObjectGraph(self._root), set()))


class ObjectStatus(Status):
    """A checkpoint of objects."""

    def __init__(self, root: Any, path: str, stored: Any) -> None:
        super().__init__(root)
        self._path, self._stored = path, stored
        self._done: tuple[Any, ObjectGraph, set[int]] | None = None

    def _matches(self, graph: ObjectGraph) -> dict[int, int]:
        """Nodes of the checkpoint by the objects that they belong to."""
        named = graph.to_proto().nodes
        found, waiting = {0: 0}, [0]
        while waiting:
            at = waiting.pop(0)
            own = {child.local_name: child.node_id for child in named[at].children}
            for child in self._node(found[at]).children:
                number = own.get(child.local_name)
                if number is not None and number not in found:
                    found[number] = child.node_id
                    waiting.append(number)
        for optimizer, name, variable, slot in graph.slots:
            for stored in self._node(found.get(optimizer, -1)).slot_variables:
                variable_there = stored.original_variable_node_id
                if stored.slot_name == name and variable_there == found.get(variable):
                    found[slot] = stored.slot_variable_node_id
        return found

    def _node(self, number: int) -> Any:
        """A node of the checkpoint's graph; an empty one where a damaged file names none."""
        nodes = self._stored.nodes
        return nodes[number] if 0 <= number < len(nodes) else _EMPTY

    def _keys(self, graph: ObjectGraph) -> dict[tuple[int, str], str]:
        """The key of each value that the checkpoint has, by (object, attribute)."""
        keys = {}
        for number, node in self._matches(graph).items():
            for attribute in self._node(node).attributes:
                keys[number, attribute.name] = attribute.checkpoint_key
        return keys

    def assert_nontrivial_match(self) -> Status:
        """Refuse where nothing but the root was found."""
        graph = ObjectGraph(self._root)
        if len(self._matches(graph)) <= 1 and len(graph.objects) > 1:
            raise AssertionError(f"Nothing except the root object matched a checkpointed value: {self._path}")
        return self

    def assert_existing_objects_matched(self) -> Status:
        """Refuse where an object's value is not in the checkpoint."""
        graph = ObjectGraph(self._root)
        keys = self._keys(graph)
        for number, attribute, _ in graph.saveables():
            if (number, attribute) not in keys:
                raise AssertionError(
                    f"Object not assigned a value from checkpoint: {graph.objects[number]!r} "
                    f"({graph.key(number, attribute)} in {self._path})"
                )
        return self

    def assert_consumed(self) -> Status:
        """Refuse where a value of the checkpoint has no object, or the other way round."""
        graph = ObjectGraph(self._root)
        used = set(self._matches(graph).values())
        for number, node in enumerate(self._stored.nodes):
            if number not in used and node.attributes:
                raise AssertionError(
                    f"Unresolved object in checkpoint: {node.attributes[0].checkpoint_key} ({self._path})"
                )
        return self.assert_existing_objects_matched()

    def _nodes(self) -> tuple[Any, ObjectGraph, set[int]]:
        """The node that restores, the objects, and which of them it restores."""
        graph = ObjectGraph(self._root)
        if self._done is not None and self._done[1].paths == graph.paths:
            return self._done
        keys = self._keys(graph)
        chosen = [
            (number, keys[number, attribute], one)
            for number, attribute, one in graph.saveables()
            if (number, attribute) in keys
        ]
        assigned = []
        for _, key, one in chosen:
            values = restore_v2(
                self._path,
                [key + spec.name.removeprefix(one.name) for spec in one.specs],
                [spec.slice_spec for spec in one.specs],
                [spec.dtype.base_dtype for spec in one.specs],
            )
            assigned.append(one.restore(list(values), None))
        self._done = group(*assigned), graph, {number for number, _, _ in chosen}
        return self._done

    def run_restore_ops(self, session: Any = None) -> None:
        """Restore what is in the checkpoint."""
        _session(session).run(self._nodes()[0])

    def initialize_or_restore(self, session: Any = None) -> None:
        """Restore what is in the checkpoint, and initialise all other variables."""
        node, graph, restored = self._nodes()
        _session(session).run([node, *_initializers(graph, restored)])


class NameBasedStatus(Status):
    """A checkpoint of a Saver: variables are restored by their names."""

    def __init__(self, root: Any, path: str) -> None:
        super().__init__(root)
        self._path = path

    def _variables(self) -> list[Any]:
        return [v for v in ObjectGraph(self._root).objects if isinstance(v, Variable)]

    def assert_consumed(self) -> Status:
        """Accepted: a Saver refuses what is missing when it restores."""
        return self

    assert_existing_objects_matched = assert_nontrivial_match = assert_consumed

    def run_restore_ops(self, session: Any = None) -> None:
        with checkpoint.open_checkpoint(self._path) as reader:
            there = [v for v in self._variables() if v.op.name in reader]
        Saver(there).restore(_session(session), self._path)

    def initialize_or_restore(self, session: Any = None) -> None:
        run = _session(session).run
        for variable in self._variables():
            run(variable.initializer)
        self.run_restore_ops(session)
