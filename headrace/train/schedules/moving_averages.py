"""Averages of variables and tensors over the steps of training."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import FLOATS
from headrace.core.fields import reads
from headrace.functions.control.grouping import group
from headrace.functions.control.init_scope import init_scope
from headrace.functions.math import math
from headrace.functions.math.cast import cast
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.declaration.traits import VARIABLE
from headrace.ops.math.arithmetic import minimum
from headrace.train.optimizers import slots
from headrace.variables import listing
from headrace.variables.initializers.initializers import Zeros
from headrace.variables.scope import get_variable, get_variable_scope, variable_scope
from headrace.variables.update import assign, assign_sub
from headrace.variables.variable import Variable


def assign_moving_average(
    variable: Any, value: Any, decay: Any, zero_debias: bool = True, name: str | None = None
) -> Any:
    """variable -= (1 - decay) * (variable - value).

    Args:
      variable: the average.
      value: what comes in.
      decay: how much of the average is kept.
      zero_debias: correct for the zero that the average started with (Adam's way), with two more
        variables beside it.
      name: name of the scope.

    Returns:
      The variable as of after the update.
    """
    with name_scope(name, "AssignMovingAvg", [variable, value, decay]) as scope:
        part = convert_to_tensor(1.0 - decay, name="decay")
        if part.dtype is not variable.dtype.base_dtype:
            part = cast(part, variable.dtype.base_dtype)
        with get_default_graph().colocate_with(variable.op):
            if zero_debias:
                return _zero_debias(variable, value, part)
            return assign_sub(variable, (variable - value) * part, name=scope)


def _zero_debias(average: Any, value: Any, part: Any) -> Any:
    """The average of values so far, from one that starts with zero and a count of steps."""
    graph = get_default_graph()
    with variable_scope(average.op.name, values=[average, value, part]):
        with graph.colocate_with(average.op):
            biased, steps = (
                get_variable(
                    _unused(name),
                    initializer=Zeros(),
                    shape=shape,
                    dtype=average.dtype.base_dtype,
                    trainable=False,
                )
                for name, shape in (("biased", average.get_shape()), ("local_step", []))
            )
    new_biased = assign_sub(biased, (biased - value) * part)
    new_steps = steps.assign_add(1)
    weight = 1 - math.pow_(1.0 - part, new_steps)
    return assign(average, new_biased / weight, name=graph.get_name_scope() + "/")


def _unused(name: str) -> str:
    """`name`, with a number where the scope has such a variable and does not reuse it."""
    scope = get_variable_scope()
    if scope.reuse:
        return name
    known = {v.op.name for v in scope.global_variables()}
    chosen, number = name, 0
    while f"{scope.name}/{chosen}" in known:
        number += 1
        chosen = f"{name}_{number}"
    return chosen


def weighted_moving_average(
    value: Any,
    decay: Any,
    weight: Any,
    truediv: bool = True,
    collections: Iterable[str] | None = None,
    name: str | None = None,
) -> Any:
    """The moving average of value * weight, divided by that of weight.

    Args:
      value: a numeric tensor.
      decay: how much of the averages is kept.
      weight: a tensor that broadcasts with `value`.
      truediv: divide without rounding.
      collections: where the two variables go; default `[GraphKeys.GLOBAL_VARIABLES]`.
      name: name of the variable scope.

    Returns:
      The weighted average, after the update.
    """
    collections = [GraphKeys.GLOBAL_VARIABLES] if collections is None else collections
    with variable_scope(name, "WeightedMovingAvg", [value, weight, decay]) as scope:
        sums = [
            get_variable(
                part,
                shape=tensor.get_shape(),
                dtype=tensor.dtype,
                initializer=Zeros(),
                trainable=False,
                collections=collections,
            )
            for part, tensor in (("value_x_weight", value), ("weight", weight))
        ]
        numerator = assign_moving_average(sums[0], value * weight, decay, zero_debias=False)
        denominator = assign_moving_average(sums[1], weight, decay, zero_debias=False)
        divide = math.truediv if truediv else math.div
        return divide(numerator, denominator, name=scope.name)


class ExponentialMovingAverage:
    """Keeps averages ("shadow variables"): average = decay * average + (1 - decay) * variable.

    Models evaluated with the averages often do better than with the last values.

    Example:
      >>> ema = tf.train.ExponentialMovingAverage(decay=0.999)
      >>> with tf.control_dependencies([train]):
      ...     train_and_average = ema.apply([w, b])
      >>> saver = tf.train.Saver(ema.variables_to_restore())    # to evaluate with the averages
    """

    def __init__(
        self,
        decay: Any,
        num_updates: Any = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        """Args:
        decay: how much of the average is kept in a step.
        num_updates: a count of steps; early ones then use (1 + n) / (10 + n) if that is less.
        zero_debias: correct averages of tensors for the zero that they start with.
        name: name of the averages, below that of their variable.
        """
        self._decay, self._num_updates, self._zero_debias = decay, num_updates, zero_debias
        self._name = name
        self._averages: dict[Any, Any] = {}

    name: str = reads("_name")

    def apply(self, var_list: Any = None) -> Any:
        """A node that updates the averages.

        Args:
          var_list: variables or tensors; default the trainable variables.

        Raises:
          TypeError: one of them is not of a float type.
        """
        if var_list is None:
            var_list = listing.trainable_variables()
        debiased = set()
        for var in var_list:
            if var.dtype.base_dtype not in FLOATS:
                raise TypeError(f"The variables must be half, float, or double: {var.name}")
            if var not in self._averages:
                self._averages[var] = self._make(var)
                if self._zero_debias and not isinstance(var, Variable):
                    debiased.add(var)
        with name_scope(self.name) as scope:
            decay: Any = convert_to_tensor(self._decay, name="decay")
            if self._num_updates is not None:
                count: Any = cast(self._num_updates, dtypes.float32, name="num_updates")
                decay = minimum(decay, (1.0 + count) / (10.0 + count))
            updates = [
                assign_moving_average(self._averages[var], var, decay, var in debiased) for var in var_list
            ]
            return group(*updates, name=scope)

    def _make(self, var: Any) -> Any:
        """The average of a variable starts with its initial value, that of a tensor with zero."""
        with init_scope():
            if isinstance(var, Variable):
                average = slots.create_slot(var, var.initialized_value(), self.name)
                get_default_graph().add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, var)
                return average
            is_state = VARIABLE in var.op.declaration.traits
            return slots.create_zeros_slot(var, self.name, colocate_with_primary=is_state)

    def average(self, var: Any) -> Any:
        """The variable that holds the average of `var`, or None."""
        return self._averages.get(var)

    def average_name(self, var: Any) -> str:
        """The name that the average of `var` has in checkpoints, whether it exists or not."""
        if var in self._averages:
            return str(self._averages[var].op.name)
        return get_default_graph().unique_name(f"{var.op.name}/{self.name}", mark_as_used=False)

    def variables_to_restore(self, moving_avg_variables: Any = None) -> dict[str, Any]:
        """Names in checkpoints -> variables, such that averages are restored in place of variables.

        Args:
          moving_avg_variables: variables whose averages to restore; default all that have some and
            all trainable ones.
        """
        if moving_avg_variables is None:
            moving_avg_variables = listing.trainable_variables()
            moving_avg_variables += listing.moving_average_variables()
        averaged = dict.fromkeys(moving_avg_variables)
        names = {self.average_name(v): v for v in averaged}
        averaged_names = {v.name for v in averaged}
        for v in dict.fromkeys(listing.global_variables()):
            if v.name not in averaged_names and v.op.name not in names:
                names[v.op.name] = v
        return names
