"""tf.errors: classes, codes, the layout of a message, and what foreign exceptions become."""

from __future__ import annotations

import pickle

import pytest

from headrace.core import errors
from headrace.core.origin import Origin

CODES = {
    "CancelledError": 1, "UnknownError": 2, "InvalidArgumentError": 3, "DeadlineExceededError": 4,
    "NotFoundError": 5, "AlreadyExistsError": 6, "PermissionDeniedError": 7,
    "ResourceExhaustedError": 8, "FailedPreconditionError": 9, "AbortedError": 10,
    "OutOfRangeError": 11, "UnimplementedError": 12, "InternalError": 13, "UnavailableError": 14,
    "DataLossError": 15, "UnauthenticatedError": 16,
}  # fmt: skip


class Node:
    """As much of a node as an error needs."""

    name, node_def = "layer/MatMul", None

    def __init__(self, origin=None):
        self.origin = origin


@pytest.mark.parametrize("name, code", CODES.items())
def test_classes_and_codes(name, code):
    cls = getattr(errors, name)
    error = cls(None, None, "what happened")
    assert isinstance(error, errors.OpError)
    assert (error.error_code, error.message, str(error)) == (code, "what happened", "what happened")
    assert errors.exception_type_from_error_code(code) is cls
    assert errors.error_code_from_exception_type(cls) == code


def test_an_unknown_class_is_warned_of():
    with pytest.warns(UserWarning, match="Unknown class exception"):
        assert errors.error_code_from_exception_type(errors.OpError) == errors.UNKNOWN


def test_layout(tmp_path):
    """What, which node, which line."""
    model = tmp_path / "model.py"
    model.write_text("import headrace as tf\nlogits = tf.matmul(h, w)  # here\n")
    node = Node(Origin(str(model), 2, "<module>"))
    error = errors.InvalidArgumentError(None, node, "MatMul: inner dimensions differ: 784 and 100")
    assert str(error) == (
        "MatMul: inner dimensions differ: 784 and 100\n"
        "  node  layer/MatMul\n"
        "  made  model.py:2   logits = tf.matmul(h, w)  # here"
    )
    assert error.message == "MatMul: inner dimensions differ: 784 and 100"


def test_layout_with_several_lines_and_a_hint():
    """After fusion an error lists every line."""
    lines = [Origin("a.py", 1, "f"), None, Origin("b.py", 7, "g")]
    assert errors.layout("too large", "fused", lines, "use a smaller batch") == (
        "too large\n  node  fused\n  made  a.py:1\n  made  b.py:7\n  hint  use a smaller batch"
    )


def test_who_knows_the_node_adds_it():
    node = Node()
    error = errors.NotFoundError(None, None, "no such file")
    assert errors.at(error, node) is error
    assert error.op is node
    assert errors.at(error, Node()).op is node, "the first to know is nearest"


@pytest.mark.parametrize(
    "foreign, ours",
    [
        (MemoryError(), errors.ResourceExhaustedError),
        (FileNotFoundError(2, "no such file"), errors.NotFoundError),
        (PermissionError(13, "denied"), errors.PermissionDeniedError),
        (NotImplementedError("not here"), errors.UnimplementedError),
        (ValueError("bad"), errors.InvalidArgumentError),
        (IndexError("outside"), errors.InvalidArgumentError),
        (ZeroDivisionError("by zero"), errors.InvalidArgumentError),
        (OverflowError("too large"), errors.InvalidArgumentError),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), errors.InvalidArgumentError),
        (OSError("disk"), errors.UnknownError),
        (KeyError("what else"), errors.UnknownError),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_foreign_exceptions(foreign, ours):
    error = errors.at(foreign, Node())
    assert type(error) is ours
    assert error.message, "an empty message would say nothing"
    assert error.__cause__ is foreign


@pytest.mark.parametrize("leaving", [KeyboardInterrupt(), SystemExit(3), GeneratorExit()])
def test_exits_stay_what_they_are(leaving):
    assert errors.at(leaving, Node()) is leaving


def test_require():
    errors.require(True, "never said")
    with pytest.raises(errors.InvalidArgumentError, match="inner dimensions differ: 2 and 3"):
        errors.require(2 == 3, "inner dimensions differ: 2 and 3")


def test_a_build_error_is_both():
    with pytest.raises(ValueError, match="no"):
        raise errors.BuildError(None, None, "no")
    assert issubclass(errors.BuildError, errors.InvalidArgumentError)


@pytest.mark.parametrize("cls", [errors.NotFoundError, errors.UnknownError, errors.BuildError])
def test_an_error_travels_with_its_text(cls):
    """A node belongs to its process."""
    error = cls(None, Node(Origin("model.py", 3, "f")), "gone")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is cls and again.op is None
    assert str(again) == str(error) == "gone\n  node  layer/MatMul\n  made  model.py:3"
    assert again.error_code == error.error_code


def test_bytes_are_text():
    assert errors.DataLossError(None, None, b"broken \xff").message == "broken \ufffd"
