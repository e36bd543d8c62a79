"""tf.summary: values for TensorBoard.  Each op makes a serialized Summary under the name of its scope."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from headrace.core import dtypes
from headrace.formats import proto
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.io import summary as ops

_ILLEGAL = re.compile(r"[^-/\w\.]")


def clean_tag(name: str | None) -> str | None:
    """`name` without what a scope may not have in its name."""
    if name is None:
        return None
    cleaned = _ILLEGAL.sub("_", name).lstrip("/")
    if cleaned != name:
        logging.getLogger("headrace").info("Summary name %s is illegal; using %s instead.", name, cleaned)
    return cleaned


@contextmanager
def summary_scope(
    name: str | None, family: str | None = None, default_name: str | None = None, values: Any = None
) -> Iterator[tuple[str, str]]:
    """(tag, scope) of a summary.  A family is the first part of the tag, and of the name."""
    name, family = clean_tag(name), clean_tag(family)
    full = name if family is None else f"{family}/{name}"
    with name_scope(full, default_name, values) as scope:
        tag = scope.rstrip("/")
        yield (tag if family is None else f"{family}/{tag}"), scope


def _collect(summary: Tensor, collections: Any, default: Any = (GraphKeys.SUMMARIES,)) -> Tensor:
    graph = get_default_graph()
    for key in default if collections is None else collections:
        graph.add_to_collection(key, summary)
    return summary


def scalar(name: str, tensor: Any, collections: Any = None, family: str | None = None) -> Tensor:
    """A number.

    Args:
      name: name of the node and tag of the number.
      tensor: a scalar.
      collections: where the summary is added; default `[GraphKeys.SUMMARIES]`.
      family: first part of the tag.

    Returns:
      A serialized Summary.

    Example:
      >>> tf.summary.scalar("loss", loss)
      >>> summaries = tf.summary.merge_all()
      >>> writer = tf.summary.FileWriter("logs", sess.graph)
      >>> writer.add_summary(sess.run(summaries), step)
    """
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        return _collect(ops.scalar_summary(tag, tensor, name=scope), collections)


def image(
    name: str, tensor: Any, max_outputs: int = 3, collections: Any = None, family: str | None = None
) -> Tensor:
    """Pictures, as PNG.

    Args:
      name: name of the node; the tags are name/image/0, name/image/1, ...
      tensor: [batch, height, width, channels], 1, 3 or 4 channels; uint8, or floats, which are
        scaled.
      max_outputs: how many pictures at most.
      collections: where the summary is added; default `[GraphKeys.SUMMARIES]`.
      family: first part of the tag.

    Returns:
      A serialized Summary.
    """
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        found = ops.image_summary(tag, tensor, max_images=max_outputs, name=scope)
        return _collect(found, collections)


def histogram(name: str, values: Any, collections: Any = None, family: str | None = None) -> Tensor:
    """How values are distributed.

    Args:
      name: name of the node and tag.
      values: a tensor of real numbers.
      collections: where the summary is added; default `[GraphKeys.SUMMARIES]`.
      family: first part of the tag.

    Returns:
      A serialized Summary.  Its op fails on values that are not finite.
    """
    with summary_scope(name, family, "HistogramSummary", [values]) as (tag, scope):
        return _collect(ops.histogram_summary(tag, values, name=scope), collections)


def audio(
    name: str,
    tensor: Any,
    sample_rate: Any,
    max_outputs: int = 3,
    collections: Iterable[str] | None = None,
    family: str | None = None,
) -> Tensor:
    """Sounds, as WAV.

    Args:
      name: name of the node; the tags are name/audio/0, name/audio/1, ...
      tensor: float32 [batch, time] or [batch, time, channels], in [-1, 1].
      sample_rate: samples per second.
      max_outputs: how many sounds at most.
      collections: where the summary is added; default `[GraphKeys.SUMMARIES]`.
      family: first part of the tag.

    Returns:
      A serialized Summary.
    """
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        rate = convert_to_tensor(sample_rate, dtype=dtypes.float32, name="sample_rate")
        found = ops.audio_summary_v2(tag, tensor, rate, max_outputs=max_outputs, name=scope)
        return _collect(found, collections)


def text(name: str, tensor: Any, collections: Any = None) -> Tensor:
    """Text, shown as Markdown.

    Args:
      name: name of the node and tag.
      tensor: strings.
      collections: where the summary is added; default `[GraphKeys.SUMMARIES]`.

    Returns:
      A serialized Summary.

    Raises:
      ValueError: `tensor` is not strings.
    """
    if tensor.dtype != dtypes.string:
        raise ValueError(f"Expected tensor {tensor.name} to have dtype string, got {tensor.dtype}")
    metadata = proto.SummaryMetadata()
    metadata.plugin_data.plugin_name = "text"
    return tensor_summary(name, tensor, summary_metadata=metadata, collections=collections)


def tensor_summary(
    name: str,
    tensor: Any,
    summary_description: str | None = None,
    collections: Iterable[str] | None = None,
    summary_metadata: Any = None,
    family: str | None = None,
    display_name: str | None = None,
) -> Tensor:
    """Any tensor.

    Args:
      name: name of the node and tag.
      tensor: a tensor of any type.
      summary_description: what it is, in Markdown.
      collections: where the summary is added; default `[GraphKeys.SUMMARIES]`.
      summary_metadata: a SummaryMetadata message: which plugin shows it.
      family: first part of the tag.
      display_name: what it is called on the screen.

    Returns:
      A serialized Summary.
    """
    metadata = proto.SummaryMetadata() if summary_metadata is None else summary_metadata
    if summary_description is not None:
        metadata.summary_description = summary_description
    if display_name is not None:
        metadata.display_name = display_name
    data = metadata.SerializeToString()
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        return _collect(ops.tensor_summary_v2(tag, tensor, data, name=scope), collections)


def merge(inputs: Any, collections: Any = None, name: str | None = None) -> Tensor:
    """Several summaries in one.

    Args:
      inputs: a list of serialized summaries; no tag may occur twice.
      collections: where the result is added; default nowhere.
      name: name of the node.
    """
    _check_no_eager()
    name = clean_tag(name)
    with name_scope(name, "Merge", inputs):
        return _collect(ops.merge_summary(inputs, name=name), collections, ())


def merge_all(
    key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None
) -> Tensor | None:
    """All summaries of the graph in one; None if there are none.

    Args:
      key: the collection.
      scope: only those whose names begin with it.
      name: name of the node.
    """
    _check_no_eager()
    found = get_default_graph().get_collection(key, scope=scope)
    return merge(found, name=name) if found else None


def _check_no_eager() -> None:
    if get_default_graph().runs_at_once:
        raise RuntimeError(
            "Merging tf.summary.* ops is not compatible with eager execution. Use tf.contrib.summary instead."
        )


def get_summary_description(node_def: Any) -> Any:
    """The SummaryDescription that a TensorSummary node keeps as JSON.

    Raises:
      ValueError: it is another op.
    """
    from google.protobuf import json_format

    if node_def.op != ops.tensor_summary.name:
        raise ValueError(f"Can't get_summary_description on {node_def.op}")
    written = node_def.attr["description"].s.decode("utf-8", "replace")
    return json_format.Parse(written, proto.SummaryDescription())
