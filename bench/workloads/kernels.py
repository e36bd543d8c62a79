"""Single kernels on resident data.  The result stays in the runtime: only its node is run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.workloads import values
from bench.workloads.program import Program, Step
from bench.workloads.sizes import Sizes


def kernel(tf: Any, data: Any, compute: Callable[[Any], Any], flops: float = 0) -> Step:
    program = Program(tf)
    with program.building():
        y = compute(program.resident("data", data))
    run, node = program.start().run, y.op
    return Step(lambda: run(node), lambda: values.thinned(run(y)), program.session.close, flops=flops)


def elementwise(tf: Any, size: Sizes) -> Step:
    """Twenty operations on every number."""

    def chain(x: Any) -> Any:
        for _ in range(5):
            x = tf.exp(tf.tanh(x * 1.1 + 0.1))
        return x

    return kernel(tf, values.uniform("chain", (size.chain,), 1.0), chain)


def softmax_rows(tf: Any, size: Sizes) -> Step:
    return kernel(tf, values.grid(size, size.grid_columns * 1000 // 1024), tf.nn.softmax)


def layer_norm(tf: Any, size: Sizes) -> Step:
    def norm(x: Any) -> Any:
        centred = x - tf.reduce_mean(x, 1, keepdims=True)
        variance = tf.reduce_mean(tf.square(centred), 1, keepdims=True)
        return centred * tf.rsqrt(variance + 1e-5) * 1.5 + 0.5

    return kernel(tf, values.grid(size), norm)


def reduce_rows(tf: Any, size: Sizes) -> Step:
    return kernel(tf, values.grid(size), lambda x: tf.reduce_sum(x, 1))


def reduce_columns(tf: Any, size: Sizes) -> Step:
    return kernel(tf, values.grid(size), lambda x: tf.reduce_sum(x, 0))


def matmul(tf: Any, size: Sizes) -> Step:
    square = values.uniform("square", (size.square, size.square), 2.0)
    return kernel(tf, square, lambda x: tf.matmul(x, x), 2 * size.square**3)
