"""The convolutional networks in PyTorch: layers for networks.py, a training step, inference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from bench.workloads import values
from bench.workloads.networks import NETWORKS, RATE, RATES, network_of
from bench.workloads.program import Step
from bench.workloads.sizes import Images, Sizes

Compile = Callable[[Any], Any]


class Layers:
    """Parameters are made in the first pass, under the names that workloads/images.py gives them."""

    def __init__(self, size: Images, training: bool, order: torch.memory_format) -> None:
        self.size, self.training, self.order = size, training, order
        self.weights: dict[str, torch.nn.Parameter] = {}
        self.averages: dict[str, torch.Tensor] = {}
        self.counts: dict[str, int] = {}
        self.flat: tuple[int, ...] | None = None

    def __call__(self, network: Callable[[Any, Any], Any], x: torch.Tensor) -> torch.Tensor:
        self.counts = {}
        return network(self, x)

    def conv(self, x: Any, channels: int, kernel: int, stride: int = 1, pad: int = 0) -> Any:
        name = self.name("conv")
        w = self.kernel(name, x, channels, kernel)
        bias = self.filled(f"{name}/b", w.shape[0], 0)
        return self.relu(F.conv2d(x, w, bias, stride, pad))

    def conv_norm(
        self, x: Any, channels: int, kernel: int, stride: int = 1, pad: int = 0, relu: bool = True
    ) -> Any:
        name = self.name("conv")
        w = self.kernel(name, x, channels, kernel)
        scale = self.filled(f"{name}/scale", w.shape[0], 1)
        offset = self.filled(f"{name}/offset", w.shape[0], 0)
        mean = self.averages.setdefault(f"{name}/mean", torch.zeros(w.shape[0]))
        variance = self.averages.setdefault(f"{name}/variance", torch.ones(w.shape[0]))
        y = F.conv2d(x, w, None, stride, pad)
        y = F.batch_norm(y, mean, variance, scale, offset, self.training, 0.1, 1e-5)
        return self.relu(y) if relu else y

    def kernel(self, name: str, x: Any, channels: int, side: int) -> Any:
        shape = (side, side, x.shape[1], self.size.channels(channels))

        def make() -> torch.Tensor:
            w = values.for_relu(name, shape).transpose(3, 2, 0, 1)
            return torch.from_numpy(np.ascontiguousarray(w)).contiguous(memory_format=self.order)

        return self.parameter(f"{name}/w", make)

    def relu(self, x: Any) -> Any:
        return F.relu(x, inplace=True)

    def pool(self, x: Any, kernel: int, stride: int, same: bool = False) -> Any:
        if same and stride == 1:
            return F.max_pool2d(x, kernel, stride, padding=kernel // 2)
        return F.max_pool2d(x, kernel, stride, ceil_mode=same)

    def join(self, xs: list[Any]) -> Any:
        return torch.cat(xs, 1)

    def average(self, x: Any) -> Any:
        return x.mean((2, 3))

    def flatten(self, x: Any) -> Any:
        self.flat = x.shape[1:]
        return x.flatten(1)

    def dense(self, x: Any, width: int, relu: bool = False) -> Any:
        """Rows of the first weights after `flatten` follow PyTorch's order of a picture."""
        name, flat = self.name("dense"), self.flat
        shape, self.flat = (x.shape[1], self.size.channels(width)), None

        def make() -> torch.Tensor:
            w = values.for_relu(name, shape)
            if flat is not None:
                channels, high, wide = flat
                w = w.reshape(high, wide, channels, -1).transpose(2, 0, 1, 3).reshape(shape)
            return torch.from_numpy(np.ascontiguousarray(w.T))

        y = F.linear(x, self.parameter(f"{name}/w", make), self.filled(f"{name}/b", shape[1], 0))
        return self.relu(y) if relu else y

    def filled(self, name: str, size: int, number: float) -> Any:
        return self.parameter(name, lambda: torch.full((size,), float(number)))

    def parameter(self, name: str, make: Callable[[], torch.Tensor]) -> Any:
        if name not in self.weights:
            self.weights[name] = torch.nn.Parameter(make())
        return self.weights[name]

    def name(self, kind: str) -> str:
        self.counts[kind] = self.counts.get(kind, 0) + 1
        return f"{kind}{self.counts[kind]}"


def as_tensor(pictures: Any, order: torch.memory_format) -> torch.Tensor:
    """Channels first, as PyTorch counts them; `order` is how they lie in memory."""
    x = torch.from_numpy(np.ascontiguousarray(pictures.transpose(0, 3, 1, 2)))
    return x.contiguous(memory_format=order)


def train(size: Sizes, name: str, order: torch.memory_format, compiled: Compile) -> Step:
    images, network = size.images[name], NETWORKS[name]
    pictures, classes = values.pictures(images)
    x, labels = as_tensor(pictures, order), torch.from_numpy(classes).long()
    net = make(network, images, True, x, order)
    momentum = 0.9 if name == "resnet50" else 0.0
    optimizer = torch.optim.SGD(net.weights.values(), RATES.get(name, RATE), momentum=momentum, fused=True)
    loss_of = compiled(lambda x, labels: F.cross_entropy(net(network, x), labels))

    def step() -> float:
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(x, labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    return Step(step)


def infer(size: Sizes, name: str, order: torch.memory_format, compiled: Compile) -> Step:
    images, network = size.images[name], NETWORKS[network_of(name)]
    pictures = np.ascontiguousarray(values.pictures(images)[0].transpose(0, 3, 1, 2))
    x = torch.from_numpy(pictures).contiguous(memory_format=order)
    net = make(network, images, False, x, order)
    logits_of = compiled(lambda x: net(network, x))

    def step() -> float:
        with torch.inference_mode():
            fed = torch.from_numpy(pictures).contiguous(memory_format=order)
            return float(logits_of(fed).numpy()[0, 0])

    return Step(step)


def make(network: Any, images: Images, training: bool, x: Any, order: torch.memory_format) -> Layers:
    """Layers whose parameters exist: one picture went through them, and left no trace in averages."""
    net = Layers(images, False, order)
    with torch.no_grad():
        net(network, x[:1].contiguous(memory_format=order))
    net.training = training
    return net
