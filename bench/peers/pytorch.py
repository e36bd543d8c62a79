"""The workloads in PyTorch, as its users write them: fused optimizers, attention and LSTM in one call.

Three forms: eager, channels-last (where pictures are) and torch.compile."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from bench.peers import pytorch_images
from bench.workloads import dense, values
from bench.workloads.networks import NETWORKS
from bench.workloads.program import Step
from bench.workloads.recurrent import LAYERS, LONGEST_GRADIENT, kernel_values
from bench.workloads.sizes import WORKLOADS, Sequences, Sizes, Transformer
from bench.workloads.sparse import TABLE_RATE, WORD2VEC_RATE, embedding_values, nce_values
from bench.workloads.transformer import EPSILON, RATE, SCALE

version = torch.__version__


class Peer:
    def __init__(self, compiled: Callable[[Any], Any]) -> None:
        self.compiled = compiled

    # ---- the path

    def null_step(self, size: Sizes) -> Step:
        counter = torch.zeros(())
        count = self.compiled(lambda: counter.add_(1.0))
        return Step(lambda: count().item())

    def null_feed(self, size: Sizes) -> Step:
        add = self.compiled(lambda x: x + 1.0)
        return Step(lambda: add(torch.tensor(2.0)).item())

    def wide_1000(self, size: Sizes) -> Step:
        x = torch.tensor(1.5)
        total = self.compiled(lambda x: torch.stack([x + float(i) for i in range(size.many)]).sum())
        return Step(lambda: total(x).item())

    def chain_1000(self, size: Sizes) -> Step:
        def chain(x: Any, a: Any, b: Any) -> Any:
            for _ in range(size.many // 2):
                x = x * a + b
            return x

        run, fed = self.compiled(chain), [torch.tensor(v) for v in (1.5, 0.999, 0.001)]
        return Step(lambda: run(*fed).item())

    # ---- classifiers of digits

    def softmax_mnist(self, size: Sizes) -> Step:
        w, b = (torch.nn.Parameter(torch.zeros(*s)) for s in ((784, 10), (10,)))
        loss = self.compiled(lambda x, y: F.cross_entropy(torch.addmm(b, x, w), y))
        batch = values.forever((x, values.one_hot(y)) for x, y in values.digits(100))
        return self.training(loss, torch.optim.SGD([w, b], 0.05, fused=True), batch)

    def mlp(self, size: Sizes) -> Step:
        ws = [parameter(values.for_relu(f"w{i}", s).T) for i, s in enumerate(dense.LAYERS)]
        bs = [torch.nn.Parameter(torch.zeros(outputs)) for _, outputs in dense.LAYERS]

        def loss(x: Any, y: Any) -> Any:
            for w, b in zip(ws[:-1], bs[:-1]):
                x = F.relu(F.linear(x, w, b))
            return F.cross_entropy(F.linear(x, ws[-1], bs[-1]), y)

        optimizer = torch.optim.Adam([*ws, *bs], 2e-4, fused=True)
        batch = values.forever(values.digits(dense.BATCH))
        return self.training(self.compiled(loss), optimizer, batch)

    def towers(self, size: Sizes) -> Step:
        ws = {name: torch.from_numpy(w) for name, w in dense.tower_weights().items()}
        fed = dense.tower_batch()

        def joined(x: Any) -> Any:
            tops = [x] * dense.TOWERS
            for name, w in ws.items():
                t = int(name[len("tower")])
                tops[t] = F.relu(tops[t] @ w)
            return torch.cat(tops, 1)

        run = self.compiled(joined)

        def step() -> float:
            with torch.inference_mode():
                return float(run(torch.from_numpy(fed)).numpy()[0, 0])

        return Step(step)

    def transformer(self, size: Sizes) -> Step:
        s = size.transformer
        model = Gpt2(s)
        loss = self.compiled(
            lambda x, y: F.cross_entropy(model(x).view(s.batch * s.length, -1), y.reshape(-1))
        )
        optimizer = torch.optim.Adam(model.weights.values(), RATE, fused=True)
        return self.training(loss, optimizer, values.forever(values.text(s)))

    def training(self, loss_of: Any, optimizer: Any, batch: Callable[[], Any]) -> Step:
        def step() -> float:
            optimizer.zero_grad(set_to_none=True)
            loss = loss_of(*map(tensor, batch()))
            loss.backward()
            optimizer.step()
            return loss.item()

        return Step(step)

    # ---- sequences

    def lstm(self, s: Sequences) -> Step:
        embedding = parameter(values.uniform("embedding", (s.vocabulary, s.hidden), s.scale))
        w = parameter(values.uniform("softmax_w", (s.hidden, s.vocabulary), s.scale).T)
        b = torch.nn.Parameter(torch.zeros(s.vocabulary))
        rnn = lstm_layers(s)
        weights = [embedding, w, b, *(p for p in rnn.parameters() if p.requires_grad)]
        optimizer = torch.optim.SGD(weights, 1.0, fused=True)

        def forward(x: Any, y: Any, h: Any, c: Any) -> tuple[Any, Any, Any]:
            out, (h, c) = rnn(F.embedding(x, embedding).transpose(0, 1), (h, c))
            logits = F.linear(out.transpose(0, 1).reshape(-1, s.hidden), w, b)
            return F.cross_entropy(logits, y.reshape(-1), reduction="sum") / s.batch, h, c

        forward = self.compiled(forward)
        batch = values.forever(values.words(s))
        state = [torch.zeros(LAYERS, s.batch, s.hidden) for _ in range(2)]

        def step() -> float:
            optimizer.zero_grad(set_to_none=True)
            loss, h, c = forward(*map(tensor, batch()), *state)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(weights, LONGEST_GRADIENT)
            optimizer.step()
            state[:] = h.detach(), c.detach()
            return loss.item() / s.steps

        return Step(step)

    # ---- tables

    def word2vec(self, size: Sizes) -> Step:
        s = size.word2vec
        shape = (s.vocabulary, s.width)
        embedding, w = parameter(embedding_values(shape)), parameter(nce_values(shape))
        b = torch.nn.Parameter(torch.zeros(s.vocabulary, 1))

        def loss(inputs: Any, labels: Any, negatives: Any, in_labels: Any, in_noise: Any) -> Any:
            embedded = F.embedding(inputs, embedding, sparse=True)
            ids = torch.cat([labels, negatives])
            rows, bias = F.embedding(ids, w, sparse=True), F.embedding(ids, b, sparse=True)[:, 0]
            true = (embedded * rows[: s.batch]).sum(1) + bias[: s.batch] - in_labels
            noise = embedded @ rows[s.batch :].t() + bias[s.batch :] - in_noise
            return (F.softplus(-true).sum() + F.softplus(noise).sum()) / s.batch

        optimizer = torch.optim.SGD([embedding, w, b], WORD2VEC_RATE)
        return self.training(loss, optimizer, values.forever(values.skip_grams(s)))

    def embedding_sparse(self, size: Sizes) -> Step:
        table = parameter(values.uniform("table", (size.table_rows, size.table_width), 0.1))
        loss = lambda ids: (F.embedding(ids, table, sparse=True).sum(0) - 1.0).square().sum()
        batch = values.forever((ids,) for ids in values.table_ids(size))
        return self.training(loss, torch.optim.SGD([table], TABLE_RATE), batch)

    # ---- kernels and the loop

    def kernel(self, data: Any, compute: Callable[[Any], Any]) -> Step:
        x, run = torch.from_numpy(data), self.compiled(compute)

        def step() -> None:
            with torch.no_grad():
                run(x)

        return Step(step, lambda: values.thinned(run(x).numpy()))

    def elementwise(self, size: Sizes) -> Step:
        def chain(x: Any) -> Any:
            for _ in range(5):
                x = torch.exp(torch.tanh(x * 1.1 + 0.1))
            return x

        return self.kernel(values.uniform("chain", (size.chain,), 1.0), chain)

    def softmax_4096(self, size: Sizes) -> Step:
        columns = size.grid_columns * 1000 // 1024
        return self.kernel(values.grid(size, columns), lambda x: torch.softmax(x, 1))

    def layernorm_4096(self, size: Sizes) -> Step:
        width = (size.grid_columns,)
        scale, offset = torch.full(width, 1.5), torch.full(width, 0.5)
        norm = lambda x: F.layer_norm(x, width, scale, offset, 1e-5)
        return self.kernel(values.grid(size), norm)

    def reduce_rows(self, size: Sizes) -> Step:
        return self.kernel(values.grid(size), lambda x: x.sum(1))

    def reduce_cols(self, size: Sizes) -> Step:
        return self.kernel(values.grid(size), lambda x: x.sum(0))

    def matmul_1024(self, size: Sizes) -> Step:
        return self.kernel(values.uniform("square", (size.square,) * 2, 2.0), lambda x: x @ x)

    def while_loop(self, size: Sizes) -> Step:
        shrink, first = 0.9999 * torch.eye(8), torch.ones(8, 8)

        def step() -> float:
            i, v = 0, first
            while i < size.turns:
                i, v = i + 1, v @ shrink
            return v.sum().item()

        return Step(step)


class Gpt2:
    def __init__(self, size: Transformer) -> None:
        self.size, self.weights = size, {}
        s = size
        self.matrix("tokens", s.vocabulary, s.width, turned=False)
        self.matrix("places", s.length, s.width, turned=False)
        wide = (("qkv", 1, 3), ("mix", 1, 1), ("wide", 1, 4), ("narrow", 4, 1))
        for i in range(s.layers):
            for name, inputs, outputs in wide:
                self.matrix(f"block{i}/{name}/w", inputs * s.width, outputs * s.width)
                self.weights[f"block{i}/{name}/b"] = filled(outputs * s.width, 0)
        for name in ["norm", *(f"block{i}/norm{k}" for i in range(s.layers) for k in (1, 2))]:
            self.weights[f"{name}/scale"] = filled(s.width, 1)
            self.weights[f"{name}/offset"] = filled(s.width, 0)

    def matrix(self, name: str, rows: int, columns: int, turned: bool = True) -> None:
        w = values.uniform(name, (rows, columns), SCALE)
        self.weights[name] = parameter(w.T if turned else w)

    def __call__(self, tokens: Any) -> Any:
        h = F.embedding(tokens, self.weights["tokens"]) + self.weights["places"]
        for i in range(self.size.layers):
            h = h + self.attention(f"block{i}", self.norm(f"block{i}/norm1", h))
            x = self.dense(f"block{i}/wide", self.norm(f"block{i}/norm2", h))
            h = h + self.dense(f"block{i}/narrow", F.gelu(x, approximate="tanh"))
        return F.linear(self.norm("norm", h), self.weights["tokens"])

    def attention(self, block: str, x: Any) -> Any:
        s = self.size
        x = self.dense(f"{block}/qkv", x).view(s.batch, s.length, 3, s.heads, s.width // s.heads)
        mixed = F.scaled_dot_product_attention(*x.permute(2, 0, 3, 1, 4), is_causal=True)
        mixed = mixed.transpose(1, 2).reshape(s.batch, s.length, s.width)
        return self.dense(f"{block}/mix", mixed)

    def dense(self, name: str, x: Any) -> Any:
        return F.linear(x, self.weights[f"{name}/w"], self.weights[f"{name}/b"])

    def norm(self, name: str, x: Any) -> Any:
        scale, offset = self.weights[f"{name}/scale"], self.weights[f"{name}/offset"]
        return F.layer_norm(x, (self.size.width,), scale, offset, EPSILON)


def lstm_layers(s: Sequences) -> torch.nn.LSTM:
    """nn.LSTM with the kernels of TF1's cells: gates in another order, one bias instead of two."""
    rnn = torch.nn.LSTM(s.hidden, s.hidden, LAYERS)
    with torch.no_grad():
        for layer in range(LAYERS):
            new_last = kernel_values(layer, s).reshape(2 * s.hidden, 4, s.hidden)[:, [0, 2, 1, 3]]
            kernel = torch.from_numpy(new_last.reshape(2 * s.hidden, 4 * s.hidden))
            getattr(rnn, f"weight_ih_l{layer}").copy_(kernel[: s.hidden].t())
            getattr(rnn, f"weight_hh_l{layer}").copy_(kernel[s.hidden :].t())
            getattr(rnn, f"bias_ih_l{layer}").zero_()
            getattr(rnn, f"bias_hh_l{layer}").zero_().requires_grad_(False)
    return rnn


def parameter(array: Any) -> torch.nn.Parameter:
    return torch.nn.Parameter(torch.from_numpy(np.ascontiguousarray(array)))


def filled(size: int, number: float) -> torch.nn.Parameter:
    return torch.nn.Parameter(torch.full((size,), float(number)))


def tensor(array: Any) -> torch.Tensor:
    """A fed array; classes and ids are 64 bits wide in PyTorch's losses."""
    fed = torch.from_numpy(array)
    return fed.long() if fed.dtype == torch.int32 else fed


NOT_COMPILED = ("word2vec", "embedding_sparse", "while_loop")  # sparse gradients; a Python loop


def builders(form: str) -> dict[str, Callable[[Sizes], Step]]:
    """The workloads of a form: `torch`, `torch_cl` (pictures only) or `torch_compile`."""
    compiled = torch.compile if form == "torch_compile" else lambda function: function
    order = torch.contiguous_format if form == "torch" else torch.channels_last
    peer = Peer(compiled)
    pictures = {
        name: partial(
            pytorch_images.train if name in NETWORKS else pytorch_images.infer,
            name=name,
            order=order,
            compiled=compiled,
        )
        for name, effort in WORKLOADS.items()
        if effort.kind == "images"
    }
    if form == "torch_cl":
        return pictures
    others = {name: getattr(peer, name) for name in WORKLOADS if hasattr(peer, name)}
    for name in ("lstm_small", "lstm_medium"):
        others[name] = lambda size, name=name: peer.lstm(getattr(size, name))
    if form == "torch_compile":
        others = {name: build for name, build in others.items() if name not in NOT_COMPILED}
    return others | pictures
