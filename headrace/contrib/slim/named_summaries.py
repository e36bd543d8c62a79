"""slim.summaries: summaries named after their tensors."""

from __future__ import annotations

from typing import Any

from headrace.functions.io.summary import histogram, image, scalar
from headrace.functions.nn.activation import zero_fraction
from headrace.functions.strings.print import Print
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys


def _name(tensor: Any, name: str | None, prefix: str | None, postfix: str | None = None) -> str:
    return "/".join(part for part in (prefix, name or tensor.op.name, postfix) if part)


def _printed(make: Any, name: str, tensor: Any, print_summary: bool) -> Any:
    """A summary; one that is printed when it is computed, if asked for."""
    if not print_summary:
        return make(name, tensor)
    shown = Print(make(name, tensor, collections=[]), [tensor], name)
    get_default_graph().add_to_collection(GraphKeys.SUMMARIES, shown)
    return shown


def add_histogram_summary(tensor: Any, name: str | None = None, prefix: str | None = None) -> Any:
    """How values are distributed."""
    return histogram(_name(tensor, name, prefix), tensor)


def add_image_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Any:
    """Pictures."""
    return _printed(image, _name(tensor, name, prefix), tensor, print_summary)


def add_scalar_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Any:
    """A number."""
    return _printed(scalar, _name(tensor, name, prefix), tensor, print_summary)


def add_zero_fraction_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Any:
    """Which part of the elements is 0."""
    full = _name(tensor, name, prefix, "Fraction_of_Zero_Values")
    return add_scalar_summary(zero_fraction(tensor), full, print_summary=print_summary)


def add_histogram_summaries(tensors: Any, prefix: str | None = None) -> list[Any]:
    """One for each tensor."""
    return [add_histogram_summary(tensor, prefix=prefix) for tensor in tensors]


def add_image_summaries(tensors: Any, prefix: str | None = None) -> list[Any]:
    """One for each tensor."""
    return [add_image_summary(tensor, prefix=prefix) for tensor in tensors]


def add_scalar_summaries(tensors: Any, prefix: str | None = None, print_summary: bool = False) -> list[Any]:
    """One for each tensor."""
    return [add_scalar_summary(tensor, prefix=prefix, print_summary=print_summary) for tensor in tensors]


def add_zero_fraction_summaries(tensors: Any, prefix: str | None = None) -> list[Any]:
    """One for each tensor."""
    return [add_zero_fraction_summary(tensor, prefix=prefix) for tensor in tensors]
