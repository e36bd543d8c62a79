"""Philox's ten rounds as LLVM text, for one block or for one in each lane of a vector.

In: the counter's four words as %a0 to %d0 and the key's as %key0 and %key1, each in 64 bits.  Out: the
block's words as %a10 to %d10, in the lower half of each.
"""

from __future__ import annotations

from headrace.codegen.emit.llvm_text import constant, vector
from headrace.ops.random.philox import MULTIPLIERS, WEYL

ROUNDS = 10
_ROUND = """\
  %p{n} = mul {type} %a{n}, {first}
  %q{n} = mul {type} %c{n}, {second}
  %s{n} = add {type} %key0, {weyl0}
  %t{n} = add {type} %key1, {weyl1}
  %e{n} = lshr {type} %q{n}, {half}
  %f{n} = xor {type} %e{n}, %b{n}
  %x{n} = xor {type} %f{n}, %s{n}
  %a{m} = and {type} %x{n}, {low}
  %b{m} = and {type} %q{n}, {low}
  %g{n} = lshr {type} %p{n}, {half}
  %h{n} = xor {type} %g{n}, %d{n}
  %y{n} = xor {type} %h{n}, %t{n}
  %c{m} = and {type} %y{n}, {low}
  %d{m} = and {type} %p{n}, {low}"""


def rounds(lanes: int = 1) -> str:
    type = vector("i64", lanes)

    def number(n: int) -> str:
        return constant(n, type).text

    fixed = {"type": type, "half": number(32), "low": number(0xFFFFFFFF)}
    fixed |= {"first": number(MULTIPLIERS[0]), "second": number(MULTIPLIERS[1])}
    return "\n".join(
        _ROUND.format(n=n, m=n + 1, weyl0=number(n * WEYL[0]), weyl1=number(n * WEYL[1]), **fixed)
        for n in range(ROUNDS)
    )
