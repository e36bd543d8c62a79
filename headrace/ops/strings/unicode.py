"""Encodings: strings decoded to code points, encoded, transcoded; the script of a character.

A byte sequence that means nothing counts as one broken character, in the way of Unicode's "maximal
subparts".
"""

from __future__ import annotations

import codecs
import itertools
import threading

import numpy as np

from headrace.core.errors import InvalidArgumentError, require
from headrace.core.shapes import make_shape
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import with_rank
from headrace.ops.declaration.shape_rules import same
from headrace.ops.declaration.signature import INDEX64, String
from headrace.ops.declaration.text import each, strings
from headrace.ops.strings.unicode_scripts import scripts

OUTPUTS = String("UTF-8", "UTF-16-BE", "UTF-32-BE")
ERRORS = String("strict", "replace", "ignore", default="replace")
LAST = 0x10FFFF
BROKEN = -1

# -- bytes -> code points -----------------------------------------------------------------------
_MARK = "\udfff"  # no decoder gives a lone surrogate, so that it can stand for a broken character


_breaks = threading.local()


def _mark(error):
    """The error handler of codecs: puts the mark, and keeps how many bytes it stands for."""
    _breaks.lengths.append(error.end - error.start)
    return _MARK, error.end


codecs.register_error("headrace.mark", _mark)


class Decoder:
    """Reads an encoding by its name.  UTF-16 and UTF-32 begin with a byte-order mark or are big."""

    def __init__(self, encoding):
        try:
            info = codecs.lookup(encoding)
        except LookupError:
            info = None
        if info is None or not getattr(info, "_is_text_encoding", True):
            raise InvalidArgumentError(
                None, None, f"Could not create converter for input encoding: {encoding}"
            )
        self.name = info.name

    def characters(self, s):
        """(code point or BROKEN, number of bytes) of every character."""
        name, skip = self._order(s)
        _breaks.lengths = []
        text = s[skip:].decode(name, "headrace.mark")
        lengths = iter(_breaks.lengths)
        out = [(BROKEN, next(lengths)) if char == _MARK else (ord(char), _width(char, name)) for char in text]
        if skip and out:
            out[0] = out[0][0], out[0][1] + skip
        return out

    def _order(self, s):
        """The codec with its byte order, and how many bytes said so."""
        if self.name == "utf-16":
            if s.startswith(codecs.BOM_UTF16_LE):
                return "utf-16-le", 2
            return "utf-16-be", 2 if s.startswith(codecs.BOM_UTF16_BE) else 0
        if self.name == "utf-32":
            if s.startswith(codecs.BOM_UTF32_LE):
                return "utf-32-le", 4
            return "utf-32-be", 4 if s.startswith(codecs.BOM_UTF32_BE) else 0
        return self.name, 0


def _width(char, codec):
    if codec == "utf-8":
        code = ord(char)
        return 1 + (code > 0x7F) + (code > 0x7FF) + (code > 0xFFFF)
    return len(char.encode(codec))


class Policy:
    """What happens to broken and, if wanted, to control characters."""

    def __init__(self, errors, replacement_char, replace_control_characters=False):
        require(0 <= replacement_char <= LAST, "replacement_char out of unicode codepoint range")
        self.is_strict, self.drops = errors == "strict", errors == "ignore"
        self.replacement, self.controls = replacement_char, replace_control_characters

    def is_bad(self, code):
        return code == BROKEN or (self.controls and 0 <= code <= 0x1F)


def _refuse():
    raise InvalidArgumentError(None, None, "Invalid formatting on input string")


# -- code points -> bytes -----------------------------------------------------------------------
def encode(codes, encoding):
    """Code points as bytes; surrogates that make a pair become one character, as in UTF-16."""
    units = "".join(map(chr, codes)).encode("utf-16-be", "surrogatepass")
    if encoding == "UTF-16-BE":
        return units
    if encoding == "UTF-8":
        return units.decode("utf-16-be", "replace").encode()
    return units.decode("utf-16-be", "surrogatepass").encode("utf-32-be", "surrogatepass")


# -- UnicodeTranscode ---------------------------------------------------------------------------
@op(
    "UnicodeTranscode",
    "input: string -> output: string",
    input_encoding=String(),
    output_encoding=OUTPUTS,
    errors=ERRORS,
    replacement_char=65533,
    replace_control_characters=False,
    shape=same,
)
def unicode_transcode(
    input, *, input_encoding, output_encoding, errors, replacement_char, replace_control_characters
):
    """Strings from one encoding to another."""
    policy = Policy(errors, replacement_char, replace_control_characters)
    decoder = Decoder(input_encoding)

    def transcode(s):
        codes = []
        for code, _ in decoder.characters(s):
            if policy.is_bad(code):
                if policy.is_strict:
                    _refuse()
                if policy.drops:
                    continue
                code = policy.replacement
            codes.append(code)
        return encode(codes, output_encoding)

    return each(transcode, input)


TEXTS = strings(["héllo €𐐷".encode(), b"a\xf0", b"\x00\xff\n", b""])


@unicode_transcode.samples
def _(rng):
    for out in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):
        yield Sample(TEXTS, input_encoding="UTF-8", output_encoding=out)
    yield Sample(
        TEXTS,
        input_encoding="UTF-8",
        output_encoding="UTF-8",
        errors="ignore",
        replace_control_characters=True,
    )
    yield Sample(
        strings([b"\xff\xfea\x00", b"\x00a"]),
        input_encoding="UTF-16",
        output_encoding="UTF-8",
        replacement_char=63,
    )
    yield ErrorSample(
        TEXTS,
        input_encoding="UTF-8",
        output_encoding="UTF-8",
        errors="strict",
        raises="Invalid formatting on input string",
    )
    yield ErrorSample(
        TEXTS,
        input_encoding="nonsense",
        output_encoding="UTF-8",
        raises="Could not create converter for input encoding: nonsense",
    )


# -- UnicodeDecode ------------------------------------------------------------------------------
def _decoded(input, encoding, policy, splits_type):
    """Row splits, code points and the places of their first bytes."""
    decoder = Decoder(encoding)
    splits, codes, starts = [0], [], []
    for s in input.reshape(-1):
        at = 0
        for code, length in decoder.characters(s):
            start, at = at, at + length
            if code == BROKEN and policy.is_strict:
                _refuse()
            if policy.is_bad(code):
                if policy.drops:
                    continue
                code = policy.replacement
            codes.append(code)
            starts.append(start)
        splits.append(len(codes))
    return (np.array(splits, splits_type.numpy), np.array(codes, np.int32), np.array(starts, np.int64))


def _splits_shape(input):
    size = input.num_elements()
    return make_shape((None if size is None else size + 1,))


DECODING = {
    "input_encoding": String(),
    "errors": ERRORS,
    "replacement_char": 65533,
    "replace_control_characters": False,
    "Tsplits": INDEX64,
}


@op(
    "UnicodeDecode",
    "input: string -> row_splits: Tsplits, char_values: int32",
    attrs=DECODING,
    shape=lambda input: [_splits_shape(input), make_shape((None,))],
)
def unicode_decode(input, *, input_encoding, errors, replacement_char, replace_control_characters, Tsplits):
    """The code points of all strings, with the places where a new string begins."""
    policy = Policy(errors, replacement_char, replace_control_characters)
    return _decoded(input, input_encoding, policy, Tsplits)[:2]


@op(
    "UnicodeDecodeWithOffsets",
    "input: string -> row_splits: Tsplits, char_values: int32, char_to_byte_starts: int64",
    attrs=DECODING,
    shape=lambda input: [_splits_shape(input)] + [make_shape((None,))] * 2,
)
def unicode_decode_with_offsets(
    input, *, input_encoding, errors, replacement_char, replace_control_characters, Tsplits
):
    """As UnicodeDecode, and the place of each character's first byte in its string."""
    policy = Policy(errors, replacement_char, replace_control_characters)
    return _decoded(input, input_encoding, policy, Tsplits)


def _decode_samples(rng):
    for errors in ("replace", "ignore"):
        yield Sample(TEXTS, input_encoding="UTF-8", errors=errors)
    yield Sample(strings([b"\x00a\xd8\x01\xdc\x37"]), input_encoding="UTF-16-BE")
    yield ErrorSample(TEXTS, input_encoding="UTF-8", errors="strict", raises="Invalid formatting")
    yield ErrorSample(
        TEXTS,
        input_encoding="UTF-8",
        replacement_char=2**21,
        raises="replacement_char out of unicode codepoint range",
    )


unicode_decode.samples(_decode_samples)
unicode_decode_with_offsets.samples(_decode_samples)


# -- UnicodeEncode ------------------------------------------------------------------------------
def encode_shape(input_values, input_splits):
    with_rank(input_values, 1)
    (count,) = with_rank(input_splits, 1).sizes
    return make_shape((None if count is None else count - 1,))


@op(
    "UnicodeEncode",
    "input_values: int32, input_splits: Tsplits -> output: string",
    errors=String("ignore", "replace", "strict", default="replace"),
    output_encoding=OUTPUTS,
    replacement_char=65533,
    Tsplits=INDEX64,
    shape=encode_shape,
)
def unicode_encode(input_values, input_splits, *, errors, output_encoding, replacement_char):
    """Every row of code points as a string."""
    policy = Policy(errors, replacement_char)
    require(input_splits.size, "Input_splits should contain elements, but given input_values has 0 elements")
    require(
        input_splits[0] == 0 and np.all(np.diff(input_splits) >= 0) and input_splits[-1] <= len(input_values),
        "Values in input_splits must be in increasing order, from 0 to at most the number of input_values",
    )
    codes = input_values
    outside = (codes < 0) | (codes > LAST)
    if outside.any():
        require(not policy.is_strict, "Code point value out of valid Unicode range.")
        codes = np.where(outside, BROKEN if policy.drops else policy.replacement, codes)
    rows = [codes[a:b] for a, b in itertools.pairwise(input_splits)]
    return strings(encode(row[row >= 0].tolist(), output_encoding) for row in rows)


@unicode_encode.samples
def _(rng):
    codes, splits = np.array([104, 233, 0x10437, 2**21, 0xD800], np.int32), np.array([0, 3, 3, 5])
    for out in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):
        yield Sample(codes, splits, output_encoding=out)
    yield Sample(codes, splits, output_encoding="UTF-8", errors="ignore")
    yield ErrorSample(
        codes,
        splits,
        output_encoding="UTF-8",
        errors="strict",
        raises="Code point value out of valid Unicode range",
    )


# -- UnicodeScript ------------------------------------------------------------------------------
@op("UnicodeScript", "input: int32 -> output: int32", shape=same)
def unicode_script(input):
    """The number of the script that each code point belongs to, -1 outside of Unicode."""
    inside = (input >= 0) & (input <= LAST)
    return np.where(inside, scripts()[np.where(inside, input, 0)], -1).astype(np.int32)


@unicode_script.samples
def _(rng):
    yield Sample(np.array([65, 0x3B1, 0x10FFFF, -1, 2**30, 0x416], np.int32))


for _op in (unicode_transcode, unicode_decode, unicode_decode_with_offsets, unicode_encode, unicode_script):
    _op.no_gradient()
