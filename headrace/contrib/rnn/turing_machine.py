"""A neural Turing machine as a cell: tf.contrib.rnn's NTMCell."""

from __future__ import annotations

import collections
import math
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike
from headrace.core.fields import reads
from headrace.core.shapes import as_shape
from headrace.functions.array.array import expand_dims, shape, zeros
from headrace.functions.array.stacking import concat, split, stack
from headrace.functions.control.cond import cond
from headrace.functions.linalg.linalg import matmul
from headrace.functions.math.clip import clip_by_value
from headrace.functions.math.elementwise import sqrt, square, tanh
from headrace.functions.math.math import equal, pow_, sigmoid
from headrace.functions.math.reduce import reduce_sum
from headrace.functions.nn.activation import bias_add
from headrace.functions.nn.softmax import softmax
from headrace.graph.tensor import Tensor
from headrace.layers.rnn.rnn_cells import LayerRNNCell
from headrace.nn.rnn_parts import assert_like_rnncell
from headrace.ops.array.reverse import reverse_v2
from headrace.ops.array.tile import tile
from headrace.ops.math.exponential import exp
from headrace.ops.nn.activation import softplus
from headrace.variables.initializers.initializers import Constant, GlorotUniform, TruncatedNormal

NTMControllerState = collections.namedtuple(
    "NTMControllerState", ("controller_state", "read_vector_list", "w_list", "M", "time")
)


class NTMCell(LayerRNNCell):
    """A cell that controls heads which read and write a memory (Graves et al. 2014; Collier, Beel
    2018).

    Args:
      controller: the cell that controls them.
      memory_size: places of the memory.
      memory_vector_dim: size of a place.
      read_head_num, write_head_num: how many heads.
      shift_range: how far a head may move in a step.
      output_dim: size of the outputs; default that of the inputs.
      clip_value: what goes to the heads and out is kept within this distance of zero.
      dtype: type of the variables.
      name: name of the variable scope.
    """

    def __init__(
        self,
        controller: Any,
        memory_size: int,
        memory_vector_dim: int,
        read_head_num: int,
        write_head_num: int,
        shift_range: int = 1,
        output_dim: int | None = None,
        clip_value: float = 20,
        dtype: DTypeLike = dtypes.float32,
        name: str | None = None,
    ) -> None:
        super().__init__(dtype=dtype, name=name)
        assert_like_rnncell("NTM RNN controller cell", controller)
        self.controller, self.clip_value = controller, clip_value
        self.memory_size, self.memory_vector_dim = memory_size, memory_vector_dim
        self.read_head_num, self.write_head_num = read_head_num, write_head_num
        self.num_heads = read_head_num + write_head_num
        self.shift_range, self.output_dim = shift_range, output_dim
        self.num_parameters_per_head = memory_vector_dim + 2 * shift_range + 4
        self.total_parameter_num = (
            self.num_parameters_per_head * self.num_heads + 2 * memory_vector_dim * write_head_num
        )

    @property
    def state_size(self) -> Any:
        return NTMControllerState(
            controller_state=self.controller.state_size,
            read_vector_list=[self.memory_vector_dim] * self.read_head_num,
            w_list=[self.memory_size] * self.num_heads,
            M=as_shape([self.memory_size * self.memory_vector_dim]),
            time=as_shape([]),
        )

    output_size: Any = reads("output_dim")

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        size, width = self.memory_size, self.memory_vector_dim
        return NTMControllerState(
            controller_state=self.controller.zero_state(batch_size, dtype),
            read_vector_list=[zeros([batch_size, width]) for _ in range(self.read_head_num)],
            w_list=[zeros([batch_size, size]) for _ in range(self.num_heads)],
            M=zeros([batch_size, size, width]),
            time=0,
        )

    def build(self, inputs_shape: Any) -> None:
        if self.output_dim is None:
            self.output_dim = self._depth(inputs_shape)
        width, given = self.memory_vector_dim, self.controller.output_size
        self._to_heads = self._map("parameters", given, self.total_parameter_num)
        joined = given + width * self.read_head_num
        self._to_output = self._map("output", joined, self.output_dim)
        self._first_reads = [
            self._begin(f"initial_read_vector_{i}", width) for i in range(self.read_head_num)
        ]
        self._first_weights = [
            self._begin(f"initial_address_weights_{i}", self.memory_size) for i in range(self.num_heads)
        ]
        self._M = self.add_variable(
            "memory", shape=[self.memory_size, width], initializer=Constant(1e-6, dtype=self.dtype)
        )
        self.built = True

    def _map(self, name: str, rows: int, columns: int) -> tuple[Any, Any]:
        start = TruncatedNormal(stddev=1.0 / math.sqrt(rows))
        kernel = self.add_variable(f"{name}_kernel", shape=[rows, columns], initializer=start)
        zero = Constant(0.0, dtype=self.dtype)
        return kernel, self.add_variable(f"{name}_bias", shape=[columns], initializer=zero)

    def _begin(self, name: str, size: int) -> Any:
        return self.add_variable(name, shape=[1, size], initializer=GlorotUniform())

    def call(self, x: Any, prev_state: Any) -> Any:  # type: ignore[override]
        batch = x.shape.dim(0) or shape(x)[0]

        def at_first(begin: Any, later: list[Any]) -> list[Any]:
            """What the variables say at the first step, then what the state says."""
            found = cond(equal(prev_state.time, 0), begin, lambda: later)
            return found if isinstance(found, list) else [found]

        reads = at_first(
            lambda: [self._repeated(v, tanh, batch) for v in self._first_reads], prev_state.read_vector_list
        )
        output, state = self.controller(concat([x, *reads], 1), prev_state.controller_state)
        heads, changes = self._parameters(output)
        weights = at_first(
            lambda: [self._repeated(w, softmax, batch) for w in self._first_weights], prev_state.w_list
        )
        (memory,) = at_first(lambda: [tile(expand_dims(self._M, 0), [batch, 1, 1])], [prev_state.M])
        weights = [self._addressed(h, memory, w) for h, w in zip(heads, weights)]
        reads = [reduce_sum(expand_dims(w, 2) * memory, axis=1) for w in weights[: self.read_head_num]]
        for w, erase, add in zip(weights[self.read_head_num :], changes[::2], changes[1::2]):
            place = expand_dims(w, 2)
            kept = 1 - matmul(place, expand_dims(sigmoid(erase), 1))
            memory = memory * kept + matmul(place, expand_dims(tanh(add), 1))
        kernel, bias = self._to_output
        result = self._clipped(bias_add(matmul(concat([output, *reads], 1), kernel), bias))
        return result, NTMControllerState(state, reads, weights, memory, prev_state.time + 1)

    def _repeated(self, row: Any, function: Any, count: Any) -> Any:
        return tile(function(row), [count, 1])

    def _clipped(self, x: Any) -> Any:
        return clip_by_value(x, -self.clip_value, self.clip_value)

    def _parameters(self, output: Any) -> tuple[list[Any], list[Any]]:
        """For each head where to go; for each writing head what to erase and to add."""
        kernel, bias = self._to_heads
        parameters = self._clipped(bias_add(matmul(output, kernel), bias))
        border = self.num_parameters_per_head * self.num_heads
        heads = split(parameters[:, :border], self.num_heads, 1)
        writes = self.write_head_num
        return heads, split(parameters[:, border:], 2 * writes, 1) if writes else []

    def _addressed(self, head: Any, memory: Any, old: Any) -> Any:
        """The weights of a head: by content, mixed with the old ones, moved, and sharpened."""
        width, shifts = self.memory_vector_dim, 2 * self.shift_range + 1
        key, beta = tanh(head[:, :width]), softplus(head[:, width])
        gate = expand_dims(sigmoid(head[:, width + 1]), 1)
        moves = softmax(head[:, width + 2 : width + 2 + shifts])
        gamma = softplus(head[:, -1]) + 1
        key = expand_dims(key, 2)
        lengths = sqrt(reduce_sum(square(key), axis=1, keepdims=True)) * sqrt(
            reduce_sum(square(memory), axis=2, keepdims=True)
        )
        likeness = reduce_sum(matmul(memory, key) / (lengths + 1e-8), axis=2)
        found: Tensor = exp(expand_dims(beta, 1) * likeness)
        found = found / reduce_sum(found, axis=1, keepdims=True)
        mixed = gate * found + (1 - gate) * old
        moved = reduce_sum(expand_dims(mixed, 1) * self._turns(moves), axis=2)
        sharp = pow_(moved, expand_dims(gamma, 1))
        return sharp / reduce_sum(sharp, axis=1, keepdims=True)

    def _turns(self, moves: Any) -> Any:
        """The matrix that moves weights around the memory: its rows are the moves, turned."""
        size, reach = self.memory_size, self.shift_range
        rest = zeros([moves.shape.dim(0) or shape(moves)[0], size - 2 * reach - 1])
        backwards = reverse_v2(concat([moves[:, : reach + 1], rest, moves[:, -reach:]], 1), [1])
        twice = concat([backwards, backwards], 1)
        rows = [twice[:, size - i - 1 : 2 * size - i - 1] for i in range(size)]
        return stack(rows, axis=1)
