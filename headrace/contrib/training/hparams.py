"""tf.contrib.training.HParams: named values with fixed types, from and to text."""

from __future__ import annotations

import json
import numbers
import re
from typing import Any

_ASSIGNMENT = re.compile(
    r"(?P<name>[a-zA-Z][\w\.]*)(?:\[\s*(?P<index>\d+)\s*\])?\s*=\s*"
    r"(?:(?P<value>[^,\[]*)|\[(?P<values>[^\]]*)\])(?:$|\s*,\s*)"
)


def parse_values(values: str, type_map: dict[str, Any], ignore_unknown: bool = False) -> dict[str, Any]:
    """Assignments such as `a=1,b=[2,3],c[0]=4`.

    Args:
      values: the text.
      type_map: the type of each name.
      ignore_unknown: leave out names that have no type.

    Returns:
      Values by name; for assignments to elements, dictionaries by index.

    Raises:
      ValueError: the text is malformed, or a name is unknown or assigned twice.
    """
    results: dict[str, Any] = {}
    place = 0
    while place < len(values):
        match = _ASSIGNMENT.match(values, place)
        if not match:
            raise ValueError(f"Malformed hyperparameter value: {values[place:]}")
        place = match.end()
        name = match["name"]
        if name not in type_map:
            if ignore_unknown:
                continue
            raise ValueError(f"Unknown hyperparameter type for {name}")
        _assign(results, match, type_map[name], values)
    return results


def _assign(results: dict[str, Any], match: re.Match[str], kind: Any, text: str) -> None:
    name, index = match["name"], match["index"]

    def parsed(value: str, shown: str) -> Any:
        try:
            return _boolean(value) if kind is bool else kind(value)
        except ValueError:
            raise ValueError(
                f"Could not parse hparam '{name}' of type '{kind.__name__}' with value '{shown}' in {text}"
            ) from None

    def check_first(known: bool, shown: str) -> None:
        if known:
            raise ValueError(f"Multiple assignments to variable '{shown}' in {text}")

    if match["values"] is not None:
        if index is not None:
            raise ValueError("Assignment of a list to a list index.")
        check_first(name in results, name)
        parts = filter(None, re.split("[ ,]", match["values"]))
        results[name] = [parsed(part, match["values"]) for part in parts]
        return
    value = parsed(match["value"], match["value"])
    if not index:
        check_first(name in results, name)
        results[name] = value
        return
    check_first(name in results and not isinstance(results[name], dict), name)
    elements = results.setdefault(name, {})
    check_first(int(index) in elements, f"{name}[{int(index)}]")
    elements[int(index)] = value


def _boolean(value: str) -> bool:
    known = {"true": True, "True": True, "false": False, "False": False}
    return known[value] if value in known else bool(int(value))


def _fitted(name: str, kind: Any, value: Any) -> Any:
    """`value` as the type of a parameter, if nothing is lost."""
    if type(value) is kind or issubclass(kind, type(None)):
        return value
    text = str | bytes
    wrong = (
        (issubclass(kind, text) and not isinstance(value, text))
        or issubclass(kind, bool) != isinstance(value, bool)
        or (issubclass(kind, numbers.Integral) and not isinstance(value, numbers.Integral))
        or (issubclass(kind, numbers.Number) and not isinstance(value, numbers.Number))
    )
    if wrong:
        raise ValueError(f"Could not cast hparam '{name}' of type '{kind}' from value {value!r}")
    return kind(value)


def _read(message: Any) -> dict[str, Any]:
    """The values of an HParamDef: each has a field that names its type, `..._value` or `..._list`."""
    found: dict[str, Any] = {}
    for name, entry in message.hparam.items():
        kind = entry.WhichOneof("kind")
        value = getattr(entry, kind)
        several = kind.endswith("_list")
        values = list(value.value) if several else [value]
        if kind.startswith("bytes"):
            values = [v.decode() for v in values]
        found[name] = values if several else values[0]
    return found


class HParams:
    """Values as attributes; a name keeps the type of its first value.

    Args:
      hparam_def: an HParamDef message, in place of values.
      model_structure: anything; kept.
      **kwargs: the values; a list has values of one type.

    Example:
      >>> hparams = tf.contrib.training.HParams(learning_rate=0.1, units=[64, 32])
      >>> hparams.parse("learning_rate=0.01")
    """

    def __init__(self, hparam_def: Any = None, model_structure: Any = None, **kwargs: Any) -> None:
        self._hparam_types: dict[str, tuple[Any, bool]] = {}
        self._model_structure = model_structure
        if hparam_def and kwargs:
            raise ValueError("hparam_def and initialization values are mutually exclusive")
        for name, value in (_read(hparam_def) if hparam_def else kwargs).items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str, value: Any) -> None:
        """Add a name.

        Raises:
          ValueError: it is in use, or the value is an empty list.
        """
        if getattr(self, name, None) is not None:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        several = isinstance(value, list | tuple)
        if several and not value:
            raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
        self._hparam_types[name] = (type(value[0] if several else value), several)
        setattr(self, name, value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Give a name a new value.

        Raises:
          ValueError: it is of another type.
        """
        kind, several = self._hparam_types[name]
        if isinstance(value, list) != several:
            raise ValueError(
                f"Must pass a list for multi-valued parameter: {name}."
                if several
                else f"Must not pass a list for single-valued parameter: {name}"
            )
        fitted = [_fitted(name, kind, v) for v in (value if several else [value])]
        setattr(self, name, fitted if several else fitted[0])

    def del_hparam(self, name: str) -> None:
        """Forget a name."""
        if hasattr(self, name):
            delattr(self, name)
            del self._hparam_types[name]

    def parse(self, values: str) -> HParams:
        """New values from text, such as `a=1,b=[2,3]`."""
        kinds = {name: kind for name, (kind, _) in self._hparam_types.items()}
        return self.override_from_dict(parse_values(values, kinds))

    def override_from_dict(self, values_dict: dict[str, Any]) -> HParams:
        """New values from a dictionary."""
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    def set_from_map(self, values_map: dict[str, Any]) -> HParams:
        """The old name of `override_from_dict`."""
        return self.override_from_dict(values_map)

    def set_model_structure(self, model_structure: Any) -> None:
        self._model_structure = model_structure

    def get_model_structure(self) -> Any:
        return self._model_structure

    def to_json(self, indent: Any = None, separators: Any = None, sort_keys: bool = False) -> str:
        """The values as JSON."""
        return json.dumps(self.values(), indent=indent, separators=separators, sort_keys=sort_keys)

    def parse_json(self, values_json: str) -> HParams:
        """New values from JSON."""
        return self.override_from_dict(json.loads(values_json))

    def values(self) -> dict[str, Any]:
        """All values."""
        return {name: getattr(self, name) for name in self._hparam_types}

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a name, or `default`, which must be of its type.

        Raises:
          ValueError: it is not.
        """
        if key not in self._hparam_types:
            return default
        if default is not None:
            kind, several = self._hparam_types[key]
            shown = f"list<{kind}>" if several else str(kind)
            fault = f"Hparam '{key}' of type '{shown}' is incompatible with default={default}"
            if isinstance(default, list) != several:
                raise ValueError(fault)
            try:
                for value in default if several else [default]:
                    _fitted(key, kind, value)
            except ValueError as error:
                raise ValueError(f"{fault}. {error}") from None
        return getattr(self, key)

    def __contains__(self, key: str) -> bool:
        return key in self._hparam_types

    def __str__(self) -> str:
        return ",".join(f"{name}={value}" for name, value in self.values().items())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({sorted(self.values().items())})"
