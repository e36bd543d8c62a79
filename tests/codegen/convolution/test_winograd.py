"""Convolutions by Winograd's method: right for every size and layout, also where numbers are not finite."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as tf
from headrace.codegen.assembly.assemble import assemble
from headrace.codegen.convolution import winograd
from headrace.codegen.ir.kernel_ir import Array
from headrace.codegen.ir.stages import Called
from headrace.codegen.machine.target import host
from headrace.codegen.onednn import onednn
from headrace.codegen.onednn.onednn_api import LibraryError
from headrace.codegen.onednn.onednn_calls import Blocked
from headrace.ops.declaration.emit import LibraryCall, View, view
from headrace.runtime.containers import Containers
from tests.codegen.compare import Runner, assert_same, settled

pytestmark = [
    pytest.mark.native,
    pytest.mark.skipif(not onednn.is_available(), reason="oneDNN is not installed"),
]

LAST, FILTER = (0, 3, 1, 2), (3, 2, 0, 1)
WRITTEN = {"convolution": "dst", "convolution_data": "src", "convolution_weights": "weights"}


class Layer:
    """One of the three calls of a layer, on images with blocks of channels or without."""

    def __init__(self, kind, n, side, ins, outs, pads, blocked=(True, True), bias=False):
        (top, bottom), (left, right) = pads
        lanes = host().lanes(32)
        out = (side[0] + top + bottom - 2, side[1] + left + right - 2)

        def image(channels, side, is_blocked):
            if is_blocked:
                held = Array((n, channels // lanes, *side, lanes), "float32")
                return Blocked(held, LAST, block=lanes)
            return View(Array((n, *side, channels), "float32"), LAST)

        self.kind, self.pads = kind, pads
        self.views = {
            "src": image(ins, side, blocked[0]),
            "weights": View(Array((3, 3, ins, outs), "float32"), FILTER),
            "dst": image(outs, out, blocked[1]),
        }
        if bias:
            self.views["bias"] = view(Array((outs,), "float32"))
        self.out = WRITTEN[kind]
        self.given = [k for k in self.views if k != self.out]

    def run(self, arrays, monkeypatch, by_winograd):
        """The result, arrays and it as (rows, columns, channels) images."""
        call = LibraryCall(self.kind, **self.views, strides=(1, 1), dilations=(1, 1), pads=self.pads)
        inputs = [Array(v.operand.shape, "float32") for v in map(self.views.get, self.given)]
        for name, tensor in zip(self.given, inputs):
            old = call.views[name]
            call.views[name] = (
                Blocked(tensor, LAST, block=old.block)
                if isinstance(old, Blocked)
                else View(tensor, old.order)
            )
        result = Array(self.views[self.out].operand.shape, "float32")
        old = call.views[self.out]
        call.views[self.out] = (
            Blocked(result, LAST, block=old.block) if isinstance(old, Blocked) else View(result, old.order)
        )
        result.source = Called(call, tuple(inputs))
        with monkeypatch.context() as patch:
            patch.setattr(winograd, "prefers", lambda call: by_winograd)
            program = assemble(inputs, [result], [], [])
        names = [e.name for e in program.entries]
        assert any(n.startswith("winograd") for n in names) == by_winograd
        bound = [to_memory(self.views[k], arrays[k]) for k in self.given]
        (got,), _ = program.run(bound)
        return from_memory(self.views[self.out], got)

    def draw(self, seed):
        rng = np.random.default_rng(seed)
        shapes = {k: self.views[k].shape for k in self.given}
        return {k: rng.standard_normal(physical(k, s)).astype("f") for k, s in shapes.items()}


def physical(name, shape):
    """Images channels last, filters (rows, columns, in, out)."""
    if len(shape) != 4:
        return shape
    order = (0, 2, 3, 1) if name != "weights" else (2, 3, 1, 0)
    return tuple(shape[i] for i in order)


def to_memory(found, x):
    if not isinstance(found, Blocked):
        return x
    n, h, w, c = x.shape
    return np.ascontiguousarray(x.reshape(n, h, w, c // found.block, found.block).transpose(0, 3, 1, 2, 4))


def from_memory(found, x):
    if not isinstance(found, Blocked):
        return x
    n, blocks, h, w, lanes = x.shape
    return x.transpose(0, 2, 3, 1, 4).reshape(n, h, w, blocks * lanes)


def exact(layer, arrays):
    """The definition, in float64."""
    a = {k: x.astype(np.float64) for k, x in arrays.items()}
    margins = ((0, 0), *layer.pads, (0, 0))
    _, _, height, width = layer.views["src"].shape
    _, _, rows, columns = layer.views["dst"].shape
    taps = [(i, j) for i in range(3) for j in range(3)]
    if layer.kind == "convolution_data":
        (top, bottom), (left, right) = layer.pads
        whole = np.zeros((len(a["dst"]), height + top + bottom, width + left + right, a["weights"].shape[2]))
        for i, j in taps:
            whole[:, i : i + rows, j : j + columns] += a["dst"] @ a["weights"][i, j].T
        return whole[:, top : top + height, left : left + width]
    x = np.pad(a["src"], margins)
    windows = {(i, j): x[:, i : i + rows, j : j + columns] for i, j in taps}
    if layer.kind == "convolution":
        return sum(windows[t] @ a["weights"][t] for t in taps) + a.get("bias", 0.0)
    found = [np.einsum("nhwc,nhwk->ck", windows[t], a["dst"], optimize=True) for t in taps]
    return np.reshape(found, (3, 3, *found[0].shape))


pads = st.integers(0, 2)


@settings(max_examples=60)
@given(
    kind=st.sampled_from(list(WRITTEN)),
    n=st.integers(1, 3),
    side=st.tuples(st.integers(3, 19), st.integers(3, 19)),
    ins=st.sampled_from([16, 32, 48, 80, 144]),
    outs=st.sampled_from([16, 32, 48, 80, 144]),
    pads=st.tuples(st.tuples(pads, pads), st.tuples(pads, pads)),
    blocked=st.tuples(st.booleans(), st.booleans()),
    bias=st.booleans(),
    seed=st.integers(0, 99),
)
def test_any_size_and_layout(kind, n, side, ins, outs, pads, blocked, bias, seed):
    layer = Layer(kind, n, side, ins, outs, pads, blocked, bias and kind == "convolution")
    arrays = layer.draw(seed)
    monkeypatch = pytest.MonkeyPatch()
    try:
        got = layer.run(arrays, monkeypatch, True)
    except LibraryError:
        return  # no code of the library for this: then nobody asks for ours
    want = exact(layer, arrays)
    scale = exact(layer, {k: np.abs(x) for k, x in arrays.items()})
    if kind == "convolution_weights":  # taps of one filter share their positions
        scale = scale.max(axis=(0, 1))
    error = np.abs(got - want) / np.maximum(scale, 1e-30)
    assert error.max() < 3e-6


class Wide:
    """A processor with vectors of 512 bits; another one runs the code in halves."""

    def lanes(self, bits):
        return 512 // bits


@pytest.mark.parametrize("kind", WRITTEN)
@pytest.mark.parametrize("team", [1, 3, 7])
@pytest.mark.parametrize("is_wide", [False, True])
def test_any_number_of_threads_and_wider_vectors(kind, team, is_wide, monkeypatch):
    layer = Layer(kind, 2, (13, 15), 48, 80, ((1, 1), (1, 1)), (False, False))
    arrays = layer.draw(team)
    want = layer.run(arrays, monkeypatch, False)
    monkeypatch.setattr(winograd.threads, "count", lambda: team)
    if is_wide:
        monkeypatch.setattr(winograd, "host", Wide)
    assert_same(layer.run(arrays, monkeypatch, True), want, 1e-5)


def spoiled(layer, value):
    """Arrays with a few places of each set to a value."""
    arrays = layer.draw(0)
    rng = np.random.default_rng(1)
    for x in arrays.values():
        flat = x.reshape(-1)
        flat[rng.integers(0, flat.size, 2)] = value
    return arrays


@pytest.mark.parametrize("kind", WRITTEN)
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 3e38])
def test_what_is_not_finite_is_done_directly(kind, value, monkeypatch):
    layer = Layer(kind, 2, (9, 11), 32, 48, ((1, 1), (1, 1)))
    arrays = spoiled(layer, value)
    got = layer.run(arrays, monkeypatch, True)
    want = layer.run(arrays, monkeypatch, False)
    assert not np.isfinite(want).all()
    np.testing.assert_array_equal(got, want)


def test_large_numbers_overflow_no_earlier(monkeypatch):
    """A sum of two inputs may overflow where the result does not."""
    layer = Layer("convolution", 1, (8, 8), 16, 16, ((1, 1), (1, 1)))
    arrays = {"src": np.full((1, 8, 8, 16), 2e38, "f"), "weights": np.zeros((3, 3, 16, 16), "f")}
    arrays["weights"][1, 1] = np.eye(16)
    assert_same(layer.run(arrays, monkeypatch, True), arrays["src"])


@pytest.mark.parametrize("value", [1e-30, 1e30])
def test_a_result_depends_on_its_window_alone(value, monkeypatch):
    layer = Layer("convolution", 1, (12, 12), 16, 16, ((1, 1), (1, 1)))
    arrays = layer.draw(3)
    before = layer.run(arrays, monkeypatch, True)
    arrays["src"][0, 6, 6] = value
    after = layer.run(arrays, monkeypatch, True)
    after[0, 5:8, 5:8] = before[0, 5:8, 5:8]
    np.testing.assert_array_equal(after, before)


def calls(n, side, ins, outs, stride=1, dilation=1, k=3, kind="convolution"):
    x, w = Array((n, side, side, ins), "float32"), Array((k, k, ins, outs), "float32")
    y = Array((n, side // stride, side // stride, outs), "float32")
    return LibraryCall(
        kind,
        src=view(x, LAST),
        weights=view(w, FILTER),
        dst=view(y, LAST),
        strides=(stride, stride),
        dilations=(dilation, dilation),
        pads=((1, 1), (1, 1)),
    )


def test_who_is_asked():
    assert winograd.prefers(calls(8, 56, 64, 64))
    assert winograd.prefers(calls(8, 14, 256, 256, kind="convolution_weights"))
    assert not winograd.prefers(calls(8, 56, 3, 64)), "channels fill no vector"
    assert not winograd.prefers(calls(8, 56, 8, 8)), "few channels"
    assert not winograd.prefers(calls(1, 4, 512, 512)), "few tiles"
    assert not winograd.prefers(calls(8, 56, 64, 64, stride=2))
    assert not winograd.prefers(calls(8, 56, 64, 64, dilation=2))
    assert not winograd.prefers(calls(8, 56, 64, 64, k=5))


def test_switched_off(monkeypatch):
    monkeypatch.setattr(winograd.options, "without", lambda: frozenset(("winograd",)))
    assert not winograd.prefers(calls(8, 56, 64, 64))


class Network:
    """Two 3x3 layers; in training their weights change, else they are packed."""

    def __init__(self):
        rng = np.random.default_rng(0)
        self.x = tf.placeholder(tf.float32, [2, 14, 14, 32])
        w = [rng.standard_normal((3, 3, 32, 32)).astype("f") * 0.1 for _ in range(2)]
        self.weights = [tf.Variable(v) for v in w]
        self.bias = tf.Variable(rng.standard_normal(32).astype("f"))
        y = tf.nn.conv2d(self.x, self.weights[0], [1, 1, 1, 1], "SAME") + self.bias
        self.y = tf.nn.conv2d(tf.nn.relu(y), self.weights[1], [1, 1, 1, 1], "VALID")
        loss = tf.reduce_mean(self.y**2)
        self.step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)

    def feed(self, spoil=None):
        x = np.random.default_rng(5).standard_normal((2, 14, 14, 32)).astype("f")
        if spoil is not None:
            x[0, 7, 7, 3] = spoil
        return x


@pytest.fixture
def done(monkeypatch):
    """The kinds of calls that were done so."""
    kinds = []
    plain = winograd.instructions
    monkeypatch.setattr(winograd, "instructions", lambda call, *a: kinds.append(call.kind) or plain(call, *a))
    return kinds


@pytest.mark.parametrize("spoil", [None, np.inf, np.nan])
def test_packed_weights(spoil, done):
    with tf.Graph().as_default(), tf.Session() as session:
        net = Network()
        session.run(tf.global_variables_initializer())
        values = session.run([*net.weights, net.bias])
        for _ in range(4):  # the first ones may be interpreted
            fine = session.run(net.y, {net.x: net.feed()})
        got = session.run(net.y, {net.x: net.feed(spoil)})
        again = session.run(net.y, {net.x: net.feed()})
    assert sorted(done) == ["convolution"] * 2 + ["pack"] * 2
    np.testing.assert_array_equal(fine, again)
    a = {"src": net.feed(spoil), "weights": values[0], "bias": values[2]}
    first = Layer("convolution", 2, (14, 14), 32, 32, ((1, 1), (1, 1)))
    second = Layer("convolution", 2, (14, 14), 32, 32, ((0, 0), (0, 0)))
    with np.errstate(invalid="ignore"):
        hidden = np.maximum(exact(first, a), 0)
        want = exact(second, {"src": hidden, "weights": values[1]}).astype("f")
    assert np.isfinite(want).all() == (spoil is None)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    finite = np.isfinite(want)
    assert_same(got[finite], want[finite])


def test_training_equals_the_reference(done):
    with tf.Graph().as_default() as graph:
        net = Network()
        start = tf.global_variables_initializer()
        runner = Runner(graph, [net.x], [net.y], [net.step])

        def made():
            containers = Containers()
            settled_start = Runner(graph, [], [], [start])
            settled_start.expected(containers, [])
            return containers

        got, state = settled(runner, [net.feed()], made)
        assert set(done) == set(WRITTEN)
        want_state = made()
        want = runner.expected(want_state, [net.feed()])
        assert_same(got[0], want[0])
        after = Runner(graph, [], [v.value() for v in (*net.weights, net.bias)])
        for mine, theirs in zip(after.expected(state, []), after.expected(want_state, [])):
            assert_same(mine, theirs)
