"""tf.contrib.training and slim.learning: a training op from a loss; gradients clipped, multiplied,
summarised."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from headrace.functions.control.grouping import with_dependencies
from headrace.functions.io.summary import histogram, scalar
from headrace.functions.math.clip import clip_by_norm, global_norm
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.ops.array.source import no_op
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.declaration.indexed_slices import IndexedSlices
from headrace.ops.math.arithmetic import mul
from headrace.ops.math.checks import check_numerics as check_finite
from headrace.train.optimizers.base import Optimizer
from headrace.train.schedules.step_count import get_or_create_global_step
from headrace.variables.listing import trainable_variables

_OF_THE_GRAPH = 0  # the global step of the graph
_log = logging.getLogger("headrace")


def _changed(gradient: Any, change: Callable[[Any], Any]) -> Any:
    """A gradient with its values changed; None stays None."""
    if isinstance(gradient, IndexedSlices):
        return IndexedSlices(change(gradient.values), gradient.indices, gradient.dense_shape)
    return None if gradient is None else change(gradient)


def add_gradients_summaries(grads_and_vars: Any) -> list[Any]:
    """A histogram and the norm of each gradient."""
    summaries = []
    for gradient, variable in grads_and_vars:
        if gradient is None:
            _log.info("Var %s has no gradient", variable.op.name)
            continue
        values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
        summaries.append(histogram(f"{variable.op.name}_gradient", values))
        summaries.append(scalar(f"{variable.op.name}_gradient_norm", global_norm([values])))
    return summaries


def clip_gradient_norms(gradients_to_variables: Any, max_norm: Any) -> list[Any]:
    """Each gradient, shortened to `max_norm` where it is longer."""
    clip = lambda values: clip_by_norm(values, max_norm)
    return [(_changed(gradient, clip), variable) for gradient, variable in gradients_to_variables]


def clip_gradient_norms_fn(max_norm: Any) -> Callable[[Any], list[Any]]:
    """`clip_gradient_norms` as a function of gradients alone."""
    return lambda pairs: clip_gradient_norms(pairs, max_norm)


def multiply_gradients(grads_and_vars: Any, gradient_multipliers: Any) -> list[Any]:
    """Gradients of some variables, multiplied.

    Args:
      grads_and_vars: list of (gradient, variable).
      gradient_multipliers: dictionary from a variable or its name to a factor.

    Raises:
      ValueError: an argument is not of these, or a gradient is None.
    """
    if not gradient_multipliers:
        raise ValueError("`gradient_multipliers` is empty.")
    for what, given, kind in (
        ("grads_and_vars", grads_and_vars, list),
        ("gradient_multipliers", gradient_multipliers, dict),
    ):
        if not isinstance(given, kind):
            raise ValueError(f"`{what}` must be a {kind.__name__}.")
    found = []
    for gradient, variable in grads_and_vars:
        key = variable if variable in gradient_multipliers else variable.op.name
        if key in gradient_multipliers:
            if gradient is None:
                raise ValueError("Requested multiple of `None` gradient.")
            factor = convert_to_tensor(gradient_multipliers[key], dtype=gradient.dtype)
            gradient = _changed(gradient, partial(mul, factor))
        found.append((gradient, variable))
    return found


def create_train_op(
    total_loss: Any,
    optimizer: Any,
    global_step: Any = _OF_THE_GRAPH,
    update_ops: Iterable[Any] | None = None,
    variables_to_train: Iterable[Any] | None = None,
    transform_grads_fn: Any = None,
    summarize_gradients: bool = False,
    gate_gradients: int = Optimizer.GATE_OP,
    aggregation_method: int | None = None,
    colocate_gradients_with_ops: bool = False,
    check_numerics: bool = True,
) -> Any:
    """A tensor that is the loss and trains when it is computed.

    Args:
      total_loss: a scalar.
      optimizer: an Optimizer.
      global_step: counts the steps; default that of the graph, None for none.
      update_ops: nodes to run before; default `GraphKeys.UPDATE_OPS`.
      variables_to_train: default all that is trainable.
      transform_grads_fn: function from gradients and variables to others.
      summarize_gradients: summarise gradients?
      gate_gradients, aggregation_method, colocate_gradients_with_ops: as of `compute_gradients`.
      check_numerics: fail where the loss is not finite.
    """
    graph = get_default_graph()
    if global_step is _OF_THE_GRAPH:
        global_step = get_or_create_global_step()
    collected = graph.get_collection(GraphKeys.UPDATE_OPS)
    updates = list(dict.fromkeys(collected if update_ops is None else update_ops))
    if any(node not in updates for node in collected):
        _log.warning(
            "update_ops in create_train_op does not contain all the update_ops in GraphKeys.UPDATE_OPS"
        )
    if updates:
        with graph.control_dependencies(updates):
            barrier = no_op(name="update_barrier")
        total_loss = with_dependencies([barrier], total_loss)
    variables = trainable_variables() if variables_to_train is None else variables_to_train
    assert variables, "there is nothing to train"
    pairs = optimizer.compute_gradients(
        total_loss,
        variables,
        gate_gradients=gate_gradients,
        aggregation_method=aggregation_method,
        colocate_gradients_with_ops=colocate_gradients_with_ops,
    )
    if transform_grads_fn:
        pairs = transform_grads_fn(pairs)
    if summarize_gradients:
        with name_scope("summarize_grads"):
            add_gradients_summaries(pairs)
    step = optimizer.apply_gradients(pairs, global_step=global_step)
    with name_scope("train_op"):
        if check_numerics:
            total_loss = check_finite(total_loss, "LossTensor is inf or nan")
        train_op = with_dependencies([step], total_loss)
    known = graph.get_collection_ref(GraphKeys.TRAIN_OP)
    if not any(train_op is other for other in known):
        known.append(train_op)
    return train_op


def create_slim_train_op(
    total_loss: Any,
    optimizer: Any,
    global_step: Any = _OF_THE_GRAPH,
    update_ops: Iterable[Any] | None = None,
    variables_to_train: Iterable[Any] | None = None,
    clip_gradient_norm: Any = 0,
    summarize_gradients: bool = False,
    gate_gradients: int = Optimizer.GATE_OP,
    aggregation_method: int | None = None,
    colocate_gradients_with_ops: bool = False,
    gradient_multipliers: Mapping[Any, Any] | None = None,
    check_numerics: bool = True,
) -> Any:
    """`create_train_op` as slim.learning has it.

    Args:
      clip_gradient_norm: greatest norm of each gradient; 0 for any.
      gradient_multipliers: dictionary from a variable or its name to a factor.
      total_loss, optimizer, ...: as of `create_train_op`.
    """

    def transform(pairs: Any) -> Any:
        if gradient_multipliers:
            pairs = multiply_gradients(pairs, gradient_multipliers)
        return clip_gradient_norms(pairs, clip_gradient_norm) if clip_gradient_norm > 0 else pairs

    return create_train_op(
        total_loss,
        optimizer,
        global_step,
        update_ops,
        variables_to_train,
        transform,
        summarize_gradients,
        gate_gradients,
        aggregation_method,
        colocate_gradients_with_ops,
        check_numerics,
    )
