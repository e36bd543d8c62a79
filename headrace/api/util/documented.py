"""all_util and decorator_utils: a module's names are those that its docstring lists as @@name."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

_LISTED = re.compile(r"^@@(\w+)$", flags=re.MULTILINE)
_hidden: dict[str, tuple[ModuleType, Any]] = {}


def make_all(module_name: str, doc_string_modules: Iterable[Any] | None = None) -> list[str]:
    """The names of a module that the docstrings list."""
    module = sys.modules[module_name]
    listed = (name for m in doc_string_modules or [module] for name in _LISTED.findall(m.__doc__ or ""))
    present = {*dir(module)}
    return sorted({name for name in listed if name in present})


def remove_undocumented(
    module_name: str,
    allowed_exception_list: list[str] | None = None,
    doc_string_modules: Iterable[Any] | None = None,
) -> None:
    """Delete a module's other names; those that begin with an underscore stay."""
    module = sys.modules[module_name]
    kept = {*make_all(module_name, doc_string_modules), *(allowed_exception_list or ())}
    for name in [n for n in vars(module) if not n.startswith("_") and n not in kept]:
        _hidden[f"{module_name}.{name}"] = module, getattr(module, name)
        delattr(module, name)


def reveal_undocumented(symbol_name: str, target_module: ModuleType | None = None) -> None:
    """Put one of them back."""
    if symbol_name not in _hidden:
        raise LookupError(f"Symbol {symbol_name} is not a hidden symbol")
    module, value = _hidden[symbol_name]
    setattr(target_module or module, symbol_name.rpartition(".")[2], value)


# -- decorator_utils ------------------------------------------------------------------------------
def get_qualified_name(function: Any) -> str:
    """Python's qualified name of a function or a class."""
    return str(function.__qualname__)


def add_notice_to_docstring(
    doc: str | None, instructions: str, no_doc_str: str, suffix_str: str, notice: list[str]
) -> str:
    """A docstring that begins with its first line, `suffix_str` and the notice."""
    if not notice:
        raise ValueError("The `notice` arg must not be empty.")
    first, *body = inspect.cleandoc(doc).splitlines() if doc else [no_doc_str]
    said = ["", f"Warning: {notice[0]}", *notice[1:], *([instructions] if instructions else [])]
    gap = [""] if body and body[0].strip() else []
    return "\n".join([f"{first} {suffix_str}" if doc else first, *said, *gap, *body])


def validate_callable(func: Callable[..., Any], decorator_name: str) -> None:
    if not hasattr(func, "__call__"):  # noqa: B004
        raise ValueError(
            f"{func} is not a function. If this is a property, make sure @property appears before "
            f"@{decorator_name} in your source code:\n\n@property\n@{decorator_name}\ndef method(...)"
        )


class classproperty:
    """A property of a class."""

    def __init__(self, func: Callable[[Any], Any]) -> None:
        self._func = func

    def __get__(self, owner_self: Any, owner_cls: Any) -> Any:
        return self._func(owner_cls)
