"""tf.random.experimental.Generator: a random generator whose state is a variable."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike, as_dtype
from headrace.core.families import takes
from headrace.core.fields import reads
from headrace.functions.array import array
from headrace.functions.array.stacking import concat, stack
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import arithmetic
from headrace.ops.random import random_state
from headrace.ops.random.random import non_deterministic_ints
from headrace.variables.resource import ResourceVariable

RNG_ALG_PHILOX, RNG_ALG_THREEFRY = 1, 2
_STATE_SIZES = {RNG_ALG_PHILOX: 3, RNG_ALG_THREEFRY: 2}


def _state_size(alg: int) -> int:
    if alg not in _STATE_SIZES:
        raise ValueError(f"Unsupported algorithm id: {alg}")
    return _STATE_SIZES[alg]


def create_rng_state(seed: Any, algorithm: int) -> np.ndarray[Any, Any]:
    """The state of a generator from a seed.

    Args:
      seed: an integer (its lower 64 bits come first), or a vector of integers.
      algorithm: the number of the algorithm.

    Returns:
      A vector of int64, as long as the algorithm needs.

    Raises:
      ValueError: the seed has more than one dimension, or the algorithm is not known.
    """
    size = _state_size(algorithm)
    if isinstance(seed, int):
        seed = [(seed >> (64 * i)) & (2**64 - 1) for i in range(size)]
    state = np.asarray([_signed(word) for word in seed], np.int64)
    if state.ndim != 1:
        raise ValueError(f"seed should only have one dimension; got shape: {state.shape}")
    state = state[:size]
    return np.pad(state, (size - state.size, 0))


def _signed(word: Any) -> Any:
    return word - 2**64 if isinstance(word, int) and word >= 2**63 else word


def _as_state(value: Any) -> Tensor:
    if isinstance(value, list):
        value = [_signed(word) for word in value]
    return convert_to_tensor(value, dtypes.int64)


def _shape_tensor(shape: Any) -> Tensor:
    dtype = dtypes.int64 if isinstance(shape, (tuple, list)) and not shape else None
    return convert_to_tensor(shape, dtype, name="shape")


class Generator:
    """Random numbers from a state that is kept in a variable and moves on with every draw.

    Made by `from_seed`, `from_state`, `from_key_counter` or `from_non_deterministic_state`.
    """

    def __init__(self, copy_from: Any = None, state: Any = None, alg: int | None = None) -> None:
        if copy_from is not None:
            assert alg is None and state is None
            self._state_var = ResourceVariable(copy_from.state, dtype=dtypes.int64, trainable=False)
            self._alg_var: int = copy_from.algorithm
            return
        assert alg is not None and state is not None
        tensor = _as_state(state)
        tensor.shape.assert_is_compatible_with([_state_size(alg)])
        self._state_var = ResourceVariable(tensor, dtype=dtypes.int64, trainable=False)
        self._alg_var = alg

    @classmethod
    def from_state(cls, state: Any, alg: int) -> Generator:
        return cls(alg=alg, state=state)

    @classmethod
    def from_seed(cls, seed: Any, alg: int | None = None) -> Generator:
        alg = RNG_ALG_PHILOX if alg is None else alg
        return cls(state=create_rng_state(seed, alg), alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg: int | None = None) -> Generator:
        alg = RNG_ALG_PHILOX if alg is None else alg
        return cls(state=non_deterministic_ints([_state_size(alg)], dtype=dtypes.int64), alg=alg)

    @classmethod
    def from_key_counter(cls, key: Any, counter: Any, alg: int) -> Generator:
        return cls(state=_joined(key, counter, alg), alg=alg)

    def reset(self, state: Any) -> Any:
        """A node (as a variable after it) that sets the state."""
        tensor = _as_state(state)
        tensor.shape.assert_is_compatible_with([_state_size(self._alg_var)])
        return self._state_var.assign(tensor)

    def reset_from_seed(self, seed: Any) -> Any:
        return self._state_var.assign(create_rng_state(seed, self._alg_var))

    def reset_from_key_counter(self, key: Any, counter: Any) -> Any:
        return self._state_var.assign(_joined(key, counter, self._alg_var))

    state: ResourceVariable = reads("_state_var")
    algorithm: int = reads("_alg_var")

    @property
    def key(self) -> Tensor:
        """The part of the state that does not move."""
        _state_size(self._alg_var)
        return self._state_var[-1]

    def _draw(self, op: Any, shape: Any, *parameters: Any, **options: Any) -> Any:
        return op(self._state_var.handle, self._alg_var, shape, *parameters, **options)

    def skip(self, delta: Any) -> Any:
        """A node that moves the state on, as if `delta` numbers had been drawn."""
        return random_state.rng_skip(self._state_var.handle, self._alg_var, delta)

    def normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: DTypeLike = dtypes.float32,
        name: str | None = None,
    ) -> Any:
        """Normal numbers; arguments as for `tf.random.normal`."""
        draw = random_state.stateful_standard_normal_v2
        return self._scaled(draw, "stateful_normal", shape, mean, stddev, dtype, name)

    @takes(normal)
    def truncated_normal(self, **options: Any) -> Any:
        """Normal numbers within two standard deviations; arguments as for `normal`."""
        return self._scaled(random_state.stateful_truncated_normal, "truncated_normal", **options)

    def _scaled(
        self, op: Any, default: str, shape: Any, mean: Any, stddev: Any, dtype: Any, name: Any
    ) -> Any:
        with name_scope(name, default, [shape, mean, stddev]) as scope:
            shape = _shape_tensor(shape)
            mean = convert_to_tensor(mean, dtype, name="mean")
            stddev = convert_to_tensor(stddev, dtype, name="stddev")
            drawn = self._draw(op, shape, dtype=dtype)
            return arithmetic.add(drawn * stddev, mean, name=scope)

    def uniform(
        self,
        shape: Any,
        minval: Any = 0,
        maxval: Any = None,
        dtype: DTypeLike = dtypes.float32,
        name: str | None = None,
    ) -> Any:
        """Uniform numbers in [minval, maxval); arguments as for `tf.random.uniform`."""
        dtype = as_dtype(dtype)
        if maxval is None:
            if dtype.is_integer:
                raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")
            maxval = 1
        with name_scope(name, "stateful_uniform", [shape, minval, maxval]) as scope:
            shape = _shape_tensor(shape)
            low: Any = convert_to_tensor(minval, dtype, name="min")
            high: Any = convert_to_tensor(maxval, dtype, name="max")
            if dtype.is_integer:
                draw = random_state.stateful_uniform_int
                return self._draw(draw, shape, low, high, name=scope)
            drawn = self._draw(random_state.stateful_uniform, shape, dtype=dtype)
            return arithmetic.add(drawn * (high - low), low, name=scope)

    def uniform_full_int(self, shape: Any, dtype: Any = dtypes.uint64, name: str | None = None) -> Any:
        """Integers over the whole range of a type."""
        with name_scope(name, "stateful_uniform_full_int", [shape]) as scope:
            draw = random_state.stateful_uniform_full_int
            return self._draw(draw, _shape_tensor(shape), dtype=as_dtype(dtype), name=scope)

    def binomial(
        self, shape: Any, counts: Any, probs: Any, dtype: Any = dtypes.int32, name: str | None = None
    ) -> Any:
        """Successes among `counts` tries of probability `probs` (scalars, or one per row)."""
        with name_scope(name, "binomial", [shape, counts, probs]) as scope:
            counts = convert_to_tensor(counts, name="counts")
            probs = convert_to_tensor(probs, name="probs")
            draw = random_state.stateful_random_binomial
            shape = _shape_tensor(shape)
            return self._draw(draw, shape, counts, probs, dtype=as_dtype(dtype), name=scope)

    def make_seeds(self, count: int = 1) -> Tensor:
        """[2, count] seeds for stateless random ops."""
        _state_size(self._alg_var)
        keys = self.uniform_full_int([count], dtypes.int64)
        return stack([keys, array.zeros_like(keys)])

    def split(self, count: int = 1) -> list[Generator]:
        """Independent generators, whose keys come from this one."""
        _state_size(self._alg_var)
        keys: Any = self.uniform_full_int([count], dtypes.int64)
        zeros = np.zeros(_state_size(self._alg_var) - 1, np.int64)
        return [Generator(state=concat([zeros, keys[i : i + 1]], 0), alg=self._alg_var) for i in range(count)]


def _joined(key: Any, counter: Any, alg: int) -> Tensor:
    counter, key = _as_state(counter), _as_state(key)
    counter.shape.assert_is_compatible_with([_state_size(alg) - 1])
    key.shape.assert_is_compatible_with([])
    joined: Tensor = concat([counter, array.reshape(key, [1])], 0)
    return joined


_global_generator: Generator | None = None


def get_global_generator() -> Generator:
    """The process-wide generator; made from the system's randomness if none was set."""
    global _global_generator
    if _global_generator is None:
        _global_generator = Generator.from_non_deterministic_state()
    return _global_generator


def set_global_generator(generator: Generator) -> None:
    """Make another generator the process-wide one."""
    global _global_generator
    _global_generator = generator
