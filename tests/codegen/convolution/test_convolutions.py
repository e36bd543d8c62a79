"""Convolutional networks: who does the calls, what they share, and whether a step is right."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from headrace.codegen.ir.kernel_ir import Array
from headrace.codegen.onednn import onednn
from headrace.codegen.onednn.onednn_api import Unsupported
from headrace.ops.declaration.emit import LibraryCall, view
from headrace.runtime.containers import Containers
from tests.codegen.compare import Runner, assert_same, settled

pytestmark = [
    pytest.mark.native,
    pytest.mark.skipif(not onednn.is_available(), reason="oneDNN is not installed"),
]

LAST, FILTER = (0, 3, 1, 2), (3, 2, 0, 1)
# Image side, channels, outputs, filter, stride, padding: from AlexNet, Overfeat, VGG, Inception and
# ResNet.
CONVOLUTIONS = (
    (228, 3, 64, 11, 4, 0), (27, 64, 192, 5, 1, 2), (13, 192, 384, 3, 1, 1), (231, 3, 96, 11, 4, 0),
    (28, 96, 256, 5, 1, 0), (12, 512, 1024, 3, 1, 1), (224, 3, 64, 3, 1, 1), (112, 64, 128, 3, 1, 1),
    (224, 3, 64, 7, 2, 3), (28, 192, 16, 1, 1, 0), (28, 16, 32, 5, 1, 2), (14, 512, 24, 1, 1, 0),
    (14, 24, 64, 5, 1, 2), (14, 528, 256, 1, 1, 0), (7, 832, 48, 1, 1, 0), (7, 48, 128, 5, 1, 2),
    (56, 64, 256, 1, 1, 0), (56, 256, 512, 1, 2, 0), (28, 128, 128, 3, 1, 1), (7, 512, 2048, 1, 1, 0),
)  # fmt: skip
POOLS = ((55, 64, 3, 2), (224, 64, 2, 2), (28, 256, 3, 1), (112, 64, 3, 2), (56, 96, 2, 2))


def image(*shape):
    return Array(shape, "float32")


def convolutions(n, side, channels, outputs, k, stride, pad):
    """The three calls of one layer."""
    out = (side + 2 * pad - k) // stride + 1
    x, y = image(n, side, side, channels), image(n, out, out, outputs)
    w = image(k, k, channels, outputs)
    for kind in ("convolution", "convolution_data", "convolution_weights"):
        yield LibraryCall(
            kind,
            src=view(x, LAST),
            weights=view(w, FILTER),
            dst=view(y, LAST),
            strides=(stride, stride),
            dilations=(1, 1),
            pads=((pad, pad), (pad, pad)),
        )


def pools(n, side, channels, k, stride):
    out = -(-side // stride)
    total = max((out - 1) * stride + k - side, 0)
    x, y = image(n, side, side, channels), image(n, out, out, channels)
    given = {"window": (k, k), "strides": (stride, stride), "pads": ((total // 2, total - total // 2),) * 2}
    for kind in ("avg_pool", "avg_pool_data"):
        yield LibraryCall(kind, src=view(x, LAST), dst=view(y, LAST), **given)


@pytest.mark.parametrize("n", [1, 8])
@pytest.mark.parametrize("layer", [*CONVOLUTIONS, *POOLS], ids=str)
def test_no_layer_falls_on_slow_code(layer, n):
    calls = (convolutions if len(layer) == 6 else pools)(n, *layer)
    for call in calls:
        for execution in onednn.describe(call):  # refuses reference implementations
            name = execution.implementation
            assert "sse41" not in name and not name.startswith("simple"), (call.kind, name)
            is_first = layer[1] == 3 and call.kind == "convolution_data"  # nobody asks for it
            assert is_first or "x64:gemm" not in name, (call.kind, name)


def test_a_reference_implementation_is_refused():
    x, y = image(0, 5, 5, 2), image(0, 5, 5, 3)
    w = image(1, 1, 2, 3)
    call = LibraryCall(
        "convolution",
        src=view(x, LAST),
        weights=view(w, FILTER),
        dst=view(y, LAST),
        strides=(1, 1),
        dilations=(1, 1),
        pads=((0, 0), (0, 0)),
    )
    with pytest.raises(Unsupported, match="ref:any"):
        onednn.describe(call)


# -- steps --------------------------------------------------------------------------------------
def network(x, variables):
    """Padding, strides, branches, normalisation, both kinds of pooling."""

    def variable(*shape):
        rng = np.random.default_rng(len(variables))
        value = rng.normal(size=shape) / np.sqrt(np.prod(shape[:-1]) or 1)
        variables.append(tf.Variable(value.astype("f")))
        return variables[-1]

    def conv(x, channels, k, stride=1, padding="SAME"):
        w = variable(k, k, x.shape[-1].value, channels)
        return tf.nn.conv2d(x, w, [1, stride, stride, 1], padding)

    def biased(x, channels, k, **options):
        return tf.nn.relu(tf.nn.bias_add(conv(x, channels, k, **options), variable(channels)))

    x = tf.pad(x, [[0, 0], [2, 2], [2, 2], [0, 0]])
    x = biased(x, 16, 5, stride=2, padding="VALID")
    x = tf.nn.max_pool(x, [1, 3, 3, 1], [1, 2, 2, 1], "SAME")
    y, _, _ = tf.nn.fused_batch_norm(conv(x, 16, 3), 1 + variable(16), variable(16))
    x = tf.nn.relu(x + y)
    x = tf.concat(
        [
            biased(x, 8, 1),
            biased(biased(x, 8, 1), 24, 3),
            biased(tf.nn.max_pool(x, [1, 3, 3, 1], [1, 1, 1, 1], "SAME"), 8, 1),
            tf.nn.avg_pool(x, [1, 3, 3, 1], [1, 1, 1, 1], "SAME"),
        ],
        3,
    )
    x = tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    flat = tf.reshape(x, [-1, int(np.prod(x.shape.as_list()[1:]))])
    return tf.matmul(flat, variable(flat.shape[-1].value, 10))


def training_step():
    variables: list = []
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [4, 24, 24, 3])
        labels = tf.placeholder(tf.int32, [4])
        logits = network(x, variables)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        gradients = tf.gradients(loss, variables)
        initialize = tf.global_variables_initializer()
    return graph, [x, labels], [loss, *gradients], initialize


def test_gradients_of_a_network():
    graph, feeds, fetches, initialize = training_step()
    resources = Containers()
    Runner(graph, [], [], [initialize]).expected(resources, [])
    rng = np.random.default_rng(1)
    arrays = [rng.normal(size=(4, 24, 24, 3)).astype("f"), rng.integers(0, 10, 4).astype(np.int32)]
    runner = Runner(graph, feeds, fetches, improved=True)
    got, _ = settled(runner, arrays, lambda: resources)
    assert runner.is_whole
    for a, b, t in zip(got, runner.expected(resources, arrays), fetches):
        assert_same(a, b, 2e-4, t.name)
    entries = [e.name for e in programs_of(runner)[0].entries]
    assert entries.count("max_pool") == entries.count("max_pool_data") == 3, "maxima found twice"


def programs_of(runner):
    return [s.program for u in runner.program.units for s in u.machine.programs.values() if s is not None]
