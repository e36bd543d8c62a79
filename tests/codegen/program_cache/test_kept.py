"""Programs on disk: found again they are equal, compute the same and say the same; anything wrong with
them costs only time."""

from __future__ import annotations

import ast
import json
import os
import random
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import headrace as tf
from headrace.codegen import compiled
from headrace.codegen.lowering import specialize
from headrace.codegen.machine import cache, disk, threads
from headrace.codegen.machine.disk import PROGRAMS
from headrace.codegen.machine.refusals import Declined
from headrace.codegen.onednn import onednn
from headrace.codegen.onednn.recipes import Unreadable
from headrace.codegen.program import native
from headrace.codegen.program_cache import kept, kept_keys, kept_reader, kept_writer
from headrace.core import options, sources
from headrace.core.errors import InvalidArgumentError
from tests.codegen.machine.test_threads import wait
from tests.codegen.program_cache.kept_models import (
    MODELS,
    Seen,
    assert_equal,
    convolutions,
    mlp,
    recurrent,
    rows,
    values_of,
)

pytestmark = [
    pytest.mark.native,
    pytest.mark.process,
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]


@pytest.fixture(autouse=True)
def keeping(tmp_path, monkeypatch):
    """Everything is kept, in a folder of its own; programs are made when first needed."""
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path))
    monkeypatch.setenv("HEADRACE_COMPILE", "always")
    monkeypatch.setenv("HEADRACE_WITHOUT", "")
    options.without.cache_clear()
    monkeypatch.setattr(kept, "LEAST", 0.0)
    monkeypatch.setattr(kept, "FEW", 2)  # an initializer without variables is one node
    monkeypatch.setattr(sources, "digest", lambda: "sources")
    monkeypatch.setattr(cache, "_addresses", {})
    monkeypatch.setattr(cache, "_soon", type(cache._soon)())


@pytest.fixture
def seen(monkeypatch):
    """Per program: was it found?  And the programs, with their regions."""
    found = Seen()
    plain = compiled.CompiledRegion.compile

    def watched(self, *args):
        before = found.planned
        made = plain(self, *args)
        if len(self.region.nodes) >= kept.FEW:
            found.programs.append((self.region, made, found.planned == before))
        return made

    def planned(self, *args):
        found.planned += 1
        return run(self, *args)

    run = specialize.Specializer.run
    monkeypatch.setattr(compiled.CompiledRegion, "compile", watched)
    monkeypatch.setattr(specialize.Specializer, "run", planned)
    return found


def files():
    return [p for p in PROGRAMS.place.rglob("*") if p.is_file()]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.__name__)
def test_found_again(model, seen):
    want = values_of(model)
    assert seen.planned and not any(seen.were_found)
    made, seen.programs = seen.programs, []
    assert_equal(values_of(model), want)
    assert all(seen.were_found)
    for (region, first, _), (again, second, _) in zip(made, seen.programs, strict=True):
        assert kept_writer.write(first, region) == kept_writer.write(second, again)
        assert [e.name for e in first.program.entries] == [e.name for e in second.program.entries]
        assert first.program.largest == second.program.largest


def test_what_the_models_are_for(seen):
    for model in MODELS:
        values_of(model, 1)
    rare = {native.SGEMM}
    if threads.count() == 1:
        rare.add(native.FORK)
    if onednn.is_available():
        assert seen.kinds() >= set(range(native.LIMIT + 1)) - rare


@pytest.mark.skipif(not onednn.is_available(), reason="no oneDNN")
def test_products_of_the_library(seen):
    def build():
        x = tf.placeholder(tf.float32, [70, 40])
        return [tf.matmul(x, x + 1.0, transpose_a=True)], {x: np.ones((70, 40), np.float32)}

    want = values_of(build)
    assert native.SGEMM in seen.kinds()
    assert_equal(values_of(build), want)
    assert seen.were_found == [False, True]


PROGRAM = textwrap.dedent(
    """
    import sys
    import numpy as np
    from headrace.codegen.lowering import specialize
    from headrace.codegen.program_cache import kept
    from headrace.core import sources
    from tests.codegen.program_cache import kept_models
    kept.LEAST, kept.FEW = 0.0, 2
    sources.digest = lambda: sys.argv[3]
    planned = []
    run = specialize.Specializer.run
    specialize.Specializer.run = lambda self, *args: planned.append(1) or run(self, *args)
    found = kept_models.values_of(getattr(kept_models, sys.argv[1]))
    np.savez(sys.argv[2], *[x for step in found for x in step])
    print(len(planned))
    """
)


def start(model, result, version="1", **settings):
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, model.__name__, str(result), version],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | settings,
    )


def planned_by(process):
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    return int(out)


def same_files(one, other):
    with np.load(one) as a, np.load(other) as b:
        for name in a.files:
            np.testing.assert_array_equal(a[name], b[name])


@pytest.mark.parametrize("model", [convolutions, recurrent], ids=lambda m: m.__name__)
def test_by_another_process(model, tmp_path):
    first, second = tmp_path / "1.npz", tmp_path / "2.npz"
    assert planned_by(start(model, first)) >= 1
    assert planned_by(start(model, second)) == 0
    same_files(first, second)


def test_what_decides_is_in_the_key(tmp_path):
    result = tmp_path / "1.npz"
    assert planned_by(start(mlp, result)) >= 1
    assert planned_by(start(mlp, result)) == 0
    assert planned_by(start(mlp, result, version="2")) >= 1  # other sources
    assert planned_by(start(mlp, result, HEADRACE_THREADS="1")) >= 1
    assert planned_by(start(mlp, result, ONEDNN_MAX_CPU_ISA="AVX")) >= 1
    assert planned_by(start(mlp, result, HEADRACE_WITHOUT="onednn")) >= 1
    assert planned_by(start(mlp, result, HEADRACE_WITHOUT="kept")) >= 1
    assert planned_by(start(mlp, result)) == 0


def test_processes_at_once(tmp_path):
    results = [tmp_path / f"{i}.npz" for i in range(3)]
    for process in [start(mlp, r) for r in results]:
        planned_by(process)
    count = len(files())
    assert count and all(PROGRAMS.read(p.name) for p in files())  # whole, and no temporary ones
    assert planned_by(start(mlp, results[0])) == 0
    assert len(files()) == count


# -- damage ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "other"])
def test_damaged_files(damage, seen):
    want = values_of(mlp)
    for path in files():
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        changed = {"empty": b"", "cut": data[:-9], "flipped": data, "other": b"something else"}
        path.write_bytes(bytes(changed[damage]))
    seen.programs.clear()
    assert_equal(values_of(mlp), want)
    assert not any(seen.were_found)
    seen.programs.clear()
    assert_equal(values_of(mlp), want)  # written anew
    assert all(seen.were_found)


def test_kernels_that_are_gone(seen, monkeypatch):
    want = values_of(mlp)
    for path in disk.KERNELS.place.rglob("*"):
        if path.is_file():
            path.unlink()
    monkeypatch.setattr(cache, "_addresses", {})
    monkeypatch.setattr(cache, "_soon", type(cache._soon)())
    seen.programs.clear()
    assert_equal(values_of(mlp), want)
    assert not any(seen.were_found)


def changed_somewhere(text, rng):
    """The same JSON with one part replaced."""
    strange = [None, -1, 1 << 62, 1 << 70, 0.5, "word", [], {}, True, [[]], {"row": 99999}]
    parent, key, at = None, None, text
    while isinstance(at, (dict, list)) and at and (parent is None or rng.random() < 0.93):
        parent, key = at, rng.choice(list(at) if isinstance(at, dict) else range(len(at)))
        at = parent[key]
    parent[key] = rng.choice(strange)


@pytest.mark.parametrize("model", [convolutions, recurrent], ids=lambda m: m.__name__)
def test_any_other_content_is_refused_or_harmless(model, seen):
    """Whatever the JSON says, reading it makes a program or Unreadable, nothing else."""
    from headrace.codegen.onednn.onednn_api import LibraryError

    values_of(model, 1)
    region, made, _ = max(seen.programs, key=lambda p: len(p[0].nodes))
    line, _, arrays = kept_writer.write(made, region).partition(b"\n")
    rng, refused = random.Random(5), 0
    for _ in range(300):
        text = json.loads(line)
        changed_somewhere(text, rng)
        try:
            kept_reader.read(json.dumps(text).encode() + b"\n" + arrays, region)
        except (Unreadable, LibraryError):
            refused += 1
    assert refused > 150
    for data in (b"", b"[]", b"{}", b"[" * 10000, line, line + b"\n" + arrays + b"x"):
        with pytest.raises(Unreadable):
            kept_reader.read(data, region)


# -- what must not change --------------------------------------------------------------------------
def test_checks_still_name_node_and_line(seen):
    values_of(rows)
    seen.programs.clear()
    with tf.Graph().as_default(), tf.Session() as sess:
        fetches, feeds = rows()
        (places,) = feeds
        sess.run(tf.global_variables_initializer())
        with pytest.raises(InvalidArgumentError) as caught:
            sess.run(fetches, {places: np.array([0, 1, 2, 3, 99])})
        assert "looked_up" in str(caught.value) and "kept_models.py" in str(caught.value)
        assert all(seen.were_found)
        (region, made, _) = seen.programs[-1]
        nodes = [c.node for c in made.program.checks]
        assert nodes and all(n in kept_writer.nodes_of(region) for n in nodes)
        sess.run(fetches, feeds)


def test_stages_are_shown_as_ever(seen, monkeypatch, capsys):
    values_of(mlp)
    monkeypatch.setenv("HEADRACE_SHOW", "memory")
    options.shown.cache_clear()
    seen.programs.clear()
    values_of(mlp)
    assert not any(seen.were_found) and "--- memory" in capsys.readouterr().err


def test_verified(seen, monkeypatch):
    values_of(convolutions)
    monkeypatch.setenv("HEADRACE_VERIFY", "1")
    options.verify.cache_clear()
    seen.programs.clear()
    values_of(convolutions)
    assert all(seen.were_found)


def test_shapes_values_and_constants_are_told_apart(seen):
    def model(size, factor):
        def build():
            x = tf.placeholder(tf.float32, [None])
            return [x * tf.constant(factor) + 1.0], {x: np.ones(size, np.float32)}

        return build

    values_of(model(3, 2.0))
    assert_equal(values_of(model(4, 2.0)), [[np.full(4, 3.0, np.float32)]] * 3)
    assert_equal(values_of(model(3, 5.0)), [[np.full(3, 6.0, np.float32)]] * 3)
    assert not any(seen.were_found)


def test_small_and_quick_ones_are_not_kept(monkeypatch, seen):
    monkeypatch.setattr(kept, "LEAST", 60.0)
    values_of(mlp)
    assert not files()
    monkeypatch.setattr(kept, "LEAST", 0.0)
    monkeypatch.setattr(kept, "FEW", 10_000)
    values_of(mlp)
    assert not files()


def test_sources_that_changed_since_the_start(monkeypatch):
    monkeypatch.undo()
    sources.digest.cache_clear()
    monkeypatch.setattr(sources, "_start", 0.0)
    assert sources.digest() is None and kept_keys.surroundings() is None
    sources.digest.cache_clear()
    monkeypatch.setattr(sources, "_start", 1e11)
    assert len(sources.digest()) == 64
    sources.digest.cache_clear()


def test_what_planning_imports_is_in_the_key():
    """Also what it imports late."""
    package = Path(sources.__file__).parent.parent
    used = set()
    for folder in sources.DECIDING:
        for path in (package / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ImportFrom) and node.module is not None:
                    names = [f"{node.module}.{alias.name}" for alias in node.names]
                else:
                    names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
                used |= {n.split(".")[1] for n in names if n.startswith("headrace.")}
    assert used - {"version"} == set(sources.DECIDING)


def test_refusals_are_kept(seen, monkeypatch):
    """A node that does not compile: the next process knows, and cuts the region at once."""
    monkeypatch.setattr(kept, "FEW", 1)

    def build():
        x = tf.placeholder(tf.float32, [None])
        return [tf.reduce_sum(tf.boolean_mask(x * 2.0, x > 0.0) + 1.0)], {x: np.float32([3, -1, 2])}

    want, planned = values_of(build), seen.planned
    assert planned > len(seen.programs)
    assert_equal(values_of(build), want)
    assert seen.planned == planned
    short = Declined({"a node": "MemoryError: Unable to allocate"})
    with pytest.raises(kept_writer.Unwritable):
        kept_writer.write_refusal(short)


def test_ops_from_elsewhere_have_no_key(monkeypatch, seen):
    from headrace.ops.declaration import catalog

    monkeypatch.setattr(catalog.find("Tanh"), "lower_rule", lambda e, x: e.tanh(x))

    def build():
        x = tf.placeholder(tf.float32, [4])
        return [tf.tanh(x)], {x: np.ones(4, np.float32)}

    values_of(build, 1)
    assert not files()


def test_in_a_child(seen):
    want = values_of(mlp)
    child = os.fork()
    if child == 0:
        try:
            seen.programs.clear()
            assert_equal(values_of(mlp), want)
            assert all(seen.were_found)
            values_of(rows)  # and keeps what it made
            assert not seen.were_found[-1]
            os._exit(0)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
    assert wait(child) == 0
    seen.programs.clear()
    values_of(rows)
    assert all(seen.were_found)
