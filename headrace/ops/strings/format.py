"""Values in text: StringFormat, and the ops that print."""

from __future__ import annotations

import logging
import sys
import threading

import numpy as np

from headrace.core.errors import require
from headrace.core.shapes import SCALAR
from headrace.core.text import as_bytes
from headrace.formats import files
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_rules import none
from headrace.ops.declaration.signature import Type, Types
from headrace.ops.declaration.text import strings
from headrace.ops.declaration.traits import FILES, STATEFUL
from headrace.ops.strings.summarize import summarize, summarize_ends


# -- StringFormat -------------------------------------------------------------------------------
def _pieces(template, placeholder, count):
    """The template around its placeholders, of which there are as many as inputs."""
    mark = as_bytes(placeholder)
    text = as_bytes(template)
    pieces = text.split(mark) if mark else [text[i : i + 1] for i in range(len(text))]
    require(
        len(pieces) - 1 == count,
        f"num placeholders in template and num inputs must match: {len(pieces) - 1} vs. {count}",
    )
    return pieces


def format_shape(inputs, *, template, placeholder):
    _pieces(template, placeholder, len(inputs))
    return SCALAR


@op(
    "StringFormat",
    "inputs: T -> output: string",
    T=Types(min=0),
    template="%s",
    placeholder="%s",
    summarize=3,
    shape=format_shape,
)
def string_format(inputs, *, template, placeholder, summarize):
    """The template with the first and last elements of each input in place of a placeholder."""
    first, *rest = _pieces(template, placeholder, len(inputs))
    out = first
    for value, piece in zip(inputs, rest):
        out += summarize_ends(value, summarize).encode() + piece
    return strings([out], ())


string_format.no_gradient()


@string_format.samples
def _(rng):
    many = np.arange(20).reshape(4, 5)
    yield Sample([many], template="<%s>")
    yield Sample(
        [many, np.array(1.5), strings([b'a"b\n', b"c"])], template="{} {} {}", placeholder="{}", summarize=-1
    )
    yield Sample([np.array([0.1, 1e10, np.nan], np.float32)], template="x%s", summarize=2)
    yield Sample([np.array([True, False]), np.zeros((2, 0))], template="%s%s")
    yield Sample([], template="nothing")
    yield ErrorSample([many], template="no place", raises="must match: 0 vs. 1")


# -- Print --------------------------------------------------------------------------------------
@op(
    "Print",
    "input: T, data: U -> output: T",
    T=Type(),
    U=Types(min=0),
    message="",
    first_n=-1,
    summarize=3,
    traits={STATEFUL},
    shape=lambda input, data: input.plain(),
)
def print_(ctx, input, data, *, message, first_n, summarize):
    """The input; the data are printed on the way, in the first `first_n` steps."""
    if first_n >= 0:
        with ctx.lock:
            count = ctx.state.get("printed", 0)
            ctx.state["printed"] = count + 1
        if count >= first_n:
            return input
    text = as_bytes(message).decode("utf-8", "replace")
    _write(sys.stderr, text + "".join(f"[{_summary(x, summarize)}]" for x in data) + "\n")
    return input


_summary = summarize
_output = threading.Lock()  # lines of nodes that run beside each other do not mix


def _write(stream, text):
    with _output:
        stream.write(text)
        stream.flush()


@print_.gradient
def _(node, dy):
    return [dy] + [None] * (len(node.inputs) - 1)


@print_.samples
def _(rng):
    yield Sample(rng.normal(size=(2, 3)), [np.arange(3), strings([b"a"], ())], message="x")
    yield Sample(rng.normal(size=(2, 3)), [], first_n=0)


# -- PrintV2 ------------------------------------------------------------------------------------
_LEVELS = {"log(info)": logging.INFO, "log(warning)": logging.WARNING, "log(error)": logging.ERROR}
STREAMS = ("stdout", "stderr", *_LEVELS)


@op("PrintV2", "input: string ->", output_stream="stderr", end="\n", traits={STATEFUL, FILES}, shape=none)
def print_v2(input, *, output_stream, end):
    """Print one string to a stream, the log, or the file behind "file://"."""
    require(input.ndim == 0, "PrintV2 takes a scalar string")
    text = (input[()] + as_bytes(end)).decode("utf-8", "replace")
    if output_stream.startswith("file://"):
        with _output, open(files.local(output_stream), "a", encoding="utf-8") as file:
            file.write(text)
    elif output_stream in _LEVELS:
        logging.getLogger("headrace").log(_LEVELS[output_stream], text.rstrip("\n"))
    else:
        require(
            output_stream in STREAMS,
            f"Unknown output stream: {output_stream}, Valid streams are: {' '.join(STREAMS)}",
        )
        _write(getattr(sys, output_stream), text)
    return ()


print_v2.no_gradient()


print_v2.touches_files("output_stream", lambda stream: stream.startswith("file://"))


@print_v2.samples
def _(rng):
    yield Sample(strings([b"printed by a sample"], ()), output_stream="log(info)")
    yield ErrorSample(strings([b"x"], ()), output_stream="nowhere", raises="Unknown output stream")
