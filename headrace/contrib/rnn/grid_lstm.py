"""LSTMs along two directions, time and frequency: tf.contrib.rnn.GridLSTMCell and
BidirectionalGridLSTMCell."""

from __future__ import annotations

import collections
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from headrace.contrib.rnn.linear import split_weights
from headrace.contrib.rnn.time_frequency import input_width, window_count, windows
from headrace.core import log
from headrace.functions.array.array import shape, zeros
from headrace.functions.array.slice import slice_
from headrace.functions.array.stacking import concat, split
from headrace.functions.array.tiling import pad
from headrace.functions.linalg.linalg import matmul
from headrace.functions.math.clip import clip_by_value
from headrace.functions.math.elementwise import tanh
from headrace.functions.math.math import sigmoid
from headrace.functions.nn.activation import bias_add
from headrace.layers.rnn.rnn_cells import RNNCell
from headrace.variables.initializers.initializers import Zeros
from headrace.variables.scope import get_variable, variable_scope


class _Weights(NamedTuple):
    """Of one direction; a peephole is a pair: for the memory along frequency and along time."""

    kernel: Any
    bias: Any
    holes: dict[str, tuple[Any, Any]]  # F, I, O; empty where there are none


class GridLSTMCell(RNNCell):
    """An LSTM along time and one along frequency that see each other's outputs (Kalchbrenner et al.
    2016; with peepholes: Sainath, Li 2016).

    Args:
      num_units: size of a memory and of its output.
      use_peepholes: gates also see the memories, element by element.
      share_time_frequency_weights: both directions have the same weights.
      cell_clip: memories are kept within this distance of zero.
      initializer: accepted; the variable scope's is used.
      num_unit_shards: in how many variables the weights are kept.
      forget_bias: added to the forget gates, so that at first little is forgotten.
      feature_size: size of a window of frequencies.
      frequency_skip: how far a window is from the last one.
      num_frequency_blocks: how many windows each block of frequencies has.
      start_freqindex_list, end_freqindex_list: where each block begins and ends; without them there
        is one.
      couple_input_forget_gates: what is forgotten is taken in.
      state_is_tuple: the state is a named tuple; else its parts are columns of one tensor.
      reuse: take variables that are there.

    Raises:
      ValueError: `num_frequency_blocks` is missing.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        share_time_frequency_weights: bool = False,
        cell_clip: float | None = None,
        initializer: Callable[..., Any] | None = None,
        num_unit_shards: int = 1,
        forget_bias: float = 1.0,
        feature_size: int | None = None,
        frequency_skip: int | None = None,
        num_frequency_blocks: Sequence[int] | None = None,
        start_freqindex_list: Sequence[int] | None = None,
        end_freqindex_list: Sequence[int] | None = None,
        couple_input_forget_gates: bool = False,
        state_is_tuple: bool = True,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        if not state_is_tuple:
            log.warn(
                "%s: Using a concatenated state is slower and will soon be deprecated.  Use "
                "state_is_tuple=True.",
                self,
            )
        if num_frequency_blocks is None:
            raise ValueError("Must specify num_frequency_blocks")
        self._num_units, self._use_peepholes = num_units, use_peepholes
        self._share, self._couple = share_time_frequency_weights, couple_input_forget_gates
        self._cell_clip, self._shards, self._forget_bias = cell_clip, num_unit_shards, forget_bias
        self._feature_size, self._frequency_skip = feature_size, frequency_skip
        self._starts, self._ends = start_freqindex_list, end_freqindex_list
        self._blocks = [int(count) for count in num_frequency_blocks]
        self._state_is_tuple = state_is_tuple
        self._tuple = _state_type("GridLSTMStateTuple", ["state"], self._blocks)

    @property
    def output_size(self) -> Any:
        return 2 * self._num_units * sum(self._blocks)

    @property
    def state_size(self) -> Any:
        if not self._state_is_tuple:
            return 2 * self._num_units * sum(self._blocks)
        return self._tuple(*[self._num_units] * len(self._tuple._fields))

    @property
    def state_tuple_type(self) -> Any:
        """The type of the state; None where it is a tensor."""
        return self._tuple if self._state_is_tuple else None

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        outputs, states = self._over_blocks(self._features(inputs), inputs, state, "state")
        joined = self._tuple(*states) if self._state_is_tuple else concat(states, 1)
        return concat(outputs, 1), joined

    def _over_blocks(
        self, blocks: list[list[Any]], inputs: Any, state: Any, prefix: str
    ) -> tuple[list[Any], list[Any]]:
        batch = inputs.shape.dim(0) or shape(inputs)[0]
        outputs: list[Any] = []
        states: list[Any] = []
        for block, parts in enumerate(blocks):
            more, new = self._over_windows(parts, block, state, batch, prefix)
            outputs += more
            states += new
        return outputs, states

    def _over_windows(
        self, parts: list[Any], block: int, state: Any, batch: Any, prefix: str
    ) -> tuple[list[Any], list[Any]]:
        units, dtype = self._num_units, parts[0].dtype
        along_f, along_t = self._weights(block, parts[0].shape.dim(1), dtype)
        c_freq = m_freq = zeros([batch, units], dtype)
        outputs, states = [], []
        for place, window in enumerate(parts):
            c_time, m_time = self._old(state, place, block, prefix)
            x = concat([window, m_time, m_freq], 1)
            old = c_freq, c_time
            c_freq, out_freq = self._memory(x, along_f, old, c_freq)
            c_time, out_time = self._memory(x, along_t, old, c_time)
            new = c_freq, c_time
            m_freq = sigmoid(_seen(out_freq, along_f, "O", new)) * tanh(c_freq)
            m_time = sigmoid(_seen(out_time, along_t, "O", new)) * tanh(c_time)
            states += [c_time, m_time]
            outputs += [m_time, m_freq]
        return outputs, states

    def _old(self, state: Any, place: int, block: int, prefix: str) -> tuple[Any, Any]:
        if self._state_is_tuple:
            name = f"{prefix}_f{place:02d}_b{block:02d}"
            return getattr(state, name + "_c"), getattr(state, name + "_m")
        units, first = self._num_units, 2 * place * self._num_units
        return slice_(state, [0, first], [-1, units]), slice_(state, [0, first + units], [-1, units])

    def _memory(self, x: Any, weights: _Weights, old: tuple[Any, Any], c: Any) -> tuple[Any, Any]:
        """The new memory of a direction, and what its output gate gets from the inputs."""
        gates = bias_add(matmul(x, weights.kernel), weights.bias)
        if self._couple:
            i, j, o = split(gates, 3, 1)
            i = sigmoid(_seen(i, weights, "I", old))
            f = 1.0 - i
        else:
            i, j, f, o = split(gates, 4, 1)
            i = sigmoid(_seen(i, weights, "I", old))
            f = sigmoid(_seen(f + self._forget_bias, weights, "F", old))
        c = f * c + i * tanh(j)
        if self._cell_clip is not None:
            c = clip_by_value(c, -self._cell_clip, self._cell_clip)
        return c, o

    def _weights(self, block: int, depth: int, dtype: Any) -> tuple[_Weights, _Weights]:
        units, gates = self._num_units, 3 if self._couple else 4
        ways = [("f", "freq")] if self._share else [("f", "freq"), ("t", "time")]
        shape = [depth + 2 * units, gates * units]
        maps = []
        for letter, _ in ways:
            kernel = split_weights(f"W_{letter}_{block}", shape, dtype, self._shards)
            bias = get_variable(f"B_{letter}_{block}", shape[1:], dtype=dtype, initializer=Zeros())
            maps.append((kernel, bias))
        found = []
        for (kernel, bias), (_, way) in zip(maps, ways):
            holes = {}
            for gate in ("IO" if self._couple else "FIO") if self._use_peepholes else "":
                names = [f"W_{gate}_diag_{way}{to}_{block}" for to in "ft"]
                pair = [get_variable(name, [units], dtype=dtype) for name in names]
                holes[gate] = (pair[0], pair[1])
            found.append(_Weights(kernel, bias, holes))
        return found[0], found[-1]

    def _features(self, inputs: Any, offset: int = 0) -> list[list[Any]]:
        """The windows of each block; `offset` moves them, over zeros at the end."""
        size, skip = self._feature_size, self._frequency_skip
        width = input_width(inputs)
        assert size is not None and skip is not None
        if offset:
            border = [0, offset] if offset > 0 else [-offset, 0]
            inputs = pad(inputs, [[0, 0], border])
        starts, ends = self._starts or [0], (self._ends or []) if self._starts else [width]
        if len(starts) != len(ends):
            raise ValueError(
                f"Length of start and end freqindex_list does not match {len(starts)} {len(ends)}"
            )
        if len(starts) != len(self._blocks):
            wanted = f"equal to start_freqindex_list {len(starts)}" if self._starts else "1"
            raise ValueError(
                f"Length of num_frequency_blocks is not {wanted}, but instead is {len(self._blocks)}"
            )
        found = []
        for start, end, asked in zip(starts, ends, self._blocks):
            count = window_count(end - start, size, skip)
            if count != asked:
                raise ValueError(
                    f"Invalid num_frequency_blocks, requires {asked} but gets {count}, please check "
                    "the input size and filter config are correct."
                )
            found.append(windows(inputs, start + max(offset, 0), count, size, skip))
        return found


def _seen(x: Any, weights: _Weights, gate: str, memories: tuple[Any, Any]) -> Any:
    """What a gate gets from the inputs, and through its peepholes."""
    if gate not in weights.holes:
        return x
    (to_freq, to_time), (freq, time) = weights.holes[gate], memories
    return x + to_freq * freq + to_time * time


def _state_type(name: str, prefixes: list[str], blocks: list[int]) -> Any:
    fields = [
        f"{prefix}_f{place:02d}_b{block:02d}_{part}"
        for prefix in prefixes
        for block, count in enumerate(blocks)
        for place in range(count)
        for part in "cm"
    ]
    return collections.namedtuple(name, fields)


class BidirectionalGridLSTMCell(GridLSTMCell):
    """A GridLSTMCell over the frequencies as they are, and one over them the other way round.

    Args:
      backward_slice_offset: where the way back begins.
      num_units, use_peepholes, share_time_frequency_weights, cell_clip, initializer,
        num_unit_shards, forget_bias, feature_size, frequency_skip, num_frequency_blocks,
        start_freqindex_list, end_freqindex_list, couple_input_forget_gates, reuse: as of
        GridLSTMCell.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        share_time_frequency_weights: bool = False,
        cell_clip: float | None = None,
        initializer: Callable[..., Any] | None = None,
        num_unit_shards: int = 1,
        forget_bias: float = 1.0,
        feature_size: int | None = None,
        frequency_skip: int | None = None,
        num_frequency_blocks: Sequence[int] | None = None,
        start_freqindex_list: Sequence[int] | None = None,
        end_freqindex_list: Sequence[int] | None = None,
        couple_input_forget_gates: bool = False,
        backward_slice_offset: int = 0,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(
            num_units, use_peepholes, share_time_frequency_weights, cell_clip, initializer,
            num_unit_shards, forget_bias, feature_size, frequency_skip, num_frequency_blocks,
            start_freqindex_list, end_freqindex_list, couple_input_forget_gates, True, reuse,
        )  # fmt: skip
        self._offset = int(backward_slice_offset)
        prefixes = ["fwd_state", "bwd_state"]
        self._tuple = _state_type("BidirectionalGridLSTMStateTuple", prefixes, self._blocks)

    @property
    def output_size(self) -> Any:
        return 2 * super().output_size

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        there = self._features(inputs)
        back = self._features(inputs, self._offset) if self._offset else there
        with variable_scope("fwd"):
            outputs, states = self._over_blocks(there, inputs, state, "fwd_state")
        with variable_scope("bwd"):
            turned = [block[::-1] for block in back]
            more, new = self._over_blocks(turned, inputs, state, "bwd_state")
        return concat(outputs + more, 1), self._tuple(*states, *new)
