"""Where values enter and pass: placeholders, identities, the op that does nothing."""

from __future__ import annotations

import numpy as np

from headrace.core.errors import require
from headrace.core.shapes import make_shape
from headrace.ops.declaration.declare import op, primitive
from headrace.ops.declaration.samples import Sample
from headrace.ops.declaration.shape_rules import from_attr, none, same
from headrace.ops.declaration.signature import ShapeAttr, Type, Types
from headrace.ops.declaration.traits import ALIAS, ELEMENTWISE, IDENTITY, REPLACEABLE, SOURCE

placeholder = primitive(
    "Placeholder",
    "-> output: dtype",
    shape=from_attr,
    traits={SOURCE},
    attrs={"dtype": Type(), "shape": ShapeAttr(default=None)},
)
placeholder_v2 = primitive(
    "PlaceholderV2",
    "-> output: dtype",
    shape=from_attr,
    traits={SOURCE},
    deprecated=(23, "Placeholder now behaves the same as PlaceholderV2."),
    attrs={"dtype": Type(), "shape": ShapeAttr()},
)
placeholder.no_gradient()


def default_shape(input, *, shape):
    return shape.merge_with(input.plain()) if input.rank is None else shape


@op(
    "PlaceholderWithDefault",
    "input: dtype -> output: dtype",
    shape=default_shape,
    traits={REPLACEABLE},
    attrs={"dtype": Type(), "shape": ShapeAttr()},
)
def placeholder_with_default(input, *, shape):
    """The input, unless the output is fed."""
    require(
        shape.is_compatible_with(make_shape(input.shape)),
        f"the default has shape {list(input.shape)}, the placeholder {shape}",
    )
    return input


@placeholder_with_default.gradient
def _(node, dy):
    return dy


@placeholder_with_default.samples
def _(rng):
    yield Sample(rng.normal(size=(2, 3)), shape=[2, None])


@op("Identity", "input: T -> output: T", T=Type(), shape=same, traits={IDENTITY, ALIAS, ELEMENTWISE})
def identity(input):
    """The input."""
    return input


@identity.gradient
def _(node, dy):
    return dy


@identity.known
def _(node, known):
    return known(node.inputs[0])


@identity.lower
def _(e, x):
    return x


@identity.samples
def _(rng):
    yield Sample(rng.normal(size=(2, 3)))
    yield Sample(np.array([b"a", b""], dtype=object), note="text")


@op("IdentityN", "input: T -> output: T", T=Types(min=1), shape=lambda input: [x.plain() for x in input])
def identity_n(input):
    """The inputs."""
    return list(input)


@identity_n.gradient
def _(node, *dys):
    return list(dys)


@identity_n.samples
def _(rng):
    yield Sample([rng.normal(size=(2, 3)), np.arange(3)])


@op("StopGradient", "input: T -> output: T", T=Type(), shape=same, traits={IDENTITY, ALIAS, ELEMENTWISE})
def stop_gradient(input):
    """The input; gradients do not pass."""
    return input


stop_gradient.no_gradient()


@stop_gradient.lower
def _(e, x):
    return x


@stop_gradient.samples
def _(rng):
    yield Sample(rng.normal(size=(2, 3)), grad=False)


@op(
    "PreventGradient",
    "input: T -> output: T",
    T=Type(),
    message="",
    shape=same,
    traits={IDENTITY, ALIAS, ELEMENTWISE},
)
def prevent_gradient(input):
    """The input; asking for a gradient through it is an error."""
    return input


@prevent_gradient.gradient
def _(node, dy):
    raise LookupError(f"Gradient explicitly disabled. Reason: {node.get_attr('message').decode()}")


@prevent_gradient.samples
def _(rng):
    yield Sample(rng.normal(size=(2, 3)), grad=False)


@op("Snapshot", "input: T -> output: T", T=Type(), shape=same, traits={ELEMENTWISE})
def snapshot(input):
    """A copy of the input."""
    return np.array(input)


@snapshot.samples
def _(rng):
    yield Sample(rng.normal(size=(2, 3)), grad=False)


@op("NoOp", "->", shape=none)
def no_op():
    """Nothing."""
    return ()


@no_op.samples
def _(rng):
    yield Sample()
