"""Modules with optimizers: networks that learn, of scalars and of tensors."""

from __future__ import annotations

import random

import numpy as np
import pytest

import headrace.minitorch as minitorch
from headrace.minitorch import FastBackend


class Linear(minitorch.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weights = minitorch.Parameter(minitorch.rand((inputs, outputs), FastBackend) * 2.0 - 1.0)
        self.bias = minitorch.Parameter(minitorch.zeros((outputs,), FastBackend))

    def forward(self, x):
        return x @ self.weights.value + self.bias.value


class Network(minitorch.Module):
    def __init__(self, hidden=10):
        super().__init__()
        self.first, self.second = Linear(2, hidden), Linear(hidden, 1)

    def forward(self, x):
        return self.second(self.first(x).relu()).sigmoid()


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_a_network_learns_xor(optimizer):
    random.seed(5)
    points = minitorch.datasets["Xor"](50)
    x, y = (minitorch.tensor(v, backend=FastBackend) for v in (points.X, [[c] for c in points.y]))
    model = Network()
    made = (
        minitorch.SGD(model.parameters(), 0.5)
        if optimizer == "SGD"
        else minitorch.Adam(model.parameters(), 0.05)
    )
    losses = []
    for _ in range(400):
        made.zero_grad()
        out = model(x)
        loss = -((y * out.log()) + (-y + 1.0) * (-out + 1.0).log()).mean()
        loss.backward()
        made.step()
        losses.append(loss.item())
    right = ((out.to_numpy() > 0.5) == y.to_numpy()).mean()
    assert losses[-1] < 0.35 and right > 0.9, (losses[-1], right)


def test_a_scalar_network_follows_its_derivative():
    model = minitorch.Module()
    weight = model.add_parameter("weight", minitorch.Scalar(0.0))
    descent = minitorch.SGD(model.parameters(), 0.1)
    for _ in range(60):
        descent.zero_grad()
        error = weight.value * 2.0 - 6.0
        (error * error).backward()
        descent.step()
    assert weight.value.data == pytest.approx(3.0, abs=1e-3)


def test_modules_are_trees():
    model = Network(3)
    assert [name for name, _ in model.named_parameters()] == [
        "first.weights",
        "first.bias",
        "second.weights",
        "second.bias",
    ]
    model.eval()
    assert not model.first.training
    model.train()
    assert model.second.training
    assert "(first): Linear()" in repr(model)
    with pytest.raises(AttributeError, match="third"):
        _ = model.third


def test_points_have_both_classes():
    random.seed(0)
    for name, make in minitorch.datasets.items():
        points = make(40)
        assert len(points.X) == len(points.y) == 40 and set(points.y) == {0, 1}, name
        assert np.all(np.abs(np.array(points.X) - 0.5) < 1.5)
