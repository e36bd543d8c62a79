"""The `headrace` command: run, doctor, ops, version, and words that it does not know."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import headrace
from headrace.ops.declaration import catalog
from headrace.ops.declaration.declare import REGISTRY
from headrace.tools.describe_op import describe_op
from headrace.tools.main import WORDS, main

ROOT = Path(headrace.__file__).parent.parent


def command(*words, cwd=None):
    """The command in a process of its own: exit code, output, complaints."""
    done = subprocess.run(
        [sys.executable, "-m", "headrace", *words],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
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
        0,
        "1.15.5 ['1.5', '--flag'] its neighbour\n3.0\n",
        "",
    )


@pytest.mark.process
def test_run_a_module(program):
    assert command("run", "-m", "train", "2", cwd=program)[:2] == (0, "1.15.5 ['2'] its neighbour\n4.0\n")


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


@pytest.mark.process
def test_flags_behind_the_program_are_the_programs_own(tmp_path):
    (tmp_path / "flags.py").write_text("import sys\nprint(sys.argv[1:])\n")
    flags = ["--help", "-m", "--version", "--", "--top=3", "-h"]
    assert command("run", str(tmp_path / "flags.py"), *flags)[:2] == (0, f"{flags}\n")
    assert command("run", "-m", "flags", *flags, cwd=tmp_path)[:2] == (0, f"{flags}\n")
    explained = command("explain", "--top", "3", str(tmp_path / "flags.py"), *flags)
    assert explained == (0, f"{flags}\n", "no step ran\n")


@pytest.mark.process
@pytest.mark.parametrize("word", ["run", "explain"])
def test_what_is_missing_is_one_line(tmp_path, word):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    for words, complaint in [
        (["gone.py"], "no such file: gone.py"),
        (["package"], "package is a folder without a __main__.py"),
        (["-m", "gone"], "no module named gone"),
        (["-m", "gone.deep"], "no module named gone"),
        (["-m", "package"], "package is a package without a __main__ module"),
    ]:
        done = command(word, *words, cwd=tmp_path)
        assert done == (2, "", f"headrace {word}: {complaint}\n")


@pytest.mark.process
def test_a_module_that_lacks_another_fails_as_python_does(tmp_path):
    (tmp_path / "lacks.py").write_text("import not_there_at_all\n")
    code, _, complaint = command("run", "-m", "lacks", cwd=tmp_path)
    assert code == 1 and "ModuleNotFoundError: No module named 'not_there_at_all'" in complaint


@pytest.mark.parametrize(
    "words, complaint",
    [
        (["run"], "which program?"),
        (["run", "-m"], "which module?"),
        (["run", "--faster", "train.py"], "unrecognized arguments: --faster"),
        (["run", "no_such_file.py"], "no such file: no_such_file.py"),
        (["explain"], "which program?"),
        (["explain", "--top", "many", "train.py"], "invalid int value: 'many'"),
        (["ops", "--missing", "taste"], "invalid choice: 'taste'"),
        (["doctor", "who"], "unrecognized arguments: who"),
        (["version", "2"], "unrecognized arguments: 2"),
        (["inspect"], "the following arguments are required: path"),
        (["dance"], "invalid choice: 'dance'"),
        (["--dance"], "required: WORD"),
    ],
)
def test_misuse(capsys, words, complaint):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err


FILES = {
    "inspect": ["gone"],
    "freeze": ["--input_graph=gone", "--output_graph=out", "--input_checkpoint=gone",
               "--output_node_names=y"],
    "strip": ["--input_graph=gone", "--output_graph=out", "--input_node_names=x",
              "--output_node_names=y"],
    "optimize": ["--input_graph=gone", "--output_graph=out", "--input_node_names=x",
                 "--output_node_names=y"],
    "transform": ["--in_graph=gone", "--out_graph=out", "--transforms=strip_unused_nodes"],
}  # fmt: skip


@pytest.mark.parametrize("content", [None, b"\0\1 no graph \xff" * 9, b"no graph either"])
@pytest.mark.parametrize("word", FILES)
def test_files_that_are_missing_or_no_graphs(capsys, tmp_path, monkeypatch, word, content):
    """A complaint of one line, and exit code 1."""
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path("gone").write_bytes(content)
    with pytest.raises(SystemExit) as ended:
        main([word, *FILES[word]])
    assert ended.value.code == 1
    complaint = capsys.readouterr().err
    assert complaint.startswith(f"headrace {word}: ") and "Traceback" not in complaint


# -- the others ----------------------------------------------------------------------------------
def printed(capsys, *words):
    """What a word prints that ends with exit code 0, by return or by exit."""
    try:
        code = main(words)
    except SystemExit as ended:
        code = ended.code
    assert code == 0
    return capsys.readouterr().out


def test_help_names_every_word(capsys):
    text = printed(capsys, "--help")
    assert all(f"\n    {word}" in text for word in WORDS)
    assert printed(capsys) == printed(capsys, "help") == text


@pytest.mark.parametrize("word", WORDS)
def test_every_word_has_help(capsys, word):
    text = printed(capsys, word, "--help")
    assert text.startswith(f"usage: headrace {word}")
    assert printed(capsys, "help", word) == text


def test_version(capsys):
    assert main(["version"]) == 0
    assert capsys.readouterr().out == (f"headrace {headrace.__version__} (speaks TensorFlow 1.15.5)\n")
    assert printed(capsys, "--version") == printed(capsys, "version")


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


def test_an_op(capsys):
    lines = printed(capsys, "ops", "MatMul").splitlines()
    assert lines[0] == "MatMul: a: T, b: T -> product: T"
    assert "  transpose_a  bool = False" in lines
    assert any(line.startswith("  T            type in bfloat16, float16") for line in lines)
    assert "  library: onednn, or a generated kernel in its place" in lines
    assert any(line.startswith("declared  headrace.ops.linalg.matrix, line ") for line in lines)
    assert printed(capsys, "ops", "mat_mul").splitlines() == lines
    assert printed(capsys, "ops", "Neg", "MatMul").splitlines()[-len(lines) :] == lines


def test_every_op_can_be_described():
    catalog.load_all()
    for op in REGISTRY.values():
        assert describe_op(op)[0].startswith(f"{op.name}: "), op


def test_an_op_that_is_not(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["ops", "Matmull"])
    assert ended.value.code == 1
    assert capsys.readouterr().err.startswith("headrace ops: no op Matmull is declared; is it MatMul")


@pytest.mark.process
def test_nobody_reads_on():
    words = [sys.executable, "-m", "headrace", "ops"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1
