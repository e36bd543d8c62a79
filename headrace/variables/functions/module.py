"""tf.Module: an object that knows the variables and modules among its attributes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from headrace.core.fields import reads
from headrace.functions.values.nest_paths import flatten_with_tuple_paths
from headrace.functions.values.structure import name_scope
from headrace.variables.variable import Variable

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<!^)(?=[A-Z][a-z])")
_IDENTIFIER = re.compile(r"^[a-zA-Z_]\w*$", re.ASCII)


class Module:
    """A named container of variables, other modules, and functions that use them.

    Args:
      name: a Python identifier; the class's name in snake case if not given.

    Raises:
      ValueError: `name` is not an identifier.

    Example:
      >>> class Dense(tf.Module):
      ...     def __init__(self, inputs, outputs, name=None):
      ...         super().__init__(name)
      ...         self.w = tf.Variable(tf.random_normal([inputs, outputs]))
      ...     def __call__(self, x):
      ...         return tf.matmul(x, self.w)
    """

    # Properties that may be costly or circular are not looked into; subclasses add theirs.
    _TF_MODULE_IGNORED_PROPERTIES = frozenset(
        ("_self_unconditional_checkpoint_dependencies", "_obj_reference_counts_dict")
    )

    def __init__(self, name: str | None = None) -> None:
        if name is None:
            name = _WORD.sub("_", type(self).__name__).lower()
        elif not _IDENTIFIER.match(name):
            raise ValueError(
                f"{name!r} is not a valid module name. Module names must be valid Python "
                "identifiers (e.g. a valid class name)."
            )
        self._name = name
        with name_scope(name) as scope:
            self._scope_name = scope

    name: str = reads("_name", "The name of this module, as it was given.")

    @property
    def name_scope(self) -> Any:
        """The name scope of this module, to be entered."""
        return name_scope(self._scope_name)

    @property
    def variables(self) -> tuple[Any, ...]:
        """The variables of this module and of its submodules."""
        return tuple(self._flatten(predicate=_is_variable))

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """The trainable variables of this module and of its submodules."""
        return tuple(self._flatten(predicate=lambda x: _is_variable(x) and x.trainable))

    @property
    def submodules(self) -> tuple[Module, ...]:
        """All modules that are attributes of this one, or of those."""
        return tuple(self._flatten(predicate=_is_module))

    def _flatten(
        self,
        recursive: bool = True,
        predicate: Callable[[Any], Any] | None = None,
        attribute_traversal_key: Callable[[str], Any] | None = None,
        with_path: bool = False,
    ) -> Iterator[Any]:
        """The values among the attributes (and inside lists, tuples and dictionaries there) for
        which `predicate` holds, in the order of attribute names; with_path: as (path, value)."""
        found = _walk(self, recursive, attribute_traversal_key, (), None if with_path else {id(self)})
        for path, leaf in found:
            if predicate is None or predicate(leaf):
                yield (path, leaf) if with_path else leaf

    @classmethod
    def with_name_scope(cls, method: Callable[..., Any]) -> Callable[..., Any]:
        """A decorator: the method runs inside the name scope of its module.

        Args:
          method: the method.

        Returns:
          The method, in the scope.
        """

        @wraps(method)
        def inside(self: Module, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return inside


def _walk(
    module: Module, recursive: bool, key: Any, at: tuple[Any, ...], seen: set[int] | None
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    attributes = vars(module)
    inner: list[tuple[tuple[Any, ...], Module]] = []
    ignored = module._TF_MODULE_IGNORED_PROPERTIES
    for name in sorted((name for name in attributes if name not in ignored), key=key):
        for path, leaf in flatten_with_tuple_paths(attributes[name]):
            if seen is not None:
                if id(leaf) in seen:
                    continue
                seen.add(id(leaf))
            place = (*at, name, *path)
            yield place, leaf
            if recursive and _is_module(leaf):
                inner.append((place, leaf))
    for place, submodule in inner:
        yield from _walk(submodule, recursive, key, place, seen)


def _is_variable(value: Any) -> bool:
    return isinstance(value, Variable)


def _is_module(value: Any) -> bool:
    return isinstance(value, Module)
