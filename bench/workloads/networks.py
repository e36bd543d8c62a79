"""The convolutional networks of the table in the OSDI'16 paper, and ResNet-50.

Each is written once over a framework's layers (`Layers` in images.py here, in peers/ for the others):
conv (with bias and ReLU), conv_norm (batch normalisation instead of the bias), pool (largest of a
window), join (along channels), average (over the picture), flatten, dense."""

from __future__ import annotations

from typing import Any

Layers = Any
Tensor = Any


def alexnet(net: Layers, x: Tensor) -> Tensor:
    """Krizhevsky's one-column form of 2014."""
    x = net.pool(net.conv(x, 64, 11, stride=4, pad=2), 3, 2)
    x = net.pool(net.conv(x, 192, 5, pad=2), 3, 2)
    for channels in (384, 256, 256):
        x = net.conv(x, channels, 3, pad=1)
    return classify(net, net.pool(x, 3, 2), 4096, 4096)


def overfeat(net: Layers, x: Tensor) -> Tensor:
    """The fast model."""
    x = net.pool(net.conv(x, 96, 11, stride=4), 2, 2)
    x = net.pool(net.conv(x, 256, 5), 2, 2)
    for channels in (512, 1024, 1024):
        x = net.conv(x, channels, 3, pad=1)
    return classify(net, net.pool(x, 2, 2), 3072, 4096)


def vgg_a(net: Layers, x: Tensor) -> Tensor:
    """Model A, which the paper calls OxfordNet."""
    for repeats, channels in ((1, 64), (1, 128), (2, 256), (2, 512), (2, 512)):
        for _ in range(repeats):
            x = net.conv(x, channels, 3, pad=1)
        x = net.pool(x, 2, 2)
    return classify(net, x, 4096, 4096)


def classify(net: Layers, x: Tensor, *widths: int) -> Tensor:
    x = net.flatten(x)
    for width in widths:
        x = net.dense(x, width, relu=True)
    return net.dense(x, 1000)


# Channels of an Inception block: 1x1; 1x1 then 3x3; 1x1 then 5x5; pool then 1x1.
INCEPTION = {
    3: ((64, (96, 128), (16, 32), 32), (128, (128, 192), (32, 96), 64)),
    4: (
        (192, (96, 208), (16, 48), 64),
        (160, (112, 224), (24, 64), 64),
        (128, (128, 256), (24, 64), 64),
        (112, (144, 288), (32, 64), 64),
        (256, (160, 320), (32, 128), 128),
    ),
    5: ((256, (160, 320), (32, 128), 128), (384, (192, 384), (48, 128), 128)),
}


def googlenet(net: Layers, x: Tensor) -> Tensor:
    """Inception version 1, without the auxiliary classifiers and local normalisation."""
    x = net.pool(net.conv(x, 64, 7, stride=2, pad=3), 3, 2, same=True)
    x = net.conv(net.conv(x, 64, 1), 192, 3, pad=1)
    for blocks in INCEPTION.values():
        x = net.pool(x, 3, 2, same=True)
        for block in blocks:
            x = inception(net, x, *block)
    return net.dense(net.average(x), 1000)


def inception(
    net: Layers, x: Tensor, one: int, three: tuple[int, int], five: tuple[int, int], pooled: int
) -> Tensor:
    branches = [
        net.conv(x, one, 1),
        net.conv(net.conv(x, three[0], 1), three[1], 3, pad=1),
        net.conv(net.conv(x, five[0], 1), five[1], 5, pad=2),
        net.conv(net.pool(x, 3, 1, same=True), pooled, 1),
    ]
    return net.join(branches)


def resnet50(net: Layers, x: Tensor) -> Tensor:
    """Version 1: the stride is in a block's first convolution."""
    x = net.pool(net.conv_norm(x, 64, 7, stride=2, pad=3), 3, 2, same=True)
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            x = bottleneck(net, x, 64 << stage, stride, shortcut=not block)
    return net.dense(net.average(x), 1000)


def bottleneck(net: Layers, x: Tensor, channels: int, stride: int, shortcut: bool) -> Tensor:
    past = net.conv_norm(x, 4 * channels, 1, stride=stride, relu=False) if shortcut else x
    x = net.conv_norm(x, channels, 1, stride=stride)
    x = net.conv_norm(x, channels, 3, pad=1)
    return net.relu(net.conv_norm(x, 4 * channels, 1, relu=False) + past)


NETWORKS = {f.__name__: f for f in (alexnet, overfeat, vgg_a, googlenet, resnet50)}
RATES = {"resnet50": 1e-4}  # learning rates; the others take 0.002
RATE = 0.002


def network_of(name: str) -> str:
    """The network of a workload: `resnet50` of `resnet50_infer32`."""
    return name.split("_infer")[0]
