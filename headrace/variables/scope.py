"""Variable scopes: prefixes and defaults for `get_variable`, per graph and thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from headrace.core import hooks
from headrace.core.families import takes
from headrace.functions.values.structure import graph_of, name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.graph import Graph
from headrace.graph.keys import GraphKeys
from headrace.variables.scope_defaults import DEFAULTS, VariableScope, defaults, either
from headrace.variables.store import AUTO_REUSE, VariableStore, default_store

_KEY = ("__varscope",)


# -- the current scope ---------------------------------------------------------------------------
class ScopeStore(threading.local):
    """The current scope of a thread, and how often each name has been opened."""

    def __init__(self) -> None:
        self.current_scope = VariableScope(False)
        self.variable_scopes_count: dict[str, int] = {}

    def open_variable_scope(self, scope_name: str) -> None:
        counts = self.variable_scopes_count
        counts[scope_name] = counts.get(scope_name, 0) + 1

    def close_variable_subscopes(self, scope_name: str | None) -> None:
        for name in self.variable_scopes_count:
            if scope_name is None or name.startswith(scope_name + "/"):
                self.variable_scopes_count[name] = 0

    def variable_scope_count(self, scope_name: str) -> int:
        return self.variable_scopes_count.get(scope_name, 0)


def get_variable_scope_store() -> ScopeStore:
    stores = get_default_graph().get_collection_ref(_KEY)
    if not stores:
        stores.append(ScopeStore())
    store: ScopeStore = stores[0]
    return store


def get_variable_scope() -> VariableScope:
    """The current variable scope."""
    return get_variable_scope_store().current_scope


@takes(VariableStore.get_variable, "self", "reuse", dtype=None)
def get_variable(**options: Any) -> Any:
    """The variable of this name in the current variable scope: a known one, or a new one.

    Args:
      name: name, below that of the scope.
      shape: shape; must be fully defined unless the initializer is a value.
      dtype: element type; default that of the scope, float32.
      initializer: an initializer, a function without arguments, or a value; default that of the
        scope, else Glorot's uniform one (zeros for integers, booleans and strings).
      regularizer: function of the variable; what it returns joins `REGULARIZATION_LOSSES`.
      trainable: also add it to `GraphKeys.TRAINABLE_VARIABLES`.
      collections: where to add it; default `[GraphKeys.GLOBAL_VARIABLES]`.
      caching_device: where reads are cached.
      partitioner: function of shape and dtype that says into how many parts each dimension is cut;
        the result is then a PartitionedVariable.
      validate_shape: False allows an initial value of unknown shape.
      use_resource: True for a variable by handle.
      custom_getter: called in place of the getter, which it gets as its first argument.
      constraint: function that optimizers apply to the new value.
      synchronization: when copies in a replicated program are brought together.
      aggregation: how updates in a replicated program are combined.

    Returns:
      A variable.

    Raises:
      ValueError: the name is known and the scope does not reuse, or the other way round; or the
        known variable has another shape or type.

    Example:
      >>> with tf.variable_scope("layer", reuse=tf.AUTO_REUSE):
      ...     w = tf.get_variable("w", [3, 4])      # "layer/w:0"
    """
    return get_variable_scope().get_variable(default_store(), **options)


@takes(get_variable, trainable=False)
def get_local_variable(collections: Any, **options: Any) -> Any:
    """As `get_variable`, but a local variable, never trainable."""
    where = [*(collections or ()), GraphKeys.LOCAL_VARIABLES]
    return get_variable(**options | {"trainable": False, "collections": where})


# -- entering a scope ----------------------------------------------------------------------------
def _derived(base: VariableScope, name: str, opened: str, options: dict[str, Any]) -> VariableScope:
    """A scope with the defaults of `base`, where `options` say nothing else."""
    return VariableScope(
        options["reuse"] or base.reuse,
        name=name,
        initializer=either(options["initializer"], base.initializer),
        regularizer=either(options["regularizer"], base.regularizer),
        caching_device=either(options["caching_device"], base.caching_device),
        partitioner=either(options["partitioner"], base.partitioner),
        dtype=either(options["dtype"], base.dtype),
        custom_getter=_nested_getter(options["custom_getter"], base.custom_getter),
        name_scope=opened,
        use_resource=either(options["use_resource"], base.use_resource),
        constraint=options["constraint"],
    )


@contextmanager
def _sub_scope(name: str, opened: str | None, options: dict[str, Any]) -> Iterator[VariableScope]:
    """The scope `name` below the current one."""
    store = get_variable_scope_store()
    old = store.current_scope
    full = f"{old.name}/{name}" if old.name else name
    new = _derived(old, full, name if opened is None else opened, options)
    store.open_variable_scope(full)
    with _current(store, new):
        yield new
    store.close_variable_subscopes(full)


@contextmanager
def _scope_again(scope: VariableScope) -> Iterator[VariableScope]:
    """A known scope; default names inside continue where the scope around is."""
    store = get_variable_scope_store()
    store.open_variable_scope(scope.name)
    counts = dict(store.variable_scopes_count)
    with _current(store, scope):
        yield scope
    store.variable_scopes_count = counts


@contextmanager
def _current(store: ScopeStore, scope: VariableScope) -> Iterator[None]:
    old, store.current_scope = store.current_scope, scope
    try:
        yield
    finally:
        store.current_scope = old


def bare_scope(name: str, custom_getter: Any = None) -> Any:
    """A context: the scope `name` below the current one, without a name scope."""
    return _sub_scope(name, None, dict.fromkeys(DEFAULTS) | {"custom_getter": custom_getter})


def _nested_getter(getter: Any, outer: Any) -> Any:
    if getter is None or outer is None:
        return either(getter, outer)

    inner = getter

    def nested(getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return inner(partial(outer, getter), *args, **kwargs)

    return nested


def unique_scope_name(prefix: str) -> str:
    """`prefix`, with _1, _2, ... where the current scope has opened it before."""
    store, current = get_variable_scope_store(), get_variable_scope()
    name = f"{current.name}/{prefix}" if current.name else prefix
    if not store.variable_scope_count(name):
        return prefix
    number = 1
    while store.variable_scope_count(f"{name}_{number}"):
        number += 1
    return f"{prefix}_{number}"


def _named(self: Any, name_or_scope: Any, default_name: str | None = None, values: Any = None) -> None:
    """What `variable_scope` takes first."""


class variable_scope:
    """A context in which `get_variable` prefixes names and takes defaults.

    Args:
      name_or_scope: name of a scope below the current one, or a VariableScope to enter again.
      default_name: used where `name_or_scope` is None, made unique.
      values: tensors whose graph is the one to work in.
      initializer, regularizer, caching_device, partitioner, custom_getter, dtype, use_resource,
        constraint: defaults for `get_variable` inside.
      reuse: True to return known variables only, AUTO_REUSE to make those that are missing; None
        inherits.
      auxiliary_name_scope: False opens no name scope of the same name.

    Example:
      >>> with tf.variable_scope("a"), tf.variable_scope("b"):
      ...     v = tf.get_variable("v", [1])        # "a/b/v:0"
    """

    @takes(defaults, first=_named, auxiliary_name_scope=True)
    def __init__(
        self, name_or_scope: Any, default_name: Any, values: Any, auxiliary_name_scope: bool, **options: Any
    ) -> None:
        if default_name is None and name_or_scope is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        reuse = None if options["reuse"] is False else options["reuse"]
        if reuse is not None and reuse is not True and reuse is not AUTO_REUSE:
            raise ValueError("The reuse parameter must be True or False or None.")
        if not isinstance(auxiliary_name_scope, bool):
            raise TypeError(
                f"The auxiliary_name_scope must be `True` or `False`, while get {auxiliary_name_scope}"
            )
        self._name_or_scope, self._default_name = name_or_scope, default_name
        self._graph: Graph = graph_of(values or [])
        self._auxiliary_name_scope = auxiliary_name_scope
        self._options = options | {"reuse": reuse}
        self._entered: list[tuple[ExitStack, VariableScope]] = []
        # Entering this object again gives the same scope, under a new name scope.
        self._opened: str | None = None
        self._scope: Any = None

    def __enter__(self) -> VariableScope:
        with ExitStack() as stack:
            if not get_default_graph().building_function:
                stack.enter_context(self._graph.as_default())
            scope = self._enter(stack)
            self._entered.append((stack.pop_all(), scope))
        return scope

    def _enter(self, stack: ExitStack) -> VariableScope:
        if self._name_or_scope is not None and not isinstance(self._name_or_scope, (str, VariableScope)):
            raise TypeError("VariableScope: name_or_scope must be a string or VariableScope.")
        if self._name_or_scope is None and self._options["reuse"]:
            raise ValueError("reuse=True cannot be used without a name_or_scope")
        opened = self._open_name_scope(stack)
        if self._scope is None:
            self._opened, self._scope = opened, self._resolve()
        if isinstance(self._scope, VariableScope):
            return stack.enter_context(_scope_again(self._scope))
        return stack.enter_context(_sub_scope(self._scope, self._opened, self._options))

    def _resolve(self) -> Any:
        """The name of a sub-scope, or the scope to enter again with our options."""
        known = self._name_or_scope
        if isinstance(known, VariableScope):
            return _derived(known, known.name, known._name_scope, self._options)
        return unique_scope_name(self._default_name or "") if known is None else known

    def _open_name_scope(self, stack: ExitStack) -> str | None:
        """Enter the name scope that goes with this scope; its full name, if there is one."""
        graph = get_default_graph()
        if not self._auxiliary_name_scope:
            current = graph.get_name_scope()
            stack.enter_context(graph.name_scope(current + "/" if current else ""))
            return current + "/" if current else ""
        wanted = self._name_or_scope
        if wanted is None:
            wanted = self._default_name
        elif isinstance(wanted, VariableScope):
            wanted = wanted.name.split("/")[-1]
        if not wanted:
            return None
        opened: str = stack.enter_context(name_scope(wanted))
        return opened

    def __exit__(self, *error: Any) -> Any:
        if get_variable_scope() is not self._entered[-1][1]:
            raise RuntimeError("Improper nesting of variable_scope.")
        return self._entered.pop()[0].__exit__(*error)


@takes(variable_scope.__init__, "self", "values", "auxiliary_name_scope", first="values")
@contextmanager
def variable_op_scope(**options: Any) -> Iterator[VariableScope]:
    """The old form of `variable_scope(name_or_scope, default_name, values, ...)`."""
    with variable_scope(**options) as scope:
        yield scope


@contextmanager
def cached_reads() -> Iterator[None]:
    """Inside, a variable of the current scope is read where it is used, once (see core.hooks)."""
    scope = get_variable_scope()
    if scope.caching_device is not None:
        yield
        return
    scope.set_caching_device(lambda node: node.device)
    try:
        yield
    finally:
        scope.set_caching_device(None)


hooks.cached_reads.value = cached_reads
