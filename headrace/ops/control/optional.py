"""Optionals: a variant that holds some tensors, or nothing.  Datasets give them at their end; gradients of
conditionals keep what only one branch computes."""

from __future__ import annotations

import numpy as np

from headrace.core.errors import InvalidArgumentError, require
from headrace.core.shapes import SCALAR, Shape
from headrace.ops.array.fill import zeros_like
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.messages.node_def import type_name
from headrace.ops.declaration.samples import Sample
from headrace.ops.declaration.signature import Shapes, Types


class Optional:
    """An element of a variant tensor; `components` None: nothing."""

    __slots__ = ("components", "dtypes")

    def __init__(self, components=None, dtypes=()):
        self.components, self.dtypes = components, tuple(dtypes)

    def __repr__(self):
        return f"<optional of {len(self.components)}>" if self.components else "<optional: none>"

    def zeros_like(self):
        if self.components is None:
            return Optional()
        return Optional([zeros_like.compute([c], {}) for c in self.components], self.dtypes)

    def __add__(self, other):
        require(
            (self.components is None) == (other.components is None) and self.dtypes == other.dtypes,
            "Trying to add two optionals of which one is empty or of other types",
        )
        if self.components is None:
            return self
        pairs = zip(self.components, other.components)
        return Optional([a + b for a, b in pairs], self.dtypes)


def boxed(value):
    out = np.empty((), object)
    out[()] = value
    return out


def unboxed(tensor):
    found = tensor[()] if tensor.ndim == 0 else None
    if not isinstance(found, Optional):
        raise InvalidArgumentError(None, None, "Input is not an optional.")
    return found


@op(
    "OptionalFromValue",
    "components: Toutput_types -> optional: variant",
    Toutput_types=Types(min=1),
    shape=lambda components, *, Toutput_types: SCALAR,
)
def optional_from_value(components, *, Toutput_types):
    """An optional that holds `components`."""
    return boxed(Optional(list(components), Toutput_types))


@op("OptionalNone", "-> optional: variant", shape=lambda: SCALAR)
def optional_none():
    """An optional that holds nothing."""
    return boxed(Optional())


@op("OptionalHasValue", "optional: variant -> has_value: bool", shape=lambda optional: SCALAR)
def optional_has_value(optional):
    """Does it hold something?"""
    return np.array(unboxed(optional).components is not None)


def value_shapes(optional, *, output_types, output_shapes):
    require(len(output_types) == len(output_shapes), "a shape is needed for every type")
    return list(output_shapes)


@op(
    "OptionalGetValue",
    "optional: variant -> components: output_types",
    output_types=Types(min=1),
    output_shapes=Shapes(min=1),
    shape=value_shapes,
)
def optional_get_value(optional, *, output_types, output_shapes):
    """What it holds."""
    held = unboxed(optional)
    require(held.components is not None, "The given optional does not have a value.")
    require(
        held.dtypes == tuple(output_types),
        f"The given optional holds {_names(held.dtypes)}, not {_names(output_types)}",
    )
    for found, wanted in zip(held.components, output_shapes):
        require(
            wanted.is_compatible_with(Shape(found.shape)),
            f"The given optional holds a tensor of shape {list(found.shape)}, not {wanted}",
        )
    return list(held.components)


def _names(types):
    return ", ".join(type_name(t) for t in types)


@optional_from_value.gradient
def _(node, dy):
    shapes = [t.shape for t in node.inputs]
    types = node.attrs["Toutput_types"]
    return list(optional_get_value(dy, output_types=types, output_shapes=shapes))


@optional_get_value.gradient
def _(node, *dys):
    given = [zeros_like(y) if dy is None else dy for y, dy in zip(node.outputs, dys)]
    return optional_from_value(given)


optional_none.no_gradient()
optional_has_value.no_gradient()


@optional_none.samples
def _(rng):
    yield Sample()


def _not_in_samples(declared):
    """Samples can not hold optionals: tests/ops/control/test_optional.py has what is made of them."""

    @declared.samples
    def _(rng):
        return iter(())


for _op in (optional_from_value, optional_get_value, optional_has_value):
    _not_in_samples(_op)
