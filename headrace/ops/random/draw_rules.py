"""Random numbers as stages of compiled code: the same words as `ops.random.philox`, made where they are used.

A rule of an op that draws gets the state of the node's generator first (`philox.generator_of`), as a
variable; it gives that variable its next state.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DType, float32, float64, int64, uint32, uint64
from headrace.core.sizes import whole
from headrace.ops.declaration.emit import Decline, Emitter, Expr, Operand
from headrace.ops.random.philox import MULTIPLIERS, WEYL
from headrace.ops.random.sampling import RESERVED

_MASK = 0xFFFFFFFF


def known_sizes(shape: Operand) -> tuple[int, ...]:
    if shape.value is None:
        raise Decline("the shape is not known")
    return tuple(map(whole, shape.value.reshape(-1)))


def draw(
    e: Emitter,
    generator: Operand,
    shape: Operand,
    rule: Callable[..., list[Expr]],
    width: int = 4,
    reserved: int | None = None,
) -> Operand:
    """rule(four words) is the `width` numbers that a block makes, one after the other.  Blocks are
    reserved by the count of numbers unless `reserved` says how many."""
    sizes = known_sizes(shape)
    count = math.prod(sizes)
    if count >= 1 << 40:
        raise Decline("too many numbers")
    blocks = max(-(-count // width), 1)
    made_of = lanes(e, generator, blocks)

    def column(k: int) -> Operand:
        return e.compute((blocks, 1), lambda b, _: rule(*(lane[b] for lane in made_of))[k])

    made = e.assemble((blocks, width), [((0, k), column(k)) for k in range(width)])
    made = e.view(made, (blocks * width,))
    if blocks * width > count:
        whole = made
        made = e.compute((count,), lambda i: whole[i])
    advance(e, generator, count * RESERVED if reserved is None else reserved)
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
        # The upper halves of a, c and the keys hold anything: the product is one of 32 bits.
        first = (a & _MASK) * e.const(MULTIPLIERS[0], uint64)
        second = (c & _MASK) * e.const(MULTIPLIERS[1], uint64)
        own = [k + e.const(i * step, uint64) for k, step in zip((key0, key1), WEYL)]
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


def uniform(e: Emitter, dtype: DType) -> Callable[..., list[Expr]]:
    if dtype is float32:
        return lambda *words: [uniform32(e, word) for word in words]
    if dtype is float64:
        return lambda a, b, c, d: [uniform64(e, a, b), uniform64(e, c, d)]
    raise Decline(f"random {dtype.name}")


def normal(e: Emitter, dtype: DType) -> Callable[..., list[Expr]]:
    """Box-Muller: of each pair of numbers, the first takes the sine."""
    if dtype is not float32:
        raise Decline(f"random {dtype.name}")

    def pair(first: Expr, second: Expr) -> list[Expr]:
        radius = e.max(uniform32(e, first), e.const(1e-7, float32))
        length = e.sqrt(e.log(radius) * -2.0)
        turn = e.cast(uniform32(e, second), float64) * (2.0 * math.pi)
        angle = e.cast(turn, float32)
        return [length * e.sin(angle), length * e.cos(angle)]

    return lambda a, b, c, d: [*pair(a, b), *pair(c, d)]


def integers(e: Emitter, low: Operand, high: Operand, dtype: DType) -> Callable[..., list[Expr]]:
    if dtype is not dtypes.int32 or low.value is None or high.value is None:
        raise Decline("integers of an unknown range, or of 64 bits")
    first, last = int(low.value), int(high.value)
    if first >= last:
        raise Decline("an empty range")

    def one(word: Expr) -> Expr:
        part = e.truncate_mod(e.cast(word, int64), e.const(last - first, int64))
        return e.cast(part + e.const(first, int64), dtypes.int32)

    return lambda *words: [one(word) for word in words]
