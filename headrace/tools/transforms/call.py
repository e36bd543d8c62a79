"""Calls of transforms in text, `fold_constants(ignore_errors=true) remove_nodes(op=Identity)`, and the table
of transforms."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from headrace.tools.transforms.nodes import refuse

TRANSFORMS: dict[str, Callable[[Any, Call], Any]] = {}


@dataclass
class Call:
    """One transform with its parameters; inputs and outputs are those of the whole graph."""

    name: str
    parameters: dict[str, list[str]] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)

    def all(self, key: str) -> list[str]:
        return self.parameters.get(key, [])

    def one(self, key: str, default: str | None = None) -> str:
        """The only value of a parameter; it must be given where there is no default."""
        found = self.all(key)
        if len(found) > 1 or (not found and default is None):
            raise refuse(f"{self.name} expects exactly one '{key}' argument, found {len(found)}")
        return found[0] if found else str(default)

    def integer(self, key: str, default: int) -> int:
        return int(self._number(key, default, int))

    def number(self, key: str, default: float) -> float:
        return float(self._number(key, default, float))

    def _number(self, key: str, default: Any, kind: Any) -> Any:
        text = self.one(key, str(default))
        try:
            return kind(text)
        except ValueError:
            raise refuse(f"{self.name}: '{key}' should be a number, found {text}") from None

    def flag(self, key: str, default: bool = False) -> bool:
        text = self.one(key, str(default)).lower()
        if text not in ("true", "false", "1", "0"):
            raise refuse(f"{key} should be true or false, found {text}")
        return text in ("true", "1")


def transform(name: str) -> Callable[[Any], Any]:
    """Declare a transform: a function of a GraphDef and a Call that returns a GraphDef."""

    def declared(function: Any) -> Any:
        TRANSFORMS[name] = function
        return function

    return declared


_SPACE = re.compile(r"[\s']*")
_WORD = re.compile(r"\w+")
_VALUE = re.compile(r'"((?:[^"\\]|\\.)*)"|([\w./-]+)')


def parse(text: str) -> list[Call]:
    """The calls in a text.

    Raises:
      InvalidArgumentError: it can not be understood.
    """
    calls, at = [], _after(_SPACE, text, 0)
    while at < len(text):
        word = _found(_WORD, text, at, "transform name")
        call, at = Call(word[0]), word.end()
        if text[at : at + 1] == "(":
            at = _parameters(text, at + 1, call)
        calls.append(call)
        at = _after(_SPACE, text, at)
    return calls


def _parameters(text: str, at: int, call: Call) -> int:
    while True:
        at = _after(_SPACE, text, at)
        if text[at : at + 1] == ")":
            return at + 1
        word = _found(_WORD, text, at, "parameter name")
        if text[word.end() : word.end() + 1] != "=":
            raise refuse(f"Looking for =, but found {text[word.end() :]}")
        value = _found(_VALUE, text, word.end() + 1, "parameter value")
        call.parameters.setdefault(word[0], []).append(value[1] if value[2] is None else value[2])
        at = _after(_SPACE, text, value.end())
        if text[at : at + 1] == ",":
            at += 1


def _after(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _found(pattern: re.Pattern[str], text: str, at: int, what: str) -> re.Match[str]:
    found = pattern.match(text, at)
    if found is None:
        raise refuse(f"Looking for {what}, but found {text[at:]}")
    return found
