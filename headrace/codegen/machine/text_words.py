"""Shorthands of the LLVM text that is written by hand, for words of 64 bits that stand behind each other.

    %m, %n, *%f = words(%entry, 5)          words 5, 6 and 7 from there; with a star, one that is an address
    %how = word(%entry, 2)                  one word
    words(%job, 1) = ptr %entry, i64 0      stores at words 1 and 2

In: text with shorthands.  Out: LLVM's text, where @word and @pointer read (program/native_loop.py).
"""

from __future__ import annotations

import re

_READ = re.compile(r"^  ([%*\w., ]+) = words?\((%[\w.]+), (\d+)\)$", re.MULTILINE)
_WRITE = re.compile(r"^  words\((%[\w.]+), (\d+)\) = (.+)$", re.MULTILINE)


def expanded(text: str) -> str:
    """The text without shorthands."""
    return _WRITE.sub(_stores, _READ.sub(_loads, text))


def _loads(found: re.Match[str]) -> str:
    names, entry, first = found.groups()
    lines = []
    for i, name in enumerate(names.split(", "), int(first)):
        how = "ptr @pointer" if name.startswith("*") else "i64 @word"
        lines.append(f"  {name.lstrip('*')} = call {how}(ptr {entry}, i64 {i})")
    return "\n".join(lines)


def _stores(found: re.Match[str]) -> str:
    base, first, values = found.groups()
    lines = []
    for i, value in enumerate(values.split(", "), int(first)):
        place = f"{base}.{found.start()}.{i}"  # a name is given once in a function
        lines += [f"  {place} = getelementptr i64, ptr {base}, i64 {i}", f"  store {value}, ptr {place}"]
    return "\n".join(lines)
