"""A decoder, and the loop that runs it: tf.contrib.seq2seq.Decoder, dynamic_decode."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from headrace.core import dtypes
from headrace.core.shapes import Shape
from headrace.functions.array.array import fill, shape, zeros_like
from headrace.functions.array.indexing import where
from headrace.functions.control.tensor_array import TensorArray
from headrace.functions.control.while_loop import while_loop
from headrace.functions.math.reduce import reduce_all
from headrace.functions.values import nest
from headrace.graph.tensor import Tensor
from headrace.nn.rnn import swapped
from headrace.nn.rnn_parts import cache_reads, zero_states
from headrace.ops.array.constant import constant
from headrace.ops.declaration.constants import constant_value
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import logical
from headrace.variables.scope import variable_scope
from headrace.variables.scope_defaults import VariableScope


class Decoder(ABC):
    """What writes a sequence: where it starts, and one step.

    Inputs, states and outputs are structures of tensors (states may hold TensorArrays); `finished`
    is a boolean for each member of the batch.
    """

    @property
    def batch_size(self) -> Any:
        """How many sequences."""
        raise NotImplementedError

    @property
    def output_size(self) -> Any:
        """Sizes or shapes of one member's outputs."""
        raise NotImplementedError

    @property
    def output_dtype(self) -> Any:
        """Types of the outputs."""
        raise NotImplementedError

    @abstractmethod
    def initialize(self, name: str | None = None) -> Any:
        """(finished, inputs, state) before the first step."""
        raise NotImplementedError

    @abstractmethod
    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> Any:
        """(outputs, next state, next inputs, finished) of one step."""
        raise NotImplementedError

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> Any:
        """(outputs, state) made of those of all steps, [time, batch, ...].  Need not be there."""
        raise NotImplementedError

    @property
    def tracks_own_finished(self) -> bool:
        """Does `finished` of a step hold for good?  If not, the loop remembers who has finished.

        A decoder that moves members about, such as a beam search, must keep account itself.
        """
        return False


def dynamic_decode(
    decoder: Decoder,
    output_time_major: bool = False,
    impute_finished: bool = False,
    maximum_iterations: int | Tensor | None = None,
    parallel_iterations: int = 32,
    swap_memory: bool = False,
    scope: str | VariableScope | None = None,
    **kwargs: Any,
) -> tuple[Any, Any, Any]:
    """Run a decoder until every sequence has finished.

    Args:
      decoder: a Decoder.
      output_time_major: give outputs as [time, batch, ...], else as [batch, time, ...].
      impute_finished: a sequence that has finished keeps its state, and writes zeros.
      maximum_iterations: stop after so many steps.
      parallel_iterations: how many steps may overlap.
      swap_memory: accepted; everything is in main memory already.
      scope: the variable scope; "decoder" if not given.
      **kwargs: accepted.

    Returns: the outputs, the last state, the length of each sequence.

    Raises:
      TypeError: `decoder` is not a Decoder.
      ValueError: `maximum_iterations` is not a scalar.
    """
    if not isinstance(decoder, Decoder):
        raise TypeError(f"Expected decoder to be type Decoder, but saw: {type(decoder)}")
    with variable_scope(scope, "decoder") as varscope:
        cache_reads(varscope)
        most = None if maximum_iterations is None else _checked_maximum(maximum_iterations)
        finished, inputs, state = decoder.initialize()
        if most is not None:
            finished = logical.logical_or(finished, 0 >= most)
        loop = _Loop(decoder, impute_finished)
        lengths = zeros_like(finished, dtype=dtypes.int32)
        start = (constant(0, dtypes.int32), loop.arrays(), state, inputs, finished, lengths)
        _, arrays, state, _, _, lengths = while_loop(
            lambda time, arrays, state, inputs, finished, lengths: logical.logical_not(reduce_all(finished)),
            loop.body,
            start,
            parallel_iterations=parallel_iterations,
            maximum_iterations=most,
            swap_memory=swap_memory,
        )
        outputs = nest.map_structure(lambda array: array.stack(), arrays)
        try:
            outputs, state = decoder.finalize(outputs, state, lengths)
        except NotImplementedError:  # a decoder may be without
            pass
        if not output_time_major:
            outputs = nest.map_structure(swapped, outputs)
    return outputs, state, lengths


class _Loop:
    def __init__(self, decoder: Decoder, impute_finished: bool) -> None:
        self.decoder, self.impute = decoder, impute_finished
        self.zeros = nest.map_structure(
            lambda size, dtype: zero_states(size, decoder.batch_size, dtype),
            decoder.output_size,
            decoder.output_dtype,
        )

    def arrays(self) -> Any:
        batch = constant_value(convert_to_tensor(self.decoder.batch_size, name="batch_size"))

        def make(size: Any, dtype: Any) -> TensorArray:
            known = isinstance(size, Shape) and size.rank != 0
            element = Shape([batch]).concatenate(size) if known else None
            return TensorArray(dtype=dtype, size=0, dynamic_size=True, element_shape=element)

        return nest.map_structure(make, self.decoder.output_size, self.decoder.output_dtype)

    def body(self, time: Any, arrays: Any, state: Any, inputs: Any, finished: Any, lengths: Any) -> Any:
        decoder = self.decoder
        outputs, next_state, next_inputs, next_finished = decoder.step(time, inputs, state)
        if not decoder.tracks_own_finished:
            next_finished = logical.logical_or(next_finished, finished)
        lengths = where(logical.logical_not(finished), fill(shape(lengths), time + 1), lengths)
        for old, new in ((state, next_state), (arrays, outputs), (inputs, next_inputs)):
            nest.assert_same_structure(old, new)
        if self.impute:
            outputs = nest.map_structure(lambda new, zero: where(finished, zero, new), outputs, self.zeros)
            next_state = nest.map_structure(lambda new, old: _kept(finished, old, new), next_state, state)
        arrays = nest.map_structure(lambda array, out: array.write(time, out), arrays, outputs)
        return time + 1, arrays, next_state, next_inputs, next_finished, lengths


def _checked_maximum(given: Any) -> Tensor:
    most = convert_to_tensor(given, dtype=dtypes.int32, name="maximum_iterations")
    if most.shape.rank != 0:
        raise ValueError("maximum_iterations must be a scalar")
    return most


def _kept(finished: Tensor, old: Any, new: Any) -> Any:
    """The old state of members that have finished; arrays and scalars belong to all, and change."""
    if isinstance(old, TensorArray):
        return new
    new.set_shape(old.shape)
    return new if new.shape.rank == 0 else where(finished, old, new)
