"""tf.train.*_decay: learning rates as functions of the global step."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.core.families import bound, named, takes
from headrace.functions.math.cast import cast
from headrace.ops.declaration.convert import convert_n_to_tensor, convert_to_tensor
from headrace.ops.math import arithmetic
from headrace.train.schedules import schedules

_DOC = """{what}

Args:
  learning_rate: the rate at step 0.
  global_step: the step, not negative.
{arguments}
  name: name of the scope.

Returns:
  A scalar tensor of the type of `learning_rate`.
"""


def _decay(schedule: type, name: str, what: str, example: str = "", **arguments: str) -> Callable[..., Any]:
    """The schedule with its arguments, at a step that is given as the second one.

    Args:
      schedule: a class of learning rates.
      name: name of the function.
      what: the first line of its docstring.
      example: a line of it, if any.
      **arguments: what the schedule's own arguments are.
    """
    lines = (f"  {word}: {text}." for word, text in arguments.items())
    doc = _DOC.format(what=what, arguments="\n".join(lines))
    if example:
        doc += f"\nExample:\n  >>> {example}\n"
    own = inspect.signature(schedule)
    first, *others = own.parameters.values()
    step = first.replace(name="global_step")
    signature = inspect.Signature([first.replace(name="learning_rate"), step, *others])

    @named(name, doc)
    def decay(*args: Any, **kwargs: Any) -> Any:
        given = bound(name, signature, *args, **kwargs)
        rate, at, *options = given.arguments.values()
        return schedule(rate, *options)(at)

    decay.__signature__ = signature  # type: ignore[attr-defined]
    return decay


exponential_decay = _decay(
    schedules.ExponentialDecay,
    "exponential_decay",
    "learning_rate * decay_rate ^ (global_step / decay_steps).",
    "rate = tf.train.exponential_decay(0.1, global_step, 100000, 0.96, staircase=True)",
    decay_steps="positive",
    decay_rate="the factor per `decay_steps`",
    staircase="decay at whole multiples of `decay_steps` only",
)


@takes(exponential_decay)
def natural_exp_decay(decay_rate: Any, **options: Any) -> Any:
    """learning_rate * exp(-decay_rate * global_step / decay_steps).

    Args: as for `exponential_decay`.

    Returns:
      A scalar tensor of the type of `learning_rate`.
    """
    return exponential_decay(decay_rate=arithmetic.exp(arithmetic.neg(decay_rate)), **options)


inverse_time_decay = _decay(
    schedules.InverseTimeDecay,
    "inverse_time_decay",
    "learning_rate / (1 + decay_rate * global_step / decay_steps).",
    decay_steps="positive",
    decay_rate="how much the divisor grows per `decay_steps`",
    staircase="decay at whole multiples of `decay_steps` only",
)


def piecewise_constant(x: Any, boundaries: Any, values: Any, name: str | None = None) -> Any:
    """values[0] up to boundaries[0], values[1] up to boundaries[1], ..., values[-1] beyond.

    Args:
      x: the step.
      boundaries: increasing numbers of the type of `x`.
      values: one more than there are boundaries, of one type.
      name: name of the scope.

    Returns:
      A scalar tensor.

    Raises:
      ValueError: types or numbers of elements do not fit.
    """
    boundaries = convert_n_to_tensor(boundaries)
    values = convert_n_to_tensor(values)
    wanted = convert_to_tensor(x).dtype.base_dtype
    for i, b in enumerate(boundaries):
        found = b.dtype.base_dtype
        if found is dtypes.int32 and wanted is dtypes.int64:
            boundaries[i] = cast(b, wanted)
        elif found is not wanted:
            raise ValueError(f"Boundaries ({found}) must have the same dtype as x ({wanted}).")
    for v in values[1:]:
        if v.dtype.base_dtype is not values[0].dtype.base_dtype:
            raise ValueError(
                "Values must have elements all with the same dtype "
                f"({values[0].dtype.base_dtype} vs {v.dtype.base_dtype})."
            )
    return schedules.PiecewiseConstantDecay(boundaries, values, name=name)(x)


polynomial_decay = _decay(
    schedules.PolynomialDecay,
    "polynomial_decay",
    "From learning_rate to end_learning_rate along (1 - global_step / decay_steps) ^ power.",
    decay_steps="where the end is reached",
    end_learning_rate="the rate there",
    power="of the polynomial",
    cycle="beyond the end, start again with a longer period",
)
cosine_decay = _decay(
    schedules.CosineDecay,
    "cosine_decay",
    "From learning_rate to alpha * learning_rate along half a cosine.",
    decay_steps="where the end is reached",
    alpha="the fraction that is left then",
)
cosine_decay_restarts = _decay(
    schedules.CosineDecayRestarts,
    "cosine_decay_restarts",
    "Half cosines one after the other (SGDR).",
    first_decay_steps="length of the first period",
    t_mul="how much longer each period is than the one before",
    m_mul="how much higher each period starts than the one before",
    alpha="the fraction of the rate that is never lost",
)
linear_cosine_decay = _decay(
    schedules.LinearCosineDecay,
    "linear_cosine_decay",
    "learning_rate * ((alpha + line) * cosine + beta): both fall over `decay_steps`.",
    decay_steps="where the end is reached",
    num_periods="periods of the cosine",
    alpha="as in the formula",
    beta="as in the formula",
)
noisy_linear_cosine_decay = _decay(
    schedules.NoisyLinearCosineDecay,
    "noisy_linear_cosine_decay",
    "As `linear_cosine_decay`, with noise added to the line.",
    decay_steps="where the end is reached",
    initial_variance="of the noise at step 0",
    variance_decay="the variance falls with (1 + step) to this power",
    num_periods="periods of the cosine",
    alpha="as for `linear_cosine_decay`",
    beta="as for `linear_cosine_decay`",
)
