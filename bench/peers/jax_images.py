"""The convolutional networks in JAX: layers for networks.py, a jitted training step, inference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from bench.workloads import values
from bench.workloads.networks import NETWORKS, RATE, RATES, network_of
from bench.workloads.program import Step
from bench.workloads.sizes import Images, Sizes

Arrays = dict[str, Any]


class Layers:
    """A pass over given weights and averages; those that are missing are made, with their first values."""

    def __init__(self, size: Images, training: bool, weights: Arrays, averages: Arrays) -> None:
        self.size, self.training = size, training
        self.weights, self.averages = weights, averages
        self.moved: Arrays = {}  # averages after this step
        self.counts: dict[str, int] = {}

    def conv(self, x: Any, channels: int, kernel: int, stride: int = 1, pad: int = 0) -> Any:
        name = self.name("conv")
        y = self.convolve(name, x, channels, kernel, stride, pad)
        return self.relu(y + self.filled(f"{name}/b", y.shape[3], 0))

    def conv_norm(
        self, x: Any, channels: int, kernel: int, stride: int = 1, pad: int = 0, relu: bool = True
    ) -> Any:
        name = self.name("conv")
        y = self.normalize(name, self.convolve(name, x, channels, kernel, stride, pad))
        return self.relu(y) if relu else y

    def convolve(self, name: str, x: Any, channels: int, kernel: int, stride: int, pad: int) -> Any:
        shape = (kernel, kernel, x.shape[3], self.size.channels(channels))
        w = self.parameter(f"{name}/w", lambda: values.for_relu(name, shape))
        names = ("NHWC", "HWIO", "NHWC")
        return lax.conv_general_dilated(x, w, (stride, stride), [(pad, pad)] * 2, dimension_numbers=names)

    def normalize(self, name: str, x: Any) -> Any:
        channels, count = x.shape[3], x.shape[0] * x.shape[1] * x.shape[2]
        scale, offset = (
            self.filled(f"{name}/scale", channels, 1),
            self.filled(f"{name}/offset", channels, 0),
        )
        mean, variance = (
            self.average_of(f"{name}/mean", channels, 0),
            self.average_of(f"{name}/variance", channels, 1),
        )
        if self.training:
            old_mean, old_variance = mean, variance
            mean = jnp.mean(x, (0, 1, 2))
            variance = jnp.mean(jnp.square(x), (0, 1, 2)) - jnp.square(mean)
            unbiased = variance * (count / max(count - 1, 1))
            self.moved[f"{name}/mean"] = old_mean + 0.1 * (mean - old_mean)
            self.moved[f"{name}/variance"] = old_variance + 0.1 * (unbiased - old_variance)
        factor = scale * lax.rsqrt(variance + 1e-5)
        return x * factor + (offset - mean * factor)

    def relu(self, x: Any) -> Any:
        return jax.nn.relu(x)

    def pool(self, x: Any, kernel: int, stride: int, same: bool = False) -> Any:
        window, strides = (1, kernel, kernel, 1), (1, stride, stride, 1)
        return lax.reduce_window(x, -jnp.inf, lax.max, window, strides, "SAME" if same else "VALID")

    def join(self, xs: list[Any]) -> Any:
        return jnp.concatenate(xs, 3)

    def average(self, x: Any) -> Any:
        return jnp.mean(x, (1, 2))

    def flatten(self, x: Any) -> Any:
        return x.reshape(x.shape[0], -1)

    def dense(self, x: Any, width: int, relu: bool = False) -> Any:
        name, shape = self.name("dense"), (x.shape[1], self.size.channels(width))
        w = self.parameter(f"{name}/w", lambda: values.for_relu(name, shape))
        y = x @ w + self.filled(f"{name}/b", shape[1], 0)
        return self.relu(y) if relu else y

    def filled(self, name: str, size: int, number: float) -> Any:
        return self.parameter(name, lambda: np.full(size, number, np.float32))

    def average_of(self, name: str, size: int, number: float) -> Any:
        if name not in self.averages:
            self.averages[name] = np.full(size, number, np.float32)
        return self.averages[name]

    def parameter(self, name: str, make: Callable[[], Any]) -> Any:
        if name not in self.weights:
            self.weights[name] = make()
        return self.weights[name]

    def name(self, kind: str) -> str:
        self.counts[kind] = self.counts.get(kind, 0) + 1
        return f"{kind}{self.counts[kind]}"


def first_values(network: Any, images: Images, x: Any) -> tuple[Arrays, Arrays]:
    """Weights and averages, found by an abstract pass."""
    net = Layers(images, False, {}, {})
    jax.eval_shape(lambda x: network(net, x), x)
    return jax.tree.map(jnp.asarray, net.weights), jax.tree.map(jnp.asarray, net.averages)


def train(size: Sizes, name: str) -> Step:
    images, network, rate = size.images[name], NETWORKS[name], RATES.get(name, RATE)
    x, labels = map(jnp.asarray, values.pictures(images))
    weights, averages = first_values(network, images, x)
    speed = jax.tree.map(jnp.zeros_like, weights) if name == "resnet50" else None

    def step_of(weights: Arrays, averages: Arrays, speed: Any, x: Any, labels: Any) -> Any:
        def loss_of(weights: Arrays) -> Any:
            net = Layers(images, True, weights, averages)
            logits = jax.nn.log_softmax(network(net, x))
            return -jnp.mean(jnp.take_along_axis(logits, labels[:, None], 1)), net.moved

        (loss, moved), push = jax.value_and_grad(loss_of, has_aux=True)(weights)
        if speed is not None:
            push = speed = jax.tree.map(lambda v, g: 0.9 * v + g, speed, push)
        weights = jax.tree.map(lambda w, g: w - rate * g, weights, push)
        return loss, (weights, moved, speed)

    jitted = jax.jit(step_of, donate_argnums=(0, 1, 2))
    state = (weights, averages, speed)
    del weights, averages, speed  # or the first arrays would live on

    def step() -> float:
        nonlocal state
        loss, state = jitted(*state, x, labels)
        jax.block_until_ready(state)
        return float(loss)

    return Step(step, close=jax.clear_caches)


def infer(size: Sizes, name: str) -> Step:
    images, network = size.images[name], NETWORKS[network_of(name)]
    pictures, _ = values.pictures(images)
    weights, averages = first_values(network, images, pictures)
    logits = jax.jit(lambda w, a, x: network(Layers(images, False, w, a), x))
    return Step(lambda: float(np.asarray(logits(weights, averages, pictures))[0, 0]), close=jax.clear_caches)
