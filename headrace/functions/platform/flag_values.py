"""A flag of the command line, and all flags together: `FLAGS`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any


class Error(Exception):
    """Something is wrong with the flags."""


class DuplicateFlagError(Error):
    """A flag is defined twice."""


class IllegalFlagValueError(Error):
    """A value that the flag does not take."""


class UnrecognizedFlagError(Error):
    """A flag that nobody has defined."""

    def __init__(self, flagname: str, flagvalue: str = "") -> None:
        self.flagname, self.flagvalue = flagname, flagvalue
        super().__init__(f"Unknown command line flag '{flagname}'")


class UnparsedFlagAccessError(Error):
    """A flag was asked for before the command line was read."""


class ValidationError(Error):
    """A validator refuses a value."""


class Flag:
    """One flag: how its text becomes a value, and the value."""

    def __init__(
        self,
        name: str,
        default: Any,
        help: str | None,
        parse: Callable[[str], Any],
        *,
        short_name: str | None = None,
        is_bool: bool = False,
        is_multi: bool = False,
        show: Callable[[Any], str] = str,
    ) -> None:
        self.name, self.help, self.short_name = name, help or "", short_name
        self.is_bool, self.is_multi, self._parse, self._show = is_bool, is_multi, parse, show
        self.present = 0
        self.using_default_value = True
        self.validators: list[tuple[Callable[[Any], Any], str]] = []
        self.default = self.value = self._converted(default)

    def _converted(self, value: Any) -> Any:
        if value is None:
            return None
        if self.is_multi:
            items = value if isinstance(value, (list, tuple)) else [value]
            return [self._parsed(v) for v in items]
        return self._parsed(value)

    def _parsed(self, value: Any) -> Any:
        try:
            return self._parse(value)
        except (TypeError, ValueError) as error:
            raise IllegalFlagValueError(f"flag --{self.name}={value}: {error}") from None

    def parse(self, text: Any) -> None:
        """Take a value from the command line."""
        if self.is_multi:
            old = self.value if self.present and self.value is not None else []
            self.value = [*old, self._parsed(text)]
        else:
            self.value = self._parsed(text)
        self.present += 1
        self.using_default_value = False

    def set(self, value: Any) -> None:
        self.value, self.using_default_value = value, False
        self.check()

    def unparse(self) -> None:
        self.value, self.present, self.using_default_value = self.default, 0, True

    def check(self) -> None:
        for validator, message in self.validators:
            if not validator(self.value):
                raise IllegalFlagValueError(f"flag --{self.name}={self.value}: {message}")

    def serialize(self) -> str:
        """The flag as an argument."""
        if self.value is None:
            return ""
        if self.is_bool:
            return f"--{self.name}" if self.value else f"--no{self.name}"
        if self.is_multi:
            return "\n".join(f"--{self.name}={self._show(v)}" for v in self.value)
        return f"--{self.name}={self._show(self.value)}"


class FlagValues:
    """All flags: attributes are their values."""

    def __init__(self) -> None:
        self.__dict__["_flags"] = {}
        self.__dict__["_is_parsed"] = False

    # -- values --------------------------------------------------------------------------------
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        flags = self.__dict__["_flags"]
        if name == "__flags" or name.endswith("__flags"):
            return flags  # old programs list them this way
        if name not in flags:
            raise AttributeError(name)
        if not self.__dict__["_is_parsed"]:
            self(sys.argv, known_only=True)
        return flags[name].value

    def __setattr__(self, name: str, value: Any) -> None:
        flag = self._flags.get(name)
        if flag is None:
            raise AttributeError(name)
        flag.set(value)

    def __getitem__(self, name: str) -> Flag:
        result: Flag = self._flags[name]
        return result

    def __setitem__(self, name: str, flag: Flag) -> None:
        for key in (name, flag.short_name):
            if key and key in self._flags and self._flags[key] is not flag:
                raise DuplicateFlagError(f"The flag '{key}' is defined twice.")
            if key:
                self._flags[key] = flag

    def __delattr__(self, name: str) -> None:
        flag = self._flags.pop(name)
        for key in [k for k, f in self._flags.items() if f is flag]:
            del self._flags[key]

    def __contains__(self, name: str) -> bool:
        return name in self._flags

    def __iter__(self) -> Iterator[str]:
        return iter(self._flags)

    def __len__(self) -> int:
        return len(self._flags)

    def __dir__(self) -> list[str]:
        return sorted(self._flags)

    def flag_values_dict(self) -> dict[str, Any]:
        """Name -> value of all flags."""
        return {name: flag.value for name, flag in self._flags.items()}

    def is_parsed(self) -> bool:
        return bool(self._is_parsed)

    def mark_as_parsed(self) -> None:
        self.__dict__["_is_parsed"] = True

    def unparse_flags(self) -> None:
        for flag in self._flags.values():
            flag.unparse()
        self.__dict__["_is_parsed"] = False

    def flags_into_string(self) -> str:
        """All flags that have a value, one argument per line."""
        lines = [f.serialize() for f in dict.fromkeys(self._flags.values())]
        return "\n".join(line for line in lines if line)

    def set_default(self, name: str, value: Any) -> None:
        flag = self._flags[name]
        flag.default = flag._converted(value)
        if flag.using_default_value:
            flag.value = flag.default

    # -- the command line ----------------------------------------------------------------------
    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        """Read arguments; returns those that are not flags, the program's name first.

        Raises:
          UnrecognizedFlagError: a flag is not known, unless `known_only`.
          IllegalFlagValueError: a flag does not take its value.
        """
        if isinstance(argv, str):
            raise TypeError("argv should be a tuple/list of strings, not bytes or string.")
        if not argv:
            raise ValueError("argv cannot be an empty list, and must contain the program name.")
        for flag in self._flags.values():
            flag.present = 0
        rest = self._read(list(argv[1:]), known_only)
        self.__dict__["_is_parsed"] = True
        for flag in dict.fromkeys(self._flags.values()):
            flag.check()
        return [argv[0], *rest]

    def _parse_flags(self, args: Sequence[str] | None = None) -> list[str]:
        """Old programs call this themselves."""
        return self(args or sys.argv, known_only=True)

    def _read(self, arguments: list[str], known_only: bool) -> list[str]:
        rest: list[str] = []
        while arguments:
            argument = arguments.pop(0)
            if argument == "--":
                rest += arguments
                break
            if not argument.startswith("-") or argument == "-":
                rest.append(argument)
                continue
            name, equals, text = argument.lstrip("-").partition("=")
            if name in ("flagfile", "undefok") and name not in self._flags:
                text = text if equals else (arguments.pop(0) if arguments else "")
                arguments[:0] = _file_arguments(text) if name == "flagfile" else []
            elif not self._read_one(name, text if equals else None, arguments):
                if not known_only:
                    raise UnrecognizedFlagError(name, argument)
                rest.append(argument)
        return rest

    def _read_one(self, name: str, text: str | None, arguments: list[str]) -> bool:
        flag = self._flags.get(name)
        if flag is None:
            flag = self._flags.get(name[2:]) if name.startswith("no") else None
            if flag is None or not flag.is_bool or text is not None:
                return False
            flag.parse(False)
        elif flag.is_bool:
            flag.parse(True if text is None else text)
        elif text is not None:
            flag.parse(text)
        elif arguments:
            flag.parse(arguments.pop(0))
        else:
            raise Error(f"Missing value for flag --{name}")
        return True

    def get_help(self) -> str:
        """What `--help` shows."""
        lines = []
        for flag in sorted(dict.fromkeys(self._flags.values()), key=lambda f: str(f.name)):
            lines.append(f"  --{'[no]' if flag.is_bool else ''}{flag.name}: {flag.help}")
            if flag.default is not None:
                lines.append(f"    (default: {flag.default!r})")
        return "\n".join(lines)

    main_module_help = get_help


FLAGS = FlagValues()


def _file_arguments(path: str) -> list[str]:
    with open(os.path.expanduser(path), encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    return [line for line in lines if line and not line.startswith(("#", "//"))]
