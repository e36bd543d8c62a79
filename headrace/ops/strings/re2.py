"""RE2's regular expressions, run by Python's `re`.

`compile` reads RE2's syntax and writes Python's: classes are ASCII, `$` is the end of the text, flags
may change within a group, \\p{...} and [[:alpha:]] are spelled out.  What RE2 refuses (back
references, look-around, doubled repetition) is refused.  Text is UTF-8; bytes that are not pass as
surrogates, so that they come back unchanged.  \\C takes a character where RE2 takes a byte.
"""

from __future__ import annotations

import re
from functools import lru_cache

from headrace.ops.strings import unicode_classes

_SPECIAL = set(".^$*+?()[{|\\")
_PERL = {"d": "0-9", "w": "0-9A-Za-z_", "s": "\\t\\n\\f\\r "}
_POSIX = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": "\\x00-\\x7f", "blank": "\\t ",
    "cntrl": "\\x00-\\x1f\\x7f", "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~",
    "punct": "!-/:-@\\[-`{-~", "space": "\\t\\n\\v\\f\\r ", "upper": "A-Z", "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_CONTROL = {"a": "\\x07", "f": "\\x0c", "t": "\\t", "n": "\\n", "r": "\\r", "v": "\\x0b"}
_MAX_REPEAT = 1000
_NOT_UTF8 = "\\ud800-\\udfff"  # surrogates stand for bytes that nothing but \\C matches
_COUNT = re.compile(r"[*+?]|\{(\d+)(?:(,)(\d*))?\}")


class PatternError(ValueError):
    """A pattern that RE2 refuses, with its message."""


def as_text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")


def as_bytes(value: str) -> bytes:
    return value.encode("utf-8", "surrogateescape")


@lru_cache(maxsize=256)
def compile(pattern: bytes) -> re.Pattern[str]:
    """The pattern for text from `as_text`."""
    translated = _Translator(as_text(pattern)).whole()
    try:
        return re.compile(translated)
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(str(error)) from None


Flags = frozenset[str]  # i: ignore case, m: lines, s: dot is anything, U: lazy by default


def _unquoted(source: str) -> str:
    """The pattern with \\Q...\\E spelled as escaped characters."""
    out, at = "", 0
    while at < len(source):
        if source.startswith("\\Q", at):
            end = source.find("\\E", at)
            end = len(source) if end < 0 else end
            literal = source[at + 2 : end]
            out += "".join(c if c.isalnum() or ord(c) > 127 else "\\" + c for c in literal)
            at = end + 2
        else:
            step = 2 if source[at] == "\\" else 1
            out += source[at : at + step]
            at += step
    return out


class _Translator:
    def __init__(self, source: str) -> None:
        self.source, self.at = _unquoted(source), 0

    # -- reading ---------------------------------------------------------------------------------
    def _rest(self, text: str) -> bool:
        return self.source.startswith(text, self.at)

    def _take(self) -> str:
        if self.at >= len(self.source):
            raise PatternError("trailing \\")
        char = self.source[self.at]
        self.at += 1
        return char

    # -- grammar ---------------------------------------------------------------------------------
    def whole(self) -> str:
        out = self._alternatives(frozenset())
        if self.at < len(self.source):
            raise PatternError(f"unexpected ): {self.source}")
        return out

    def _alternatives(self, flags: Flags) -> str:
        """Up to the end or an unmatched ')'."""
        out = atom = ""  # what a repetition may follow is kept apart
        while self.at < len(self.source) and not self._rest(")"):
            if self._rest("|"):
                self.at += 1
                out, atom = out + atom + "|", ""
            elif self._repeat_follows():
                out, atom = out + self._repeated(atom, flags), ""
            elif self._rest("(?") and not self._rest("(?P<"):
                out, atom = out + atom, ""
                found = self._flag_group(flags)
                if isinstance(found, str):
                    atom = found
                else:  # (?i) holds up to the end of the group, through its alternatives
                    flags = found
            else:
                out, atom = out + atom, self._atom(flags)
        return out + atom

    def _flag_group(self, flags: Flags) -> str | Flags:
        """(?flags) gives new flags; (?flags:...) the translated group."""
        start = self.at
        self.at += 2
        active, negated, seen = set(flags), False, False
        while True:
            if self.at >= len(self.source):
                raise PatternError(f"invalid perl operator: {self.source[start:]}")
            char = self._take()
            if char in "imsU":
                seen = True
                (active.discard if negated else active.add)(char)
            elif char == "-" and not negated:
                negated, seen = True, False
            elif char in ":)" and (seen or not negated):
                break
            else:
                raise PatternError(f"invalid perl operator: {self.source[start : self.at]}")
        changed = frozenset(active)
        return changed if char == ")" else f"(?:{self._group(changed)})"

    def _group(self, flags: Flags) -> str:
        inner = self._alternatives(flags)
        if not self._rest(")"):
            raise PatternError(f"missing ): {self.source}")
        self.at += 1
        return inner

    def _atom(self, flags: Flags) -> str:
        start = self.at
        char = self._take()
        if char in "[\\" or char not in _SPECIAL:
            atom = self._simple(char, start)
            return f"(?i:{atom})" if "i" in flags else atom
        if char == "(":
            name = ""
            if self._rest("?P<"):
                end = self.source.find(">", self.at)
                name = self.source[self.at + 3 : end]
                if end < 0 or not re.fullmatch(r"[A-Za-z0-9_]+", name):
                    raise PatternError(f"invalid named capture group: {self.source[start:]}")
                self.at = end + 1
            return f"({self._group(flags)})"
        if char == ".":
            return f"[^{_NOT_UTF8}]" if "s" in flags else f"[^\\n{_NOT_UTF8}]"
        if char == "^":
            return "(?m:^)" if "m" in flags else "\\A"
        if char == "$":
            return "(?m:$)" if "m" in flags else "\\Z"
        return re.escape(char)

    def _simple(self, char: str, start: int) -> str:
        """A class, an escape or a plain character: what letter case matters to."""
        if char == "[":
            return self._class(start)
        return self._escape(start) if char == "\\" else re.escape(char)

    # -- repetition ------------------------------------------------------------------------------
    def _repeat_follows(self) -> bool:
        return self.at < len(self.source) and (
            self.source[self.at] in "*+?" or _COUNT.match(self.source, self.at) is not None
        )

    def _repeated(self, atom: str, flags: Flags) -> str:
        start = self.at
        count = _COUNT.match(self.source, self.at)
        assert count is not None
        if not atom:
            raise PatternError(f"no argument for repetition operator: {count[0]}")
        self.at = count.end()
        lazy = self._rest("?")
        self.at += lazy
        if self._repeat_follows():
            following = _COUNT.match(self.source, self.at)
            assert following is not None
            raise PatternError(f"bad repetition operator: {self.source[start : following.end()]}")
        low, high = int(count[1] or 0), int(count[3] or count[1] or 0)
        if count[1] and (max(low, high) > _MAX_REPEAT or (count[3] and low > high)):
            raise PatternError(f"invalid repetition size: {count[0]}")
        greedy = lazy == ("U" in flags)
        return f"(?:{atom}){count[0]}" + ("" if greedy else "?")

    # -- escapes ---------------------------------------------------------------------------------
    def _escape(self, start: int) -> str:
        char = self._take()
        if char in "AzbBC":
            return {"A": "\\A", "z": "\\Z", "C": "[\\s\\S]", "b": "(?a:\\b)", "B": "(?a:\\B)"}[char]
        if char.lower() in _PERL:
            inner = _PERL[char.lower()]
            return f"[^{inner}{_NOT_UTF8}]" if char.isupper() else f"[{inner}]"
        if char in "pP":
            return f"[{self._property(char, start)}]"
        return self._character(char, start)

    def _character(self, char: str, start: int) -> str:
        """One character written with a backslash."""
        if char in _CONTROL:
            return _CONTROL[char]
        if char == "x":
            return self._hexadecimal(start)
        if char in "01234567":
            digits = re.compile("[0-7]{1,3}").match(self.source, self.at - 1)
            assert digits is not None
            if char != "0" and len(digits[0]) < 2:
                raise PatternError(f"invalid escape sequence: \\{char}")
            self.at = digits.end()
            return _code(int(digits[0], 8))
        if char.isascii() and char.isalnum():
            raise PatternError(f"invalid escape sequence: \\{char}")
        return re.escape(char)

    def _hexadecimal(self, start: int) -> str:
        digits = re.compile(r"[0-9A-Fa-f]{2}|\{([0-9A-Fa-f]+)\}").match(self.source, self.at)
        if digits is None:
            raise PatternError(f"invalid escape sequence: {self.source[start : self.at + 1]}")
        self.at = digits.end()
        value = int(digits[1] or digits[0], 16)
        if value > 0x10FFFF:
            raise PatternError(f"invalid escape sequence: {self.source[start : self.at]}")
        return _code(value)

    def _property(self, char: str, start: int) -> str:
        """The inside of a class for \\p{Name}, \\pN and their negations."""
        name = self._take()
        if name == "{":
            end = self.source.find("}", self.at)
            if end < 0:
                raise PatternError(f"invalid character class range: {self.source[start:]}")
            name = self.source[self.at : end]
            self.at = end + 1
        negated = char == "P"
        if name.startswith("^"):
            negated, name = not negated, name[1:]
        ranges = unicode_classes.ranges(name)
        if ranges is None:
            raise PatternError(f"invalid character class range: {self.source[start : self.at]}")
        if negated:
            ranges = unicode_classes.complement(ranges)
        return (
            "".join(_code(a) if a == b else f"{_code(a)}-{_code(b)}" for a, b in ranges)
            or "^\\x00-\\U0010ffff"
        )

    # -- [...] -----------------------------------------------------------------------------------
    def _class(self, start: int) -> str:
        negated = self._rest("^")
        self.at += negated
        parts: list[str] = []
        first = True
        while first or not self._rest("]"):
            if self.at >= len(self.source):
                raise PatternError(f"missing ]: {self.source[start:]}")
            first = False
            if self._rest("[:"):
                parts.append(self._posix())
                continue
            inner = self._class_escape()
            if inner is not None:
                parts.append(inner)
                continue
            parts.append(self._range(start))
        self.at += 1
        inside = "".join(parts)
        return f"[^{inside}{_NOT_UTF8}]" if negated else f"[{inside}]"

    def _posix(self) -> str:
        end = self.source.find(":]", self.at)
        name = self.source[self.at + 2 : end]
        negated = name.startswith("^")
        if end < 0 or name.lstrip("^") not in _POSIX:
            raise PatternError(
                f"invalid character class range: {self.source[self.at : end + 2 if end > 0 else None]}"
            )
        self.at = end + 2
        inner = _POSIX[name.lstrip("^")]
        return _negated(inner) if negated else inner

    def _class_escape(self) -> str | None:
        """\\d and the like inside brackets; None where something else stands."""
        if not self._rest("\\") or self.at + 1 >= len(self.source):
            return None
        start, char = self.at, self.source[self.at + 1]
        if char.lower() in _PERL:
            self.at += 2
            inner = _PERL[char.lower()]
            return _negated(inner) if char.isupper() else inner
        if char in "pP":
            self.at += 2
            return self._property(char, start)
        return None

    def _range(self, start: int) -> str:
        low = self._class_character(start)
        if not self._rest("-") or self._rest("-]"):
            return low
        self.at += 1
        at = self.at
        high = self._class_character(start)
        if _value(low) > _value(high):
            raise PatternError(f"invalid character class range: {self.source[at - 2 : self.at]}")
        return f"{low}-{high}"

    def _class_character(self, start: int) -> str:
        if self.at >= len(self.source):
            raise PatternError(f"missing ]: {self.source[start:]}")
        at = self.at
        char = self._take()
        if char == "\\":
            return self._character(self._take(), at)
        return re.escape(char)


def _code(value: int) -> str:
    return f"\\U{value:08x}"


def _value(escaped: str) -> int:
    """The code point of one translated character."""
    if len(escaped) == 1:
        return ord(escaped)
    match escaped[1]:
        case "x" | "U":
            return int(escaped[2:], 16)
        case "t":
            return 9
        case "n":
            return 10
        case "r":
            return 13
    return ord(escaped[1])


def _negated(inner: str) -> str:
    """The inside of a class that holds everything but `inner`'s."""
    members = re.compile(f"[{inner}]")
    inside = [c for c in range(256) if members.match(chr(c))]
    ranges = unicode_classes.complement([(c, c) for c in inside])
    return "".join(f"{_code(a)}-{_code(b)}" for a, b in ranges)
