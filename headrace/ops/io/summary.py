"""Summaries: a value and a tag become a serialized Summary message, which a writer puts into a file.

The result is always a scalar string; no gradient flows through.
"""

from __future__ import annotations

import numpy as np
from google.protobuf.message import DecodeError

from headrace.core.dtypes import REALS, as_dtype, float16, float32, float64, uint8
from headrace.core.errors import InvalidArgumentError, require
from headrace.core.shapes import SCALAR
from headrace.formats import proto, tensor_proto
from headrace.graph.attrs import Literal
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.signature import Float, Int, Strings, TensorAttr, Type
from headrace.ops.declaration.text import strings
from headrace.ops.declaration.traits import HOST
from headrace.ops.io import summary_message as message

RED = Literal(np.array([255, 0, 0, 255], np.uint8), uint8)


def scalar(*inputs):
    """Shape rule: a scalar, whatever comes in."""
    return SCALAR


def serialized(summary):
    return strings([summary.SerializeToString()], ())


def text(value):
    return value.decode("utf-8", "replace")


def word(value):
    return strings([value], ())


# -- numbers --------------------------------------------------------------------------------------
@op("ScalarSummary", "tags: string, values: T -> summary: string", T=REALS, shape=scalar, traits={HOST})
def scalar_summary(tags, values):
    """One number for each tag."""
    if not (message.legacy_scalar(tags) and message.legacy_scalar(values)):
        single = f" (tag '{text(tags.item())}')" if tags.size == 1 else ""
        require(
            tags.shape == values.shape,
            f"tags and values not the same shape: {message.shown(tags.shape)} != "
            f"{message.shown(values.shape)}{single}",
        )
    summary = proto.Summary()
    for tag, value in zip(tags.reshape(-1), values.reshape(-1), strict=True):
        summary.value.add(tag=text(tag), simple_value=float(np.float32(value)))
    return serialized(summary)


scalar_summary.no_gradient()


@scalar_summary.samples
def _(rng):
    yield Sample(strings([b"a", b"b"]), np.array([1.5, -2.0]))
    yield Sample(word(b"loss"), np.array(3.0))
    yield Sample(strings([b"loss"]), np.array(3.0), note="a vector for a scalar")
    yield Sample(strings([]), np.zeros(0), note="empty")
    yield ErrorSample(word(b"x"), np.zeros(2), raises=r"not the same shape: \[\] != \[2\].*tag 'x'")


@op(
    "HistogramSummary",
    "tag: string, values: T -> summary: string",
    T=Type(REALS, default=float32),
    shape=scalar,
    traits={HOST},
)
def histogram_summary(ctx, tag, values):
    """How many values are in each bucket; buckets grow by a tenth from 0 on."""
    require(message.legacy_scalar(tag), "tags must be scalar")
    summary = proto.Summary()
    found = message.histogram(values, ctx.node.name)
    summary.value.add(tag=text(tag.item())).histo.CopyFrom(found)
    return serialized(summary)


histogram_summary.no_gradient()


@histogram_summary.samples
def _(rng):
    yield Sample(word(b"h"), rng.normal(size=(3, 4)))
    yield Sample(word(b"h"), np.array(0.0), note="scalar")
    yield Sample(word(b"h"), np.zeros((0,)), note="empty")
    yield ErrorSample(word(b"h"), np.array([1.0, np.nan]), raises="Nan in summary histogram")
    yield ErrorSample(word(b"h"), np.array([np.inf]), raises="Infinity in summary histogram")
    yield ErrorSample(strings([b"a", b"b"]), np.zeros(2), raises="tags must be scalar")


# -- pictures and sounds --------------------------------------------------------------------------
@op(
    "ImageSummary",
    "tag: string, tensor: T -> summary: string",
    max_images=Int(default=3, min=1),
    T=Type((uint8, float32, float16, float64), default=float32),
    bad_color=TensorAttr(default=RED),
    shape=scalar,
    traits={HOST},
)
def image_summary(tag, tensor, *, max_images, bad_color):
    """The first pictures of [batch, height, width, 1 or 3 or 4] as PNG.

    Floats are scaled so that the greatest is 255, or with negative ones so that 0 is 128; a pixel
    that is not finite gets `bad_color`.
    """
    color = bad_color.array
    require(color.dtype == np.uint8, f"bad_color must be uint8, got {bad_color.dtype.name}")
    require(color.ndim == 1, f"bad_color must be a vector, got shape {message.shown(color.shape)}")
    require(message.legacy_scalar(tag), "Tags must be a scalar")
    return serialized(message.images(tag.item(), tensor, max_images, color))


image_summary.no_gradient()


@image_summary.samples
def _(rng):
    pictures = rng.normal(size=(4, 2, 3, 3)).astype(np.float32)
    yield Sample(word(b"i"), pictures, dtypes=False)
    yield Sample(word(b"i"), np.abs(pictures[..., :1]), max_images=1, dtypes=False)
    yield Sample(word(b"i"), (pictures * 50).astype(np.uint8), dtypes=False)
    broken = pictures.astype(np.float16)
    broken[0, 0, 0, 1] = np.nan
    yield Sample(word(b"i"), broken, note="not finite", dtypes=False)
    yield ErrorSample(
        word(b"i"), pictures[0], raises=r"Tensor must be 4-D with last dim 1, 3, or 4, not \[2,3,3\]"
    )
    yield ErrorSample(word(b"i"), pictures[:, :0], raises="must have non-zero dims")


@op(
    "AudioSummary",
    "tag: string, tensor: float32 -> summary: string",
    sample_rate=Float(),
    max_outputs=Int(default=3, min=1),
    deprecated=(15, "Use AudioSummaryV2."),
    shape=scalar,
    traits={HOST},
)
def audio_summary(tag, tensor, *, sample_rate, max_outputs):
    """`AudioSummaryV2` with a fixed sample rate."""
    require(message.legacy_scalar(tag), "Tag must be a scalar")
    return serialized(message.audio(tag.item(), tensor, sample_rate, max_outputs))


audio_summary.no_gradient()


@audio_summary.samples
def _(rng):
    sounds = rng.uniform(-1, 1, size=(2, 5, 2)).astype(np.float32)
    yield Sample(word(b"s"), sounds, sample_rate=8000.0, dtypes=False)


@op(
    "AudioSummaryV2",
    "tag: string, tensor: float32, sample_rate: float32 -> summary: string",
    max_outputs=Int(default=3, min=1),
    shape=scalar,
    traits={HOST},
)
def audio_summary_v2(tag, tensor, sample_rate, *, max_outputs):
    """The first sounds of [batch, time] or [batch, time, channels], in [-1, 1], as WAV."""
    require(message.legacy_scalar(tag), "Tag must be a scalar")
    require(sample_rate.size == 1, "sample_rate must be a scalar")
    return serialized(message.audio(tag.item(), tensor, sample_rate.item(), max_outputs))


audio_summary_v2.no_gradient()


@audio_summary_v2.samples
def _(rng):
    sounds = rng.uniform(-1, 1, size=(4, 5, 2)).astype(np.float32)
    rate = np.float32(44100).reshape(())
    yield Sample(word(b"s"), sounds, rate, dtypes=False)
    yield Sample(word(b"s"), sounds[..., 0], rate, max_outputs=1, dtypes=False)
    yield ErrorSample(word(b"s"), sounds[0, 0], rate, raises="Tensor must be 3-D or 2-D")
    yield ErrorSample(word(b"s"), sounds, np.zeros_like(rate), raises="sample_rate must be > 0")


# -- tensors --------------------------------------------------------------------------------------
@op(
    "TensorSummary",
    "tensor: T -> summary: string",
    T=Type(),
    description="",
    labels=Strings(default=[]),
    display_name="",
    shape=scalar,
    traits={HOST},
)
def tensor_summary(ctx, tensor, *, T):
    """Any tensor, under the name of the node."""
    summary = proto.Summary()
    value = summary.value.add(node_name=ctx.node.name)
    value.tensor.CopyFrom(tensor_proto.to_proto(tensor, as_dtype(T).as_datatype_enum))
    return serialized(summary)


tensor_summary.no_gradient()


@tensor_summary.samples
def _(rng):
    yield Sample(rng.normal(size=(2, 3)))
    yield Sample(strings([b"a", b"bc"]))


@op(
    "TensorSummaryV2",
    "tag: string, tensor: T, serialized_summary_metadata: string -> summary: string",
    T=Type(),
    shape=scalar,
    traits={HOST},
)
def tensor_summary_v2(tag, tensor, serialized_summary_metadata, *, T):
    """Any tensor, with a tag and with what a plugin of TensorBoard should know."""
    require(message.legacy_scalar(tag), "tag must be scalar")
    summary = proto.Summary()
    value = summary.value.add(tag=text(tag.item()))
    value.tensor.CopyFrom(tensor_proto.to_proto(tensor, as_dtype(T).as_datatype_enum))
    try:
        value.metadata.ParseFromString(serialized_summary_metadata.item())
    except DecodeError:
        value.ClearField("metadata")  # TF, too, writes the summary all the same
        value.metadata.SetInParent()
    return serialized(summary)


tensor_summary_v2.no_gradient()


@tensor_summary_v2.samples
def _(rng):
    yield Sample(word(b"t"), rng.normal(size=(2, 3)), word(b""))
    yield Sample(word(b"t"), strings([b"a", b"bc"]), word(b""))
    yield ErrorSample(strings([b"a", b"b"]), np.zeros(2), word(b""), raises="tag must be scalar")


# -- several --------------------------------------------------------------------------------------
@op("MergeSummary", "inputs: N*string -> summary: string", N=Int(min=1), shape=scalar, traits={HOST})
def merge_summary(inputs):
    """All summaries in one; no tag may occur twice."""
    from google.protobuf.message import DecodeError

    summary, tags = proto.Summary(), set()
    for part in (part for array in inputs for part in array.reshape(-1)):
        try:
            found = proto.Summary.FromString(part)
        except DecodeError:
            raise InvalidArgumentError(None, None, "Could not parse one of the summary inputs") from None
        for value in found.value:
            require(
                not value.tag or value.tag not in tags, f"Duplicate tag {value.tag} found in summary inputs"
            )
            tags.add(value.tag)
        summary.value.extend(found.value)  # and nothing else that may be there
    return serialized(summary)


merge_summary.no_gradient()


@merge_summary.samples
def _(rng):
    one, two = proto.Summary(), proto.Summary()
    one.value.add(tag="a", simple_value=1.0)
    two.value.add(tag="b", simple_value=2.0)
    yield Sample([serialized(one), serialized(two)])
    yield Sample([serialized(one)], note="one")
    yield ErrorSample([serialized(one), serialized(one)], raises="Duplicate tag a found")
    yield ErrorSample([word(b"\xff\xff")], raises="Could not parse one of the summary inputs")
