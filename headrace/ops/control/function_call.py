"""Ops that call functions: calls, conditionals and loops whose parts are functions of the library.

Their kernels run the functions one after the other; a plan usually replaces the nodes by the bodies
(plan.inline), so that they are improved and compiled together with what surrounds them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.dtypes import float32
from headrace.core.errors import require
from headrace.core.shapes import UNKNOWN
from headrace.graph.attrs import FunctionName
from headrace.ops.array import fill
from headrace.ops.declaration.declare import op, primitive
from headrace.ops.declaration.samples import Sample
from headrace.ops.declaration.shape_rules import from_attr
from headrace.ops.declaration.signature import Function, Functions, ShapeAttr, Shapes, Type, Types
from headrace.ops.declaration.traits import HOST, STATEFUL


def gradient_shapes(input, *, Tin, Tout):
    require(len(input) >= len(Tout), "len(inputs) < len(outputs)")
    found = []
    for x in input[: len(Tout)]:
        if x.dtype.base.kind == "r":
            found.append(x.handle[1] if x.handle else UNKNOWN)
        else:
            found.append(x.plain())
    return found


# (x..., dy...) -> dx... of a function f(x...) -> y...; a plan puts the gradient's body in its place.
symbolic_gradient = primitive(
    "SymbolicGradient",
    "input: Tin -> output: Tout",
    Tin=Types(min=1),
    Tout=Types(min=1),
    f=Function(),
    shape=gradient_shapes,
    traits={HOST},
)


@symbolic_gradient.gradient
def _(node, *dys):
    # A primitive op may be called like a function, and this one is its own gradient's function.
    attrs = tuple((key, node.attrs[key]) for key in ("Tin", "Tout", "f"))
    return symbolic_gradient_of(node, FunctionName("SymbolicGradient", attrs), dys)


def symbolic_gradient_of(node: Any, f: Any, dys: Any) -> Any:
    """A SymbolicGradient node for a call of `f` with the inputs of `node`."""
    given = [fill.zeros_like(y) if dy is None else dy for y, dy in zip(node.outputs, dys)]
    types = [gradient_type(t) for t in node.inputs]
    return symbolic_gradient([*node.inputs, *given], Tout=types, f=f)


def gradient_type(tensor):
    """The type of a gradient: of a handle, that of the variable's value."""
    behind = tensor.dtype.base.kind == "r" and tensor.handle_data is not None
    return tensor.handle_data[0] if behind else tensor.dtype.base


def unknown_outputs(*inputs, Tout):
    return [UNKNOWN] * len(Tout)


_PARTITIONED: dict[str, Any] = {
    "Tin": Types(min=0),
    "Tout": Types(min=0),
    "f": Function(),
    "config": "",
    "config_proto": "",
    "executor_type": "",
    "shape": unknown_outputs,
}


@op("PartitionedCall", "args: Tin -> output: Tout", **_PARTITIONED, traits={HOST})
def partitioned_call(ctx, args, *, f):
    """f(args)."""
    return ctx.run_function(f, args)


@op("StatefulPartitionedCall", "args: Tin -> output: Tout", **_PARTITIONED, traits={STATEFUL, HOST})
def stateful_partitioned_call(ctx, args, *, f):
    """f(args), for its effects too."""
    return ctx.run_function(f, args)


@op(
    "RemoteCall",
    "target: string, args: Tin -> output: Tout",
    Tin=Types(min=1),
    Tout=Types(min=1),
    f=Function(),
    shape=unknown_outputs,
    traits={STATEFUL, HOST},
)
def remote_call(ctx, target, args, *, f):
    """f(args), on the device called `target`."""
    name = target.item() if isinstance(target, np.ndarray) else target
    return ctx.run_function(f, args, name.decode())


def is_true(value) -> bool:
    """What a condition of any type means: a scalar not zero or not empty, an array not empty."""
    array = np.asarray(value)
    return bool(array) if array.ndim == 0 else array.size > 0


def branch_shapes(cond, input, *, Tout, output_shapes):
    return given_shapes(output_shapes, [UNKNOWN] * len(Tout))


def given_shapes(output_shapes, otherwise):
    """The attribute `output_shapes`, where it is set."""
    if not output_shapes:
        return otherwise
    require(
        len(output_shapes) == len(otherwise),
        f"`output_shapes` must be the same length as num outputs ({len(output_shapes)} vs. {len(otherwise)}",
    )
    return list(output_shapes)


def run_if(ctx, cond, input, *, then_branch, else_branch):
    """then_branch(input) or else_branch(input)."""
    return ctx.run_function(then_branch if is_true(cond) else else_branch, input)


_BRANCHES = {
    "Tcond": Type(),
    "Tin": Types(min=0),
    "Tout": Types(min=0),
    "then_branch": Function(),
    "else_branch": Function(),
    "output_shapes": Shapes(default=[]),
}
if_ = op(
    "If",
    "cond: Tcond, input: Tin -> output: Tout",
    shape=branch_shapes,
    attrs=_BRANCHES,
    traits={STATEFUL, HOST},
)(run_if)
stateless_if = op(
    "StatelessIf",
    "cond: Tcond, input: Tin -> output: Tout",
    shape=branch_shapes,
    attrs=_BRANCHES,
    traits={HOST},
)(run_if)


def case_shapes(branch_index, input, *, Tout, output_shapes):
    return given_shapes(output_shapes, [UNKNOWN] * len(Tout))


@op(
    "Case",
    "branch_index: int32, input: Tin -> output: Tout",
    Tin=Types(min=0),
    Tout=Types(min=0),
    branches=Functions(min=1),
    output_shapes=Shapes(default=[]),
    shape=case_shapes,
    traits={STATEFUL, HOST},
)
def case(ctx, branch_index, input, *, branches):
    """branches[branch_index](input); the last branch where the index is out of range."""
    index = int(branch_index)
    return ctx.run_function(branches[index if 0 <= index < len(branches) else -1], input)


def loop_shapes(input, *, output_shapes):
    return given_shapes(output_shapes, [x.plain() for x in input])


def run_while(ctx, input, *, cond, body):
    """input = body(input) while cond(input)."""
    values = list(input)
    while is_true(ctx.run_function(cond, values)[0]):
        values = ctx.run_function(body, values)
    return values


_LOOP = {
    "T": Types(min=0),
    "cond": Function(),
    "body": Function(),
    "output_shapes": Shapes(default=[]),
    "parallel_iterations": 10,
}
while_ = op("While", "input: T -> output: T", shape=loop_shapes, attrs=_LOOP, traits={STATEFUL, HOST})(
    run_while
)
stateless_while = op(
    "StatelessWhile", "input: T -> output: T", shape=loop_shapes, attrs=_LOOP, traits={HOST}
)(run_while)


def for_shapes(start, limit, delta, input):
    return [UNKNOWN] * len(input)


@op(
    "For",
    "start: int32, limit: int32, delta: int32, input: T -> output: T",
    T=Types(min=0),
    body=Function(),
    shape=for_shapes,
    traits={HOST},
)
def for_(ctx, start, limit, delta, input, *, body):
    """input = body(i, *input) for i from start to limit in steps of delta."""
    for name, value in (("start", start), ("limit", limit), ("delta", delta)):
        require(np.ndim(value) == 0, f"{name} must be a scalar, but has shape {np.shape(value)}")
    require(delta != 0, "delta must not be zero")
    require((limit - start) * delta >= 0, "start, limit and delta do not fit together")
    values = list(input)
    for i in range(int(start), int(limit), int(delta)):
        values = ctx.run_function(body, [np.array(i, np.int32), *values])
    return values


@op("FakeParam", "-> output: dtype", attrs={"dtype": Type(), "shape": ShapeAttr()}, shape=from_attr)
def fake_param(*, dtype, shape):
    """A value that nobody may use: the place of an intermediate in the branch that lacks it."""
    return np.zeros([size or 0 for size in shape.sizes] if shape.rank else (), dtype.numpy)


@fake_param.samples
def _(rng):
    yield Sample(dtype=float32, shape=[2, 3])
    yield Sample(dtype=float32, shape=[])
