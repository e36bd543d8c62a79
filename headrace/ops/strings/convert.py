"""Strings from numbers and to numbers: text, hash buckets, base 64."""

from __future__ import annotations

import base64
import math
import re

import numpy as np

from headrace.core.dtypes import bool_, complex64, complex128, float32, float64, int8, int16, int32, int64
from headrace.core.errors import require
from headrace.core.text import as_bytes
from headrace.ops.array.hashing import M, fingerprint64, hash64, of_strings, siphash
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_rules import same
from headrace.ops.declaration.signature import Int, Ints, Type
from headrace.ops.declaration.text import each, shown, strings

PRINTABLE = (int8, int16, int32, int64, complex64, complex128, float32, float64, bool_)


# -- AsString -----------------------------------------------------------------------------------
@op(
    "AsString",
    "input: T -> output: string",
    T=PRINTABLE,
    precision=-1,
    scientific=False,
    shortest=False,
    width=-1,
    fill="",
    shape=same,
)
def as_string(input, *, T, precision, scientific, shortest, width, fill):
    """Numbers as text, in the way of C's printf."""
    is_float = T.kind in "fc"
    require(
        is_float or not (scientific or shortest),
        f"scientific and shortest format not supported for datatype {_c_name(T)}",
    )
    require(is_float or precision < 0, f"precision not supported for datatype {_c_name(T)}")
    mark = as_bytes(fill).decode("latin-1")
    require(len(mark) <= 1, "Fill string must be one or fewer characters")
    require(not (scientific and shortest), "Cannot select both scientific and shortest notation")
    require(mark in ("", " ", "+", "-", "0", "#"), f'Fill argument not supported: "{mark}"')
    if T is bool_:
        return each(lambda x: b"true" if x else b"false", input)
    form = "%" + mark
    form += str(width) if width > -1 else ""
    form += f".{precision}" if precision > -1 else ""
    form += ("g" if shortest else "e" if scientific else "f") if is_float else "d"
    # Zeros go in front of numbers only.
    blank = form.replace("0", "", 1) if mark == "0" and is_float else form

    def text(x):
        return (form if math.isfinite(x) else blank) % x

    values = input.reshape(-1).tolist()
    if T.kind == "c":
        return strings((f"({text(x.real)},{text(x.imag)})".encode() for x in values), input.shape)
    return strings((text(x).encode() for x in values), input.shape)


def _c_name(dtype):
    return {"float32": "float", "float64": "double"}.get(dtype.name, dtype.name)


as_string.no_gradient()


@as_string.samples
def _(rng):
    numbers = np.array([0.0, -1.5, 1e10, 1 / 3, np.inf, np.nan])
    yield Sample(numbers)
    yield Sample(numbers, precision=3, width=12, fill="0")
    yield Sample(numbers, scientific=True)
    yield Sample(numbers, shortest=True, fill="+")
    yield Sample(np.array([[1, -2], [300, 0]], np.int16), width=5, fill="-")
    yield Sample(np.array([True, False]))
    yield Sample(np.array([1 - 2j, 0.5]), precision=1)
    yield Sample(np.array([complex(np.inf, -1)]), precision=1, width=8, fill="0")
    yield ErrorSample(np.arange(3), precision=2, raises="precision not supported")
    yield ErrorSample(numbers, fill="x", raises='Fill argument not supported: "x"')


# -- StringToNumber -----------------------------------------------------------------------------
_INTEGER = re.compile(rb"[ \t\n\v\f\r]*(-?[0-9]+)[ \t\n\v\f\r]*\Z")
_SPACE = rb"[ \t\n\v\f\r]*"
_FLOAT = re.compile(
    _SPACE
    + rb"([+-]?)(?:(0x[0-9a-f]+)|(inf|nan)|((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?))"
    + _SPACE
    + rb"\Z",
    re.IGNORECASE,
)
_LONGEST = 32  # TF reads into a buffer of this many bytes


@op(
    "StringToNumber",
    "string_tensor: string -> output: out_type",
    out_type=Type((float32, float64, int32, int64), default=float32),
    shape=same,
)
def string_to_number(string_tensor, *, out_type):
    """The number that every string says; white space around it is allowed."""
    flat = string_tensor.reshape(-1)
    values = [read_number(s, out_type) for s in flat]
    if None in values:
        bad = flat[values.index(None)]
        require(False, f"StringToNumberOp could not correctly convert string: {shown(bad)}")
    with np.errstate(over="ignore"):
        return np.array(values, out_type.numpy).reshape(string_tensor.shape)


def read_number(s, dtype):
    """The number that a string says, as TF reads it; None if it says none of this type."""
    return _integer(s, dtype) if dtype.kind == "i" else _float(s)


def _integer(s, dtype):
    match = _INTEGER.match(s)
    value = int(match[1]) if match else None
    return None if value is None or not dtype.min <= value <= dtype.max else value


def _float(s):
    match = _FLOAT.match(s) if len(s) < _LONGEST else None
    if match is None:
        return None
    sign, hexadecimal, special, decimal = match.groups()
    value = float(int(hexadecimal, 16)) if hexadecimal else float(special or decimal)
    return -value if sign == b"-" else value


string_to_number.no_gradient()


@string_to_number.samples
def _(rng):
    yield Sample(strings([b" 1.5", b"-2e3 ", b"inf", b".5", b"3.", b"0x1F", b"-NaN"]))
    yield Sample(strings([b"1", b" -7 ", b"2147483647"]), out_type=int32)
    yield Sample(strings([b"9007199254740993"], ()), out_type=int64)
    for bad in (b"", b"x", b"1_0", b"1.5z", b"infinity"):
        yield ErrorSample(strings([bad]), raises="could not correctly convert string: ")
    for bad in (b"+1", b"2147483648", b"1.0"):
        yield ErrorSample(strings([bad]), out_type=int32, raises="could not correctly convert")


# -- hash buckets -------------------------------------------------------------------------------
def _buckets(function, input, num_buckets, *args):
    return (of_strings(function, input, *args) % np.uint64(num_buckets)).astype(np.int64)


NAMES = strings([b"a", b"", b"ccc" * 9, b"d" * 100] + [b"n%02d" % i for i in range(20)], (4, 6))


@op("StringToHashBucket", "string_tensor: string -> output: int64", num_buckets=Int(min=1), shape=same)
def string_to_hash_bucket(string_tensor, *, num_buckets):
    """A number below `num_buckets` for every string; kept for old graphs."""
    return _buckets(hash64, string_tensor, num_buckets)


@op("StringToHashBucketFast", "input: string -> output: int64", num_buckets=Int(min=1), shape=same)
def string_to_hash_bucket_fast(input, *, num_buckets):
    """A number below `num_buckets` for every string: quick, easy to collide on purpose."""
    return _buckets(fingerprint64, input, num_buckets)


@op(
    "StringToHashBucketStrong",
    "input: string -> output: int64",
    num_buckets=Int(min=1),
    key=Ints(),
    shape=same,
)
def string_to_hash_bucket_strong(input, *, num_buckets, key):
    """A number below `num_buckets` for every string that can not be foreseen without the key."""
    require(len(key) == 2, "Key must have 2 elements")
    return _buckets(siphash, input, num_buckets, (key[0] & M, key[1] & M))


def _bucket_samples(rng):
    for count in (1, 10, 2**40 + 1):
        yield Sample(NAMES, num_buckets=count)


@string_to_hash_bucket_strong.samples
def _(rng):
    for count in (1, 10, 2**40 + 1):
        yield Sample(NAMES, num_buckets=count, key=[98765, -132])
    yield ErrorSample(NAMES, num_buckets=3, key=[1], raises="Key must have 2 elements")


for _op in (string_to_hash_bucket, string_to_hash_bucket_fast):
    _op.samples(_bucket_samples)
    _op.no_gradient()
string_to_hash_bucket_strong.no_gradient()


# -- base 64 ------------------------------------------------------------------------------------
@op("EncodeBase64", "input: string -> output: string", pad=False, shape=same)
def encode_base64(input, *, pad):
    """Base 64 with the alphabet for URLs; `pad` fills up with '='."""

    def encode(s):
        coded = base64.urlsafe_b64encode(s)
        return coded if pad else coded.rstrip(b"=")

    return each(encode, input)


encode_base64.no_gradient()


@encode_base64.samples
def _(rng):
    for pad in (False, True):
        yield Sample(strings([b"", b"a", b"ab", b"abc", b"\xff\xfe\xfd"]), pad=pad)


@op("DecodeBase64", "input: string -> output: string", shape=same)
def decode_base64(input):
    """The bytes behind base 64 of the alphabet for URLs, padded or not."""
    return each(_decode, input)


def _decode(s):
    if len(s) % 4 == 0 and s.endswith(b"="):
        s = s[:-2] if s.endswith(b"==") else s[:-1]
    require(re.fullmatch(rb"[A-Za-z0-9_-]*", s) is not None, "Invalid character found in base64.")
    require(len(s) % 4 != 1, "Base64 string length cannot be 1 modulo 4.")
    return base64.urlsafe_b64decode(s + b"=" * (-len(s) % 4))


decode_base64.no_gradient()


@decode_base64.samples
def _(rng):
    yield Sample(strings([b"", b"YQ", b"YQ==", b"YWI", b"YWJj", b"__79"]))
    yield ErrorSample(strings([b"a?bc"]), raises="Invalid character found in base64")
    yield ErrorSample(strings([b"YWJjZ"]), raises="1 modulo 4")
