"""tf_inspect: Python's inspect, which looks through the layers of `decorators`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from inspect import FullArgSpec, currentframe, getframeinfo, isframe, stack
from typing import Any, NamedTuple

from headrace.api.util.decorators import unwrap

__all__ = ["FullArgSpec", "currentframe", "getframeinfo", "isframe", "stack"]


class ArgSpec(NamedTuple):
    """What inspect.getargspec gave before Python 3.11."""

    args: list[str]
    varargs: str | None
    keywords: str | None
    defaults: tuple[Any, ...] | None


def _shown_signature(decorated: Any) -> tuple[Any, Any]:
    """(the signature that a layer declares, the function inside)."""
    layers, target = unwrap(decorated)
    declared = next((d.decorator_argspec for d in layers if d.decorator_argspec is not None), None)
    return declared, target


def getargspec(obj: Any) -> ArgSpec:
    """The arguments of a function, a class, a partial, or an object that can be called."""
    full = getfullargspec(obj)
    if not isinstance(full, FullArgSpec):
        return ArgSpec(*full[:4])
    return ArgSpec(full.args, full.varargs, full.varkw, full.defaults)


def getfullargspec(obj: Any) -> Any:
    declared, target = _shown_signature(obj)
    if declared is not None:
        return _as_full(declared)
    if isinstance(target, functools.partial):
        return _partial_argspec(target)
    if isinstance(target, type) or inspect.isroutine(target):
        spec = inspect.getfullargspec(target)
        # TF 1.15's functions have no annotations, and libraries compare their arguments with those of others.
        is_ours = (getattr(target, "__module__", None) or "").startswith("headrace")
        return spec._replace(annotations={}) if is_ours else spec
    return getfullargspec(type(target).__call__)


def _as_full(spec: Any) -> Any:
    """A FullArgSpec of what may be an ArgSpec."""
    if isinstance(spec, FullArgSpec):
        return spec
    return FullArgSpec(spec.args, spec.varargs, spec.keywords, spec.defaults, [], None, {})


def _partial_argspec(partial: functools.partial[Any]) -> FullArgSpec:
    """What is left of the arguments: those that were given by keyword have them as defaults."""
    spec: FullArgSpec = getfullargspec(partial.func)
    args = list(spec.args)[len(partial.args) :]
    defaults = dict(zip(reversed(spec.args), reversed(spec.defaults or ())))
    defaults.update(partial.keywords)
    first = next((i for i, name in enumerate(args) if name in defaults), len(args))
    bare = [name for name in args[first:] if name not in defaults]
    if bare:
        raise ValueError(
            f"Some arguments {bare} do not have default value, but they are positioned "
            "after those with default values."
        )
    values = tuple(defaults[name] for name in args[first:])
    return spec._replace(args=args, defaults=values or None)


def getcallargs(*func_and_positional: Any, **named: Any) -> dict[str, Any]:
    """Which argument has which value in a call."""
    func, *positional = func_and_positional
    declared, target = _shown_signature(func)
    if declared is None:
        return inspect.getcallargs(target, *positional, **named)
    call = dict(zip(reversed(declared.args), reversed(declared.defaults or ())))
    call.update(zip(declared.args, positional), **named)
    return call


def _through(look: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`look` at the function inside of all layers."""

    @functools.wraps(look)
    def inspected(object: Any) -> Any:
        return look(unwrap(object)[1])

    return inspected


getfile = _through(inspect.getfile)
getmodule = _through(inspect.getmodule)
getsource = _through(inspect.getsource)
getsourcefile = _through(inspect.getsourcefile)
getsourcelines = _through(inspect.getsourcelines)
isbuiltin = _through(inspect.isbuiltin)
isclass = _through(inspect.isclass)
isfunction = _through(inspect.isfunction)
isgenerator = _through(inspect.isgenerator)
isgeneratorfunction = _through(inspect.isgeneratorfunction)
ismethod = _through(inspect.ismethod)
ismodule = _through(inspect.ismodule)
isroutine = _through(inspect.isroutine)


def getdoc(object: Any) -> str | None:
    """The docstring of the outermost layer."""
    return inspect.getdoc(object)


def getmembers(object: Any, predicate: Callable[[Any], bool] | None = None) -> list[tuple[str, Any]]:
    return inspect.getmembers(object, predicate)


def getmro(cls: type) -> tuple[type, ...]:
    return inspect.getmro(cls)
