"""Names of modules that were removed: which module, which name, what it was.

A table's value is text, "module:name" of what it is called today, or a function that makes it.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

from headrace.aged.notes import note


class ArgSpec(NamedTuple):
    """What inspect.getargspec gave."""

    args: list[str]
    varargs: str | None
    keywords: str | None
    defaults: tuple[Any, ...] | None


def getargspec(func: Any) -> ArgSpec:
    """inspect.getargspec, as Python 3.10 had it."""
    full = inspect.getfullargspec(func)
    return ArgSpec(full.args, full.varargs, full.varkw, full.defaults)


def _formatargspec(args: Any = (), *rest: Any, **named: Any) -> str:
    """inspect.formatargspec, which programs use for messages: the names."""
    return f"({', '.join(args)})"


_ABSTRACT = (
    "Awaitable Callable Collection Container Coroutine Generator Hashable ItemsView Iterable Iterator "
    "KeysView Mapping MappingView MutableMapping MutableSequence MutableSet Sequence Set Sized ValuesView"
)
_NUMPY = {
    "float": "builtins:float", "int": "builtins:int", "object": "builtins:object", "str": "builtins:str",
    "bool": "numpy:bool_", "complex": "builtins:complex", "long": "builtins:int", "unicode": "builtins:str",
    "float_": "numpy:float64", "complex_": "numpy:complex128", "cfloat": "numpy:complex128",
    "unicode_": "numpy:str_", "string_": "numpy:bytes_",
    "longfloat": "numpy:longdouble",
    "singlecomplex": "numpy:complex64",
    "Inf": "numpy:inf", "Infinity": "numpy:inf", "infty": "numpy:inf",
    "PINF": "numpy:inf", "NaN": "numpy:nan", "NAN": "numpy:nan", "product": "numpy:prod",
    "cumproduct": "numpy:cumprod", "sometrue": "numpy:any", "alltrue": "numpy:all",
    "row_stack": "numpy:vstack",
    "in1d": "numpy:isin", "trapz": "numpy:trapezoid", "round_": "numpy:round", "mat": "numpy:asmatrix",
    "rank": "numpy:ndim", "issubsctype": "numpy:issubdtype", "safe_eval": "ast:literal_eval",
    "AxisError": "numpy.exceptions:AxisError", "ComplexWarning": "numpy.exceptions:ComplexWarning",
    "RankWarning": "numpy.exceptions:RankWarning",
    "VisibleDeprecationWarning": "numpy.exceptions:VisibleDeprecationWarning",
}  # fmt: skip
REMOVED: dict[str, dict[str, str | Callable[[], Any]]] = {
    "collections": {name: f"collections.abc:{name}" for name in _ABSTRACT.split()},
    "inspect": {
        "getargspec": lambda: getargspec,
        "ArgSpec": lambda: ArgSpec,
        "formatargspec": lambda: _formatargspec,
    },
    "time": {"clock": "time:perf_counter"},
    "fractions": {"gcd": "math:gcd"},
    "asyncio": {"coroutine": "types:coroutine"},
    "platform": {"linux_distribution": lambda: lambda *a, **k: ("", "", "")},
    "ast": dict.fromkeys(("Num", "Str", "Bytes", "NameConstant"), "ast:Constant"),
    "numpy": {
        **_NUMPY,
        "NINF": lambda: -_of("numpy:inf"),
        "asscalar": lambda: lambda a: _of("numpy:asarray")(a).item(),
        "asfarray": lambda: lambda a, dtype=float: _of("numpy:asarray")(a, dtype),
        "msort": lambda: lambda a: _of("numpy:sort")(a, 0),
        "find_common_type": lambda: lambda arrays, scalars: _of("numpy:result_type")(*arrays, *scalars),
        "obj2sctype": lambda: lambda rep, default=None: _of("numpy:dtype")(rep).type,
        "sctype2char": lambda: lambda sctype: _of("numpy:dtype")(sctype).char,
        "issubclass_": lambda: lambda a, b: isinstance(a, type) and issubclass(a, b),
    },
    "PIL.Image": {
        "ANTIALIAS": "PIL.Image:LANCZOS",
        "LINEAR": "PIL.Image:BILINEAR",
        "CUBIC": "PIL.Image:BICUBIC",
    },
    "scipy": {
        name: f"numpy:{name}" for name in ("array", "mean", "zeros", "ones", "sqrt", "log", "exp", "dot")
    },
    "scipy.misc": {
        name: f"headrace.aged.images:{name}"
        for name in ("imread", "imresize", "imsave", "toimage", "fromimage")
    },
    "scipy.special": {"logsumexp": "scipy.special:logsumexp"},
}
REMOVED["scipy.misc"]["logsumexp"] = "scipy.special:logsumexp"


def _of(home: str) -> Any:
    module, _, name = home.partition(":")
    return getattr(importlib.import_module(module), name)


def restore(module: ModuleType) -> None:
    """From now on, the module gives its removed names when they are asked for."""
    table = REMOVED[module.__name__]
    inner = module.__dict__.get("__getattr__")

    def give(name: str) -> Any:
        if name not in table or name in module.__dict__:
            if inner is not None:
                return inner(name)
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        home = table[name]
        value = _of(home) if isinstance(home, str) else home()
        shown = home.replace(":", ".") if isinstance(home, str) else "what it was"
        note(f"{module.__name__}.{name}", f"it is {shown.removeprefix('builtins.')} here")
        setattr(module, name, value)
        return value

    module.__getattr__ = give  # type: ignore[method-assign]
