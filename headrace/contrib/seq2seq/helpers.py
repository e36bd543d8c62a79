"""What a decoder reads next: given inputs, or what it wrote itself.

A helper says how a step's output becomes a sample, and which input, and end, follows from it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from headrace.contrib.seq2seq.sampling import categorical_sample
from headrace.core import dtypes
from headrace.core.fields import reads
from headrace.core.shapes import Shape
from headrace.functions.array.array import shape, size, zeros_like
from headrace.functions.control.cond import cond
from headrace.functions.control.tensor_array import TensorArray
from headrace.functions.math.cast import cast
from headrace.functions.math.math import equal
from headrace.functions.math.reduce import argmax, reduce_all
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.nn.embedding import embedding_lookup
from headrace.nn.rnn import swapped
from headrace.ops.array.tile import tile
from headrace.ops.declaration.convert import convert_to_tensor


class Helper(ABC):
    """The base of helpers.  Samples are [batch, *sample_ids_shape]."""

    @property
    @abstractmethod
    def batch_size(self) -> Any:
        """How many sequences: a scalar tensor."""
        raise NotImplementedError("batch_size has not been implemented")

    @property
    @abstractmethod
    def sample_ids_shape(self) -> Any:
        """The shape of one member's sample."""
        raise NotImplementedError("sample_ids_shape has not been implemented")

    @property
    @abstractmethod
    def sample_ids_dtype(self) -> Any:
        """The type of samples."""
        raise NotImplementedError("sample_ids_dtype has not been implemented")

    @abstractmethod
    def initialize(self, name: str | None = None) -> Any:
        """(which sequences are finished before the first step, the first inputs)."""

    @abstractmethod
    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """The samples of a step."""

    @abstractmethod
    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> Any:
        """(which are finished, the inputs of the next step, the state)."""


class _TokenHelper(Helper):
    """A helper whose samples are one number each."""

    _batch_size: Any

    batch_size: Any = reads("_batch_size")

    @property
    def sample_ids_shape(self) -> Any:
        return Shape([])

    @property
    def sample_ids_dtype(self) -> Any:
        return dtypes.int32


class CustomHelper(Helper):
    """A helper made of three functions.

    Args:
      initialize_fn: () -> (finished, first inputs).
      sample_fn: (time, outputs, state) -> samples; called by keyword.
      next_inputs_fn: (time, outputs, state, sample_ids) -> (finished, next inputs, next state);
        called by keyword.
      sample_ids_shape: of one sample; scalars if not given.
      sample_ids_dtype: int32 if not given.
    """

    def __init__(
        self,
        initialize_fn: Callable[[], Any],
        sample_fn: Callable[..., Any],
        next_inputs_fn: Callable[..., Any],
        sample_ids_shape: Any = None,
        sample_ids_dtype: Any = None,
    ) -> None:
        self._initialize_fn, self._sample_fn = initialize_fn, sample_fn
        self._next_inputs_fn = next_inputs_fn
        self._batch_size: Any = None
        self._sample_ids_shape = Shape(sample_ids_shape or [])
        self._sample_ids_dtype = sample_ids_dtype or dtypes.int32

    @property
    def batch_size(self) -> Any:
        if self._batch_size is None:
            raise ValueError("batch_size accessed before initialize was called")
        return self._batch_size

    sample_ids_shape: Any = reads("_sample_ids_shape")
    sample_ids_dtype: Any = reads("_sample_ids_dtype")

    def initialize(self, name: str | None = None) -> Any:
        with name_scope(name, f"{type(self).__name__}Initialize"):
            finished, inputs = self._initialize_fn()
            if self._batch_size is None:
                self._batch_size = size(finished)
            return finished, inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        with name_scope(name, f"{type(self).__name__}Sample", (time, outputs, state)):
            return self._sample_fn(time=time, outputs=outputs, state=state)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> Any:
        with name_scope(name, f"{type(self).__name__}NextInputs", (time, outputs, state)):
            return self._next_inputs_fn(time=time, outputs=outputs, state=state, sample_ids=sample_ids)


class TrainingHelper(_TokenHelper):
    """Reads given inputs, whatever the decoder writes: teacher forcing.

    Args:
      inputs: [batch, time, ...].
      sequence_length: how many inputs each member has.
      time_major: are the inputs [time, batch, ...]?
      name: of the scope.

    Raises:
      ValueError: `sequence_length` has another rank than 1.
    """

    def __init__(
        self, inputs: Any, sequence_length: Any, time_major: bool = False, name: str | None = None
    ) -> None:
        with name_scope(name, "TrainingHelper", [inputs, sequence_length]):
            inputs = convert_to_tensor(inputs, name="inputs")
            self._inputs = inputs
            if not time_major:
                inputs = swapped(inputs)
            self._input_tas = unstacked(inputs)
            lengths = convert_to_tensor(sequence_length, name="sequence_length")
            if lengths.shape.rank != 1:
                raise ValueError(
                    f"Expected sequence_length to be a vector, but received shape: {lengths.shape}"
                )
            self._sequence_length = lengths
            self._zero_inputs = zeros_like(inputs[0, :])
            self._batch_size = size(lengths)

    inputs: Any = reads("_inputs", "The inputs, as given.")
    sequence_length: Any = reads("_sequence_length", "How many inputs each member has.")

    def initialize(self, name: str | None = None) -> Any:
        with name_scope(name, "TrainingHelperInitialize"):
            finished = equal(0, self._sequence_length)
            return finished, self._read(0, finished)

    def sample(
        self, time: Any, outputs: Any, state: Any = None, name: str | None = None, **unused: Any
    ) -> Any:
        with name_scope(name, "TrainingHelperSample", [time, outputs]):
            return cast(argmax(outputs, axis=-1), dtypes.int32)

    def next_inputs(
        self,
        time: Any,
        outputs: Any,
        state: Any,
        sample_ids: Any = None,
        name: str | None = None,
        **unused: Any,
    ) -> Any:
        with name_scope(name, "TrainingHelperNextInputs", [time, outputs]):
            following = time + 1
            finished = following >= self._sequence_length
            return finished, self._read(following, finished), state

    def _read(self, time: Any, finished: Tensor) -> Any:
        return cond(reduce_all(finished), lambda: self._zero_inputs, lambda: self._input_tas.read(time))


class GreedyEmbeddingHelper(_TokenHelper):
    """Reads the embedding of the most likely token of the step before.

    Args:
      embedding: a function from ids to inputs, or the parameters of tf.nn.embedding_lookup.
      start_tokens: the first token of each member.
      end_token: the token that ends a sequence.

    Raises:
      ValueError: `start_tokens` has another rank than 1, or `end_token` than 0.
    """

    def __init__(self, embedding: Any, start_tokens: Any, end_token: Any) -> None:
        self._embedding_fn = embedding_function(embedding)
        self._start_tokens, self._end_token = checked_tokens(start_tokens, end_token)
        self._batch_size = size(self._start_tokens)
        self._start_inputs = self._embedding_fn(self._start_tokens)

    def initialize(self, name: str | None = None) -> Any:
        return tile([False], [self._batch_size]), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        _check_single(outputs)
        return argmax(outputs, axis=-1, output_type=dtypes.int32)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> Any:
        finished = equal(sample_ids, self._end_token)
        inputs = cond(
            reduce_all(finished), lambda: self._start_inputs, lambda: self._embedding_fn(sample_ids)
        )
        return finished, inputs, state


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """Reads the embedding of a token that is drawn with the probabilities of the step before.

    Args:
      embedding: a function from ids to inputs, or the parameters of tf.nn.embedding_lookup.
      start_tokens: the first token of each member.
      end_token: the token that ends a sequence.
      softmax_temperature: logits are divided by it: above one for more surprise.
      seed: of the draws.
    """

    def __init__(
        self,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        softmax_temperature: Any = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(embedding, start_tokens, end_token)
        self._softmax_temperature, self._seed = softmax_temperature, seed

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        _check_single(outputs)
        if self._softmax_temperature is not None:
            outputs = outputs / self._softmax_temperature
        return categorical_sample(logits=outputs, seed=self._seed)


class InferenceHelper(Helper):
    """Reads what a function makes of the outputs of the step before.

    Args:
      sample_fn: outputs -> samples.
      sample_shape: the shape of one member's sample.
      sample_dtype: the type of samples.
      start_inputs: the first inputs.
      end_fn: samples -> which sequences end.
      next_inputs_fn: samples -> next inputs; the samples themselves if not given.
    """

    def __init__(
        self,
        sample_fn: Callable[[Any], Any],
        sample_shape: Any,
        sample_dtype: Any,
        start_inputs: Any,
        end_fn: Callable[[Any], Any],
        next_inputs_fn: Callable[[Any], Any] | None = None,
    ) -> None:
        self._sample_fn, self._end_fn, self._next_inputs_fn = sample_fn, end_fn, next_inputs_fn
        self._sample_shape, self._sample_dtype = Shape(sample_shape), sample_dtype
        self._start_inputs = convert_to_tensor(start_inputs, name="start_inputs")
        self._batch_size = shape(self._start_inputs)[0]

    batch_size: Any = reads("_batch_size")
    sample_ids_shape: Any = reads("_sample_shape")
    sample_ids_dtype: Any = reads("_sample_dtype")

    def initialize(self, name: str | None = None) -> Any:
        return tile([False], [self._batch_size]), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        return self._sample_fn(outputs)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> Any:
        make = self._next_inputs_fn
        inputs = sample_ids if make is None else make(sample_ids)
        return self._end_fn(sample_ids), inputs, state


# -- parts ----------------------------------------------------------------------------------------
def unstacked(inputs: Tensor) -> TensorArray:
    """[time, batch, ...] as an array of steps."""
    array = TensorArray(dtype=inputs.dtype, size=shape(inputs)[0], element_shape=inputs.shape[1:])
    return array.unstack(inputs)


def embedding_function(embedding: Any) -> Callable[[Any], Any]:
    if callable(embedding):
        result: Callable[[Any], Any] = embedding
        return result
    return lambda ids: embedding_lookup(embedding, ids)


def checked_tokens(start_tokens: Any, end_token: Any) -> tuple[Tensor, Tensor]:
    """A vector and a scalar."""
    start = convert_to_tensor(start_tokens, dtype=dtypes.int32, name="start_tokens")
    end = convert_to_tensor(end_token, dtype=dtypes.int32, name="end_token")
    if start.shape.rank != 1:
        raise ValueError("start_tokens must be a vector")
    if end.shape.rank != 0:
        raise ValueError("end_token must be a scalar")
    return start, end


def _check_single(outputs: Any) -> None:
    if not isinstance(outputs, Tensor):
        raise TypeError(f"Expected outputs to be a single Tensor, got: {type(outputs)}")
