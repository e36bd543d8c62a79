"""A network in MiniTorch's form learns exclusive or: modules, parameters, derivatives, descent."""

import random

import minitorch

random.seed(4)
backend = minitorch.TensorBackend(minitorch.FastOps)


def RParam(*shape):
    return minitorch.Parameter(2 * (minitorch.rand(shape, backend=backend) - 0.5))


class Linear(minitorch.Module):
    def __init__(self, in_size, out_size):
        super().__init__()
        self.weights = RParam(in_size, out_size)
        self.bias = RParam(out_size)

    def forward(self, x):
        return x @ self.weights.value + self.bias.value


class Network(minitorch.Module):
    def __init__(self, hidden_layers):
        super().__init__()
        self.layer1 = Linear(2, hidden_layers)
        self.layer2 = Linear(hidden_layers, hidden_layers)
        self.layer3 = Linear(hidden_layers, 1)

    def forward(self, x):
        h = self.layer1(x).relu()
        h = self.layer2(h).relu()
        return self.layer3(h).sigmoid()


data = minitorch.datasets["Xor"](50)
X = minitorch.tensor(data.X, backend=backend)
y = minitorch.tensor(data.y, backend=backend)
model = Network(10)
optim = minitorch.SGD(model.parameters(), 0.5)
for epoch in range(500):
    optim.zero_grad()
    out = model(X).view(data.N)
    prob = (out * y) + (out - 1.0) * (y - 1.0)
    loss = -prob.log()
    (loss / data.N).sum().view(1).backward()
    optim.step()

correct = int(((out > 0.5) == y).sum().item())
print("loss", loss.mean().item(), "correct", correct, "of", data.N)
assert correct >= 46
