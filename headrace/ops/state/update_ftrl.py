"""Follow the regularised leader: TF's kernels for whole variables and for rows differ where the sum of
gradients is NaN."""

from __future__ import annotations

import numpy as np

from headrace.ops.declaration.precision import sign
from headrace.ops.state.update_rule import update

SIGNS = {"positive": "lr", "non-negative": "l1 l2 l2_shrinkage", "non-positive": "lr_power"}


def _ftrl(var, accum, linear, grad, shrunk, lr, l1, l2, lr_power, settle):
    """`shrunk` is the gradient that moves `linear`; `settle` finds the variable."""
    new_accum = accum + np.square(grad)
    power, old_power = new_accum**-lr_power, accum**-lr_power
    linear = linear + shrunk - (power - old_power) / lr * var
    return settle(linear, l1, power / lr + 2 * l2), new_accum, linear


def _above(linear, l1, quadratic):
    """Of a whole variable: 0 up to the threshold, where NaN ends too, as in TF."""
    return np.where(np.abs(linear) > l1, (l1 * sign(linear) - linear) / quadratic, 0)


def _beyond(linear, l1, quadratic):
    """Of rows, TF takes what is left of `linear` beyond the threshold: NaN stays."""
    return (np.clip(linear, -l1, l1) - linear) / quadratic


@update("Ftrl", "accum linear", "grad lr l1 l2 lr_power", signs=SIGNS)
def ftrl(var, accum, linear, grad, lr, l1, l2, lr_power):
    """Follow the regularised leader, per coordinate."""
    return _ftrl(var, accum, linear, grad, grad, lr, l1, l2, lr_power, _above)


@ftrl.for_rows
def _(var, accum, linear, grad, lr, l1, l2, lr_power):
    return _ftrl(var, accum, linear, grad, grad, lr, l1, l2, lr_power, _beyond)


@update("FtrlV2", "accum linear", "grad lr l1 l2 l2_shrinkage lr_power", signs=SIGNS)
def ftrl_v2(var, accum, linear, grad, lr, l1, l2, l2_shrinkage, lr_power):
    """Follow the regularised leader, with a penalty on the magnitude of the variable."""
    shrunk = grad + 2 * l2_shrinkage * var
    return _ftrl(var, accum, linear, grad, shrunk, lr, l1, l2, lr_power, _above)


@ftrl_v2.for_rows
def _(var, accum, linear, grad, lr, l1, l2, l2_shrinkage, lr_power):
    shrunk = grad + 2 * l2_shrinkage * var
    return _ftrl(var, accum, linear, grad, shrunk, lr, l1, l2, lr_power, _beyond)


def _lower_ftrl(e, var, accum, linear, grad, lr, l1, l2, shrinkage, lr_power, of_rows):
    def power(x):
        return e.pow(x, -lr_power[()])

    def shrunk(i):
        return grad[i] if shrinkage is None else grad[i] + 2 * shrinkage[()] * var[i]

    squares = e.compute(var.shape, lambda *i: accum[i] + grad[i] * grad[i])
    moved = e.assign(
        linear, lambda *i: linear[i] + shrunk(i) - (power(squares[i]) - power(accum[i])) / lr[()] * var[i]
    )

    def element(*i):
        x, limit = moved[i], l1[()]
        quadratic = power(squares[i]) / lr[()] + 2 * l2[()]
        if of_rows:
            return (e.max(e.min(x, limit), -limit) - x) / quadratic
        return e.select(e.abs(x) > limit, (limit * e.sign(x) - x) / quadratic, 0)

    e.assign(accum, lambda *i: squares[i])
    return e.assign(var, element)


def _lowered_ftrl(of_rows):
    def rule(e, var, accum, linear, grad, lr, l1, l2, lr_power):
        return _lower_ftrl(e, var, accum, linear, grad, lr, l1, l2, None, lr_power, of_rows)

    return rule


def _lowered_ftrl_v2(of_rows):
    def rule(e, var, accum, linear, grad, lr, l1, l2, shrinkage, lr_power):
        return _lower_ftrl(e, var, accum, linear, grad, lr, l1, l2, shrinkage, lr_power, of_rows)

    return rule


ftrl.lower(_lowered_ftrl(of_rows=False))
ftrl.lower_rows(_lowered_ftrl(of_rows=True))
ftrl_v2.lower(_lowered_ftrl_v2(of_rows=False))
ftrl_v2.lower_rows(_lowered_ftrl_v2(of_rows=True))
