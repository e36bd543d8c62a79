"""Handles of values that stay in a session: what `session.run` gives for them, and nodes that use them."""

from __future__ import annotations

import contextlib
from typing import Any

from headrace.core.device_name import canonical
from headrace.core.dtypes import DType, string
from headrace.core.fields import reads
from headrace.core.text import as_text
from headrace.graph.defaults import get_default_graph
from headrace.graph.graph import Graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.array.source import placeholder
from headrace.ops.state import session_tensor


class TensorHandle:
    """A value that stays in a session while somebody holds this.  It can be fed in place of the value.

    Args:
      handle: its name.
      dtype: its type.
      session: the session that has it.
    """

    def __init__(self, handle: Any, dtype: DType, session: Any) -> None:
        self._handle, self._dtype, self._session = as_text(handle), dtype, session
        self._auto_gc_enabled = True

    def __del__(self) -> None:
        if getattr(self, "_auto_gc_enabled", False):
            with contextlib.suppress(Exception):  # the session, or Python, may be gone
                self._session._register_dead_handle(self._handle)

    def __str__(self) -> str:
        return self._handle

    handle: str = reads("_handle", "The name of the value, which nodes of `get_session_tensor` take.")

    def _check(self) -> None:
        if not self._auto_gc_enabled:
            raise TypeError(f"Persistent tensor {self._handle} may have already been deleted.")

    def eval(self) -> Any:
        """The value.

        Raises:
          TypeError: it was deleted, or is somebody else's to keep.
        """
        self._check()
        holder, reader = _reader(self._session.graph, self._handle, self._dtype)
        return self._session.run(reader, {holder: self._handle})

    def session_handle_value(self) -> Any:
        """The value, for a feed: what is in this process is fed as it is."""
        found = self._session._containers.find("", session_tensor.STORED, self._handle)
        return self.eval() if found is None else found

    def delete(self) -> None:
        """Forget the value.

        Raises:
          TypeError: it was deleted, or is somebody else's to keep.
        """
        self._check()
        self._auto_gc_enabled = False
        delete(self._session, self._handle)

    def get_raw_handle(self) -> str:
        """The name of the value, which from here on lives until it is deleted by name."""
        self._auto_gc_enabled = False
        return self._handle


def _device(handle: Any) -> str:
    return canonical(as_text(handle).split(";")[-1])


def get_session_handle(data: Any, name: str | None = None) -> Tensor:
    """Let the value of a tensor stay in the session: `session.run` of the result gives a TensorHandle.

        handle = sess.run(tf.get_session_handle(a * b))
        holder, value = tf.get_session_tensor(handle.handle, tf.float32)
        sess.run(value * 10, {holder: handle.handle})

    Args:
      data: a tensor.
      name: name of the node.

    Raises:
      TypeError: it is no tensor.
    """
    if not isinstance(data, Tensor):
        raise TypeError("`data` must be of type Tensor.")
    with get_default_graph().colocate_with(data):
        made: Tensor = session_tensor.get_session_handle(data, name=name)
    return made


def get_session_tensor(handle: Any, dtype: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """A placeholder for the name of a value that stays in the session, and the value.

    Args:
      handle: such a name; it says on which device the value is.
      dtype: the type of the value.
      name: name of the node.
    """
    with get_default_graph().device(_device(handle)):
        holder: Tensor = placeholder(string)
        value: Tensor = session_tensor.get_session_tensor(holder, dtype=dtype, name=name)
    return holder, value


def delete_session_tensor(handle: Any, name: str | None = None) -> tuple[Tensor, Node]:
    """A placeholder for the name of a value that stays in the session, and a node that forgets the value.

    Args:
      handle: such a name; it says on which device the value is.
      name: name of the node.
    """
    with get_default_graph().device(_device(handle)):
        holder: Tensor = placeholder(string)
        deleted: Node = session_tensor.delete_session_tensor(holder, name=name)
    return holder, deleted


def _reader(graph: Graph, handle: str, dtype: DType) -> tuple[Tensor, Tensor]:
    known = graph.__dict__.setdefault("_handle_readers", {})
    key = _device(handle), dtype
    if key not in known:
        with graph.as_default(), graph.name_scope(None), graph.control_dependencies(None):
            known[key] = get_session_tensor(handle, dtype)
    found: tuple[Tensor, Tensor] = known[key]
    return found


def delete(session: Any, handle: str) -> None:
    """Forget a value of a session."""
    graph = session.graph
    known = graph.__dict__.setdefault("_handle_deleters", {})
    key = _device(handle)
    if key not in known:
        with graph.as_default(), graph.name_scope(None), graph.control_dependencies(None):
            known[key] = delete_session_tensor(handle)
    holder, deleted = known[key]
    session.run(deleted, {holder: handle})


class DeadHandles:
    """Names of values that nobody holds any more.  In this process they are forgotten at once; at a master
    together, when there are some: an object that dies is no place to call another process."""

    def __init__(self) -> None:
        self._names: list[str] = []

    def add(self, session: Any, handle: str) -> None:
        if session._remote is None:
            session._containers.remove("", session_tensor.STORED, handle)
        else:
            self._names.append(handle)

    def sweep(self, session: Any) -> None:
        """Forget the values of a master."""
        while len(self._names) >= _SOME:
            delete(session, self._names.pop())


_SOME = 10
