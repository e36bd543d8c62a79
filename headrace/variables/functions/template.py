"""make_template: a function whose variables are made at the first call and shared by later ones."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from headrace.core import origin
from headrace.core.fields import reads
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.variables.eager_store import EagerVariableStore
from headrace.variables.scope import bare_scope, unique_scope_name, variable_scope
from headrace.variables.scope_defaults import VariableScope


def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Any = None,
    **kwargs: Any,
) -> Template:
    """A function that makes its variables (by `get_variable`) once and shares them between calls.

    Args:
      name_: name of its variable scope, made unique.
      func_: the function.
      create_scope_now_: fix the name of the scope now, not at the first call.
      unique_name_: a name that is used as it is; two templates of this name share variables.
      custom_getter_: custom getter for the scope.
      **kwargs: arguments that are bound to the function.

    Returns:
      A Template, to be called like `func_`.

    Example:
      >>> scale = tf.make_template("scale", lambda x: x * tf.get_variable("w", []))
      >>> y, z = scale(1.0), scale(2.0)             # one variable, "scale/w"
    """
    if kwargs:
        func_ = functools.wraps(func_)(functools.partial(func_, **kwargs))
    return Template(name_, func_, create_scope_now_, unique_name_, custom_getter_)


class Template:
    """What `make_template` returns."""

    def __init__(
        self,
        name: str,
        func: Callable[..., Any],
        create_scope_now: bool = False,
        unique_name: str | None = None,
        custom_getter: Callable[..., Any] | None = None,
    ) -> None:
        if name is None:
            raise ValueError("name cannot be None.")
        self._func, self._name, self._unique_name = func, name, unique_name
        self._custom_getter, self._origin = custom_getter, origin.here()
        self._variable_scope: VariableScope | None = None
        self._variables_created, self._first_call = False, True
        self._store = EagerVariableStore() if get_default_graph().runs_at_once else None
        if create_scope_now:
            chosen = unique_name or unique_scope_name(name)
            with bare_scope(chosen, custom_getter=custom_getter) as scope:
                self._variable_scope = scope

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with nullcontext() if self._store is None else self._store.as_default():
            return self._in_scope(args, kwargs)

    def _in_scope(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._variable_scope is not None:
            with variable_scope(self._variable_scope, reuse=not self._first_call):
                return self._call(args, kwargs)
        with variable_scope(self._unique_name, self._name, custom_getter=self._custom_getter) as scope:
            self._variable_scope = scope
            return self._call(args, kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            if self._variables_created:
                return self._call_again(args, kwargs)
            return self._call_first(args, kwargs)
        except Exception as error:
            first, *rest = error.args or ("",)
            error.args = (f"{first}\n\noriginally defined at:\n  {self._origin}", *rest)
            raise

    def _call_first(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not self._first_call:  # a template that calls itself
            return self._func(*args, **kwargs)
        self._first_call = False
        try:
            result = self._func(*args, **kwargs)
        except BaseException:
            self._first_call = True
            raise
        self._variables_created = True
        return result

    def _call_again(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        before = len(self._trainable())
        result = self._func(*args, **kwargs)
        trainable = self._trainable()
        if len(trainable) != before:
            raise ValueError(
                "Trainable variable created when calling a template after the first time: "
                f"{trainable[before:]}. tf.Variable makes a new one each time, tf.get_variable does not."
            )
        return result

    def _trainable(self) -> list[Any]:
        """Those of the whole graph; in eager mode, the template's own."""
        if self._store is not None:
            return self._store.trainable_variables()
        return get_default_graph().get_collection_ref(GraphKeys.TRAINABLE_VARIABLES)

    name: str = reads("_name")
    func: Callable[..., Any] = reads("_func")
    variable_scope: VariableScope | None = reads("_variable_scope")

    var_scope = variable_scope  # the old name

    @property
    def variable_scope_name(self) -> str | None:
        """The name of the scope, with a "/" at its end; None before the first call."""
        if self._variable_scope is None:
            return None
        name = self._variable_scope.name
        return name if not name or name.endswith("/") else name + "/"

    def _collected(self, key: str) -> list[Any]:
        if not self._variables_created:
            return []
        if self._store is not None:
            every = {
                GraphKeys.TRAINABLE_VARIABLES: self._store.trainable_variables,
                GraphKeys.LOCAL_VARIABLES: list,
            }
            return every.get(key, self._store.variables)()
        return get_default_graph().get_collection(key, self.variable_scope_name)

    @property
    def variables(self) -> list[Any]:
        return self.global_variables + self.local_variables

    @property
    def trainable_variables(self) -> list[Any]:
        return self._collected(GraphKeys.TRAINABLE_VARIABLES)

    @property
    def non_trainable_variables(self) -> list[Any]:
        trainable = set(self.trainable_variables)
        return [v for v in self.global_variables if v not in trainable]

    @property
    def global_variables(self) -> list[Any]:
        return self._collected(GraphKeys.GLOBAL_VARIABLES)

    @property
    def local_variables(self) -> list[Any]:
        return self._collected(GraphKeys.LOCAL_VARIABLES)

    weights = variables
    trainable_weights = trainable_variables
    non_trainable_weights = non_trainable_variables
