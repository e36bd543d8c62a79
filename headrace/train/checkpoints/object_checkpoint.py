"""tf.train.Checkpoint: saves objects by the attributes that lead to them, not by variable names."""

from __future__ import annotations

import os
from typing import Any

from headrace.core import dtypes
from headrace.core.errors import NotFoundError
from headrace.formats.checkpoints.checkpoint import open_checkpoint
from headrace.functions.array.array import placeholder_with_default
from headrace.graph.defaults import get_default_graph, get_default_session
from headrace.ops.array.constant import constant
from headrace.ops.array.source import no_op
from headrace.ops.io import checkpoint as checkpoint_ops
from headrace.train.checkpoints import checkpoint_files
from headrace.train.checkpoints.object_graph import AutoTrackable, ObjectGraph, is_trackable
from headrace.train.checkpoints.object_names import GRAPH_KEY, object_graph_of
from headrace.train.checkpoints.object_status import (
    InitializationOnlyStatus,
    NameBasedStatus,
    ObjectStatus,
    Status,
)
from headrace.train.checkpoints.saveable import SaveableObject, SaveSpec
from headrace.variables.resource import ResourceVariable


class Checkpoint(AutoTrackable):
    """Saves and restores objects: variables, layers, optimizers, and what belongs to them.

    Args:
      **kwargs: the objects; each becomes an attribute.

    Raises:
      ValueError: something can not be saved.

    Example:
      >>> checkpoint = tf.train.Checkpoint(optimizer=optimizer, model=model)
      >>> path = checkpoint.save("/tmp/model/ckpt", session=sess)
      >>> checkpoint.restore(path).assert_consumed().run_restore_ops(sess)
    """

    def __init__(self, **kwargs: Any) -> None:
        for name, value in sorted(kwargs.items()):
            if not is_trackable(value):
                raise ValueError(
                    f"`Checkpoint` was expecting a trackable object, got {value}: only variables, and "
                    "objects that hold them as attributes, can be saved."
                )
            setattr(self, name, value)
        self._nodes: _SaveNodes | None = None

    @property
    def save_counter(self) -> Any:
        """A variable that counts the calls of `save`; made on first use."""
        if "save_counter" not in self.__dict__:
            self.__dict__["save_counter"] = ResourceVariable(
                constant(0, dtypes.int64), name="save_counter", trainable=False
            )
        return self.__dict__["save_counter"]

    def write(self, file_prefix: Any, session: Any = None) -> str:
        """Save under this name, without number or state file.

        Args:
          file_prefix: beginning of the names of the files.
          session: the session; the default one if None.

        Returns: the path, for `restore`.
        """
        session = _session(session)
        graph = ObjectGraph(self)
        if self._nodes is None or not self._nodes.fits(graph):
            self._nodes = _SaveNodes(graph)
        return self._nodes.run(session, file_prefix, graph)

    def save(self, file_prefix: Any, session: Any = None) -> str:
        """Save under the next number, and note it in the file `checkpoint`.

        Args:
          file_prefix: beginning of the names of the files.
          session: the session; the default one if None.

        Returns: the path, for `restore`.
        """
        session = _session(session)
        number = self._next_number(session)
        path = self.write(f"{os.fspath(file_prefix)}-{number}", session)
        checkpoint_files.write_state(os.path.dirname(os.fspath(file_prefix)), path, [path], relative=True)
        return path

    def _next_number(self, session: Any) -> int:
        is_new = "save_counter" not in self.__dict__
        counter = self.save_counter
        if is_new:
            session.run(counter.initializer)
        if "_advance" not in self.__dict__:
            with get_default_graph().colocate_with(None, ignore_existing=True):
                self.__dict__["_advance"] = counter.assign_add(1, read_value=False)
        session.run(self.__dict__["_advance"])
        return int(session.run(counter))

    def restore(self, save_path: Any) -> Status:
        """Prepare to give the objects the values in a checkpoint.

        Nothing is read before `run_restore_ops` or `initialize_or_restore` of the result is
        called; objects that are attached until then are restored too.

        Args:
          save_path: the path of a checkpoint, as `save` returned it; None for none.

        Returns: an object with `assert_consumed`, `assert_existing_objects_matched`,
          `assert_nontrivial_match`, `expect_partial`, `initialize_or_restore` and
          `run_restore_ops`.
        """
        self.save_counter  # noqa: B018  (it belongs to the checkpoint, and is restored with it)
        if save_path is None:
            return InitializationOnlyStatus(self)
        path = save_path.decode() if isinstance(save_path, bytes) else os.fspath(save_path)
        try:
            stored = object_graph_of(path)
        except NotFoundError:
            with open_checkpoint(path):  # it must exist
                return NameBasedStatus(self, path)
        return ObjectStatus(self, path, stored)


class _SaveNodes:
    """The nodes that save one set of objects; used again while the set stays the same."""

    def __init__(self, graph: ObjectGraph) -> None:
        self._keys = _keys(graph)
        saveables = [one for _, _, one in graph.saveables()]
        specs = [spec for one in saveables for spec in one.specs]
        tensors = [spec.tensor for spec in specs]
        with get_default_graph().name_scope("save_objects"):
            self._prefix = placeholder_with_default("model", shape=(), name="filename")
            self._message = placeholder_with_default("", shape=(), name="objects")
            self._done = checkpoint_ops.save_v2(
                self._prefix,
                [*(spec.name for spec in specs), GRAPH_KEY],
                [*(spec.slice_spec for spec in specs), ""],
                [*tensors, self._message],
            )

    def fits(self, graph: ObjectGraph) -> bool:
        return _keys(graph) == self._keys and self._prefix.graph is get_default_graph()

    def run(self, session: Any, file_prefix: Any, graph: ObjectGraph) -> str:
        path = os.fspath(file_prefix)
        path = path.decode() if isinstance(path, bytes) else path
        message = graph.to_proto().SerializeToString()
        session.run(self._done, {self._prefix: path, self._message: message})
        return path


def _keys(graph: ObjectGraph) -> list[tuple[int, str]]:
    return [(id(graph.objects[n]), graph.key(n, a)) for n, a, _ in graph.saveables()]


class _ObjectGraphSaveable(SaveableObject):
    """The graph of objects as it is now; a restore leaves it alone."""

    def __init__(self, graph: ObjectGraph) -> None:
        with get_default_graph().device("/cpu:0"):
            message = constant(graph.to_proto().SerializeToString(), dtypes.string)
        super().__init__(message, [SaveSpec(message, "", GRAPH_KEY)], GRAPH_KEY)

    def restore(self, restored_tensors: Any, restored_shapes: Any) -> Any:
        return no_op()


def frozen_saveables(root: Any) -> list[SaveableObject]:
    """All values of an object and what belongs to it, and the graph of objects, for a Saver."""
    graph = ObjectGraph(root)
    return [*(one for _, _, one in graph.saveables()), _ObjectGraphSaveable(graph)]


def _session(session: Any) -> Any:
    session = session if session is not None else get_default_session()
    if session is None:
        raise ValueError("a checkpoint needs a session: pass one, or call it within `with sess:`")
    return session


def gather_initializers(root_trackable: Any) -> list[Any]:
    """The initializers of all variables that belong to an object."""
    return [
        value.initializer
        for value in ObjectGraph(root_trackable).objects
        if getattr(value, "initializer", None) is not None
    ]
