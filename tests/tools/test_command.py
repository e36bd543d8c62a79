"""The `headrace` command: run, doctor, ops, version, and words that it does not know."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import headrace
from headrace.tools.main import WORDS, main

ROOT = Path(headrace.__file__).parent.parent


def command(*words, cwd=None):
    """The command in a process of its own: exit code, output, complaints."""
    done = subprocess.run(
        [sys.executable, "-m", "headrace", *words], capture_output=True, text=True, cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


# -- run -----------------------------------------------------------------------------------------
PROGRAM = """
import sys
import tensorflow as tf
import beside

assert __name__ == "__main__"
print(tf.__version__, sys.argv[1:], beside.NAME)
x = tf.placeholder(tf.float32, [])
with tf.Session() as session:
    print(session.run(x * 2, {x: float(sys.argv[1])}))
"""


@pytest.fixture
def program(tmp_path):
    (tmp_path / "beside.py").write_text("NAME = 'its neighbour'\n")
    (tmp_path / "train.py").write_text(PROGRAM)
    return tmp_path


@pytest.mark.process
def test_run(program):
    assert command("run", str(program / "train.py"), "1.5", "--flag") == (
        0, "1.15.5 ['1.5', '--flag'] its neighbour\n3.0\n", "",
    )  # fmt: skip


@pytest.mark.process
def test_run_a_module(program):
    assert command("run", "-m", "train", "2", cwd=program)[:2] == (
        0, "1.15.5 ['2'] its neighbour\n4.0\n",
    )  # fmt: skip


@pytest.mark.process
def test_run_ends_as_the_program_ends(tmp_path):
    (tmp_path / "ends.py").write_text("import sys\nsys.exit(7)\n")
    (tmp_path / "fails.py").write_text("import tensorflow as tf\ntf.no_such_name\n")
    assert command("run", str(tmp_path / "ends.py"))[0] == 7
    code, _, complaint = command("run", str(tmp_path / "fails.py"))
    assert code == 1
    assert "AttributeError: module 'headrace' has no attribute 'no_such_name'" in complaint
    first, where = complaint.splitlines()[:2]
    assert first == "Traceback (most recent call last):"
    assert where == f'  File "{tmp_path / "fails.py"}", line 2, in <module>'


@pytest.mark.process
def test_run_of_what_is_no_program(tmp_path):
    (tmp_path / "broken.py").write_text("import sys\nif:\n")
    code, _, complaint = command("run", "-m", "broken", cwd=tmp_path)
    assert code == 1 and complaint.startswith(f'  File "{tmp_path / "broken.py"}", line 2\n')


@pytest.mark.parametrize(
    "words, complaint",
    [
        (["run"], "usage: headrace run program.py"),
        (["run", "-m"], "which module?"),
        (["run", "no_such_file.py"], "no such file: no_such_file.py"),
        (["ops", "--missing", "taste"], "usage: headrace ops [--missing gradient|"),
        (["dance"], "no such command: dance"),
    ],
)
def test_misuse(capsys, words, complaint):
    assert main(words) == 2
    assert complaint in capsys.readouterr().err


# -- the others ----------------------------------------------------------------------------------
def test_help_names_every_word(capsys):
    assert main([]) == main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"headrace {word}" in text for word in WORDS)


def test_version(capsys):
    assert main(["version"]) == 0
    assert capsys.readouterr().out == (
        f"headrace {headrace.__version__} (speaks TensorFlow 1.15.5)\n"
    )


def test_doctor(capsys):
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    for word in (f"headrace    {headrace.__version__}", "numpy", "protobuf", "compile", "cache"):
        assert word in text


@pytest.mark.process
def test_doctor_without_compilation(monkeypatch):
    monkeypatch.setenv("HEADRACE_COMPILE", "0")
    assert "off (HEADRACE_COMPILE=0): the NumPy reference runs everything" in command("doctor")[1]


def test_ops(capsys):
    assert main(["ops"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert lines["MatMul"].split()[1:] == ["gradient", "library", "samples"]
    assert lines["Neg"].split()[1:] == ["gradient", "lower", "samples"]
    assert main(["ops", "--missing", "gradient"]) == 0
    missing = capsys.readouterr().out.split("\n")
    assert not any(line.startswith("MatMul ") for line in missing)
    assert any(line.startswith("Shape ") for line in missing)
