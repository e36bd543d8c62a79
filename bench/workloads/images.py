"""Convolutional networks: the layers in TF1's API, a training step on a resident batch, inference."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bench.workloads import values
from bench.workloads.networks import NETWORKS, RATE, RATES, network_of
from bench.workloads.program import Program, Step
from bench.workloads.sizes import Images, Sizes

EPSILON = 1e-5
MOMENTUM = 0.9  # of batch normalisation's averages


class Layers:
    """The words of networks.py.  Parameters are named by counting: conv1, conv2, dense1, ..."""

    def __init__(self, program: Program, size: Images, training: bool) -> None:
        self.tf, self.program, self.size, self.training = program.tf, program, size, training
        self.updates: list[Any] = []  # of batch normalisation's averages
        self.counts: dict[str, int] = {}
        self.products: list[float] = []  # flops of each matrix product or convolution, forward

    def conv(self, x: Any, channels: int, kernel: int, stride: int = 1, pad: int = 0) -> Any:
        name = self.name("conv")
        y = self.convolve(name, x, channels, kernel, stride, pad)
        bias = self.program.filled(f"{name}/b", y.shape[3].value, 0)
        return self.tf.nn.relu(self.tf.nn.bias_add(y, bias))

    def conv_norm(
        self, x: Any, channels: int, kernel: int, stride: int = 1, pad: int = 0, relu: bool = True
    ) -> Any:
        name = self.name("conv")
        y = self.normalize(name, self.convolve(name, x, channels, kernel, stride, pad))
        return self.tf.nn.relu(y) if relu else y

    def convolve(self, name: str, x: Any, channels: int, kernel: int, stride: int, pad: int) -> Any:
        shape = (kernel, kernel, x.shape[3].value, self.size.channels(channels))
        w = self.program.variable(f"{name}/w", shape, lambda: values.for_relu(name, shape))
        around = "VALID"
        if stride == 1 and 2 * pad == kernel - 1:
            around = "SAME"
        elif pad:
            x = self.tf.pad(x, [[0, 0], [pad, pad], [pad, pad], [0, 0]])
        y = self.tf.nn.conv2d(x, w, strides=[1, stride, stride, 1], padding=around)
        self.products.append(2 * math.prod(y.shape.as_list()) * math.prod(shape[:3]))
        return y

    def normalize(self, name: str, x: Any) -> Any:
        channels, filled = x.shape[3].value, self.program.filled
        scale, offset = filled(f"{name}/scale", channels, 1), filled(f"{name}/offset", channels, 0)
        mean = filled(f"{name}/mean", channels, 0, trainable=False)
        variance = filled(f"{name}/variance", channels, 1, trainable=False)
        norm = self.tf.nn.fused_batch_norm
        if not self.training:
            return norm(x, scale, offset, mean, variance, EPSILON, is_training=False)[0]
        y, batch_mean, batch_variance = norm(x, scale, offset, epsilon=EPSILON)
        for average, now in ((mean, batch_mean), (variance, batch_variance)):
            self.updates.append(self.tf.assign_sub(average, (average - now) * (1 - MOMENTUM)))
        return y

    def relu(self, x: Any) -> Any:
        return self.tf.nn.relu(x)

    def pool(self, x: Any, kernel: int, stride: int, same: bool = False) -> Any:
        return self.tf.nn.max_pool(
            x, [1, kernel, kernel, 1], [1, stride, stride, 1], "SAME" if same else "VALID"
        )

    def join(self, xs: list[Any]) -> Any:
        return self.tf.concat(xs, 3)

    def average(self, x: Any) -> Any:
        return self.tf.reduce_mean(x, [1, 2])

    def flatten(self, x: Any) -> Any:
        return self.tf.reshape(x, [x.shape[0].value, math.prod(x.shape.as_list()[1:])])

    def dense(self, x: Any, width: int, relu: bool = False) -> Any:
        name, shape = self.name("dense"), (x.shape[1].value, self.size.channels(width))
        w = self.program.variable(f"{name}/w", shape, lambda: values.for_relu(name, shape))
        y = self.tf.matmul(x, w) + self.program.filled(f"{name}/b", shape[1], 0)
        self.products.append(2 * x.shape[0].value * math.prod(shape))
        return self.tf.nn.relu(y) if relu else y

    def name(self, kind: str) -> str:
        self.counts[kind] = self.counts.get(kind, 0) + 1
        return f"{kind}{self.counts[kind]}"


def train(tf: Any, size: Sizes, name: str) -> Step:
    program, images = Program(tf), size.images[name]
    pictures, classes = values.pictures(images)
    with program.building():
        x = program.resident("pictures", pictures)
        labels = program.resident("classes", classes)
        net = Layers(program, images, training=True)
        logits = NETWORKS[name](net, x)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        loss = tf.reduce_mean(losses)
        update = optimizer(tf, name).minimize(loss)
        step = tf.group(update, *net.updates)
    flops = 3 * sum(net.products) - net.products[0]  # pictures need no gradient
    return program.training(loss, step, flops=flops)


def optimizer(tf: Any, name: str) -> Any:
    rate = RATES.get(name, RATE)
    if name == "resnet50":
        return tf.train.MomentumOptimizer(rate, 0.9)
    return tf.train.GradientDescentOptimizer(rate)


INFERENCE = ("googlenet_infer1", "resnet50_infer1", "resnet50_infer32")


def infer(tf: Any, size: Sizes, name: str) -> Step:
    """A network with its averages, fed from NumPy; all logits are fetched."""
    program, images = Program(tf), size.images[name]
    pictures, _ = values.pictures(images)
    with program.building():
        x = tf.placeholder(tf.float32, pictures.shape)
        net = Layers(program, images, training=False)
        logits = NETWORKS[network_of(name)](net, x)
    run, feeds = program.start().run, {x: pictures}
    return Step(
        lambda: np.float32(run(logits, feeds)[0, 0]), close=program.session.close, flops=sum(net.products)
    )
