"""Cells behind an embedding or a linear map: tf.contrib.rnn.EmbeddingWrapper, InputProjectionWrapper,
OutputProjectionWrapper."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from headrace.contrib.rnn.linear import linear
from headrace.core import log
from headrace.core.fields import reads
from headrace.functions.array.array import reshape
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.layers.rnn.rnn_cells import RNNCell
from headrace.nn.embedding import embedding_lookup
from headrace.nn.rnn_parts import assert_like_rnncell
from headrace.variables.initializers.initializers import RandomUniform
from headrace.variables.scope import get_variable, get_variable_scope


class Around(RNNCell):
    """A cell with something before or behind it; its states are those of the cell."""

    def __init__(self, cell: Any, reuse: Any = None) -> None:
        super().__init__(_reuse=reuse)
        assert_like_rnncell("cell", cell)
        self._cell = cell

    @property
    def state_size(self) -> Any:
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        return self._cell.output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        with name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            return self._cell.zero_state(batch_size, dtype)


class EmbeddingWrapper(Around):
    """A cell whose inputs are ids: they are looked up in a table first.

    Args:
      cell: the cell.
      embedding_classes: how many ids there are.
      embedding_size: size of a row of the table.
      initializer: of the table; default that of the variable scope, else uniform with variance 1.
      reuse: take variables that are there.
    """

    def __init__(
        self,
        cell: Any,
        embedding_classes: int,
        embedding_size: int,
        initializer: Callable[..., Any] | None = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(cell, reuse)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError(
                "Both embedding_classes and embedding_size must be > 0: "
                f"{embedding_classes}, {embedding_size}."
            )
        self._sizes, self._initializer = [embedding_classes, embedding_size], initializer

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        bound = math.sqrt(3)
        initializer = self._initializer or get_variable_scope().initializer
        with get_default_graph().device("/cpu:0"):
            first = state[0] if isinstance(state, tuple) else state
            table = get_variable(
                "embedding",
                self._sizes,
                dtype=first.dtype,
                initializer=initializer or RandomUniform(-bound, bound),
            )
            return self._cell(embedding_lookup(table, reshape(inputs, [-1])), state)


class InputProjectionWrapper(Around):
    """A cell whose inputs pass a linear map first.

    Args:
      cell: the cell.
      num_proj: size of the map's results.
      activation: of these.
      input_size: accepted; follows from the inputs.
      reuse: take variables that are there.
    """

    def __init__(
        self, cell: Any, num_proj: int, activation: Any = None, input_size: Any = None, reuse: Any = None
    ) -> None:
        super().__init__(cell, reuse)
        if input_size is not None:
            log.warn("%s: The input_size parameter is deprecated.", self)
        self._num_proj, self._activation = num_proj, activation

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        projected = linear(inputs, self._num_proj)
        if self._activation:
            projected = self._activation(projected)
        return self._cell(projected, state)


class OutputProjectionWrapper(Around):
    """A cell whose outputs pass a linear map.

    Args:
      cell: the cell.
      output_size: size of the outputs.
      activation: of these.
      reuse: take variables that are there.
    """

    def __init__(self, cell: Any, output_size: int, activation: Any = None, reuse: Any = None) -> None:
        super().__init__(cell, reuse)
        if output_size < 1:
            raise ValueError(f"Parameter output_size must be > 0: {output_size}.")
        self._output_size, self._activation = output_size, activation

    output_size: Any = reads("_output_size")

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        output, state = self._cell(inputs, state)
        projected = linear(output, self._output_size)
        return self._activation(projected) if self._activation else projected, state
