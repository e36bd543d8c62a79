"""`update`: one rule declares the four ops that apply it to a variable.

    @update("Momentum", "accum", "lr grad momentum", use_nesterov=False)
    def momentum(var, accum, lr, grad, momentum, *, use_nesterov):
        accum = accum * momentum + grad
        return var - lr * accum, accum

gives ApplyMomentum, ResourceApplyMomentum, SparseApplyMomentum and ResourceSparseApplyMomentum.  A
rule takes arrays (the variable, its slots, the other inputs) and returns the new variable and
slots.  It is element-wise, so the sparse ops give it rows.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from headrace.core.dtypes import INDEX, NUMBERS
from headrace.core.errors import FailedPreconditionError, InternalError, require
from headrace.core.shapes import UNKNOWN, Shape, make_shape, show
from headrace.ops.declaration.declare import Op, op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.resources import Handle, Slot
from headrace.ops.declaration.samples import Sample
from headrace.ops.declaration.shape_checks import held_shape, merge
from headrace.ops.declaration.traits import SETS_ROWS, STATEFUL, WRITES
from headrace.ops.state.update_rows import apply_to_rows

Rule = Callable[..., tuple[Any, ...]]


class Update:
    """The ops of one rule; those that TF does not have are None."""

    def __init__(
        self, names: Sequence[str], inputs: Sequence[str], rule: Rule, signs: dict[str, str]
    ) -> None:
        self.state, self.inputs, self.rule = tuple(names), tuple(inputs), rule
        self.signs = {name: kind for kind, names in signs.items() for name in names.split()}
        self.row_rule = rule
        self.gradient = next(i for i, n in enumerate(inputs) if n in ("grad", "delta"))
        self.dense: Op | None = None
        self.resource: Op | None = None
        self.sparse: Op | None = None
        self.resource_sparse: Op | None = None

    def op(self, by_handle: bool, is_sparse: bool) -> Op:
        """The op for this kind of variable and of gradient."""
        if is_sparse:
            found = self.resource_sparse if by_handle else self.sparse
        else:
            found = self.resource if by_handle else self.dense
        assert found is not None, f"no such op for {self.rule.__name__}"
        return found

    def lower(self, compiled: Callable[..., Any]) -> Callable[..., Any]:
        """The compiled rule: it assigns, and returns the new variable."""
        wants = _keywords(compiled)

        def by_reference(e: Any, *operands: Any, **attrs: Any) -> Any:
            _require_floats(operands[0])
            _lower_signs(e, self, operands[len(self.state) :])
            return compiled(e, *operands, **{w: attrs[w] for w in wants})

        def by_handle(e: Any, *operands: Any, **attrs: Any) -> None:
            by_reference(e, *operands, **attrs)

        if self.dense is not None:
            self.dense.lower(by_reference)
        if self.resource is not None:
            self.resource.lower(by_handle)
        return self.lower_rows(compiled)

    def for_rows(self, rule: Rule) -> Rule:
        """Another meaning of the sparse ops, where TF's kernels for rows differ."""
        self.row_rule = rule
        return rule

    def lower_rows(self, compiled: Callable[..., Any]) -> Callable[..., Any]:
        """The compiled rule of the sparse ops, where it is another."""
        wants = _keywords(compiled)

        def rows_by_reference(e: Any, *operands: Any, **attrs: Any) -> Any:
            count, chosen = len(self.state), {w: attrs[w] for w in wants}
            states, others = list(operands[:count]), list(operands[count:])
            _require_floats(states[0])
            without = [x for i, x in enumerate(others) if i != self.gradient + 1]
            _lower_signs(e, self, without)
            return apply_to_rows(e, compiled, states, others, self.gradient, chosen)

        def rows_by_handle(e: Any, *operands: Any, **attrs: Any) -> None:
            rows_by_reference(e, *operands, **attrs)

        if self.sparse is not None:
            self.sparse.lower(rows_by_reference)
        if self.resource_sparse is not None:
            self.resource_sparse.lower(rows_by_handle)
        return compiled


def update(
    name: str,
    slots: str,
    inputs: str,
    *,
    reference: bool = True,
    sparse: bool = True,
    dense: bool = True,
    signs: dict[str, str] | None = None,
    **attrs: Any,
) -> Callable[[Rule], Update]:
    """Declare the ops of a rule.  `inputs` names what follows the variable and its slots; `signs` the
    scalars that TF refuses otherwise, by sign (`SIGNS`)."""

    def declare(rule: Rule) -> Update:
        made = Update(["var", *slots.split()], inputs.split(), rule, signs or {})
        for by_handle in (False, True):
            if not by_handle and not reference:
                continue
            prefix = "Resource" if by_handle else ""
            if dense:
                declared = _declare(f"{prefix}Apply{name}", made, by_handle, False, attrs)
                setattr(made, "resource" if by_handle else "dense", declared)
            if sparse:
                declared = _declare(f"{prefix}SparseApply{name}", made, by_handle, True, attrs)
                setattr(made, "resource_sparse" if by_handle else "sparse", declared)
        return made

    return declare


def _declare(name: str, made: Update, by_handle: bool, is_sparse: bool, attrs: dict[str, Any]) -> Op:
    body = _sparse_body(made, by_handle) if is_sparse else _dense_body(made, by_handle)
    body.__doc__ = inspect.getdoc(made.rule)
    if is_sparse:
        body.__doc__ = f"To the rows at `indices`: {body.__doc__}"
    types: dict[str, Any] = {"T": NUMBERS}
    if is_sparse:
        types["Tindices"] = INDEX
    declared = op(
        name,
        _signature(made, by_handle, is_sparse),
        shape=_shape_rule(made, by_handle, is_sparse),
        traits=({STATEFUL, WRITES} if by_handle else {WRITES}) | ({SETS_ROWS} if is_sparse else set()),
        attrs=types | {"use_locking": False} | attrs,
    )(body)
    declared.samples(_samples(made, is_sparse))
    return declared


def _signature(made: Update, by_handle: bool, is_sparse: bool) -> str:
    kind = "resource" if by_handle else "Ref(T)"
    words = [f"{n}: {kind}" for n in made.state]
    for name in made.inputs:
        if is_sparse and name == "delta":
            name = "grad"
        words.append(f"{name}: {'int64' if name == 'global_step' else 'T'}")
        if is_sparse and name == "grad":
            words.append("indices: Tindices")
    return ", ".join(words) + (" ->" if by_handle else " -> out: Ref(T)")


# -- shapes --------------------------------------------------------------------------------------
def _shape_rule(made: Update, by_handle: bool, is_sparse: bool) -> Callable[..., Any]:
    count, gradient = len(made.state), len(made.state) + made.gradient

    def rule(*inputs: Any, T: Any) -> Any:
        shape = UNKNOWN
        for x in inputs[:count]:
            shape = merge(shape, held_shape(x, T) if by_handle else x)
        others = list(inputs[count:])
        grad = others.pop(gradient - count)
        if is_sparse:
            _merge_rows(shape, grad, others.pop(gradient - count))
        else:
            shape = merge(shape, grad)
        for x, name in zip(others, (n for n in made.inputs if n not in ("grad", "delta"))):
            require(x.rank in (None, 0), f"Shape must be rank 0 but is rank {x.rank} for '{name}'")
        return [] if by_handle else shape

    return rule


def _merge_rows(shape: Shape, grad: Any, indices: Any) -> None:
    """The gradient has a row like the variable's for every index."""
    require(indices.rank in (None, 1), f"Shape must be rank 1 but is rank {indices.rank}")
    if grad.rank is None:
        return
    if indices.rank is not None:
        merge(make_shape(grad.sizes[:1]), indices)
    if shape.rank is not None:
        merge(make_shape((None, *grad.sizes[1:])), make_shape((None, *shape.sizes[1:])))


# -- bodies --------------------------------------------------------------------------------------
def _dense_body(made: Update, by_handle: bool) -> Callable[..., Any]:
    wants = _keywords(made.rule)

    def body(*inputs: Any, **attrs: Any) -> Any:
        slots, others = _split(made, inputs, by_handle)
        with _locked(slots):
            values = _values(made, slots, by_handle)
            _check_scalars(made, others)
            grad = others[made.gradient]
            require(
                values[0].shape == grad.shape,
                f"var and {made.inputs[made.gradient]} do not have the same shape"
                f"{show(np.shape(values[0]))} {show(np.shape(grad))}",
            )
            with np.errstate(all="ignore"):
                new = made.rule(*values, *others, **{w: attrs[w] for w in wants})
            for slot, value, old in zip(slots, new, values):
                slot.assign(np.asarray(value, old.dtype))
        return () if by_handle else slots[0]

    return body


def _sparse_body(made: Update, by_handle: bool) -> Callable[..., Any]:
    wants = _keywords(made.rule)

    def body(*inputs: Any, **attrs: Any) -> Any:
        slots, others = _split(made, inputs, by_handle)
        indices = others.pop(made.gradient + 1)
        grad = others[made.gradient]
        with _locked(slots):
            _check_scalars(made, others)
            _check_rows(_values(made, slots, by_handle)[0], grad, indices)
            chosen = {w: attrs[w] for w in wants}
            for at in _rounds(indices):
                rows = indices[at]
                others[made.gradient] = grad[at]
                with np.errstate(all="ignore"):
                    new = made.row_rule(*(s.read()[rows] for s in slots), *others, **chosen)
                for slot, value in zip(slots, new):
                    with slot.changing() as target:
                        target[rows] = value
        return () if by_handle else slots[0]

    return body


def _keywords(rule: Rule) -> tuple[str, ...]:
    code = rule.__code__
    return code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]


def _split(made: Update, inputs: Sequence[Any], by_handle: bool) -> tuple[list[Slot], list[Any]]:
    count = len(made.state)
    states = [x.get(Slot) if isinstance(x, Handle) else x for x in inputs[:count]]
    return states, list(inputs[count:])


def _locked(slots: Sequence[Slot]) -> ExitStack:
    """All slots at once, in one order, so that two updates never wait for each other."""
    stack = ExitStack()
    for slot in sorted(set(slots), key=id):
        stack.enter_context(slot.lock)
    return stack


def _values(made: Update, slots: Sequence[Slot], by_handle: bool) -> list[Any]:
    for slot in slots:
        if slot.value is None and by_handle:
            raise InternalError(None, None, f"Invalid variable reference. {slot.name} has no value")
        if slot.value is None:
            raise FailedPreconditionError(
                None, None, f"Attempting to use uninitialized variables: {slot.name}"
            )
    first = slots[0].value
    for name, slot in zip(made.state[1:], slots[1:]):
        require(
            slot.value.shape == first.shape,
            f"var and {name} do not have the same shape{show(np.shape(first))} {show(np.shape(slot.value))}",
        )
    return [slot.value for slot in slots]


SIGNS: dict[str, Callable[[Any], Any]] = {
    "positive": lambda x: x > 0,
    "non-negative": lambda x: x >= 0,
    "non-positive": lambda x: x <= 0,
}


def _check_scalars(made: Update, others: Sequence[Any]) -> None:
    for i, (name, value) in enumerate(zip(made.inputs, others)):
        require(i == made.gradient or np.ndim(value) == 0, f"{name} is not a scalar: {show(np.shape(value))}")
        if name in made.signs:
            require(bool(SIGNS[made.signs[name]](value)), _wrong_sign(made, name))


def _require_floats(variable: Any) -> None:
    """TF's kernels know no others; the reference computes with whatever NumPy makes of them."""
    if variable.dtype.kind not in "fc":
        raise Decline("updates of integers")


def _lower_signs(e: Any, made: Update, others: Sequence[Any]) -> None:
    """The same checks in a compiled step; what is known is checked when it is made."""
    for name, operand in zip(made.inputs, others):
        if name not in made.signs:
            continue
        if operand.dtype.kind == "c":
            raise Decline("complex numbers have no sign")
        test = SIGNS[made.signs[name]]
        if operand.value is None:
            e.require(test(operand[()]), _wrong_sign(made, name))
        elif not test(operand.value):
            raise Decline(_wrong_sign(made, name))


def _wrong_sign(made: Update, name: str) -> str:
    return f"{name} is not a {made.signs[name]} scalar: []"


def _check_rows(var: Any, grad: Any, indices: Any) -> None:
    require(var.ndim >= 1, "var must be at least 1 dimensional")
    require(indices.ndim == 1, "indices must be one-dimensional")
    require(
        grad.ndim == var.ndim and grad.shape[0] == indices.shape[0],
        "grad must be the same size as indices in the first dimension.",
    )
    for axis in range(1, var.ndim):
        require(var.shape[axis] == grad.shape[axis], f"var and grad must match in dimension {axis}")
    bad = np.flatnonzero((indices < 0) | (indices >= var.shape[0]))
    if bad.size:
        at = bad[0]
        require(False, f"Index {indices[at]} at offset {at} in indices is out of range")


def _rounds(indices: Any) -> Iterator[Any]:
    """Positions such that no index occurs twice in a round; one after another, they are all."""
    if not indices.size:
        return
    unique, inverse, counts = np.unique(indices, return_inverse=True, return_counts=True)
    if len(unique) == len(indices):
        yield np.arange(len(indices))
        return
    order = np.argsort(inverse, kind="stable")
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    occurrence = np.empty(len(indices), np.int64)
    occurrence[order] = np.arange(len(indices)) - starts
    for number in range(int(counts.max())):
        yield np.flatnonzero(occurrence == number)


# -- samples -------------------------------------------------------------------------------------
def _samples(made: Update, is_sparse: bool) -> Callable[..., Any]:
    """A matrix, a vector; rows with a repeated index for the sparse ops."""

    def samples(rng: Any) -> Any:
        for shape in ((4, 3), (5,)):
            states = [rng.uniform(0.5, 2.0, size=shape) for _ in made.state]
            others: list[Any] = []
            for i, name in enumerate(made.inputs):
                if i == made.gradient:
                    others.append(rng.normal(size=(3, *shape[1:]) if is_sparse else shape))
                    if is_sparse:
                        others.append(np.array([1, 3, 1]))
                elif name == "global_step":
                    others.append(np.array(3))
                else:
                    others.append(np.array(-0.5 if name == "lr_power" else 0.1))
            yield Sample(*states, *others, grad=False)

    return samples
