"""Regularizers of tf.contrib.layers: functions from weights to a loss."""

from __future__ import annotations

import logging
import numbers
from collections.abc import Callable
from typing import Any

from headrace.core.families import documented
from headrace.functions.math.elementwise import abs_
from headrace.functions.math.reduce import reduce_sum
from headrace.functions.math.sums import add_n
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.ops.array.constant import constant
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math.arithmetic import mul
from headrace.ops.nn.normalization.norm import l2_loss

Regularizer = Callable[[Any], Any]
_OF_SCALE = """
    Args:
      scale: a float or a scalar tensor; 0 turns it off.
      scope: name of the scope.

    Raises:
      ValueError: `scale` is negative, or an integer.
"""


@documented(_OF_SCALE)
def l1_regularizer(scale: Any, scope: str | None = None) -> Regularizer:
    """scale · sum of |w|."""
    return _scaled(scale, scope, "l1_regularizer", lambda w: reduce_sum(abs_(w)))


@documented(_OF_SCALE)
def l2_regularizer(scale: Any, scope: str | None = None) -> Regularizer:
    """scale · half the sum of w²."""
    return _scaled(scale, scope, "l2_regularizer", l2_loss)


def _scaled(scale: Any, scope: str | None, default: str, measure: Regularizer) -> Regularizer:
    if isinstance(scale, numbers.Integral):
        raise ValueError(f"scale cannot be an integer: {scale}")
    if isinstance(scale, numbers.Real):
        if scale < 0:
            raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale:g}")
        if scale == 0:
            logging.getLogger("headrace").info("Scale of 0 disables regularizer.")
            return lambda _: None

    def regularizer(weights: Any) -> Any:
        with name_scope(scope, default, [weights]) as name:
            factor = convert_to_tensor(scale, dtype=weights.dtype.base_dtype, name="scale")
            return mul(factor, measure(weights), name=name)

    return regularizer


def l1_l2_regularizer(
    scale_l1: Any = 1.0, scale_l2: Any = 1.0, scope: str | None = None
) -> Regularizer | None:
    """The sum of both.

    Args:
      scale_l1, scale_l2: a float each; 0 turns one off.
      scope: name of the scope.

    Raises:
      ValueError: a scale is negative, or an integer.
    """
    for name, scale in (("scale_l1", scale_l1), ("scale_l2", scale_l2)):
        if isinstance(scale, numbers.Integral):
            raise ValueError(f"{name} cannot be an integer: {scale}")
    scope = scope or "l1_l2_regularizer"
    if scale_l1 == 0:
        return l2_regularizer(scale_l2, scope)
    if scale_l2 == 0:
        return l1_regularizer(scale_l1, scope)
    return sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope=scope)


def sum_regularizer(regularizer_list: Any, scope: str | None = None) -> Regularizer | None:
    """The sum of several regularizers; None without any."""
    regularizers = [r for r in regularizer_list if r is not None]
    if not regularizers:
        return None

    def regularizer(weights: Any) -> Any:
        with name_scope(scope, "sum_regularizer", [weights]) as name:
            losses = [loss for loss in (r(weights) for r in regularizers) if loss is not None]
            return add_n(losses, name=name) if losses else None

    return regularizer


def apply_regularization(regularizer: Regularizer, weights_list: Any = None) -> Any:
    """The sum of a regularizer over weights; it joins `GraphKeys.REGULARIZATION_LOSSES`.

    Args:
      regularizer: function from weights to a scalar.
      weights_list: default the collection `GraphKeys.WEIGHTS`.

    Raises:
      ValueError: there are no weights, or the regularizer does not return scalars.
    """
    graph = get_default_graph()
    weights = weights_list or graph.get_collection(GraphKeys.WEIGHTS)
    if not weights:
        raise ValueError("No weights to regularize.")
    with name_scope("get_regularization_penalty", values=weights) as scope:
        losses = [regularizer(w) for w in weights]
        losses = [constant(0.0) if loss is None else loss for loss in losses]
        for loss in losses:
            if loss.shape.ndims != 0:
                raise ValueError(
                    "regularizer must return a scalar Tensor instead of a Tensor with rank "
                    f"{loss.shape.ndims}."
                )
        total = add_n(losses, name=scope)
        graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, total)
        return total
