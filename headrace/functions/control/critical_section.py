"""Parts of a graph that run one at a time (tf.CriticalSection)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from headrace.core.dtypes import resource
from headrace.core.fields import reads
from headrace.functions.control.grouping import group
from headrace.functions.control.grouping import tuple_ as together
from headrace.functions.control.init_scope import init_scope
from headrace.functions.control.tensor_array import TensorArray
from headrace.functions.values import nest
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.array.source import identity
from headrace.ops.state import mutex

CRITICAL_SECTIONS = "critical_sections"
CRITICAL_SECTION_EXECUTIONS = "critical_section_executions"


class _Execution(NamedTuple):
    """What a section runs, and which resources that uses."""

    op: Node
    handle: Tensor
    resources: list[Tensor]
    exclusive_resource_access: bool


def _identity(x: Any) -> Any:
    if isinstance(x, TensorArray):
        return x.identity()
    return group(x) if isinstance(x, Node) else identity(x)


class CriticalSection:
    """A lock: what is executed in it, in this step or another, runs one after the other.

        section = tf.CriticalSection()

        def count():
            value = v.read_value()
            with tf.control_dependencies([value]), tf.control_dependencies([v.assign_add(1)]):
                return tf.identity(value)

        first, second = section.execute(count), section.execute(count)

    Args:
      name: name of the node.
      shared_name: the name under which several sessions share the lock; its own by default.
      critical_section_def: not supported.
      import_scope: not supported.
    """

    def __init__(
        self,
        name: str | None = None,
        shared_name: str | None = None,
        critical_section_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        if critical_section_def and name is not None:
            raise ValueError("critical_section_def and shared_name are mutually exclusive.")
        if critical_section_def:
            raise NotImplementedError("Not yet implemented")
        with name_scope(name, "CriticalSection", []) as scope:
            with init_scope():
                container = getattr(get_default_graph(), "_container", None) or ""
                self._handle: Tensor = mutex.mutex_v2(
                    shared_name=scope if shared_name is None else shared_name, container=container, name=scope
                )
        get_default_graph().add_to_collection(CRITICAL_SECTIONS, self)

    name: str = reads("_handle.op.name", "The name of the lock's node.")

    def execute(
        self, fn: Callable[[], Any], exclusive_resource_access: bool = True, name: str | None = None
    ) -> Any:
        """Run a function's nodes while nobody else is in the section.

        Args:
          fn: a function without arguments that returns tensors.
          exclusive_resource_access: refuse resources that another section uses.
          name: name of the nodes' scope.

        Returns: what `fn` returns.

        Raises:
          ValueError: `fn` uses the section itself, or resources of another one.
        """
        graph = get_default_graph()
        with name_scope(name, "critical_section_execute", []):
            lock = mutex.mutex_lock(self._handle)
            before = set(graph.get_operations())
            with graph.control_dependencies([lock]):
                found = fn()
            made = [node for node in graph.get_operations() if node not in before]
            _wait_for_arguments(made, lock.op)
            used = list({t for node in made for t in node.inputs if t.dtype.base is resource})
            self._check_resources(used, exclusive_resource_access)
            with graph.control_dependencies([_identity(x) for x in nest.flatten(found)]):
                with graph.colocate_with(self._handle):
                    released = mutex.consume_mutex_lock(lock)
                # whoever needs one of the results runs them all
                found = nest.pack_sequence_as(found, together(nest.flatten(found)))
            with graph.control_dependencies([released]):
                outputs = nest.map_structure(_identity, found)
            execution = _Execution(lock.op, self._handle, used, exclusive_resource_access)
            graph.add_to_collection(CRITICAL_SECTION_EXECUTIONS, execution)
        return outputs

    def _check_resources(self, used: Iterable[Tensor], exclusive: bool) -> None:
        if any(self._is_own(t) for t in used):
            raise ValueError(
                "The function fn attempts to directly access the CriticalSection in which it would be "
                "running.  This is illegal and would cause deadlocks."
            )
        for other in get_default_graph().get_collection(CRITICAL_SECTION_EXECUTIONS):
            if self._is_own(other.handle) or not (exclusive or other.exclusive_resource_access):
                continue
            shared = [t for t in used if t in other.resources]
            if shared:
                raise ValueError(
                    f"This execution would access resources: {shared}.  Either this lock "
                    f"(CriticalSection: {self._handle}) or lock '{other}' (CriticalSection: {other.handle}) "
                    "requested exclusive resource access of this resource.  Did you mean to call execute "
                    "with keyword argument exclusive_resource_access=False?"
                )

    def _is_own(self, x: Tensor) -> bool:
        """Is it a handle of the same lock?"""
        own = self._handle.op
        name = x.op.attrs.get("shared_name")
        return (
            x.op.declaration is mutex.mutex_v2
            and bool(name)
            and name == own.attrs["shared_name"]
            and x.op.device == own.device
        )


def _wait_for_arguments(made: list[Node], lock: Node) -> None:
    """What the function's nodes take from outside is computed before the lock is taken: else two of them
    could wait for each other."""
    known = {*made, *lock.control_inputs, *(t.op for t in lock.inputs), lock}
    outside = {t.op: None for node in made for t in node.inputs}
    outside |= {node: None for one in made for node in one.control_inputs}
    wanted = [node for node in outside if node not in known]
    if wanted:
        lock._add_control_input(group(*wanted))
