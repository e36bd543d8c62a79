"""Variables: the state that outlives a step.  References (TF's older form) carry a Slot from node to
node; resource variables carry a Handle that points to one."""

from __future__ import annotations

import operator

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import INDEX, NUMBERS
from headrace.core.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    NotFoundError,
    OutOfRangeError,
    require,
)
from headrace.core.families import named
from headrace.core.shapes import SCALAR, UNKNOWN, as_shape, make_shape, show
from headrace.core.sizes import vector
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.resources import Handle, Slot
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import held_shape, merge, with_rank
from headrace.ops.declaration.shape_rules import none, require_rank, scalar
from headrace.ops.declaration.signature import INDEX32, Int, ShapeAttr, String, Type
from headrace.ops.declaration.traits import ALLOWS_UNINITIALIZED, READS, STATEFUL, VARIABLE, WRITES

KIND = "variable"  # of resource


def slot_of(ctx, container, shared_name, dtype, shape) -> Slot:
    """The slot of a variable node: by shared name, or its own."""
    name = shared_name or ctx.node.name
    return ctx.resources.get_or_make(container, KIND, name, lambda: Slot(name, dtype, shape))


# -- references ---------------------------------------------------------------------------------
def reference_shape(*, shape):
    """Old `Variable` nodes write a scalar for "unknown"."""
    return UNKNOWN if shape.rank == 0 else as_shape(shape)


_ATTRS = {"shape": ShapeAttr(), "dtype": Type(), "container": "", "shared_name": ""}


@op(
    "VariableV2",
    "-> ref: Ref(dtype)",
    attrs=_ATTRS,
    traits={STATEFUL, READS, VARIABLE},
    shape=lambda *, shape: as_shape(shape),
)
def variable_v2(ctx, *, shape, dtype, container, shared_name):
    """A reference to a variable's state."""
    return slot_of(ctx, container, shared_name, dtype, shape)


@op("Variable", "-> ref: Ref(dtype)", attrs=_ATTRS, traits={STATEFUL, READS, VARIABLE}, shape=reference_shape)
def variable(ctx, *, shape, dtype, container, shared_name):
    """A reference to a variable's state (the form before VariableV2)."""
    return slot_of(ctx, container, shared_name, dtype, shape)


@op(
    "TemporaryVariable",
    "-> ref: Ref(dtype)",
    traits={STATEFUL, READS},
    attrs={"shape": ShapeAttr(), "dtype": Type(), "var_name": ""},
    shape=lambda *, shape: as_shape(shape),
)
def temporary_variable(ctx, *, shape, dtype, var_name):
    """A variable that lives for one step, until DestroyTemporaryVariable."""
    name = f"{var_name or ctx.node.name}/{ctx.step_id}"
    new = Slot(name, dtype, shape)
    if ctx.resources.get_or_make("", "temporary", name, lambda: new) is not new:
        raise AlreadyExistsError(None, None, f"Resource {name} already exists")
    new.value = np.zeros(shape.as_list(), dtype.numpy)
    return new


@op(
    "DestroyTemporaryVariable",
    "ref: Ref(T) -> value: T",
    T=Type(),
    var_name=String(),
    traits={WRITES},
    shape=lambda ref: ref.plain(),
)
def destroy_temporary_variable(ctx, ref, *, var_name):
    """The final value of a temporary variable, which is gone afterwards."""
    name = f"{var_name}/{ctx.step_id}"
    if not ctx.resources.remove("", "temporary", name):
        raise NotFoundError(None, None, f"Resource {name} does not exist.")
    return ref.read()


@op(
    "IsVariableInitialized",
    "ref: Ref(dtype) -> is_initialized: bool",
    dtype=Type(),
    traits={ALLOWS_UNINITIALIZED, READS},
    shape=scalar,
)
def is_variable_initialized(ref):
    """Has the variable a value?"""
    return np.array(ref.value is not None)


is_variable_initialized.no_gradient()


def assign_shape(ref, value, *, validate_shape):
    return merge(ref, value) if validate_shape else value.plain()


@op(
    "Assign",
    "ref: Ref(T), value: T -> output_ref: Ref(T)",
    T=Type(),
    validate_shape=True,
    use_locking=True,
    traits={ALLOWS_UNINITIALIZED, WRITES},
    shape=assign_shape,
)
def assign(ref, value, *, validate_shape):
    """Give the variable a new value."""
    require(
        not validate_shape or ref.shape.is_compatible_with(make_shape(value.shape)),
        f"Assign requires shapes of both tensors to match. lhs shape= {show(ref.shape)} "
        f"rhs shape= {show(make_shape(value.shape))}",
    )
    ref.assign(value)
    return ref


assign.no_gradient()


def lower_assignment(e, variable, value):
    """The compiled rule of all plain assignments."""
    if variable.shape != value.shape:
        raise Decline("the variable changes its shape")
    return e.assign(variable, lambda *i: value[i])


@assign.lower
def _(e, ref, value):
    return lower_assignment(e, ref, value)


def _same_shape(slot, value):
    value_shape = np.shape(value)
    require(
        slot.read().shape == value_shape,
        f"Shapes of both tensors must match. lhs shape= {list(slot.value.shape)} "
        f"rhs shape= {list(value_shape)}",
    )


@op(
    "AssignAdd",
    "ref: Ref(T), value: T -> output_ref: Ref(T)",
    T=NUMBERS,
    use_locking=False,
    traits={WRITES},
    shape=merge,
)
def assign_add(ref, value):
    """Add to the variable."""
    _same_shape(ref, value)
    ref.update(np.add, value)
    return ref


@op(
    "AssignSub",
    "ref: Ref(T), value: T -> output_ref: Ref(T)",
    T=NUMBERS,
    use_locking=False,
    traits={WRITES},
    shape=merge,
)
def assign_sub(ref, value):
    """Subtract from the variable."""
    _same_shape(ref, value)
    ref.update(np.subtract, value)
    return ref


assign_add.no_gradient()
assign_sub.no_gradient()


@assign_add.lower
def _(e, ref, value):
    return e.assign(ref, lambda *i: ref[i] + value[i])


@assign_sub.lower
def _(e, ref, value):
    return e.assign(ref, lambda *i: ref[i] - value[i])


# -- resources ----------------------------------------------------------------------------------
@op(
    "VarHandleOp",
    "-> resource: resource",
    traits={STATEFUL, READS, VARIABLE},
    shape=scalar,
    attrs={"container": "", "shared_name": "", "dtype": Type(), "shape": ShapeAttr()},
)
def var_handle(ctx, *, container, shared_name, dtype, shape):
    """A handle to a variable's state."""
    slot = slot_of(ctx, container, shared_name, dtype, shape)
    return Handle(container, slot.name, KIND, ctx.node.device, slot)


var_handle.no_gradient()


def read_shape(resource, *, dtype):
    return held_shape(resource, dtype)


def slot_behind(resource, dtype=None) -> Slot:
    """The slot of a handle's variable, which must hold values of this type."""
    slot = resource.get(Slot)
    if dtype is not None and slot.dtype is not dtype:
        require(
            False,
            f"Trying to access variable {slot.name} with wrong dtype. Expected {slot.dtype.name} "
            f"got {dtype.name}",
        )
    return slot


def variable_behind(resource, dtype) -> Slot:
    """The same, of a variable that has a value."""
    resource.variable()
    return slot_behind(resource, dtype)


def read_slot(resource, dtype=None):
    """The value behind a handle, or TF's error for a variable without one."""
    slot = slot_behind(resource, dtype)
    value = slot.value
    if value is None:
        raise FailedPreconditionError(
            None,
            None,
            f"Error while reading resource variable {slot.name} from Container: "
            f"{resource.container or 'localhost'}. This could mean that the variable was "
            f"uninitialized. Not found: {resource.missing().message}",
        )
    return value


@op(
    "ReadVariableOp",
    "resource: resource -> value: dtype",
    dtype=Type(),
    traits={STATEFUL, READS},
    shape=read_shape,
)
def read_variable(resource, *, dtype):
    """The variable's value."""
    return read_slot(resource, dtype)


@read_variable.gradient
def _(node, dy):
    return dy


@read_variable.lower
def _(e, resource):
    return resource


def assign_variable_shape(resource, value, *, dtype):
    if resource.handle is not None:
        held, shape = resource.handle
        require(held is dtype, f"Expected {held.name} got {dtype.name}")
        merge(shape, value)
    return []


@op(
    "AssignVariableOp",
    "resource: resource, value: dtype ->",
    dtype=Type(),
    traits={STATEFUL, WRITES},
    shape=assign_variable_shape,
)
def assign_variable(resource, value, *, dtype):
    """Give the variable a new value."""
    slot_behind(resource, dtype).assign(value)
    return ()


@assign_variable.lower
def _(e, resource, value):
    lower_assignment(e, resource, value)


def _update(resource, value, dtype, function):
    slot = variable_behind(resource, dtype)
    require(
        np.shape(value) == slot.value.shape,
        f"Cannot update variable with shape {list(slot.value.shape)} using a Tensor with shape "
        f"{list(np.shape(value))}, shapes must be equal.",
    )
    slot.update(function, value)
    return ()


def _updating(name, doc, function, combined):
    """An op that changes a variable behind a handle by a value."""

    @op(
        name, "resource: resource, value: dtype ->", dtype=Type(), traits={STATEFUL, WRITES},
        shape=assign_variable_shape,
    )  # fmt: skip
    @named(name, doc)
    def update(resource, value, *, dtype):
        return _update(resource, value, dtype, function)

    @update.lower
    def _(e, resource, value):
        e.assign(resource, lambda *i: combined(resource[i], value[i]))

    return update


assign_add_variable = _updating("AssignAddVariableOp", "Add to the variable.", np.add, operator.add)
assign_sub_variable = _updating(
    "AssignSubVariableOp", "Subtract from the variable.", np.subtract, operator.sub
)


@op(
    "VarIsInitializedOp", "resource: resource -> is_initialized: bool", traits={STATEFUL, READS}, shape=scalar
)
def var_is_initialized(resource):
    """Has the variable a value?"""
    return np.array(resource.target is not None and resource.get(Slot).value is not None)


var_is_initialized.no_gradient()


def variable_shape_rule(input, *, out_type):
    return make_shape((input.handle[1].rank if input.handle else None,))


@op(
    "VariableShape",
    "input: resource -> output: out_type",
    traits={STATEFUL, READS},
    out_type=INDEX32,
    shape=variable_shape_rule,
)
def variable_shape(input, *, out_type):
    """The shape of the variable's value."""
    return np.array(input.variable().value.shape, out_type.numpy)


variable_shape.no_gradient()


@variable_shape.lower
def _(e, input, *, out_type):
    return e.known(vector(input.shape, out_type.numpy), out_type)


@op(
    "DestroyResourceOp",
    "resource: resource ->",
    ignore_lookup_error=True,
    traits={STATEFUL, WRITES},
    shape=none,
)
def destroy_resource(ctx, resource, *, ignore_lookup_error):
    """Forget a resource."""
    found = ctx.resources.remove(resource.container, resource.kind, resource.name)
    if not found and not ignore_lookup_error:
        raise NotFoundError(None, None, f"Resource {resource.name} does not exist.")
    if isinstance(resource.target, Slot):
        resource.target.value = None
    return ()


# -- counters ------------------------------------------------------------------------------------
def _count(slot, limit):
    with slot.lock:
        before = np.array(slot.read())
        if before >= limit:
            raise OutOfRangeError(None, None, f"Reached limit of {limit}")
        slot.assign(np.asarray(before + 1, before.dtype))
    return before


def _counter_shape(ref):
    require_rank(ref, 0)
    return SCALAR


@op("CountUpTo", "ref: Ref(T) -> output: T", limit=Int(), T=INDEX, traits={WRITES}, shape=_counter_shape)
def count_up_to(ref, *, limit):
    """The value before it was raised by one; OutOfRangeError where it has reached `limit`."""
    return _count(ref, limit)


def resource_count_shape(resource, *, T):
    return with_rank(held_shape(resource, T), 0)


@op(
    "ResourceCountUpTo",
    "resource: resource -> output: T",
    limit=Int(),
    T=INDEX,
    traits={STATEFUL, WRITES},
    shape=resource_count_shape,
)
def resource_count_up_to(resource, *, limit):
    """The value before it was raised by one; OutOfRangeError where it has reached `limit`."""
    return _count(resource.variable(), limit)


count_up_to.no_gradient()
resource_count_up_to.no_gradient()


@count_up_to.samples
def _(rng):
    yield Sample(np.array(3), limit=5, grad=False)
    yield ErrorSample(np.array(5), limit=5, raises="Reached limit of 5")


@resource_count_up_to.samples
def _(rng):
    yield Sample(np.array(3), limit=5, T=dtypes.int64, grad=False)
