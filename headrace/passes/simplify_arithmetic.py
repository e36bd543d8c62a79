"""Arithmetic that needs no computing.  NaN, infinities and signed zero stay what they are:
x + 0 is not x for x = -0.0, and x * 0 is not 0 for NaN, so floats keep those."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.ops.array.reshape import reshape
from headrace.ops.array.transpose import transpose
from headrace.ops.math.arithmetic import add, add_v2, mul, neg, sub
from headrace.ops.math.cast import cast
from headrace.ops.math.division import div, real_div
from headrace.plan.plan import Plan
from headrace.plan.rewrite import Match, apply_rules, rule


def _is_all(match: Match, position: int, value: float) -> bool:
    found = match.constant(match.inputs[position])
    return (
        isinstance(found, np.ndarray)
        and found.dtype.kind in "fciu"
        and found.size > 0
        and bool(np.all(found == value))
        and not (value == 0 and found.dtype.kind in "fc" and bool(np.any(np.signbit(found.real))))
    )


def _keeps_shape(match: Match, position: int) -> bool:
    """Is the result as large as this input, whatever the other one broadcasts?"""
    whole = match.node.outputs[0].shape
    return bool(whole.is_full and match.shape(match.inputs[position]) == whole)


def _plain(match: Match, position: int) -> Any:
    if not _keeps_shape(match, position) or match.node.control:
        return None
    edge = match.inputs[position]
    return None if match.dtype(edge).is_ref else edge


@rule(mul)
def multiply_by_one(match: Match) -> Any:
    """x * 1 -> x"""
    if _is_all(match, 1, 1):
        return _plain(match, 0)
    if _is_all(match, 0, 1):
        return _plain(match, 1)
    return None


@rule(real_div, div)
def divide_by_one(match: Match) -> Any:
    """x / 1 -> x"""
    return _plain(match, 0) if _is_all(match, 1, 1) else None


@rule(sub)
def subtract_zero(match: Match) -> Any:
    """x - 0 -> x   (holds for -0.0 too)"""
    return _plain(match, 0) if _is_all(match, 1, 0) else None


@rule(add, add_v2)
def add_zero(match: Match) -> Any:
    """x + 0 -> x   for integers"""
    if match.node.outputs[0].dtype.kind not in "iu":
        return None
    if _is_all(match, 1, 0):
        return _plain(match, 0)
    if _is_all(match, 0, 0):
        return _plain(match, 1)
    return None


@rule(neg)
def double_negation(match: Match) -> Any:
    """-(-x) -> x"""
    inner = match.producer(match.inputs[0])
    if inner.op is neg and not inner.control and not match.node.control:
        return inner.inputs[0] if not match.dtype(inner.inputs[0]).is_ref else None
    return None


@rule(reshape)
def reshape_to_itself(match: Match) -> Any:
    """reshape(x, shape of x) -> x   (a shape that is computed may turn out to be another one: an error)"""
    return _plain(match, 0) if match.constant(match.inputs[1]) is not None else None


@rule(transpose)
def merge_transposes(match: Match) -> Any:
    """transpose(transpose(x, p), q) -> x   where q undoes p"""
    outer = match.constant(match.inputs[1])
    inner = match.producer(match.inputs[0])
    if outer is None or match.node.control:
        return None
    if np.array_equal(outer, np.arange(outer.size)):
        return _transposed(match, match.inputs[0], outer.size)
    if inner.op is not transpose or inner.control:
        return None
    first = match.constant(inner.inputs[1])
    if first is None or not np.array_equal(first[outer], np.arange(outer.size)):
        return None
    return _transposed(match, inner.inputs[0], outer.size)


def _transposed(match: Match, edge: Any, count: int) -> Any:
    """What was transposed, if it is known to have as many dimensions as are named: else it is an error."""
    return None if match.dtype(edge).is_ref or match.shape(edge).rank != count else edge


@rule(cast)
def cast_to_itself(match: Match) -> Any:
    """cast(x, type of x) -> x"""
    attrs = match.node.attrs
    if attrs["SrcT"] is not attrs["DstT"] or match.node.control:
        return None
    return match.inputs[0] if not match.dtype(match.inputs[0]).is_ref else None


RULES = (
    multiply_by_one,
    divide_by_one,
    subtract_zero,
    add_zero,
    double_negation,
    reshape_to_itself,
    merge_transposes,
    cast_to_itself,
)


def simplify_arithmetic(plan: Plan) -> Plan:
    return apply_rules(plan, RULES)
