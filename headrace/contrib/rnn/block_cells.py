"""Cells of which a step is one op: tf.contrib.rnn.LSTMBlockCell, GRUBlockCell, GRUBlockCellV2.

Their variables fit those of LSTMCell and GRUCell, so a model may be trained with one and run with the
other.
"""

from __future__ import annotations

from typing import Any

from headrace.core.families import takes
from headrace.core.fields import reads
from headrace.functions.array.array import zeros
from headrace.layers.engine.input_spec import InputSpec
from headrace.layers.rnn.lstm_cells import LSTMStateTuple
from headrace.layers.rnn.rnn_cells import BIAS, KERNEL, LayerRNNCell
from headrace.ops.nn.recurrent.gru_block import gru_block_cell
from headrace.ops.nn.recurrent.lstm_block import lstm_block_cell
from headrace.variables.initializers.initializers import Constant

PEEPHOLES = ("w_i_diag", "w_f_diag", "w_o_diag")
NO_CLIP = -1


def lstm_weights(layer: Any, depth: int, units: int, use_peephole: bool) -> list[Any]:
    """Kernel, bias and (if they are used) the peepholes of an LSTM, as variables of a layer."""
    kernel = layer.add_variable(KERNEL, [depth + units, 4 * units])
    bias = layer.add_variable(BIAS, [4 * units], initializer=Constant(0.0))
    holes = [layer.add_variable(n, [units]) for n in PEEPHOLES] if use_peephole else []
    return [kernel, bias, *holes]


def as_arguments(weights: list[Any], units: int, dtype: Any) -> dict[str, Any]:
    """The weights under the names that the ops have for them; peepholes that are not there are 0."""
    kernel, bias, *holes = weights
    if not holes:
        holes = [zeros([units], dtype)] * 3
    return {"w": kernel, "b": bias} | dict(zip(("wci", "wcf", "wco"), holes))


def block_arguments(
    self: Any,
    num_units: int,
    forget_bias: float = 1.0,
    cell_clip: float | None = None,
    use_peephole: bool = False,
) -> None:
    """What the LSTMs take first that are a single op, of one step or of a sequence."""


class LSTMBlockCell(LayerRNNCell):
    """An LSTM whose step is a single op.

    Args:
      num_units: size of the memory and of the output.
      forget_bias: added to the forget gate, so that at first little is forgotten.
      cell_clip: the memory is kept within this distance of zero; None: it is not.
      use_peephole: gates also see the memory, element by element.
      dtype: type of the variables; default that of the first input.
      reuse: take variables that are there.
      name: name of the variable scope; the default is the one of LSTMCell.
    """

    @takes(block_arguments, dtype=None, reuse=None, name="lstm_cell")
    def __init__(
        self, num_units: int, forget_bias: float, cell_clip: Any, use_peephole: bool, reuse: Any, **more: Any
    ) -> None:
        super().__init__(_reuse=reuse, **more)
        self.input_spec = InputSpec(ndim=2)
        self._num_units, self._forget_bias = num_units, forget_bias
        self._cell_clip = NO_CLIP if cell_clip is None else cell_clip
        self._use_peephole = use_peephole

    @property
    def state_size(self) -> Any:
        return LSTMStateTuple(self._num_units, self._num_units)

    output_size: Any = reads("_num_units")

    def build(self, inputs_shape: Any) -> None:
        depth = inputs_shape.dim(1)
        if not depth:
            raise ValueError(f"Expecting inputs_shape[1] to be set: {inputs_shape}")
        self._parts = lstm_weights(self, depth, self._num_units, self._use_peephole)
        self._kernel, self._bias = self._parts[:2]
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        if len(state) != 2:
            raise ValueError("Expecting state to be a tuple with length 2.")
        c, h = state
        _, c, _, _, _, _, h = lstm_block_cell(
            x=inputs,
            cs_prev=c,
            h_prev=h,
            forget_bias=self._forget_bias,
            cell_clip=self._cell_clip,
            use_peephole=self._use_peephole,
            **as_arguments(self._parts, self._num_units, self.dtype),
        )
        return h, LSTMStateTuple(c, h)


class GRUBlockCell(LayerRNNCell):
    """A GRU whose step is a single op; `GRUBlockCellV2` has the variable names of GRUCell.

    Args:
      num_units: size of the state.
      cell_size: the old name of num_units.
      reuse: take variables that are there.
      name: name of the variable scope.

    Raises:
      ValueError: none or both of `num_units` and `cell_size` are given.
    """

    _names: tuple[str, ...] = ("w_ru", "b_ru", "w_c", "b_c")

    def __init__(
        self,
        num_units: int | None = None,
        cell_size: int | None = None,
        reuse: bool | None = None,
        name: str = "gru_cell",
    ) -> None:
        super().__init__(_reuse=reuse, name=name)
        if (cell_size is None) == (num_units is None):
            raise ValueError("Exactly one of num_units or cell_size must be provided.")
        self.input_spec = InputSpec(ndim=2)
        self._cell_size = cell_size if num_units is None else num_units

    state_size: Any = reads("_cell_size")
    output_size: Any = reads("_cell_size")

    def build(self, input_shape: Any) -> None:
        depth, size = input_shape.dim(1), self._cell_size
        if depth is None:
            raise ValueError("Expecting input_size to be set.")
        assert size is not None
        w_ru, b_ru, w_c, b_c = self._names
        self._parts = {
            "w_ru": self.add_variable(w_ru, [depth + size, 2 * size]),
            "b_ru": self.add_variable(b_ru, [2 * size], initializer=Constant(1.0)),
            "w_c": self.add_variable(w_c, [depth + size, size]),
            "b_c": self.add_variable(b_c, [size], initializer=Constant(0.0)),
        }
        self.built = True

    def call(self, inputs: Any, h_prev: Any) -> Any:  # type: ignore[override]
        found = h_prev.shape.with_rank(2).dim(1)
        if found != self._cell_size:
            raise ValueError(f"Shape of h_prev[1] incorrect: cell_size {self._cell_size} vs {found}")
        _, _, _, h = gru_block_cell(x=inputs, h_prev=h_prev, **self._parts)
        return h, h


class GRUBlockCellV2(GRUBlockCell):
    """A GRU whose step is a single op, with the variable names of GRUCell."""

    _names = ("gates/kernel", "gates/bias", "candidate/kernel", "candidate/bias")
