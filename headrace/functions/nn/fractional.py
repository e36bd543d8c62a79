"""Fractional pooling: tf.nn.fractional_max_pool, fractional_avg_pool."""

from __future__ import annotations

from typing import Any

from headrace.core.families import documented, named
from headrace.ops.nn.pools import fractional_pool


def _pooling(build: Any, name: str, what: str) -> Any:
    @documented("""
        Args:
          value: images [batch, height, width, channels].
          pooling_ratio: four numbers of at least 1; those of batch and channels are 1.
          pseudo_random: spread the windows evenly from one random number, instead of shuffling them.
          overlapping: let neighbouring windows share an element.
          deterministic: the same windows every time; needs seeds.
          seed: first seed.
          seed2: second seed.
          name: name of the node.

        Returns:
          (output, row_pooling_sequence, col_pooling_sequence).
    """)
    @named(name, f"{what} pooling by a ratio that need not be an integer, with random windows.")
    def function(
        value: Any,
        pooling_ratio: Any,
        pseudo_random: bool = False,
        overlapping: bool = False,
        deterministic: bool = False,
        seed: int = 0,
        seed2: int = 0,
        name: str | None = None,
    ) -> Any:
        windows = (pooling_ratio, pseudo_random, overlapping, deterministic)
        return build(value, *windows, seed, seed2, name=name)

    return function


fractional_max_pool = _pooling(fractional_pool.fractional_max_pool, "fractional_max_pool", "Max")
fractional_avg_pool = _pooling(fractional_pool.fractional_avg_pool, "fractional_avg_pool", "Mean")
