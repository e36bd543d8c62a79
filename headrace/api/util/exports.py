"""tf_export: which public names a function, class or constant of a library has.

The names stand in attributes of what is decorated; nothing is made public by them here.
"""

from __future__ import annotations

import functools
import sys
from typing import Any, NamedTuple

from headrace.api.util import decorators, inspection

ESTIMATOR_API_NAME = "estimator"
KERAS_API_NAME = "keras"
TENSORFLOW_API_NAME = "tensorflow"
SUBPACKAGE_NAMESPACES = [ESTIMATOR_API_NAME]


class _Attributes(NamedTuple):
    names: str
    constants: str


def _attributes(end: str) -> dict[str, _Attributes]:
    words = {TENSORFLOW_API_NAME: "tf", ESTIMATOR_API_NAME: "estimator", KERAS_API_NAME: "keras"}
    return {
        api: _Attributes(f"_{word}_api_names{end}", f"_{word}_api_constants{end}")
        for api, word in words.items()
    }


API_ATTRS = _attributes("")
API_ATTRS_V1 = _attributes("_v1")


class SymbolAlreadyExposedError(Exception):
    """It has public names already."""


class InvalidSymbolNameError(Exception):
    """A library may not use this public name."""


class api_export:
    """Decorator: the public names of what stands below it."""

    def __init__(self, *args: str, **kwargs: Any) -> None:
        if "v2" in kwargs:
            raise ValueError(
                'You passed a "v2" argument to tf_export. This is not what you want. '
                "Pass v2 names directly as positional arguments instead."
            )
        self._names = args
        self._names_v1 = kwargs.get("v1", args)
        self._api_name = kwargs.get("api_name", TENSORFLOW_API_NAME)
        self._overrides = kwargs.get("overrides", [])
        self._allow_multiple_exports = kwargs.get("allow_multiple_exports", False)
        self._check()

    def _check(self) -> None:
        names = {*self._names, *self._names_v1}
        if self._api_name != TENSORFLOW_API_NAME:
            if not all(name.startswith(self._api_name) for name in names):
                raise InvalidSymbolNameError(
                    "Can only export symbols under package name of component. "
                    "e.g. tensorflow_estimator must export all symbols under tf.estimator"
                )
            return
        for package in SUBPACKAGE_NAMESPACES:
            if any(name.startswith(package) for name in names):
                raise InvalidSymbolNameError(f"@tf_export is not allowed to export symbols under {package}.*")

    def __call__(self, func: Any) -> Any:
        places = (API_ATTRS[self._api_name].names, API_ATTRS_V1[self._api_name].names)
        for other in self._overrides:
            for place in places:
                delattr(decorators.unwrap(other)[1], place)
        target = decorators.unwrap(func)[1]
        for place, names in zip(places, (self._names, self._names_v1)):
            if place in target.__dict__ and not self._allow_multiple_exports:
                raise SymbolAlreadyExposedError(
                    f"Symbol {target.__name__} is already exposed as {getattr(target, place)}."
                )
            setattr(target, place, names)
        return func

    def export_constant(self, module_name: str, name: str) -> None:
        """Note the names in the constant's module, for a constant has no attributes."""
        module = sys.modules[module_name].__dict__
        module.setdefault(API_ATTRS[self._api_name].constants, []).append((self._names, name))
        module.setdefault(API_ATTRS_V1[self._api_name].constants, []).append((self._names_v1, name))


tf_export = functools.partial(api_export, api_name=TENSORFLOW_API_NAME)
estimator_export = functools.partial(api_export, api_name=ESTIMATOR_API_NAME)
keras_export = functools.partial(api_export, api_name=KERAS_API_NAME)


# -- what was noted -------------------------------------------------------------------------------
def get_canonical_name(api_names: Any, deprecated_api_names: Any) -> str | None:
    """The first name that is not deprecated, else the first."""
    return next((n for n in api_names if n not in deprecated_api_names), api_names[0] if api_names else None)


def get_canonical_name_for_symbol(
    symbol: Any, api_name: str = TENSORFLOW_API_NAME, add_prefix_to_v1_names: bool = False
) -> str | None:
    """The preferred public name of a decorated symbol, or None."""
    noted = getattr(decorators.unwrap(symbol)[1], "__dict__", {})
    if API_ATTRS[api_name].names not in noted:
        return None
    old = noted.get("_tf_deprecated_api_names", ())
    name = get_canonical_name(noted[API_ATTRS[api_name].names], old)
    if name:
        return name
    name = get_canonical_name(noted[API_ATTRS_V1[api_name].names], old)
    return f"compat.v1.{name}" if add_prefix_to_v1_names else name


def _noted(place: Any, attributes: list[str]) -> list[Any]:
    values = getattr(place, "__dict__", {})
    return [name for attribute in attributes for name in values.get(attribute, ())]


def get_v1_names(symbol: Any) -> list[str]:
    return _noted(symbol, [a.names for a in API_ATTRS_V1.values()])


def get_v2_names(symbol: Any) -> list[str]:
    return _noted(symbol, [a.names for a in API_ATTRS.values()])


def get_v1_constants(module: Any) -> list[Any]:
    return _noted(module, [API_ATTRS_V1[api].constants for api in (TENSORFLOW_API_NAME, ESTIMATOR_API_NAME)])


def get_v2_constants(module: Any) -> list[Any]:
    return _noted(module, [API_ATTRS[api].constants for api in (TENSORFLOW_API_NAME, ESTIMATOR_API_NAME)])


def kwarg_only(f: Any) -> Any:
    """A function that takes arguments by keyword alone."""
    spec = inspection.getargspec(f)

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if args:
            raise TypeError(
                f"{f.__name__} only takes keyword args (possible keys: {spec.args}). "
                "Please pass these args as kwargs instead."
            )
        return f(**kwargs)

    return decorators.make_decorator(f, wrapper, decorator_argspec=spec)
