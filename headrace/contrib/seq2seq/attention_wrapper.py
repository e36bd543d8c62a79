"""A cell that looks into a memory at every step: tf.contrib.seq2seq.AttentionWrapper."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from headrace.contrib.seq2seq.attention import AttentionMechanism, projection, size_of
from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike
from headrace.core.shapes import Shape
from headrace.functions.array.array import expand_dims, identity, shape, squeeze, zeros
from headrace.functions.array.checks import assert_equal
from headrace.functions.array.stacking import concat
from headrace.functions.control.tensor_array import TensorArray
from headrace.functions.linalg.linalg import matmul
from headrace.functions.platform.scopes import control_dependencies
from headrace.functions.values import nest
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.layers.rnn.rnn_cells import RNNCell
from headrace.nn.rnn_parts import assert_like_rnncell, zero_states

_TILED = "a BeamSearchDecoder wants tf.contrib.seq2seq.tile_batch(..., multiple=beam_width) of"
_INITIAL = (
    f"The encoder's memory and initial_cell_state have different batch sizes; {_TILED} the initial state."
)
_ZERO = (
    "The encoder's memory has another batch size than zero_state was asked for; "
    f"{_TILED} the memory, and zero_state(batch_size * beam_width)."
)
_QUERY = f"The encoder's memory and the decoder's query have different batch sizes; {_TILED} the memory."


class AttentionWrapperState(NamedTuple):
    """The state of an AttentionWrapper.

    With several mechanisms, `alignments`, `alignment_history` and `attention_state` are tuples.
    The history is a TensorArray, or () if it is not kept.
    """

    cell_state: Any
    attention: Any
    time: Any
    alignments: Any
    alignment_history: Any
    attention_state: Any

    def clone(self, **kwargs: Any) -> AttentionWrapperState:
        """This state with other parts, whose shapes must be those of the parts they replace.

        Example: initial = cell.zero_state(batch, tf.float32).clone(cell_state=encoder_state)
        """
        changed: AttentionWrapperState = nest.map_structure(_of_same_shape, self, self._replace(**kwargs))
        return changed


def _of_same_shape(old: Any, new: Any) -> Any:
    if not (isinstance(old, Tensor) and isinstance(new, Tensor)):
        return new
    if not new.shape.is_compatible_with(old.shape):
        raise ValueError(
            "A clone of an AttentionWrapperState keeps its shapes: this part is "
            f"{old.shape}, its new value {new.shape}"
        )
    if not (new.shape.is_full and old.shape.is_full):
        with control_dependencies([assert_equal(shape(old), shape(new))]):
            new = identity(new)
    new.set_shape(old.shape)
    return new


class AttentionWrapper(RNNCell):
    """Wraps a cell with attention.

    A step joins the input with the attention of the step before, calls the cell, asks the mechanism
    where the output looks in the memory, and takes the mean of the memory there: the context.  With
    an attention layer, attention = layer([output, context]); without, it is the context.

    Args:
      cell: an RNNCell.
      attention_mechanism: a mechanism, or a list of them whose attentions are joined.
      attention_layer_size: size of the attention layer, one for each mechanism; None for no layer.
      alignment_history: keep the alignments of all steps, in a TensorArray.
      cell_input_fn: (inputs, attention) -> input of the cell; joins them if not given.
      output_attention: is the output the attention, or that of the cell?
      initial_cell_state: what `zero_state` gives as the state of the cell.
      name: of the cell.
      attention_layer: the attention layer itself, one for each mechanism.
      attention_fn: (mechanism, cell output, attention state, attention layer) -> (attention,
        alignments, next attention state), instead of the above.
      dtype: of the cell.

    Raises:
      TypeError: an argument is of the wrong kind.
      ValueError: not one size or layer for each mechanism, or both sizes and layers.
    """

    def __init__(
        self,
        cell: Any,
        attention_mechanism: Any,
        attention_layer_size: int | Sequence[int] | None = None,
        alignment_history: bool = False,
        cell_input_fn: Callable[[Any, Any], Any] | None = None,
        output_attention: bool = True,
        initial_cell_state: Any = None,
        name: str | None = None,
        attention_layer: Any = None,
        attention_fn: Callable[..., Any] | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        assert_like_rnncell("cell", cell)
        self._is_multi = isinstance(attention_mechanism, (list, tuple))
        self._attention_mechanisms = _checked_mechanisms(attention_mechanism)
        if cell_input_fn is not None and not callable(cell_input_fn):
            raise TypeError(f"cell_input_fn must be callable, saw type: {type(cell_input_fn).__name__}")
        self._cell = cell
        self._cell_input_fn = cell_input_fn or (lambda x, attention: concat([x, attention], -1))
        self._attention_fn = attention_fn or compute_attention
        self._output_attention, self._alignment_history = output_attention, alignment_history
        self._make_layers(attention_layer_size, attention_layer)
        self._initial_cell_state = None
        with name_scope(name, "AttentionWrapperInit"):
            if initial_cell_state is not None:
                batch = size_of(nest.flatten(initial_cell_state)[-1], 0)
                message = f"When constructing AttentionWrapper {self._base_name}: {_INITIAL}"
                self._initial_cell_state = self._checked(
                    initial_cell_state, batch, message, "check_initial_cell_state"
                )

    def _make_layers(self, sizes: Any, layers: Any) -> None:
        if sizes is not None and layers is not None:
            raise ValueError("Only one of attention_layer_size and attention_layer should be set")
        mechanisms = self._attention_mechanisms
        self._attention_layers: Any = None
        if sizes is not None:
            sizes = _per_mechanism(sizes, len(mechanisms), "attention_layer_size", "integer")
            self._attention_layers = tuple(
                projection(size, "attention_layer", mechanism.dtype)
                for size, mechanism in zip(sizes, mechanisms)
            )
        elif layers is not None:
            layers = _per_mechanism(layers, len(mechanisms), "attention_layer", "layer")
            self._attention_layers = layers
            joined = (self._cell.output_size + m.values.shape.dim(-1) for m in mechanisms)
            sizes = [
                Shape(layer.compute_output_shape([None, depth])).dim(-1)
                for layer, depth in zip(layers, joined)
            ]
        else:
            sizes = [mechanism.values.shape.dim(-1) for mechanism in mechanisms]
        self._attention_layer_size = sum(sizes)

    def _checked(self, state: Any, batch_size: Any, message: str, name: str) -> Any:
        """The state, once its batch is known to be that of every memory."""
        checks = [
            assert_equal(batch_size, mechanism.batch_size, message=message)
            for mechanism in self._attention_mechanisms
        ]
        with control_dependencies(checks):
            return nest.map_structure(lambda s: identity(s, name=name), state)

    def _one_or_all(self, parts: Iterable[Any]) -> Any:
        """A tuple if mechanisms came as a list, else the only one."""
        every = tuple(parts)
        return every if self._is_multi else every[0]

    @property
    def output_size(self) -> Any:
        return self._attention_layer_size if self._output_attention else self._cell.output_size

    @property
    def state_size(self) -> Any:
        mechanisms, kept = self._attention_mechanisms, self._alignment_history
        return AttentionWrapperState(
            cell_state=self._cell.state_size,
            time=Shape([]),
            attention=self._attention_layer_size,
            alignments=self._one_or_all(m.alignments_size for m in mechanisms),
            attention_state=self._one_or_all(m.state_size for m in mechanisms),
            alignment_history=self._one_or_all(m.alignments_size if kept else () for m in mechanisms),
        )

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """The first state; under a beam search, for batch * beam_width members.

        Raises:
          ValueError: the memories have another batch (InvalidArgumentError if known at run only).
        """
        with name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            state = self._initial_cell_state
            if state is None:
                state = self._cell.get_initial_state(batch_size=batch_size, dtype=dtype)
            message = f"When calling zero_state of AttentionWrapper {self._base_name}: {_ZERO}"
            state = self._checked(state, batch_size, message, "checked_cell_state")
            mechanisms = self._attention_mechanisms
            alignments = [m.initial_alignments(batch_size, dtype) for m in mechanisms]
            return AttentionWrapperState(
                cell_state=state,
                time=zeros([], dtype=dtypes.int32),
                attention=zero_states(self._attention_layer_size, batch_size, dtype),
                alignments=self._one_or_all(alignments),
                attention_state=self._one_or_all(m.initial_state(batch_size, dtype) for m in mechanisms),
                alignment_history=self._one_or_all(self._history(a, dtype) for a in alignments),
            )

    def _history(self, alignments: Tensor, dtype: Any) -> Any:
        if not self._alignment_history:
            return ()
        known = alignments.shape
        return TensorArray(dtype, size=0, dynamic_size=True, element_shape=known)

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        """(attention, or output of the cell; next state).

        Raises:
          TypeError: the state is not an AttentionWrapperState.
        """
        if not isinstance(state, AttentionWrapperState):
            raise TypeError(
                "Expected state to be instance of AttentionWrapperState. "
                f"Received type {type(state)} instead."
            )
        cell_inputs = self._cell_input_fn(inputs, state.attention)
        output, cell_state = self._cell(cell_inputs, state.cell_state)
        message = f"When applying AttentionWrapper {self.name}: {_QUERY}"
        output = self._checked(output, size_of(output, 0), message, "checked_cell_output")
        states, histories = state.attention_state, state.alignment_history
        if not self._is_multi:
            states, histories = [states], [histories]
        mechanisms = self._attention_mechanisms
        layers = self._attention_layers or [None] * len(mechanisms)
        results = [
            self._attention_fn(mechanism, output, old, layer)
            for mechanism, old, layer in zip(mechanisms, states, layers)
        ]
        attentions, alignments, next_states = zip(*results)
        if self._alignment_history:
            histories = [h.write(state.time, a) for h, a in zip(histories, alignments)]
        attention = concat(list(attentions), 1)
        next_state = AttentionWrapperState(
            time=state.time + 1,
            cell_state=cell_state,
            attention=attention,
            attention_state=self._one_or_all(next_states),
            alignments=self._one_or_all(alignments),
            alignment_history=self._one_or_all(histories),
        )
        return (attention if self._output_attention else output), next_state


def compute_attention(mechanism: Any, cell_output: Any, state: Any, layer: Any) -> Any:
    """(attention, alignments, next state of the mechanism)."""
    alignments, next_state = mechanism(cell_output, state=state)
    context = squeeze(matmul(expand_dims(alignments, 1), mechanism.values), [1])
    attention = context if layer is None else layer(concat([cell_output, context], 1))
    return attention, alignments, next_state


def _checked_mechanisms(given: Any) -> tuple[Any, ...]:
    if isinstance(given, (list, tuple)):
        message = "attention_mechanism must contain only instances of AttentionMechanism"
    else:
        given = (given,)
        message = (
            "attention_mechanism must be an AttentionMechanism or list of multiple "
            "AttentionMechanism instances"
        )
    for mechanism in given:
        if not isinstance(mechanism, AttentionMechanism):
            raise TypeError(f"{message}, saw type: {type(mechanism).__name__}")
    return tuple(given)


def _per_mechanism(given: Any, count: int, argument: str, word: str) -> tuple[Any, ...]:
    parts = tuple(given) if isinstance(given, (list, tuple)) else (given,)
    if len(parts) != count:
        raise ValueError(
            f"If provided, {argument} must contain exactly one {word} per attention_mechanism, "
            f"saw: {len(parts)} vs {count}"
        )
    return parts
