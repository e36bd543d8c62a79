"""A decoder made of a cell and a helper: tf.contrib.seq2seq.BasicDecoder."""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace.contrib.seq2seq.decoder import Decoder
from headrace.contrib.seq2seq.helpers import Helper
from headrace.core.shapes import Shape
from headrace.functions.values import nest
from headrace.functions.values.structure import name_scope
from headrace.layers.engine.layer import Layer
from headrace.nn.rnn_parts import assert_like_rnncell


class BasicDecoderOutput(NamedTuple):
    """What a step writes: the output of the cell (after the output layer), and the sample."""

    rnn_output: Any
    sample_id: Any


class BasicDecoder(Decoder):
    """Calls a cell on inputs that a helper chooses.

    Args:
      cell: an RNNCell.
      helper: a Helper.
      initial_state: of the cell.
      output_layer: applied to the cell's outputs before they are written and sampled from.

    Raises:
      TypeError: `cell`, `helper` or `output_layer` is of the wrong kind.
    """

    def __init__(self, cell: Any, helper: Helper, initial_state: Any, output_layer: Any = None) -> None:
        assert_like_rnncell("cell", cell)
        if not isinstance(helper, Helper):
            raise TypeError(f"helper must be a Helper, received: {type(helper)}")
        check_output_layer(output_layer)
        self._cell, self._helper = cell, helper
        self._initial_state, self._output_layer = initial_state, output_layer

    @property
    def batch_size(self) -> Any:
        return self._helper.batch_size

    @property
    def output_size(self) -> Any:
        return BasicDecoderOutput(
            rnn_output=written_size(self._cell, self._output_layer), sample_id=self._helper.sample_ids_shape
        )

    @property
    def output_dtype(self) -> Any:
        dtype = nest.flatten(self._initial_state)[0].dtype
        size = written_size(self._cell, self._output_layer)
        return BasicDecoderOutput(
            rnn_output=nest.map_structure(lambda _: dtype, size), sample_id=self._helper.sample_ids_dtype
        )

    def initialize(self, name: str | None = None) -> Any:
        return (*self._helper.initialize(), self._initial_state)

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> Any:
        with name_scope(name, "BasicDecoderStep", (time, inputs, state)):
            outputs, state = self._cell(inputs, state)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            samples = self._helper.sample(time=time, outputs=outputs, state=state)
            finished, next_inputs, next_state = self._helper.next_inputs(
                time=time, outputs=outputs, state=state, sample_ids=samples
            )
        return BasicDecoderOutput(outputs, samples), next_state, next_inputs, finished


def check_output_layer(layer: Any) -> None:
    if layer is not None and not isinstance(layer, Layer):
        raise TypeError(f"output_layer must be a Layer, received: {type(layer)}")


def written_size(cell: Any, output_layer: Any) -> Any:
    """The size of a cell's outputs after the output layer."""
    if output_layer is None:
        return cell.output_size
    batches = nest.map_structure(lambda s: Shape([None]).concatenate(s), cell.output_size)
    return nest.map_structure(lambda s: s[1:], output_layer.compute_output_shape(batches))
