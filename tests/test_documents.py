"""What the documents say is so: their programs run, their lists are complete, their paths exist."""

from __future__ import annotations

import linecache
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import headrace as tf
from headrace.core import errors
from headrace.ops.declaration import catalog
from headrace.ops.declaration.declare import GRADIENTS, REGISTRY
from headrace.passes.pipeline import PIPELINE
from tests.ops import checks
from tests.ops.declared import ErrorSample

ROOT = Path(__file__).parent.parent
PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "examples").glob("*.md"),
    *(ROOT / "headrace").rglob("*.md"),
]


def blocks(page: str, kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


def run_as(filename: str, text: str) -> None:
    """Run a program that is in no file: its lines are known by this name all the same."""
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    exec(compile(text, filename, "exec"), {"tf": tf})


# -- README.md ------------------------------------------------------------------------------------
def test_the_readme_says_how_many_ops_there_are():
    there, of = re.search(
        r"tf\.raw_ops \| (\d+) of (\d+)", (ROOT / "docs/compatibility.md").read_text()
    ).groups()
    said, whole = re.search(r"some ([\d,]+) of TF's ([\d,]+) ops", (ROOT / "README.md").read_text()).groups()
    assert int(said.replace(",", "")) == pytest.approx(int(there), rel=0.03)
    assert int(whole.replace(",", "")) == int(of)


def test_the_readme_says_how_large_the_source_is():
    """Within a tenth: it is a figure for whoever wonders whether to read it."""
    lines, files, longest = re.search(
        r"some ([\d,]+) lines in ([\d,]+) files, none longer than (\d+) lines",
        (ROOT / "README.md").read_text(),
    ).groups()
    found = [len(p.read_text().splitlines()) for p in (ROOT / "headrace").rglob("*.py")]
    assert sum(found) == pytest.approx(int(lines.replace(",", "")), rel=0.1)
    assert len(found) == pytest.approx(int(files.replace(",", "")), rel=0.1)
    assert max(found) <= int(longest)


# -- docs/ops.md ----------------------------------------------------------------------------------
@pytest.fixture
def example_op():
    """The op of the page, declared for the time of a test."""
    catalog.load_all()
    known = set(REGISTRY)
    declaration, _use = blocks("docs/ops.md", "python")
    run_as("shrink.py", declaration)
    (name,) = set(REGISTRY) - known
    yield REGISTRY[name]
    del REGISTRY[name], GRADIENTS[name]


def test_the_example_op_passes_the_generated_tests(example_op):
    for sample in example_op.sample_rule(np.random.default_rng(0)):
        if isinstance(sample, ErrorSample):
            checks.check_refusal(example_op, sample)
            continue
        checks.check_shape_and_type(example_op, sample)
        checks.check_hidden_sizes(example_op, sample)
        checks.check_round_trip(example_op, sample)
        checks.check_single_precision(example_op, sample)
        checks.check_gradient(example_op, sample)


@pytest.mark.native
def test_the_example_op_compiles(example_op):
    from tests.codegen.compare import Runner, assert_same, settled

    array = np.linspace(-2, 2, 9, dtype=np.float32)
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [9])
        runner = Runner(graph, [x], [example_op(x, size=0.75)])
    ((got,), _), want = settled(runner, [array]), example_op.compute([array], {"size": 0.75})
    assert runner.is_whole
    assert_same(got, want)


@pytest.mark.process
@pytest.mark.parametrize(
    "name, words",
    [
        ("ops.md", ["[array([-1.,  0.,  2.], dtype=float32), array([1., 0., 1.], dtype=float32)]"]),
        ("from_scratch.py", [f"=== {i}. " for i in range(1, 10)] + ["loss 522.0 then"]),
        ("two_forms.py", ["one storage: True", "df/dx = 8.0", "dz/dv = 8.0", "= Mul(", "return "]),
    ],
)
def test_runs_as_a_program(name, words, tmp_path):
    path = ROOT / "docs" / name
    if path.suffix == ".md":
        path = tmp_path / "program.py"
        path.write_text("\n".join(blocks(f"docs/{name}", "python")))
    done = subprocess.run(
        [sys.executable, str(path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    places = [done.stdout.find(word) for word in words]
    assert -1 not in places and places == sorted(places), done.stdout


# -- docs/errors.md -------------------------------------------------------------------------------
EXAMPLES = list(zip(blocks("docs/errors.md", "python"), blocks("docs/errors.md", "text"), strict=True))


@pytest.mark.parametrize("program, printed", EXAMPLES, ids=[str(i) for i in range(len(EXAMPLES))])
def test_an_error_reads_as_documented(program, printed):
    with tf.Graph().as_default(), pytest.raises(Exception) as caught:
        run_as("model.py", program)
    assert f"{type(caught.value).__name__}: {caught.value}" == printed.rstrip("\n")


def test_every_error_class_is_documented():
    page = (ROOT / "docs/errors.md").read_text()
    for code in range(1, 17):
        name = errors.exception_type_from_error_code(code).__name__
        assert f"| {code} | `{name}` |" in page


# -- lists and paths ------------------------------------------------------------------------------
def test_every_pass_is_described_in_order():
    page = (ROOT / "headrace/passes/README.md").read_text()
    described = re.findall(r"^\d+\. \*\*(\w+)\*\*", page, re.MULTILINE)
    assert described == [p.__name__ for p in PIPELINE]


def test_every_document_is_in_the_index():
    index = (ROOT / "docs/README.md").read_text()
    pages = [p for p in (ROOT / "docs").rglob("*") if p.is_file() and p.suffix in (".md", ".py")]
    absent = [p.name for p in pages if p.name != "README.md" and f"{p.name})" not in index]
    assert not absent


def test_every_folder_is_in_the_architecture():
    page = (ROOT / "ARCHITECTURE.md").read_text()
    folders = [p.parent.name for p in (ROOT / "headrace").glob("*/__init__.py")]
    assert not [name for name in folders if f"`{name}/`" not in page]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_paths_exist(page):
    """A path in backquotes (`docs/errors.md`), or the target of a link, is a file."""
    text = page.read_text()
    quoted = re.findall(r"`((?:\w+/)+\w+\.(?:py|md))`", text)
    for path in quoted:
        places = (ROOT, ROOT / "headrace", page.parent)
        assert any((place / path).exists() for place in places), path
    for path in re.findall(r"\]\(([\w./-]+)\)", text):
        assert (page.parent / path).exists(), path
