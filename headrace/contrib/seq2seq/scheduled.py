"""Scheduled sampling: training that reads given inputs, or now and then what the decoder wrote."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.contrib.seq2seq.helpers import TrainingHelper, embedding_function, unstacked
from headrace.contrib.seq2seq.sampling import bernoulli_sample, categorical_sample
from headrace.core import dtypes
from headrace.functions.array.array import fill, shape
from headrace.functions.array.indexing import gather_nd, where
from headrace.functions.array.stacking import concat
from headrace.functions.control.cond import cond
from headrace.functions.math.cast import cast
from headrace.functions.math.reduce import reduce_all, reduce_any
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.nn.rnn import swapped
from headrace.ops.array.indexing.scatter import scatter_nd
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import logical


class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """Reads the given input, or with some probability the embedding of a drawn token.

    A sample is the drawn token, or -1 where the given input is read.

    Args:
      inputs: [batch, time, ...].
      sequence_length: how many inputs each member has.
      embedding: a function from ids to inputs, or the parameters of tf.nn.embedding_lookup.
      sampling_probability: of reading a drawn token: a scalar, or one per member.
      time_major: are the inputs [time, batch, ...]?
      seed: of the tokens.
      scheduling_seed: of the choice between input and token.
      name: of the scope.

    Raises:
      ValueError: `sampling_probability` is neither a scalar nor a vector.
    """

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        embedding: Any,
        sampling_probability: Any,
        time_major: bool = False,
        seed: int | None = None,
        scheduling_seed: int | None = None,
        name: str | None = None,
    ) -> None:
        values = [embedding, sampling_probability]
        with name_scope(name, "ScheduledEmbeddingSamplingWrapper", values):
            self._embedding_fn = embedding_function(embedding)
            self._sampling_probability = _checked_probability(sampling_probability)
            self._seed, self._scheduling_seed = seed, scheduling_seed
            super().__init__(inputs, sequence_length, time_major=time_major, name=name)

    def sample(
        self, time: Any, outputs: Any, state: Any = None, name: str | None = None, **unused: Any
    ) -> Any:
        with name_scope(name, "ScheduledEmbeddingTrainingHelperSample", [time, outputs]):
            chosen = bernoulli_sample(
                self._sampling_probability,
                dtype=dtypes.bool_,
                sample_shape=self.batch_size,
                seed=self._scheduling_seed,
            )
            tokens = categorical_sample(logits=outputs, seed=self._seed)
            return where(chosen, tokens, fill([self.batch_size], -1))

    def next_inputs(
        self,
        time: Any,
        outputs: Any,
        state: Any,
        sample_ids: Any = None,
        name: str | None = None,
        **unused: Any,
    ) -> Any:
        values = [time, outputs, sample_ids]
        with name_scope(name, "ScheduledEmbeddingTrainingHelperNextInputs", values):
            finished, given, state = super().next_inputs(time, outputs, state, sample_ids, name)

            def mixed() -> Tensor:
                def embedded(members: Tensor) -> Any:
                    return self._embedding_fn(gather_nd(sample_ids, members))

                return _mixed(sample_ids > -1, embedded, given)

            return finished, cond(reduce_all(finished), lambda: given, mixed), state


class ScheduledOutputTrainingHelper(TrainingHelper):
    """Reads the given input, or with some probability the output of the step before.

    A sample is one where the output is read, and zero where the given input is.

    Args:
      inputs: [batch, time, ...].
      sequence_length: how many inputs each member has.
      sampling_probability: of reading the output: a scalar, or one per member.
      time_major: are the inputs [time, batch, ...]?
      seed: of the choices.
      next_inputs_fn: outputs -> inputs; outputs are read as they are if not given.
      auxiliary_inputs: joined to the inputs of every step, whether given or written.
      name: of the scope.

    Raises:
      ValueError: `sampling_probability` is neither a scalar nor a vector.
    """

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        sampling_probability: Any,
        time_major: bool = False,
        seed: int | None = None,
        next_inputs_fn: Callable[[Any], Any] | None = None,
        auxiliary_inputs: Any = None,
        name: str | None = None,
    ) -> None:
        values = [inputs, auxiliary_inputs, sampling_probability]
        with name_scope(name, "ScheduledOutputTrainingHelper", values):
            self._sampling_probability = _checked_probability(sampling_probability)
            self._seed, self._next_inputs_fn = seed, next_inputs_fn
            self._auxiliary_input_tas = None
            if auxiliary_inputs is not None:
                inputs = convert_to_tensor(inputs, name="inputs")
                more = convert_to_tensor(auxiliary_inputs, name="auxiliary_inputs")
                inputs = concat((inputs, more), -1)
                self._auxiliary_input_tas = unstacked(more if time_major else swapped(more))
            super().__init__(inputs, sequence_length, time_major=time_major, name=name)

    def sample(
        self, time: Any, outputs: Any, state: Any = None, name: str | None = None, **unused: Any
    ) -> Any:
        with name_scope(name, "ScheduledOutputTrainingHelperSample", [time, outputs]):
            return bernoulli_sample(self._sampling_probability, sample_shape=self.batch_size, seed=self._seed)

    def next_inputs(
        self,
        time: Any,
        outputs: Any,
        state: Any,
        sample_ids: Any = None,
        name: str | None = None,
        **unused: Any,
    ) -> Any:
        values = [time, outputs, sample_ids]
        with name_scope(name, "ScheduledOutputTrainingHelperNextInputs", values):
            finished, given, state = super().next_inputs(time, outputs, state, sample_ids, name)
            chosen = cast(sample_ids, dtypes.bool_)

            def joined(made: Any, members: Tensor | None = None) -> Any:
                if self._auxiliary_input_tas is None:
                    return made
                more = self._auxiliary_input_tas.read(time + 1)
                return concat((made, more if members is None else gather_nd(more, members)), -1)

            def written(members: Tensor) -> Any:
                assert self._next_inputs_fn is not None
                return joined(self._next_inputs_fn(gather_nd(outputs, members)), members)

            def mixed() -> Tensor:
                if self._next_inputs_fn is None:
                    return where(chosen, joined(outputs), given)
                return _mixed(chosen, written, given)

            only_given = logical.logical_or(reduce_all(finished), logical.logical_not(reduce_any(chosen)))
            return finished, cond(only_given, lambda: given, mixed), state


def _checked_probability(given: Any) -> Tensor:
    probability = convert_to_tensor(given, name="sampling_probability")
    if probability.shape.rank not in (0, 1):
        raise ValueError(
            f"sampling_probability must be either a scalar or a vector. saw shape: {probability.shape}"
        )
    return probability


def _mixed(chosen: Tensor, made: Callable[[Tensor], Any], given: Tensor) -> Tensor:
    """What a function makes for the members chosen (and for no other), else the given rows."""
    members = cast(where(chosen), dtypes.int32)
    others = cast(where(logical.logical_not(chosen)), dtypes.int32)
    sizes = shape(given)
    rows: Tensor = scatter_nd(members, made(members), sizes)
    return rows + scatter_nd(others, gather_nd(given, others), sizes)
