"""Summaries that go to the default writer when they run (tf.contrib.summary).

Each returns a node, which does nothing where there is no writer or nothing is recorded; `step` is the
global step if it is not given.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.functions.array.array import identity
from headrace.functions.control.cond import smart_cond
from headrace.functions.io.summary import summary_scope
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.array.source import no_op
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.io import summary_writer as ops
from headrace.train.schedules.step_count import get_or_create_global_step
from headrace.train.summaries.summary_writer import SUMMARIES, default_writer, should_record_summaries


def _step(step: Any) -> Any:
    if step is None:
        return get_or_create_global_step()
    return step if isinstance(step, Tensor) else convert_to_tensor(step, dtypes.int64)


def _recorded(name: str, tensor: Any, write: Callable[[Any, str, str], Any], family: str | None) -> Any:
    """`write(handle, tag, scope)`, where summaries are recorded."""
    graph, writer = get_default_graph(), default_writer()
    if writer is None:
        return no_op()
    around = graph.get_name_scope()

    def record() -> Any:
        # The conditional must not be part of the tag.
        with name_scope(around + "/" if around else None):
            with summary_scope(name, family, values=[tensor]) as (tag, scope):
                with graph.control_dependencies([write(writer._resource, tag, scope)]):
                    return constant(True)

    with graph.device("cpu:0"):
        recorded = smart_cond(should_record_summaries(), record, lambda: constant(False), name="")
        graph.add_to_collection(SUMMARIES, recorded)
    return recorded


def generic(name: str, tensor: Any, metadata: Any = None, family: str | None = None, step: Any = None) -> Any:
    """Any tensor, with a SummaryMetadata message (or a serialized one) that says who shows it."""

    def write(writer: Any, tag: str, scope: str) -> Any:
        data = b"" if metadata is None else metadata
        if hasattr(data, "SerializeToString"):
            data = data.SerializeToString()
        return ops.write_summary(writer, _step(step), identity(tensor), tag, data, name=scope)

    return _recorded(name, tensor, write, family)


def scalar(name: str, tensor: Any, family: str | None = None, step: Any = None) -> Any:
    """A number."""

    def write(writer: Any, tag: str, scope: str) -> Any:
        return ops.write_scalar_summary(writer, _step(step), tag, identity(tensor), name=scope)

    return _recorded(name, tensor, write, family)


def histogram(name: str, tensor: Any, family: str | None = None, step: Any = None) -> Any:
    """How values are distributed."""

    def write(writer: Any, tag: str, scope: str) -> Any:
        return ops.write_histogram_summary(writer, _step(step), tag, identity(tensor), name=scope)

    return _recorded(name, tensor, write, family)


def image(
    name: str,
    tensor: Any,
    bad_color: Any = None,
    max_images: int = 3,
    family: str | None = None,
    step: Any = None,
) -> Any:
    """Pictures [batch, height, width, channels]; pixels that are not finite get `bad_color`, red."""

    def write(writer: Any, tag: str, scope: str) -> Any:
        color = constant([255, 0, 0, 255], dtypes.uint8) if bad_color is None else bad_color
        return ops.write_image_summary(
            writer, _step(step), tag, identity(tensor), color, max_images=max_images, name=scope
        )

    return _recorded(name, tensor, write, family)


def audio(
    name: str, tensor: Any, sample_rate: Any, max_outputs: int, family: str | None = None, step: Any = None
) -> Any:
    """Sounds [batch, time] or [batch, time, channels]."""

    def write(writer: Any, tag: str, scope: str) -> Any:
        return ops.write_audio_summary(
            writer, _step(step), tag, identity(tensor), sample_rate, max_outputs=max_outputs, name=scope
        )

    return _recorded(name, tensor, write, family)


def graph(param: Any, step: Any = None, name: str | None = None) -> Any:
    """A serialized GraphDef, as a string tensor.

    Raises:
      TypeError: it is no tensor.
    """
    if not isinstance(param, Tensor):
        raise TypeError(
            f"graph() needs a tf.Tensor (e.g. tf.placeholder) in graph mode, but was: {type(param)}"
        )
    writer = default_writer()
    if writer is None:
        return no_op()
    with get_default_graph().device("cpu:0"):
        return ops.write_graph_summary(writer._resource, _step(step), identity(param), name=name)


def import_event(tensor: Any, name: str | None = None) -> Any:
    """A serialized Event."""
    return ops.import_event(default_writer()._resource, tensor, name=name)


def eval_dir(model_dir: str, name: str | None = None) -> str:
    """Where events of an evaluation go, below the model's directory."""
    return os.path.join(model_dir, f"eval_{name}" if name else "eval")
