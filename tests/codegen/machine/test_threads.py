"""Threads and processes: a forked child works, concurrent runs do not disturb one another."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

from headrace.codegen.assembly.assemble import assemble
from headrace.codegen.ir.kernel_ir import Array
from headrace.codegen.ir.stages import Called
from headrace.codegen.lowering.lower import Emitter
from headrace.codegen.machine import threads
from headrace.codegen.onednn import onednn
from headrace.ops.declaration.emit import LibraryCall, view
from tests.timing import PATIENCE

pytestmark = pytest.mark.native


def large_program():
    """A kernel and, where there is oneDNN, a matrix product, both large enough for a team."""
    e = Emitter()
    x = Array((512, 512), np.float32)
    outputs = [e.compute(x.shape, lambda i, j: e.exp(x[i, j]) * 2)]
    if onednn.is_available():
        out = Array((512, 512), np.float32)
        call = LibraryCall("matmul", src=view(x), weights=view(x), dst=view(out))
        out.source = Called(call, (x,))
        outputs.append(out)
    return assemble([x], outputs, [], [])


def run_and_compare(program, seed=0):
    x = np.random.default_rng(seed).normal(size=(512, 512)).astype(np.float32)
    results, _ = program.run([x])
    np.testing.assert_allclose(results[0], np.exp(x) * 2, rtol=1e-5)
    for product in results[1:]:
        np.testing.assert_allclose(product, x @ x, rtol=1e-3, atol=1e-3)


def wait(child):
    """The exit status of a child that must end."""
    for _ in range(int(PATIENCE * 50)):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "the child hung"


def fork_and_run(program):
    child = os.fork()
    if child == 0:
        try:
            run_and_compare(program, 1)
            run_and_compare(large_program(), 2)
            os._exit(0)
        except BaseException:
            os._exit(1)
    return wait(child)


@pytest.mark.process
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_works():
    program = large_program()
    run_and_compare(program)  # the parent has a team now
    assert fork_and_run(program) == 0
    run_and_compare(program)  # and still works
    assert fork_and_run(program) == 0


@pytest.mark.process
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork_from_another_thread():
    program = large_program()
    run_and_compare(program)
    found = []

    def work():
        run_and_compare(program)
        found.append(fork_and_run(program))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(2 * PATIENCE)
    assert found == [0]


def test_concurrent_runs():
    program = large_program()
    errors = []

    def work(seed):
        try:
            for k in range(5):
                run_and_compare(program, 10 * seed + k)
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=work, args=(s,)) for s in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join(PATIENCE)
    assert not errors


def test_two_threads_give_the_numbers_of_one():
    """The result must not depend on how the work is shared."""
    e = Emitter()
    x = Array((3000, 70), np.float32)
    rows = e.compute((3000,), lambda i: e.reduce("sum", 70, lambda j: x[i, j] * x[i, j]))
    columns = e.compute((70,), lambda j: e.reduce("sum", 3000, lambda i: x[i, j]))
    program = assemble([x], [rows, columns], [], [])
    array = np.random.default_rng(0).normal(size=(3000, 70)).astype(np.float32)
    first, _ = program.run([array])
    for _ in range(3):
        again, _ = program.run([array])
        for a, b in zip(first, again):
            np.testing.assert_array_equal(a, b)


@pytest.mark.process
def test_nothing_heavy_is_loaded_by_import():
    code = """
        import sys
        import headrace.codegen.assembly.assemble
        loaded = open("/proc/self/maps").read() if sys.platform == "linux" else ""
        for name in ("libgomp", "libdnnl", "libllvmlite"):
            assert name not in loaded, name
        assert "llvmlite" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=600)


@pytest.mark.parametrize("given", [None, "77"])
def test_the_spin_count_is_set_before_libgomp_is_loaded(monkeypatch, given):
    """It is read when the library is loaded; what the user set counts."""
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
    if given:
        monkeypatch.setenv("GOMP_SPINCOUNT", given)
    seen = []
    monkeypatch.setattr(
        threads.ctypes,
        "CDLL",
        lambda *a, **k: seen.append(os.environ["GOMP_SPINCOUNT"]) or (_ for _ in ()).throw(OSError),
    )
    assert threads.libgomp.__wrapped__() is None
    assert seen == [given or threads.spin_count()]
    assert os.environ.get("GOMP_SPINCOUNT") == given


def test_thread_count():
    assert 1 <= threads.count() <= (os.cpu_count() or 1)
