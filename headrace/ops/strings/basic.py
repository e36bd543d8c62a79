"""Strings taken apart and put together: join, split, strip, length, case, substrings, n-grams."""

from __future__ import annotations

import math
import re

import numpy as np

from headrace.core.dtypes import INDEX
from headrace.core.errors import InvalidArgumentError, OutOfRangeError, require
from headrace.core.shapes import SCALAR, UNKNOWN, make_shape, show
from headrace.core.text import as_bytes
from headrace.ops.declaration.declare import Op, op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge, with_rank
from headrace.ops.declaration.shape_rules import broadcast, reduced, same
from headrace.ops.declaration.signature import Int, String
from headrace.ops.declaration.text import each, shown, strings

UNIT = String("BYTE", "UTF8_CHAR", default="BYTE")
WORDS = strings([b"Hello World", b"", "Zażółć gęślą".encode(), b" a\tb\n"], (2, 2))


def unary(name, function, doc, out="string", **attrs) -> Op:
    """An op that gives one element for every string."""
    function.__doc__ = doc
    declared = op(name, f"input: string -> output: {out}", shape=same, attrs=attrs)(function)
    declared.no_gradient()
    declared.samples(_word_samples)
    return declared


def _word_samples(rng):
    yield Sample(WORDS)
    yield Sample(strings([b" x "], ()), note="scalar")
    yield Sample(strings([], (0, 2)), note="empty")


# -- one string at a time -----------------------------------------------------------------------
string_strip = unary("StringStrip", lambda x: each(bytes.strip, x), "Without white space around.")


def _lower(input, *, encoding):
    return _change_case(input, encoding, bytes.lower, str.lower)


def _upper(input, *, encoding):
    return _change_case(input, encoding, bytes.upper, str.upper)


def _change_case(input, encoding, plain, unicode):
    if encoding == "":
        return each(plain, input)
    require(encoding == "utf-8", f"only utf-8 or '' (no encoding) is supported, received {encoding}")
    return each(lambda s: unicode(s.decode("utf-8", "replace")).encode(), input)


string_lower = unary("StringLower", _lower, "Lower case: ASCII letters, or all of UTF-8's.", encoding="")
string_upper = unary("StringUpper", _upper, "Upper case: ASCII letters, or all of UTF-8's.", encoding="")


@string_lower.samples
def _(rng):
    yield Sample(WORDS)
    yield Sample(WORDS, encoding="utf-8")
    yield ErrorSample(WORDS, encoding="latin-1", raises="only utf-8 or ''")


assert string_lower.sample_rule is not None
string_upper.samples(string_lower.sample_rule)


def _is_start(byte):
    """Whether a byte begins a character of UTF-8."""
    return byte & 0xC0 != 0x80


@op("StringLength", "input: string -> output: int32", unit=UNIT, shape=same)
def string_length(input, *, unit):
    """The length in bytes, or in characters of UTF-8."""
    count = len if unit == "BYTE" else (lambda s: sum(map(_is_start, s)))
    flat = input.reshape(-1)
    return np.fromiter(map(count, flat), np.int32, flat.size).reshape(input.shape)


string_length.no_gradient()


@string_length.samples
def _(rng):
    yield Sample(WORDS)
    yield Sample(WORDS, unit="UTF8_CHAR")


# -- Substr -------------------------------------------------------------------------------------
def substr_shape(input, pos, len):
    if pos.rank is not None and len.rank is not None:
        with_rank(pos, len.rank)
        require(
            pos.is_compatible_with(len.plain()), f"pos and len shapes must match: {show(pos)} vs. {show(len)}"
        )
    return broadcast(input, pos)


@op("Substr", "input: string, pos: T, len: T -> output: string", T=INDEX, unit=UNIT, shape=substr_shape)
def substr(input, pos, len, *, unit):
    """`len` units of every string from `pos` on; a negative `pos` counts from the end."""
    require(
        pos.shape == len.shape,
        f"pos and len should have the same shape, got: {show(pos.shape)} vs. {show(len.shape)}",
    )
    try:
        many = np.broadcast_arrays(input, pos, len)
    except ValueError:
        raise InvalidArgumentError(
            None, None, f"Incompatible shapes: {show(input.shape)} vs. {show(pos.shape)}"
        ) from None
    cut = _cut_bytes if unit == "BYTE" else _cut_characters
    rows = enumerate(zip(*(x.reshape(-1).tolist() for x in many)))
    return strings((cut(s, p, n, i) for i, (s, p, n) in rows), many[0].shape)


def _cut_bytes(s, pos, length, index):
    start = pos + len(s) if pos < 0 else pos
    require(0 <= start <= len(s), f"pos {pos} out of range for string b'{shown(s)}' at index {index}")
    return s[start : start + length] if length >= 0 else s[start:]


def _cut_characters(s, pos, length, index):
    borders = [i for i, byte in enumerate(s) if i == 0 or _is_start(byte)]
    count = len(borders)
    borders.append(len(s))
    start = pos + count if pos < 0 else pos
    require(0 <= start <= count, f"pos {pos} out of range for string at index {index}")
    stop = min(count, start + max(length, 0))
    return s[borders[start] : borders[stop]]


substr.no_gradient()


@substr.samples
def _(rng):
    yield Sample(WORDS[:, :1], np.int32(0), np.int32(2))
    yield Sample(WORDS, np.array([[1, 0], [-3, -1]]), np.array([[3, 5], [2, 9]]))
    yield Sample(WORDS[1], np.array([[0], [1]]), np.array([[1], [2]]), note="broadcast")
    yield Sample(WORDS[1:], np.int32(-3), np.int32(2), unit="UTF8_CHAR")
    yield ErrorSample(WORDS, np.int32(3), np.int32(1), raises="pos 3 out of range for string b''")


# -- StringJoin ---------------------------------------------------------------------------------
def join_shape(inputs):
    if all(x.rank == 0 for x in inputs):
        return SCALAR
    out = UNKNOWN
    for x in inputs:
        if x.rank:
            out = merge(out, x)
    return out


@op("StringJoin", "inputs: N*string -> output: string", N=Int(min=1), separator="", shape=join_shape)
def string_join(inputs, *, separator):
    """The strings at the same place, one after the other; scalars go to every place."""
    shapes = {x.shape for x in inputs if x.ndim}
    require(len(shapes) <= 1, "Input shapes do not match: " + " vs. ".join(show(s) for s in list(shapes)[:2]))
    shape = shapes.pop() if shapes else ()
    between = as_bytes(separator)
    columns = [np.broadcast_to(x, shape).reshape(-1) for x in inputs]
    return strings(map(between.join, zip(*columns)), shape)


string_join.no_gradient()


@string_join.samples
def _(rng):
    yield Sample([WORDS, strings([b"-"], ()), WORDS])
    yield Sample([strings([b"a"], ()), strings([b"b"], ())], separator=", ")
    yield ErrorSample([WORDS, WORDS[:1]], raises="must be equal|do not match")


# -- ReduceJoin ---------------------------------------------------------------------------------
@op(
    "ReduceJoin",
    "inputs: string, reduction_indices: int32 -> output: string",
    keep_dims=False,
    separator="",
    shape=reduced,
)
def reduce_join(inputs, reduction_indices, *, keep_dims, separator):
    """The strings along axes, joined; the axis that is named first varies fastest."""
    rank, seen = inputs.ndim, []
    for axis in reduction_indices.reshape(-1).tolist():
        if not -rank <= axis < rank:
            raise OutOfRangeError(
                None, None, f"Invalid reduction dimension {axis} for input with {rank} dimension(s)"
            )
        require(axis % rank not in seen, f"Duplicate reduction dimension {axis}")
        seen.append(axis % rank)
    kept = [i for i in range(rank) if i not in seen]
    count = math.prod([inputs.shape[i] for i in seen])
    rows = inputs.transpose(*kept, *reversed(seen)).reshape(-1, count) if count else None
    shape = [inputs.shape[i] for i in kept]
    between = as_bytes(separator)
    size = math.prod(shape)
    joined = [b""] * size if rows is None else map(between.join, rows)
    if keep_dims:
        shape = [1 if i in seen else s for i, s in enumerate(inputs.shape)]
    return strings(joined, shape)


reduce_join.no_gradient()


@reduce_join.samples
def _(rng):
    cube = strings([b"%d" % i for i in range(12)], (2, 3, 2))
    for axes in ([0], [-1], [0, 2], [2, 0], [0, 1, 2], []):
        yield Sample(cube, np.array(axes, np.int32), separator=",")
    yield Sample(cube, np.int32(1), keep_dims=True)
    yield Sample(cube[:, :0], np.array([1], np.int32), note="empty")
    yield ErrorSample(cube, np.array([0, 0], np.int32), raises="Duplicate reduction dimension 0")


# -- StringSplit --------------------------------------------------------------------------------
def split_shape(input, delimiter):
    with_rank(input, 1)
    with_rank(delimiter, 0)
    return [make_shape(s) for s in ((None, 2), (None,), (2,))]


def _as_sparse(rows):
    """Lists of strings as a sparse matrix."""
    counts = [len(row) for row in rows]
    row = np.repeat(np.arange(len(rows)), counts)
    column = np.concatenate([np.arange(n) for n in counts] or [np.zeros(0, np.int64)])
    places = np.stack([row, column], axis=1).astype(np.int64)
    return (places, strings(s for r in rows for s in r), np.array([len(rows), max(counts, default=0)]))


def _check_split(input, delimiter, name):
    require(input.ndim == 1, f"input must be a vector, got shape: {show(input.shape)}")
    require(delimiter.ndim == 0, f"{name} must be a scalar, got shape: {show(delimiter.shape)}")


@op(
    "StringSplit",
    "input: string, delimiter: string -> indices: int64, values: string, shape: int64",
    skip_empty=True,
    shape=split_shape,
)
def string_split(input, delimiter, *, skip_empty):
    """The parts of every string between the characters of `delimiter`; single bytes without one."""
    _check_split(input, delimiter, "delimiter")
    marks = delimiter[()]
    cut = re.compile(b"[" + re.escape(marks) + b"]") if marks else None
    return _as_sparse([_parts(s, cut, skip_empty) for s in input])


def _parts(s, cut, skip_empty):
    if not s:
        return []
    if cut is None:
        return [s[i : i + 1] for i in range(len(s))]
    return [part for part in cut.split(s) if part or not skip_empty]


string_split.no_gradient()


@string_split.samples
def _(rng):
    lines = strings([b"pigs on the wing", b"", b"animals", b" a  b "])
    for delimiter in (b" ", b"", b" n"):
        yield Sample(lines, strings([delimiter], ()))
    yield Sample(lines, strings([b" "], ()), skip_empty=False)


@op(
    "StringSplitV2",
    "input: string, sep: string -> indices: int64, values: string, shape: int64",
    maxsplit=-1,
    shape=split_shape,
)
def string_split_v2(input, sep, *, maxsplit):
    """The parts of every string around `sep`, or around runs of white space, as Python splits."""
    _check_split(input, sep, "sep")
    around = sep[()] or None
    return _as_sparse([_python_split(s, around, maxsplit) for s in input])


def _python_split(s, sep, maxsplit):
    if maxsplit == 0:
        return [s]
    parts = s.split(sep, maxsplit if maxsplit > 0 else -1)
    if sep is None and maxsplit > 0 and len(parts) == maxsplit:
        parts.append(b"")  # TF adds what is left, even if nothing is
    return parts


string_split_v2.no_gradient()


@string_split_v2.samples
def _(rng):
    lines = strings([b"a,b,,c", b"", b" x y  z ", b"<>1<>2"])
    for sep in (b",", b"", b"<>"):
        yield Sample(lines, strings([sep], ()))
        yield Sample(lines, strings([sep], ()), maxsplit=1)
