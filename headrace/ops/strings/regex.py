"""Regular expressions of RE2 on strings: full match, and replacement with \\0 ... \\9."""

from __future__ import annotations

import numpy as np

from headrace.core.errors import InvalidArgumentError, require
from headrace.core.shapes import show
from headrace.core.text import as_bytes
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import scalars, with_rank
from headrace.ops.declaration.shape_rules import same
from headrace.ops.declaration.signature import String
from headrace.ops.declaration.text import each, shown, strings
from headrace.ops.strings import re2

LINES = strings([b"abcdabcde", b"aba\naba", "Ünï".encode(), b"", b"1 \xff"], (5, 1))


def _compiled(pattern):
    try:
        return re2.compile(pattern)
    except re2.PatternError as error:
        raise InvalidArgumentError(None, None, f"Invalid pattern: {shown(pattern)}, error: {error}") from None


def _scalar(value, name):
    require(value.ndim == 0, f"{name} must be scalar, but received {show(value.shape)}")
    return value[()]


# -- full match ---------------------------------------------------------------------------------
def _matches(input, pattern):
    match = _compiled(pattern).fullmatch
    flat = input.reshape(-1)
    found = (match(re2.as_text(s)) is not None for s in flat)
    return np.fromiter(found, bool, flat.size).reshape(input.shape)


def match_shape(input, pattern):
    with_rank(pattern, 0)
    return input.plain()


@op("RegexFullMatch", "input: string, pattern: string -> output: bool", shape=match_shape)
def regex_full_match(input, pattern):
    """Whether the pattern matches the whole string."""
    return _matches(input, _scalar(pattern, "Pattern"))


@op("StaticRegexFullMatch", "input: string -> output: bool", pattern=String(), shape=same)
def static_regex_full_match(input, *, pattern):
    """Whether the pattern, an attribute, matches the whole string."""
    return _matches(input, as_bytes(pattern))


@regex_full_match.samples
def _(rng):
    for pattern in (b"a.*a.*", rb"\p{Lu}..", b"[^a]*", b""):
        yield Sample(LINES, strings([pattern], ()))
    yield ErrorSample(LINES, strings([b"A["], ()), raises="Invalid pattern: A\\[, error: missing")


@static_regex_full_match.samples
def _(rng):
    yield Sample(LINES, pattern="(?s)a.*a.*")
    yield ErrorSample(LINES, pattern="a**", raises="bad repetition operator")


# -- replacement --------------------------------------------------------------------------------
class Rewrite:
    """What stands in place of a match: text with \\0 ... \\9 for its groups."""

    def __init__(self, rewrite, groups):
        self.parts = []
        chars = iter(re2.as_text(rewrite))
        for char in chars:
            if char != "\\":
                self.parts.append(char)
                continue
            what = next(chars, None)
            if what is not None and what in "0123456789":
                self.parts.append(int(what))
            else:
                self.parts.append("\\" if what == "\\" else None)
        # A rewrite that RE2 refuses leaves the string as it is.
        self.is_valid = all(p is not None and (isinstance(p, str) or p <= groups) for p in self.parts)

    def of(self, match):
        return "".join(p if isinstance(p, str) else match[p] or "" for p in self.parts)


def _replaced(input, pattern, rewrite, everywhere):
    compiled = _compiled(pattern)
    new = Rewrite(rewrite, compiled.groups)
    if not new.is_valid:
        return input
    return each(lambda s: _replace(s, compiled, new, everywhere), input)


def _replace(s, compiled, new, everywhere):
    source, out, at, done, last = re2.as_text(s), [], 0, 0, -1
    while at <= len(source):
        match = compiled.search(source, at)
        if match is None:
            break
        start, end = match.span()
        if start == end == last:  # an empty match right behind the last one does not count
            at = end + 1
            continue
        out += [source[done:start], new.of(match)]
        at = done = last = end
        if not everywhere:
            break
    return re2.as_bytes("".join(out) + source[done:]) if out else s


def replace_shape(input, pattern, rewrite):
    scalars(pattern, rewrite)
    return input.plain()


@op(
    "RegexReplace",
    "input: string, pattern: string, rewrite: string -> output: string",
    replace_global=True,
    shape=replace_shape,
)
def regex_replace(input, pattern, rewrite, *, replace_global):
    """Every match, or the first one, replaced by `rewrite`."""
    pattern, rewrite = _scalar(pattern, "Pattern"), _scalar(rewrite, "Rewrite")
    return _replaced(input, pattern, rewrite, replace_global)


@op(
    "StaticRegexReplace",
    "input: string -> output: string",
    pattern=String(),
    rewrite=String(),
    replace_global=True,
    shape=same,
)
def static_regex_replace(input, *, pattern, rewrite, replace_global):
    """As RegexReplace, with pattern and rewrite as attributes."""
    return _replaced(input, as_bytes(pattern), as_bytes(rewrite), replace_global)


@regex_replace.samples
def _(rng):
    for pattern, rewrite in ((b"a.*a", rb"(\0)"), (b"", b"x"), (b"(b)|(c)", rb"\2-\1\\")):
        for everywhere in (True, False):
            yield Sample(LINES, strings([pattern], ()), strings([rewrite], ()), replace_global=everywhere)
    yield ErrorSample(LINES, strings([b"("], ()), strings([b""], ()), raises="missing \\)")


@static_regex_replace.samples
def _(rng):
    yield Sample(LINES, pattern="[[:alpha:]]+", rewrite="w")
    yield Sample(LINES, pattern="x*", rewrite="-", replace_global=False)


for _op in (regex_full_match, static_regex_full_match, regex_replace, static_regex_replace):
    _op.no_gradient()
