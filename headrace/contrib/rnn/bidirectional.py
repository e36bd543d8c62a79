"""Layers of recurrent networks that read both ways: tf.contrib.rnn.stack_bidirectional_rnn and
stack_bidirectional_dynamic_rnn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.dtypes import DTypeLike
from headrace.core.families import takes
from headrace.functions.array.stacking import concat
from headrace.nn.rnn import bidirectional_dynamic_rnn
from headrace.nn.static_rnn import static_bidirectional_rnn
from headrace.variables.scope import variable_scope
from headrace.variables.scope_defaults import VariableScope

_SCOPE = "stack_bidirectional_rnn"


def _stacking(
    cells_fw: Sequence[Any],
    cells_bw: Sequence[Any],
    inputs: Any,
    initial_states_fw: Sequence[Any] | None = None,
    initial_states_bw: Sequence[Any] | None = None,
    dtype: DTypeLike | None = None,
    sequence_length: Any = None,
) -> None:
    """The arguments that both begin with."""


def _looping(
    parallel_iterations: int | None = None,
    time_major: bool = False,
    scope: str | VariableScope | None = None,
    swap_memory: bool = False,
) -> None:
    """Those of a loop in the graph."""


@takes(_stacking, scope=None)
def stack_bidirectional_rnn(dtype: Any, sequence_length: Any, **given: Any) -> Any:
    """Pairs of cells over a list of steps; both outputs of a pair are the input of the next.

    Args:
      cells_fw, cells_bw: lists of cells, one per layer and direction.
      inputs: a list of tensors [batch, depth].
      initial_states_fw, initial_states_bw: lists of states, one per layer.
      dtype: type of the states where none are given.
      sequence_length: how many steps each member of the batch has.
      scope: a variable scope.

    Returns:
      A list of outputs of the last layer, and the last states of all layers, in both directions.

    Raises:
      TypeError, ValueError: the lists are none, or do not fit each other.
    """

    def layer(fw: Any, bw: Any, steps: Any, state_fw: Any, state_bw: Any) -> Any:
        states = {"initial_state_fw": state_fw, "initial_state_bw": state_bw}
        return static_bidirectional_rnn(fw, bw, steps, **states, dtype=dtype, sequence_length=sequence_length)

    return _stacked(layer, **given)


@takes(_looping, first=_stacking)
def stack_bidirectional_dynamic_rnn(
    cells_fw: Sequence[Any],
    cells_bw: Sequence[Any],
    inputs: Any,
    initial_states_fw: Sequence[Any] | None,
    initial_states_bw: Sequence[Any] | None,
    scope: str | VariableScope,
    **options: Any,
) -> Any:
    """The same over a tensor [batch, time, depth], with loops in the graph.

    Args:
      cells_fw, cells_bw: lists of cells, one per layer and direction.
      inputs: a tensor.
      initial_states_fw, initial_states_bw: lists of states, one per layer.
      dtype: type of the states where none are given.
      sequence_length: how many steps each member of the batch has.
      parallel_iterations: how many steps may overlap.
      time_major: inputs and outputs are [time, batch, depth].
      scope: a variable scope.
      swap_memory: accepted; everything is in main memory already.

    Returns:
      The outputs of the last layer (both directions, joined), and the last states of all layers.
    """

    def layer(fw: Any, bw: Any, steps: Any, state_fw: Any, state_bw: Any) -> Any:
        states = {"initial_state_fw": state_fw, "initial_state_bw": state_bw}
        outputs, (last_fw, last_bw) = bidirectional_dynamic_rnn(fw, bw, steps, **states, **options)
        return concat(outputs, 2), last_fw, last_bw

    return _stacked(layer, cells_fw, cells_bw, inputs, initial_states_fw, initial_states_bw, scope)


def _stacked(
    layer: Callable[..., Any],
    cells_fw: Sequence[Any],
    cells_bw: Sequence[Any],
    inputs: Any,
    initial_states_fw: Sequence[Any] | None,
    initial_states_bw: Sequence[Any] | None,
    scope: str | VariableScope,
) -> Any:
    states_fw, states_bw = initial_states_fw, initial_states_bw
    _check(cells_fw, cells_bw, states_fw, states_bw)
    last_fw, last_bw = [], []
    with variable_scope(scope or _SCOPE):
        for i, (fw, bw) in enumerate(zip(cells_fw, cells_bw)):
            first_fw = states_fw[i] if states_fw else None
            first_bw = states_bw[i] if states_bw else None
            with variable_scope(f"cell_{i}"):
                inputs, state_fw, state_bw = layer(fw, bw, inputs, first_fw, first_bw)
            last_fw.append(state_fw)
            last_bw.append(state_bw)
    return inputs, tuple(last_fw), tuple(last_bw)


def _check(cells_fw: Any, cells_bw: Any, states_fw: Any, states_bw: Any) -> None:
    for cells, way in ((cells_fw, "fw"), (cells_bw, "bw")):
        if not cells:
            raise ValueError(f"Must specify at least one {way} cell for BidirectionalRNN.")
        if not isinstance(cells, list):
            raise ValueError(f"cells_{way} must be a list of RNNCells (one per layer).")
    if len(cells_fw) != len(cells_bw):
        raise ValueError("Forward and Backward cells must have the same depth.")
    for states, way in ((states_fw, "fw"), (states_bw, "bw")):
        if states is not None and (not isinstance(states, list) or len(states) != len(cells_fw)):
            raise ValueError(f"initial_states_{way} must be a list of state tensors (one per layer).")
