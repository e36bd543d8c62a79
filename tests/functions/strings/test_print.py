"""tf.print and tf.Print."""

import sys

import pytest

import headrace as tf


def run(*fetches):
    with tf.Session() as session:
        return [session.run(fetch) for fetch in fetches]


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def test_structures_and_ends_of_tensors(capsys):
    run(tf.print("x:", {"a": tf.range(10), "b": [tf.constant("t"), 3]}, output_stream=sys.stdout))
    assert capsys.readouterr().out == "x: {'a': [0 1 2 ... 7 8 9], 'b': [\"t\", 3]}\n"


def test_braces_in_text_are_text(capsys):
    run(tf.print("{}", tf.constant(1.5), end="|", sep="-"))
    assert capsys.readouterr().err == "{}-1.5|"


def test_print_counts_its_steps(capsys):
    x = tf.Print(tf.constant(2), [tf.constant([[1.5, 2], [3, 4]])], "seen ", first_n=1)
    with tf.Session() as session:
        assert [session.run(x), session.run(x)] == [2, 2]
    assert capsys.readouterr().err == "seen [[1.5 2][3...]...]\n"


def test_file(tmp_path):
    path = tmp_path / "out.txt"
    run(tf.print("a", output_stream=f"file://{path}"), tf.print("b", output_stream=f"file://{path}"))
    assert path.read_text() == "a\nb\n"


def test_unknown_stream():
    with pytest.raises(ValueError, match="Unsupported output stream"):
        tf.print("x", output_stream="nowhere")
