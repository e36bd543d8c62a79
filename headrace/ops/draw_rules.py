"""Random numbers as stages of compiled code: the same words as `ops.philox`, made where they are used.

A rule of an op that draws gets the state of the node's generator first (`philox.generator_of`), as a
variable; it gives that variable its next state.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DType, float32, float64, int64, uint32, uint64
from headrace.ops.emit import Decline, Emitter, Expr, Operand
from headrace.ops.philox import MULTIPLIERS, WEYL
from headrace.ops.sampling import RESERVED

_MASK = 0xFFFFFFFF


def known_sizes(shape: Operand) -> tuple[int, ...]:
    if shape.value is None:
        raise Decline("the shape is not known")
    return tuple(int(n) for n in shape.value.reshape(-1))


def draw(
    e: Emitter, generator: Operand, shape: Operand, rule: Callable[..., Expr], words: int = 1
) -> Operand:
    """rule(word, i) at each place i of the flattened result; `word(n)` is the stream's n-th.  A
    number takes so many `words`."""
    sizes = known_sizes(shape)
    count = math.prod(sizes)
    if count >= 1 << 40:
        raise Decline("too many numbers")
    made_of = lanes(e, generator, -(-(count + 1) * words // 4))  # normals come in pairs

    def word(n: Expr) -> Expr:
        block, k = n // 4, n % 4
        first = e.select(k == 0, made_of[0][block], made_of[1][block])
        return e.select(k < 2, first, e.select(k == 2, made_of[2][block], made_of[3][block]))

    made = e.compute((count,), lambda i: rule(word, i))
    advance(e, generator, count * RESERVED)
    return e.view(made, sizes)


def advance(e: Emitter, generator: Operand, blocks: int) -> None:
    def next_state(i: Expr) -> Expr:
        low = generator[0] + e.const(blocks, uint64)
        carry = e.select(low < generator[0], e.const(1, uint64), e.const(0, uint64))
        high = generator[1] + carry
        return e.select(i == 0, low, e.select(i == 1, high, generator[2]))

    e.assign(generator, next_state)


def lanes(e: Any, generator: Any, blocks: int) -> list[Any]:
    """The four words of each block, as four arrays: they share one loop."""

    def lane(k: int) -> Any:
        def at(n: Expr) -> Any:
            return e.cast(block(e, generator, e.cast(n, uint64))[k], uint32)

        return e.compute((blocks,), at)

    return [lane(k) for k in range(4)]


def block(e: Emitter, generator: Operand, number: Expr) -> tuple[Expr, Expr, Expr, Expr]:
    """The block that is `number` further than the generator stands."""
    low = generator[0] + number
    high = generator[1] + e.select(low < number, e.const(1, uint64), e.const(0, uint64))
    a, b, c, d = low & _MASK, low >> 32, high & _MASK, high >> 32
    key0, key1 = generator[2] & _MASK, generator[2] >> 32
    for i in range(10):
        first = a * e.const(MULTIPLIERS[0], uint64)
        second = c * e.const(MULTIPLIERS[1], uint64)
        own = [(k + e.const(i * step, uint64)) & _MASK for k, step in zip((key0, key1), WEYL)]
        a, b = (second >> 32) ^ b ^ own[0], second & _MASK
        c, d = (first >> 32) ^ d ^ own[1], first & _MASK
    return a, b, c, d


# -- distributions -----------------------------------------------------------------------------
def uniform32(e: Emitter, word: Expr) -> Expr:
    """[0, 1), as `sampling.floats32`."""
    mantissa = (word & e.const(0x7FFFFF, uint32)) | e.const(0x3F800000, uint32)
    return e.bitcast(mantissa, float32) - 1.0


def uniform64(e: Emitter, high: Expr, low: Expr) -> Expr:
    """[0, 1), as `sampling.floats64`."""
    upper = (e.cast(high, uint64) & e.const(0xFFFFF, uint64)) << 32
    mantissa = upper | e.cast(low, uint64) | e.const(0x3FF << 52, uint64)
    return e.bitcast(mantissa, float64) - 1.0


def uniform(e: Emitter, dtype: DType) -> Callable[..., Expr]:
    if dtype is float32:
        return lambda word, i: uniform32(e, word(i))
    if dtype is float64:
        return lambda word, i: uniform64(e, word(2 * i), word(2 * i + 1))
    raise Decline(f"random {dtype.name}")


def normal(e: Emitter, dtype: DType) -> Callable[..., Expr]:
    """Box-Muller: of each pair of numbers, the first takes the sine."""
    if dtype is not float32:
        raise Decline(f"random {dtype.name}")

    def rule(word: Any, i: Expr) -> Expr:
        pair = i // 2 * 2
        radius = e.max(uniform32(e, word(pair)), e.const(1e-7, float32))
        turn = e.cast(uniform32(e, word(pair + 1)), float64) * (2.0 * math.pi)
        angle = e.cast(turn, float32)
        return e.sqrt(e.log(radius) * -2.0) * e.select(i % 2 == 0, e.sin(angle), e.cos(angle))

    return rule


def integers(e: Emitter, low: Operand, high: Operand, dtype: DType) -> Callable[..., Expr]:
    if dtype is not dtypes.int32 or low.value is None or high.value is None:
        raise Decline("integers of an unknown range, or of 64 bits")
    first, last = int(low.value), int(high.value)
    if first >= last:
        raise Decline("an empty range")

    def rule(word: Any, i: Expr) -> Expr:
        part = e.truncate_mod(e.cast(word(i), int64), e.const(last - first, int64))
        return e.cast(part + e.const(first, int64), dtypes.int32)

    return rule
