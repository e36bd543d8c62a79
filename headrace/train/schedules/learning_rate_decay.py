"""tf.train.*_decay: learning rates as functions of the global step."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.functions.math.cast import cast
from headrace.ops.declaration.convert import convert_n_to_tensor, convert_to_tensor
from headrace.ops.math import arithmetic
from headrace.train.schedules import schedules


def exponential_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Any:
    """learning_rate * decay_rate ^ (global_step / decay_steps).

    Args:
      learning_rate: the rate at step 0.
      global_step: the step, not negative.
      decay_steps: positive.
      decay_rate: the factor per `decay_steps`.
      staircase: decay at whole multiples of `decay_steps` only.
      name: name of the scope.

    Returns:
      A scalar tensor of the type of `learning_rate`.

    Example:
      >>> rate = tf.train.exponential_decay(0.1, global_step, 100000, 0.96, staircase=True)
    """
    return schedules.ExponentialDecay(learning_rate, decay_steps, decay_rate, staircase=staircase, name=name)(
        global_step
    )


def natural_exp_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Any:
    """learning_rate * exp(-decay_rate * global_step / decay_steps).

    Args: as for `exponential_decay`.

    Returns:
      A scalar tensor of the type of `learning_rate`.
    """
    factor = arithmetic.exp(arithmetic.neg(decay_rate))
    return schedules.ExponentialDecay(learning_rate, decay_steps, factor, staircase=staircase, name=name)(
        global_step
    )


def inverse_time_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Any:
    """learning_rate / (1 + decay_rate * global_step / decay_steps).

    Args: as for `exponential_decay`.

    Returns:
      A scalar tensor of the type of `learning_rate`.
    """
    return schedules.InverseTimeDecay(learning_rate, decay_steps, decay_rate, staircase=staircase, name=name)(
        global_step
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


def polynomial_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    end_learning_rate: Any = 0.0001,
    power: Any = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Any:
    """From learning_rate to end_learning_rate along (1 - global_step / decay_steps) ^ power.

    Args:
      learning_rate: the rate at step 0.
      global_step: the step, not negative.
      decay_steps: where the end is reached.
      end_learning_rate: the rate there.
      power: of the polynomial.
      cycle: beyond the end, start again with a longer period.
      name: name of the scope.

    Returns:
      A scalar tensor of the type of `learning_rate`.
    """
    return schedules.PolynomialDecay(learning_rate, decay_steps, end_learning_rate, power, cycle, name)(
        global_step
    )


def cosine_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, alpha: Any = 0.0, name: str | None = None
) -> Any:
    """From learning_rate to alpha * learning_rate along half a cosine.

    Args:
      learning_rate: the rate at step 0.
      global_step: the step, not negative.
      decay_steps: where the end is reached.
      alpha: the fraction that is left then.
      name: name of the scope.

    Returns:
      A scalar tensor of the type of `learning_rate`.
    """
    return schedules.CosineDecay(learning_rate, decay_steps, alpha, name)(global_step)


def cosine_decay_restarts(
    learning_rate: Any,
    global_step: Any,
    first_decay_steps: Any,
    t_mul: Any = 2.0,
    m_mul: Any = 1.0,
    alpha: Any = 0.0,
    name: str | None = None,
) -> Any:
    """Half cosines one after the other (SGDR).

    Args:
      learning_rate: the rate at step 0.
      global_step: the step, not negative.
      first_decay_steps: length of the first period.
      t_mul: how much longer each period is than the one before.
      m_mul: how much higher each period starts than the one before.
      alpha: the fraction of the rate that is never lost.
      name: name of the scope.

    Returns:
      A scalar tensor of the type of `learning_rate`.
    """
    return schedules.CosineDecayRestarts(learning_rate, first_decay_steps, t_mul, m_mul, alpha, name)(
        global_step
    )


def linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Any:
    """learning_rate * ((alpha + line) * cosine + beta): both fall over `decay_steps`.

    Args:
      learning_rate: the rate at step 0.
      global_step: the step, not negative.
      decay_steps: where the end is reached.
      num_periods: periods of the cosine.
      alpha, beta: as in the formula.
      name: name of the scope.

    Returns:
      A scalar tensor of the type of `learning_rate`.
    """
    return schedules.LinearCosineDecay(learning_rate, decay_steps, num_periods, alpha, beta, name)(
        global_step
    )


def noisy_linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    initial_variance: Any = 1.0,
    variance_decay: Any = 0.55,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Any:
    """As `linear_cosine_decay`, with noise added to the line.

    Args:
      learning_rate: the rate at step 0.
      global_step: the step, not negative.
      decay_steps: where the end is reached.
      initial_variance: of the noise at step 0.
      variance_decay: the variance falls with (1 + step) to this power.
      num_periods: periods of the cosine.
      alpha, beta: as for `linear_cosine_decay`.
      name: name of the scope.

    Returns:
      A scalar tensor of the type of `learning_rate`.
    """
    return schedules.NoisyLinearCosineDecay(
        learning_rate, decay_steps, initial_variance, variance_decay, num_periods, alpha, beta, name
    )(global_step)
