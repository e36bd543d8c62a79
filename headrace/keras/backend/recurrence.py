"""A step function along the time of its inputs: unrolled, or as a loop."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from headrace.layers import ops
from headrace.layers.ops import nest

Step = Callable[[Any, Any], tuple[Any, Any]]


def rnn(
    step_function: Step,
    inputs: Any,
    initial_states: Any,
    go_backwards: bool = False,
    mask: Any = None,
    constants: Any = None,
    unroll: bool = False,
    input_length: Any = None,
    time_major: bool = False,
    zero_output_for_mask: bool = False,
) -> tuple[Any, Any, Any]:
    """Run a step function over the time steps of inputs.

    Args:
      step_function: from an input and a list of states (and constants) to an output and new states.
      inputs: [samples, time, ...], or a structure of such tensors.
      initial_states: the states before the first step.
      go_backwards: from the last step to the first?
      mask: [samples, time]: which steps count.
      constants: what is given to each step behind the states.
      unroll: steps one by one, in place of a loop?
      input_length: how many steps at most.
      time_major: are inputs [time, samples, ...]?
      zero_output_for_mask: 0 where a step does not count, in place of the output before.

    Returns:
      (the last output, all outputs, the states at the end).
    """
    if not time_major:
        inputs = nest.map_structure(_swapped, inputs)
    flat = nest.flatten(inputs)
    steps, batch = flat[0].shape.as_list()[:2]
    if mask is not None:
        mask = ops.cast(mask, ops.dtypes.bool_)
        if len(mask.shape) == 2:
            mask = ops.expand_dims(mask, -1)
        if not time_major:
            mask = _swapped(mask)
    states = tuple(initial_states)
    given = tuple(constants or ())
    if unroll:
        if not steps:
            raise ValueError("Unrolling requires a fixed number of timesteps.")
        run = _unrolled(step_function, inputs, states, given, go_backwards, mask, zero_output_for_mask)
    else:
        if mask is not None and not states:
            raise ValueError(
                "No initial states provided! When using masking in an RNN, you should provide initial "
                "states (and "
                "your step function should return as its first state at time `t` the output at time `t-1`)."
            )
        run = _looped(
            step_function, inputs, states, given, go_backwards, mask, zero_output_for_mask, input_length
        )
    last, outputs, states = run
    outputs = nest.map_structure(lambda x: _sized(x, steps, batch), outputs)
    if not time_major:
        outputs = nest.map_structure(_swapped, outputs)
    return last, outputs, states


def _swapped(x: Any) -> Any:
    """Samples and time change places."""
    return ops.transpose(x, [1, 0, *builtins.range(2, len(x.shape))])


def _sized(x: Any, steps: Any, batch: Any) -> Any:
    if not ops.executing_eagerly():
        x.set_shape([steps, batch, *x.shape.as_list()[2:]])
    return x


def _chosen(mask: Any, new: Any, old: Any, fixed: int = 1) -> Any:
    """`new` where the mask says so, else `old`; the mask has fewer dimensions."""
    for _ in builtins.range(len(new.shape) - len(mask.shape)):
        mask = ops.expand_dims(mask, -1)
    sizes = new.shape.as_list()[fixed:]
    return ops.where(ops.tile(mask, [1] * fixed + sizes), new, old)


def _unrolled(
    step: Step, inputs: Any, states: Any, constants: Any, backwards: bool, mask: Any, zeros: bool
) -> tuple[Any, Any, Any]:
    def in_order(x: Any) -> list[Any]:
        parts = ops.unstack(x)
        return list(reversed(parts)) if backwards else list(parts)

    by_input = [in_order(x) for x in nest.flatten(inputs)]
    masks = in_order(mask) if mask is not None else [None] * len(by_input[0])
    outputs: list[Any] = []
    for i, now in enumerate(masks):
        x = nest.pack_sequence_as(inputs, [parts[i] for parts in by_input])
        output, new = step(x, (*states, *constants))
        if now is not None:
            before = outputs[-1] if outputs else ops.zeros_like(output)
            output = _chosen(now, output, before)
            new = [_chosen(now, a, b) for a, b in zip(new, states)]
        outputs.append(output)
        states = tuple(new)
    last, every = outputs[-1], ops.stack(outputs)
    if mask is not None and zeros:
        last = _chosen(masks[-1], last, ops.zeros_like(last))
        every = _chosen(ops.stack(masks), every, ops.zeros_like(every), fixed=2)
    return last, every, list(states)


def _looped(
    step: Step, inputs: Any, states: Any, constants: Any, backwards: bool, mask: Any, zeros: bool, most: Any
) -> tuple[Any, Any, Any]:
    flat = nest.flatten(inputs)
    count = ops.shape(flat[0])[0]

    def rows(x: Any, name: str) -> Any:
        array = ops.TensorArray(dtype=x.dtype, size=count, tensor_array_name=name)
        return array.unstack(ops.reverse(x, [0]) if backwards else x)

    sources = [rows(x, f"input_ta_{i}") for i, x in enumerate(flat)]
    masks = None if mask is None else rows(mask, "mask_ta")
    # What a step gives, tried on the first input: only its structure, types and shapes count.
    first, _ = step(nest.pack_sequence_as(inputs, [x[0] for x in flat]), (*states, *constants))
    kept = [
        ops.TensorArray(dtype=y.dtype, size=count, element_shape=y.shape, tensor_array_name=f"output_ta_{i}")
        for i, y in enumerate(nest.flatten(first))
    ]
    blank = tuple(ops.zeros_like(y) for y in nest.flatten(first))

    def body(time: Any, arrays: Any, before: Any, *now: Any) -> Any:
        x = nest.pack_sequence_as(inputs, [source.read(time) for source in sources])
        output, new = step(x, (*now, *constants))
        found, flat_new, flat_now = nest.flatten(output), nest.flatten(new), nest.flatten(now)
        if not ops.executing_eagerly():
            for a, b in zip(flat_new, flat_now):
                a.set_shape(b.shape)
        if masks is not None:
            counts = masks.read(time)
            found = [_chosen(counts, y, z) for y, z in zip(found, blank if zeros else before)]
            flat_new = [_chosen(counts, a, b) for a, b in zip(flat_new, flat_now)]
        arrays = tuple(array.write(time, y) for array, y in zip(arrays, found))
        carried = tuple(found) if masks is not None else ()
        return (time + 1, arrays, carried, *nest.pack_sequence_as(states, flat_new))

    carried = blank if masks is not None else ()
    final = ops.while_loop(
        lambda time, *_: time < count,
        body,
        (ops.constant(0, "int32", name="time"), tuple(kept), carried, *states),
        maximum_iterations=most,
        parallel_iterations=32,
        swap_memory=True,
    )
    every = [array.stack() for array in final[1]]
    outputs = nest.pack_sequence_as(first, every)
    last = nest.pack_sequence_as(first, [y[-1] for y in every])
    return last, outputs, list(final[3:])
