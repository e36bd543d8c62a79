"""The workloads in JAX: whole steps jitted, their state donated, rows of tables updated in place."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from bench.peers import jax_images
from bench.workloads import dense, values
from bench.workloads.networks import NETWORKS
from bench.workloads.program import Step
from bench.workloads.recurrent import LAYERS, LONGEST_GRADIENT, kernel_values
from bench.workloads.sizes import WORKLOADS, Sequences, Sizes, Transformer
from bench.workloads.sparse import TABLE_RATE, WORD2VEC_RATE, embedding_values, nce_values
from bench.workloads.transformer import EPSILON, RATE, SCALE

version = jax.__version__
Arrays = dict[str, Any]


def stepping(jitted: Any, state: list[Any], batch: Callable[[], Any]) -> Step:
    """`jitted(state, *batch)` gives the loss and the next state."""

    def step() -> float:
        loss, state[0] = jitted(state[0], *batch())
        jax.block_until_ready(state)
        return float(loss)

    return Step(step, close=jax.clear_caches)


def descent(loss_of: Any, weights: Arrays, rate: float, batch: Callable[[], Any]) -> Step:
    def step_of(weights: Arrays, *fed: Any) -> Any:
        loss, push = jax.value_and_grad(loss_of)(weights, *fed)
        return loss, jax.tree.map(lambda w, g: w - rate * g, weights, push)

    return stepping(jax.jit(step_of, donate_argnums=0), [weights], batch)


def adam(loss_of: Any, weights: Arrays, rate: float, batch: Callable[[], Any]) -> Step:
    zeros = partial(jax.tree.map, jnp.zeros_like)

    def step_of(state: Any, *fed: Any) -> Any:
        weights, mean, square, time = state
        loss, push = jax.value_and_grad(loss_of)(weights, *fed)
        time = time + 1
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, push)
        square = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, square, push)
        factor = rate * jnp.sqrt(1 - 0.999**time) / (1 - 0.9**time)
        move = lambda w, m, v: w - factor * m / (jnp.sqrt(v) + 1e-8)
        return loss, (jax.tree.map(move, weights, mean, square), mean, square, time)

    state = [(weights, zeros(weights), zeros(weights), jnp.zeros(()))]
    return stepping(jax.jit(step_of, donate_argnums=0), state, batch)


def entropies(logits: Any, labels: Any) -> Any:
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1)


# ---- the path


def null_step(size: Sizes) -> Step:
    add, counter = jax.jit(lambda v: v + 1.0, donate_argnums=0), jnp.zeros(())

    def step() -> float:
        nonlocal counter
        counter = add(counter)
        return float(counter)

    return Step(step)


def null_feed(size: Sizes) -> Step:
    add, fed = jax.jit(lambda x: x + 1.0), np.float32(2.0)
    return Step(lambda: float(add(fed)))


def wide_1000(size: Sizes) -> Step:
    """Summed without the stack: XLA compiles a stack of a thousand for minutes."""
    total, fed = jax.jit(lambda x: sum(x + float(i) for i in range(size.many))), np.float32(1.5)
    return Step(lambda: float(total(fed)))


def chain_1000(size: Sizes) -> Step:
    def chain(x: Any, a: Any, b: Any) -> Any:
        for _ in range(size.many // 2):
            x = x * a + b
        return x

    run, fed = jax.jit(chain), [np.float32(v) for v in (1.5, 0.999, 0.001)]
    return Step(lambda: float(run(*fed)))


# ---- dense networks


def softmax_mnist(size: Sizes) -> Step:
    weights = {"w": jnp.zeros((784, 10)), "b": jnp.zeros(10)}

    def loss(p: Arrays, x: Any, y: Any) -> Any:
        return -jnp.mean(jnp.sum(y * jax.nn.log_softmax(x @ p["w"] + p["b"]), 1))

    batch = values.forever((x, values.one_hot(y)) for x, y in values.digits(100))
    return descent(loss, weights, 0.05, batch)


def mlp(size: Sizes) -> Step:
    weights = {}
    for i, shape in enumerate(dense.LAYERS):
        weights[f"w{i}"] = jnp.asarray(values.for_relu(f"w{i}", shape))
        weights[f"b{i}"] = jnp.zeros(shape[1])

    def loss(p: Arrays, x: Any, y: Any) -> Any:
        h = jax.nn.relu(x @ p["w0"] + p["b0"])
        h = jax.nn.relu(h @ p["w1"] + p["b1"])
        return jnp.mean(entropies(h @ p["w2"] + p["b2"], y))

    return adam(loss, weights, 2e-4, values.forever(values.digits(dense.BATCH)))


def towers(size: Sizes) -> Step:
    weights = {name: jnp.asarray(w) for name, w in dense.tower_weights().items()}

    @jax.jit
    def joined(p: Arrays, x: Any) -> Any:
        tops = [x] * dense.TOWERS
        for t in range(dense.TOWERS):
            for i in range(dense.FLOORS):
                tops[t] = jax.nn.relu(tops[t] @ p[f"tower{t}/w{i}"])
        return jnp.concatenate(tops, 1)

    fed = dense.tower_batch()
    return Step(lambda: float(np.asarray(joined(weights, fed))[0, 0]))


def transformer(size: Sizes) -> Step:
    s = size.transformer
    mask = np.triu(np.full((s.length, s.length), -1e9, np.float32), 1)
    each = s.width // s.heads

    def norm(p: Arrays, name: str, x: Any) -> Any:
        centred = x - jnp.mean(x, -1, keepdims=True)
        variance = jnp.mean(jnp.square(centred), -1, keepdims=True)
        return centred * lax.rsqrt(variance + EPSILON) * p[f"{name}/scale"] + p[f"{name}/offset"]

    def layer(p: Arrays, name: str, x: Any) -> Any:
        return x @ p[f"{name}/w"] + p[f"{name}/b"]

    def attention(p: Arrays, block: str, x: Any) -> Any:
        x = layer(p, f"{block}/qkv", x).reshape(s.batch, s.length, 3, s.heads, each)
        q, k, v = x.transpose(2, 0, 3, 1, 4)
        scores = q @ k.swapaxes(-1, -2) / math.sqrt(each) + mask
        mixed = (jax.nn.softmax(scores) @ v).transpose(0, 2, 1, 3)
        return layer(p, f"{block}/mix", mixed.reshape(s.batch * s.length, s.width))

    def loss(p: Arrays, x: Any, y: Any) -> Any:
        h = (p["tokens"][x] + p["places"]).reshape(s.batch * s.length, s.width)
        for i in range(s.layers):
            block = f"block{i}"
            h = h + attention(p, block, norm(p, f"{block}/norm1", h))
            wide = layer(p, f"{block}/wide", norm(p, f"{block}/norm2", h))
            h = h + layer(p, f"{block}/narrow", jax.nn.gelu(wide, approximate=True))
        return jnp.mean(entropies(norm(p, "norm", h) @ p["tokens"].T, y.reshape(-1)))

    return adam(loss, gpt2_weights(s), RATE, values.forever(values.text(s)))


def gpt2_weights(s: Transformer) -> Arrays:
    matrices = {"tokens": (s.vocabulary, s.width), "places": (s.length, s.width)}
    vectors: dict[str, tuple[int, float]] = {"norm/scale": (s.width, 1), "norm/offset": (s.width, 0)}
    wide = (("qkv", 1, 3), ("mix", 1, 1), ("wide", 1, 4), ("narrow", 4, 1))
    for i in range(s.layers):
        for name, inputs, outputs in wide:
            matrices[f"block{i}/{name}/w"] = inputs * s.width, outputs * s.width
            vectors[f"block{i}/{name}/b"] = outputs * s.width, 0
        for k in (1, 2):
            vectors[f"block{i}/norm{k}/scale"] = s.width, 1
            vectors[f"block{i}/norm{k}/offset"] = s.width, 0
    made = {n: jnp.asarray(values.uniform(n, shape, SCALE)) for n, shape in matrices.items()}
    return made | {name: jnp.full(*vector, jnp.float32) for name, vector in vectors.items()}


# ---- sequences


def lstm(s: Sequences) -> Step:
    shape = (s.vocabulary, s.hidden)
    weights = {
        "embedding": jnp.asarray(values.uniform("embedding", shape, s.scale)),
        "softmax_w": jnp.asarray(values.uniform("softmax_w", shape[::-1], s.scale)),
        "softmax_b": jnp.zeros(s.vocabulary),
    }
    for i in range(LAYERS):
        weights[f"kernel{i}"] = jnp.asarray(kernel_values(i, s))
        weights[f"bias{i}"] = jnp.zeros(4 * s.hidden)

    def loss_of(p: Arrays, before: Any, x: Any, y: Any) -> Any:
        sequence, after = p["embedding"][x].transpose(1, 0, 2), []
        for i in range(LAYERS):

            def cell(state: Any, x: Any, i: int = i) -> Any:
                c, h = state
                gates = jnp.concatenate([x, h], 1) @ p[f"kernel{i}"] + p[f"bias{i}"]
                enter, new, keep, leave = jnp.split(gates, 4, 1)
                c = c * jax.nn.sigmoid(keep) + jax.nn.sigmoid(enter) * jnp.tanh(new)
                h = jnp.tanh(c) * jax.nn.sigmoid(leave)
                return (c, h), h

            last, sequence = lax.scan(cell, before[i], sequence)
            after.append(last)
        outputs = sequence.transpose(1, 0, 2).reshape(-1, s.hidden)
        logits = outputs @ p["softmax_w"] + p["softmax_b"]
        return jnp.sum(entropies(logits, y.reshape(-1))) / s.batch, after

    def step_of(state: Any, x: Any, y: Any) -> Any:
        weights, before = state
        (loss, after), push = jax.value_and_grad(loss_of, has_aux=True)(weights, before, x, y)
        norm = jnp.sqrt(sum(jnp.sum(jnp.square(g)) for g in jax.tree.leaves(push)))
        factor = LONGEST_GRADIENT / jnp.maximum(norm, LONGEST_GRADIENT)
        weights = jax.tree.map(lambda w, g: w - factor * g, weights, push)
        return loss / s.steps, (weights, after)

    first = [tuple(jnp.zeros((s.batch, s.hidden)) for _ in range(2)) for _ in range(LAYERS)]
    jitted = jax.jit(step_of, donate_argnums=0)
    return stepping(jitted, [(weights, first)], values.forever(values.words(s)))


# ---- tables: gradients of the rows that were read, added where they came from


def word2vec(size: Sizes) -> Step:
    s = size.word2vec
    shape = (s.vocabulary, s.width)
    weights = {
        "embedding": jnp.asarray(embedding_values(shape)),
        "w": jnp.asarray(nce_values(shape)),
        "b": jnp.zeros(s.vocabulary),
    }

    def loss_of(embedded: Any, rows: Any, bias: Any, in_labels: Any, in_noise: Any) -> Any:
        true = jnp.sum(embedded * rows[: s.batch], 1) + bias[: s.batch] - in_labels
        noise = embedded @ rows[s.batch :].T + bias[s.batch :] - in_noise
        return (jnp.sum(jax.nn.softplus(-true)) + jnp.sum(jax.nn.softplus(noise))) / s.batch

    def step_of(p: Arrays, inputs: Any, labels: Any, negatives: Any, *expected: Any) -> Any:
        ids = jnp.concatenate([labels, negatives])
        read = p["embedding"][inputs], p["w"][ids], p["b"][ids]
        loss, push = jax.value_and_grad(loss_of, (0, 1, 2))(*read, *expected)
        where = {"embedding": inputs, "w": ids, "b": ids}
        moved = {
            name: p[name].at[rows].add(-WORD2VEC_RATE * g) for (name, rows), g in zip(where.items(), push)
        }
        return loss, moved

    batch = values.forever(values.skip_grams(s))
    return stepping(jax.jit(step_of, donate_argnums=0), [weights], batch)


def embedding_sparse(size: Sizes) -> Step:
    table = jnp.asarray(values.uniform("table", (size.table_rows, size.table_width), 0.1))

    def step_of(table: Any, ids: Any) -> Any:
        loss_of = lambda rows: jnp.sum(jnp.square(jnp.sum(rows, 0) - 1.0))
        loss, push = jax.value_and_grad(loss_of)(table[ids])
        return loss, table.at[ids].add(-TABLE_RATE * push)

    batch = values.forever((ids,) for ids in values.table_ids(size))
    return stepping(jax.jit(step_of, donate_argnums=0), [table], batch)


# ---- kernels and the loop


def kernel(data: Any, compute: Callable[[Any], Any]) -> Step:
    x, run = jnp.asarray(data), jax.jit(compute)

    def step() -> None:
        run(x).block_until_ready()

    return Step(step, lambda: values.thinned(run(x)), jax.clear_caches)


def elementwise(size: Sizes) -> Step:
    def chain(x: Any) -> Any:
        for _ in range(5):
            x = jnp.exp(jnp.tanh(x * 1.1 + 0.1))
        return x

    return kernel(values.uniform("chain", (size.chain,), 1.0), chain)


def softmax_4096(size: Sizes) -> Step:
    return kernel(values.grid(size, size.grid_columns * 1000 // 1024), jax.nn.softmax)


def layernorm_4096(size: Sizes) -> Step:
    def norm(x: Any) -> Any:
        centred = x - jnp.mean(x, 1, keepdims=True)
        variance = jnp.mean(jnp.square(centred), 1, keepdims=True)
        return centred * lax.rsqrt(variance + 1e-5) * 1.5 + 0.5

    return kernel(values.grid(size), norm)


def reduce_rows(size: Sizes) -> Step:
    return kernel(values.grid(size), lambda x: x.sum(1))


def reduce_cols(size: Sizes) -> Step:
    return kernel(values.grid(size), lambda x: x.sum(0))


def matmul_1024(size: Sizes) -> Step:
    return kernel(values.uniform("square", (size.square,) * 2, 2.0), lambda x: x @ x)


def while_loop(size: Sizes) -> Step:
    shrink = 0.9999 * jnp.eye(8)

    @jax.jit
    def run(x: Any) -> Any:
        turn = lambda state: (state[0] + 1, state[1] @ shrink)
        return jnp.sum(lax.while_loop(lambda state: state[0] < size.turns, turn, (0, x))[1])

    fed = np.ones((8, 8), np.float32)
    return Step(lambda: float(run(fed)))


def builders(form: str) -> dict[str, Callable[[Sizes], Step]]:
    here = globals()
    others = {name: here[name] for name in WORKLOADS if name in here}
    for name in ("lstm_small", "lstm_medium"):
        others[name] = lambda size, name=name: lstm(getattr(size, name))
    return others | {
        name: partial(jax_images.train if name in NETWORKS else jax_images.infer, name=name)
        for name, effort in WORKLOADS.items()
        if effort.kind == "images"
    }
