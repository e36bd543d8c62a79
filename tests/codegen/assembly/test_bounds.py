"""HEADRACE_VERIFY=bounds: what leaves an array is an error that says who, where and how far."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from headrace.codegen.assembly import bounds
from headrace.codegen.assembly.assemble import assemble
from headrace.codegen.fusion import generalize
from headrace.codegen.ir.kernel_ir import Array
from headrace.codegen.ir.stages import Called
from headrace.codegen.lowering.lower import Emitter
from headrace.codegen.machine.checked_text import checked
from headrace.codegen.onednn import onednn
from headrace.codegen.products import gemm
from headrace.codegen.program import native
from headrace.codegen.program.image import image
from headrace.codegen.program.instruction import Instruction
from headrace.codegen.program.program import Entry
from headrace.core import options
from headrace.ops.declaration.emit import LibraryCall, view
from tests.codegen import test_configurations as configurations

pytestmark = pytest.mark.native


@pytest.fixture(autouse=True)
def watched(monkeypatch):
    monkeypatch.setenv("HEADRACE_VERIFY", "bounds")
    options.bounds.cache_clear()
    options.verify.cache_clear()
    assert options.bounds() and not options.verify()


@pytest.fixture
def careless(monkeypatch):
    """A code generator that believes every index to be inside."""
    monkeypatch.setattr(generalize, "in_bounds", lambda index, shape: [True] * len(shape))


def stage(x, shape, rule):
    """A program of one stage, which reads the array by `rule(source, *index)`."""
    e, source = Emitter(), Array(x.shape, x.dtype, name="x")
    made = e.compute(shape, lambda *at: rule(source, *at))
    made.name = "stage"
    return assemble([source], [made], [], [])


READS = {  # rule, elements, what is said of them
    "before": (lambda x, i: x[i - 1], 1, "reads element -1"),
    "behind": (lambda x, i: x[i + 1], 40, r"reads (element 40|\d+ elements from \d+)"),
    "far": (lambda x, i: x[i + 1000], 40, r"reads (element|\d+ elements from) 1000"),
    "few": (lambda x, i: x[i + 39], 3, "reads element 40"),
    "every other": (lambda x, i: x[2 * i], 21, "reads element 40"),
    "backwards": (lambda x, i: x[38 - i], 40, "reads element -1"),
    "the same": (lambda x, i: x[41], 40, "reads element 41"),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.uint8])
@pytest.mark.parametrize("name", READS)
def test_reads(careless, name, dtype):
    rule, count, text = READS[name]
    x = np.ones(40, dtype)
    program = stage(x, (count,), rule)
    with pytest.raises(tf.errors.InternalError, match=f"stage.*{text} of x:.*, which has 40"):
        program.run([x])


@pytest.mark.parametrize("count", [3, 40, 1000])
def test_what_is_inside_is_fine(count):
    """The last lanes are masked; guarded reads stay guarded."""
    x = np.arange(count, dtype=np.float32)
    program = stage(x, (count + 2,), lambda x, i: x[i - 1] + 1.0)
    for _ in range(2):
        got = program.run([x])[0][0]
        np.testing.assert_array_equal(got[1:-1], x + 1)


@pytest.mark.parametrize("factor", [1, 2])
def test_writes(careless, factor):
    """A scatter to computed places, side by side or far apart."""
    places, x = np.arange(60, 70), np.zeros(64, np.float32)
    e, where, into = Emitter(), Array((10,), np.int64, name="where"), Array((64,), np.float32)
    made = e.scatter("set", into, (10,), lambda i: (where[i] * factor,), lambda i: e.const(1, tf.float32))
    made.name = "scattered"
    program = assemble([where, into], [made], [], [])
    with pytest.raises(tf.errors.InternalError, match="writes element .* of scattered.*has 64"):
        program.run([places, x])


def test_products(monkeypatch):
    """Matrices of a stack beyond its end."""
    monkeypatch.setattr(gemm, "stacks", lambda call: [(6, 64, 64, 64)])
    a, b, c = (
        Array(s, np.float64, name=n)
        for s, n in [((2, 1, 8, 8), "a"), ((2, 3, 8, 8), "b"), ((2, 3, 8, 8), "c")]
    )
    c.source = Called(LibraryCall("matmul", src=view(a), weights=view(b), dst=view(c)), (a, b))
    program = assemble([a, b], [c], [], [])
    arrays = [np.ones(t.shape) for t in (a, b)]
    with pytest.raises(tf.errors.InternalError, match=r"matmul.*node c.* of a:f64.* has 128"):
        program.run(arrays)


def filled(nbytes):
    """A program that fills an array of 40 bytes with zeros."""
    made = Array((10,), np.float32, name="zeros")
    call = LibraryCall("nothing", src=view(Array((0,), np.float32)), dst=view(made))
    made.source = Called(call, ())
    program = assemble([], [made], [], [])
    (entry,) = program.entries
    entry.head = [nbytes]
    program.image = image(program.entries)
    return program, entry


def test_a_library_that_asks_for_too_much():
    program, entry = filled(44)
    found = bounds.fault(entry)
    assert found.message == "fill (node zeros) uses 44 bytes of zeros:f32[10], which has 40"
    program.fault = found
    with pytest.raises(tf.errors.InternalError, match="uses 44 bytes"):
        program.run([])


@pytest.mark.parametrize("nbytes", [41, 64, 900])
def test_a_library_that_writes_too_much(nbytes):
    """Behind a result, where nobody but the fence can notice it."""
    program, _ = filled(nbytes)
    with pytest.raises(tf.errors.InternalError, match=r"node zeros.* writes byte 40 of float32\[10\]"):
        program.run([])


def test_a_library_that_writes_beyond_a_block():
    """The same between two arrays of the arena."""
    e, x = Emitter(), Array((10,), np.float32)
    zeros = Array((10,), np.float32, name="zeros")
    call = LibraryCall("nothing", src=view(Array((0,), np.float32)), dst=view(zeros))
    zeros.source = Called(call, ())
    program = assemble([x], [e.compute((10,), lambda i: x[i] + zeros[i])], [], [])
    program.entries[0].head = [48]
    program.image = image(program.entries)
    with pytest.raises(tf.errors.InternalError, match=r"node zeros.* writes byte 40 of zeros.*has 40"):
        program.run([np.ones(10, np.float32)])


@pytest.mark.skipif(not onednn.is_available(), reason="no oneDNN")
def test_needs_of_products():
    """A library's product: the last row ends where it ends, whatever the steps between rows."""
    head = [0, ord("N"), ord("T"), 3, 4, 5, 7, 6, 4, 1]
    found = dict(bounds.needs(Entry(native.SGEMM, head, [], [])))
    assert found == {0: 4 * (2 * 7 + 5), 1: 4 * (3 * 6 + 5), 2: 4 * (2 * 4 + 4)}


def test_a_session_names_the_node(careless):
    """The planted fault in a graph; variables keep their values."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [2, 6, 6, 3], name="image")
        v = tf.Variable(tf.zeros([2]))
        y = tf.pad(x, [[0, 0], [1, 1], [0, 0], [0, 0]], name="wide")
        step = tf.assign_add(v, tf.reduce_sum(y, [1, 2, 3]))
        sess.run(v.initializer)
        sess.run([y, step], {x: np.ones((2, 6, 6, 3))})  # by the reference
        with pytest.raises(tf.errors.InternalError, match="(?s)node wide.* reads .* of .*which has 216"):
            sess.run([y, step], {x: np.ones((2, 6, 6, 3))})
        np.testing.assert_array_equal(sess.run(v), [108, 108])


def test_training_is_the_same():
    """Variables change in place behind fences; several threads; a loop with a stack."""

    def losses():
        rng = np.random.default_rng(0)
        with tf.Graph().as_default(), tf.Session() as sess:
            x = tf.constant(rng.normal(size=(40, 16)).astype(np.float32))
            w = tf.Variable(rng.normal(size=(16, 16)).astype(np.float32))
            loop = tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, tf.tanh(h @ w)), [0, x])
            loss = tf.reduce_mean(tf.square(loop[1] - x))
            train = tf.train.AdamOptimizer(0.01).minimize(loss)
            sess.run(tf.global_variables_initializer())
            return [sess.run([loss, train])[0] for _ in range(4)]

    found = losses()
    options.bounds.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADRACE_VERIFY", "0")
        assert found == losses()


def test_unknown_addresses_are_not_passed_over():
    text = "define void @k(ptr noalias %buffers, ptr noalias %params) {\nb0:\n"
    with pytest.raises(AssertionError, match="from nowhere"):
        checked(text + "  %x1 = inttoptr i64 7 to ptr\n  %x2 = load float, ptr %x1\n  ret void\n}\n")


def test_instructions_are_those_of_other_programs():
    """Kernels keep the order of their arrays; two are put before them."""
    x = Array((4,), np.float32)
    made = Instruction([x], [], Entry(native.KERNEL, [0, 0, 4, 1, 1, 1], [(x, False)], []), 0)
    watch = bounds.Watch([made])
    (table, _), (report, _), (last, _) = made.entry.places
    assert table.value.tolist() == [0, 16] and report is watch.report and last is x


# -- what is there -------------------------------------------------------------------------------
def run(*words, **settings):
    return configurations.run(*words, HEADRACE_VERIFY="bounds", HEADRACE_COMPILE="always", **settings)


@pytest.mark.process
def test_networks():
    """Of every kind one: products, convolutions and pooling, loops, rows of tables."""
    run("-c", configurations.LOSSES, "mlp", "alexnet", "lstm_small_dyn", "embedding_sparse")


@pytest.mark.process
@pytest.mark.parametrize("without", [pytest.param("", marks=pytest.mark.slow), "onednn"])
def test_windows_and_products(without):
    run(
        "-m",
        "pytest",
        "tests/codegen/test_ops.py",
        "-k",
        "expressions",
        without=without,
        OPS="conv,pool,matrix",
    )


PROGRAMS = (
    "ops random_graphs random_control gemm library winograd pools convolutions channels reduce "
    "dynamic_index complex programs control"
).split()


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("without", ["", "onednn"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, without):
    (path,) = configurations.ROOT.glob(f"tests/codegen/**/test_{name}.py")
    run("-m", "pytest", "-m", "not slow or native", str(path), without=without)


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("without", ["", "onednn"])
def test_every_network(without):
    names = [*configurations.networks(False), *configurations.networks(True)]
    run("-c", configurations.LOSSES, *names, without=without)
