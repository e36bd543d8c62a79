"""tf.contrib.layers.optimize_loss: a training step with clipping, decay, noise and summaries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from headrace.core import dtypes
from headrace.functions.array.array import ones_like
from headrace.functions.array.indexing import where
from headrace.functions.control.grouping import with_dependencies
from headrace.functions.io.summary import histogram, scalar
from headrace.functions.math.cast import cast
from headrace.functions.math.clip import clip_by_global_norm, global_norm
from headrace.functions.math.elementwise import sqrt, square
from headrace.functions.random.random import truncated_normal
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.declaration.indexed_slices import IndexedSlices
from headrace.ops.math.arithmetic import maximum, minimum
from headrace.ops.math.exponential import exp, log
from headrace.train.optimizers.adagrad import AdagradOptimizer
from headrace.train.optimizers.adam import AdamOptimizer
from headrace.train.optimizers.base import Optimizer
from headrace.train.optimizers.ftrl import FtrlOptimizer
from headrace.train.optimizers.gradient_descent import GradientDescentOptimizer
from headrace.train.optimizers.momentum import MomentumOptimizer, RMSPropOptimizer
from headrace.train.schedules.moving_averages import assign_moving_average
from headrace.train.schedules.step_count import assert_global_step, get_global_step
from headrace.variables.initializers.initializers import Constant, Zeros
from headrace.variables.listing import trainable_variables
from headrace.variables.scope import get_variable, variable_scope

OPTIMIZER_CLS_NAMES: dict[str, Callable[..., Any]] = {
    "Adagrad": AdagradOptimizer,
    "Adam": AdamOptimizer,
    "Ftrl": FtrlOptimizer,
    "Momentum": lambda learning_rate: MomentumOptimizer(learning_rate, momentum=0.9),
    "RMSProp": RMSPropOptimizer,
    "SGD": GradientDescentOptimizer,
}
OPTIMIZER_SUMMARIES = ["learning_rate", "loss", "gradients", "gradient_norm", "global_gradient_norm"]
_NORMS = {"global_gradient_norm", "gradient_norm"}


def optimize_loss(
    loss: Any,
    global_step: Any,
    learning_rate: Any,
    optimizer: Any,
    gradient_noise_scale: float | None = None,
    gradient_multipliers: Mapping[Any, Any] | None = None,
    clip_gradients: Any = None,
    learning_rate_decay_fn: Callable[..., Any] | None = None,
    update_ops: Iterable[Any] | None = None,
    variables: Iterable[Any] | None = None,
    name: str | None = None,
    summaries: Iterable[str] | None = None,
    colocate_gradients_with_ops: bool = False,
    increment_global_step: bool = True,
) -> Any:
    """A tensor that is the loss and trains when it is computed.

    Args:
      loss: a scalar.
      global_step: the step; None for that of the graph.
      learning_rate: a float or a scalar tensor; None for an optimizer that has its own.
      optimizer: a name (SGD, Adam, ...), a class, an Optimizer, or a function of the rate.
      gradient_noise_scale: how much noise is added to gradients.
      gradient_multipliers: dictionary from a variable or its name to a factor.
      clip_gradients: greatest global norm, or a function of the list of (gradient, variable).
      learning_rate_decay_fn: function of rate and step.
      update_ops: nodes to run before; default `GraphKeys.UPDATE_OPS`.
      variables: what to train; default all that is trainable.
      name: name of the variable scope.
      summaries: which of OPTIMIZER_SUMMARIES to make.
      colocate_gradients_with_ops: gradients beside what they are of.
      increment_global_step: count the step?

    Raises:
      ValueError: an argument is not of these.
    """
    loss = convert_to_tensor(loss)
    loss.shape.assert_has_rank(0)
    if global_step is None:
        global_step = get_global_step()
    else:
        assert_global_step(global_step)
    with variable_scope(name, "OptimizeLoss", [loss, global_step]):
        if update_ops is None:
            update_ops = get_default_graph().get_collection(GraphKeys.UPDATE_OPS)
        if update_ops:
            loss = with_dependencies(list(dict.fromkeys(update_ops)), loss)
        wanted = _checked_summaries(summaries)
        rate = _rate(learning_rate)
        if learning_rate is not None and learning_rate_decay_fn is not None:
            if global_step is None:
                raise ValueError("global_step is required for learning_rate_decay_fn.")
            rate = learning_rate_decay_fn(rate, global_step)
            if "learning_rate" in wanted:
                scalar("learning_rate", rate)
        trainer = _optimizer(optimizer, rate, learning_rate)
        pairs = trainer.compute_gradients(
            loss,
            trainable_variables() if variables is None else variables,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        if gradient_noise_scale is not None:
            pairs = _noisy(pairs, gradient_noise_scale)
        if gradient_multipliers is not None:
            pairs = _multiplied(pairs, gradient_multipliers)
            if not pairs:
                raise ValueError(
                    "Empty list of (gradient, var) pairs encountered: gradient_multipliers left none."
                )
        if wanted & _NORMS:
            scalar("global_norm/gradient_norm", global_norm([g for g, _ in pairs]))
        pairs = _clipped(pairs, clip_gradients)
        _summarize(pairs, loss, wanted)
        if clip_gradients is not None and wanted & _NORMS:
            scalar("global_norm/clipped_gradient_norm", global_norm([g for g, _ in pairs]))
        step = trainer.apply_gradients(
            pairs, global_step=global_step if increment_global_step else None, name="train"
        )
        return with_dependencies([step], loss)


def _checked_summaries(summaries: Any) -> set[str]:
    if summaries is None:
        return {"loss", "learning_rate", "global_gradient_norm"}
    for summary in summaries:
        if summary not in OPTIMIZER_SUMMARIES:
            raise ValueError(
                f"Summaries should be one of [{', '.join(OPTIMIZER_SUMMARIES)}], you provided {summary}."
            )
    return set(summaries)


def _rate(learning_rate: Any) -> Any:
    if learning_rate is None:
        return None
    if isinstance(learning_rate, Tensor) and learning_rate.shape.ndims == 0:
        return learning_rate
    if not isinstance(learning_rate, float):
        raise ValueError(
            f"Learning rate should be 0d Tensor or float. Got {learning_rate} of type {type(learning_rate)}"
        )
    if learning_rate < 0.0:
        raise ValueError("Invalid learning_rate %s.", learning_rate)
    return get_variable("learning_rate", [], trainable=False, initializer=Constant(learning_rate))


def _optimizer(optimizer: Any, rate: Any, learning_rate: Any) -> Any:
    if isinstance(optimizer, Optimizer):
        return optimizer
    is_class = isinstance(optimizer, type) and issubclass(optimizer, Optimizer)
    if isinstance(optimizer, str) or is_class:
        kind = "string" if isinstance(optimizer, str) else "class"
        if rate is None:
            raise ValueError(
                f"Learning rate is None, but should be specified if optimizer is {kind} ({optimizer})."
            )
        if is_class:
            return optimizer(learning_rate=rate)
        if optimizer not in OPTIMIZER_CLS_NAMES:
            raise ValueError(
                f"Optimizer name should be one of [{', '.join(OPTIMIZER_CLS_NAMES)}], you "
                f"provided {optimizer}."
            )
        return OPTIMIZER_CLS_NAMES[optimizer](learning_rate=rate)
    if not callable(optimizer):
        raise ValueError(
            "Unrecognized optimizer: neither a name, nor an Optimizer or its class, nor a function of the "
            f"learning rate: {optimizer}."
        )
    found = optimizer() if learning_rate is None else optimizer(rate)
    if not isinstance(found, Optimizer):
        raise ValueError(
            f"Unrecognized optimizer: function should return subclass of Optimizer. Got {found}."
        )
    return found


def _clipped(pairs: Any, clip_gradients: Any) -> Any:
    if clip_gradients is None:
        return pairs
    if isinstance(clip_gradients, float):
        clipped, _ = clip_by_global_norm([g for g, _ in pairs], clip_gradients)
        return [(g, v) for g, (_, v) in zip(clipped, pairs, strict=True)]
    if callable(clip_gradients):
        return clip_gradients(pairs)
    raise ValueError(f"Unknown type {type(clip_gradients)} for clip_gradients")


def _summarize(pairs: Any, loss: Any, wanted: set[str]) -> None:
    if "loss" in wanted:
        scalar("loss", loss)
    for gradient, variable in pairs:
        values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
        if values is None:
            continue
        name = variable.name.replace(":", "_")
        if "gradients" in wanted:
            histogram(f"gradients/{name}", values)
        if "gradient_norm" in wanted:
            scalar(f"gradient_norm/{name}", global_norm([values]))


def _times(gradient: Any, factor: Any) -> Any:
    if gradient is None:
        return None
    if isinstance(gradient, IndexedSlices):
        return IndexedSlices(gradient.values * factor, gradient.indices, gradient.dense_shape)
    return gradient * cast(factor, gradient.dtype)


def _noisy(pairs: Any, scale: float) -> Any:
    def noisy(gradient: Any) -> Any:
        if gradient is None:
            return None
        sparse = isinstance(gradient, IndexedSlices)
        size = gradient.dense_shape if sparse else gradient.shape
        return gradient + truncated_normal(size) * scale

    return [(noisy(gradient), variable) for gradient, variable in pairs]


def _multiplied(pairs: Any, multipliers: Any) -> Any:
    def factor(variable: Any) -> Any:
        return multipliers.get(variable, multipliers.get(variable.name))

    return [(g if g is None or factor(v) is None else _times(g, factor(v)), v) for g, v in pairs]


# -- adaptive clipping ----------------------------------------------------------------------------
def adaptive_clipping_fn(
    std_factor: float = 2.0,
    decay: float = 0.95,
    static_max_norm: Any = None,
    global_step: Any = None,
    report_summary: bool = False,
    epsilon: float = 1e-8,
    name: str | None = None,
) -> Callable[[Any], Any]:
    """A function for `clip_gradients`: the limit follows moving averages of the norm.

    Args:
      std_factor: how many deviations above the mean (of logarithms) a norm may be.
      decay: of the averages.
      static_max_norm: a limit that holds always.
      global_step: makes averages follow faster at the beginning.
      report_summary: summarise the limit?
      epsilon: keeps logarithms finite.
      name: name of the variable scope.
    """

    def clip(pairs: Any) -> Any:
        norm = global_norm([g for g, _ in pairs])
        limit, log_mean = _limit(norm, std_factor, decay, global_step, epsilon, name)
        if report_summary:
            scalar("global_norm/adaptive_max_gradient_norm", limit)
        factor = where(norm < limit, ones_like(norm), exp(log_mean) / norm)
        if static_max_norm is not None:
            factor = minimum(static_max_norm / norm, factor)
        return [(_times(g, factor), v) for g, v in pairs]

    return clip


def _limit(
    norm: Any, std_factor: float, decay: Any, step: Any, epsilon: float, name: str | None
) -> tuple[Any, Any]:
    with variable_scope(name, "AdaptiveMaxNorm", [norm]):
        if step is not None:
            n = cast(step, dtypes.float32)
            decay = minimum(decay, n / (n + 1.0))
        log_norm = log(norm + epsilon)

        def average(role: str, value: Any) -> Any:
            variable = get_variable(role, value.shape, value.dtype, initializer=Zeros(), trainable=False)
            return assign_moving_average(variable, value, decay, zero_debias=False)

        mean = average("mean", log_norm)
        variance = average("sq_mean", square(log_norm)) - square(mean)
        return exp(mean + std_factor * sqrt(maximum(epsilon, variance))), mean
