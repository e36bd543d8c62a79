"""Keys and values out of files."""

from __future__ import annotations

import pytest

from headrace.core.dtypes import float32, int32, int64, string
from headrace.core.errors import InvalidArgumentError, NotFoundError, OutOfRangeError
from headrace.ops.lookup.vocabulary_file import LINE_NUMBER, WHOLE_LINE, read

LINE, NUMBER = (WHOLE_LINE, string), (LINE_NUMBER, int64)


@pytest.fixture
def path(tmp_path):
    def write(data):
        file = tmp_path / "words.txt"
        file.write_bytes(data)
        return str(file).encode()

    return write


def test_lines_and_their_numbers(path):
    keys, values = read(path(b"a\r\nb b\nc"), -1, b"\t", LINE, NUMBER)
    assert keys.tolist() == [b"a", b"b b", b"c"] and values.tolist() == [0, 1, 2]
    keys, _ = read(path(b"a\nb\nc\n"), 2, b"\t", LINE, NUMBER)
    assert keys.tolist() == [b"a", b"b"]


def test_columns(path):
    file = path(b"a,1,2.5\nb,-3,1e2\n")
    keys, values = read(file, -1, b",", (1, int32), (2, float32))
    assert keys.tolist() == [1, -3] and values.tolist() == [2.5, 100]
    with pytest.raises(InvalidArgumentError, match=r"line 0 \(a,1,2.5\) : expected 3 got 3"):
        read(file, -1, b",", LINE, (3, string))
    with pytest.raises(InvalidArgumentError, match="Field a in line 0 is not a valid int64."):
        read(file, -1, b",", (0, int64), (1, int64))


def test_what_is_refused(path):
    with pytest.raises(InvalidArgumentError, match="empty line found at position 3"):
        read(path(b"a\n\nb\n"), -1, b"\t", LINE, NUMBER)
    with pytest.raises(InvalidArgumentError, match="expected 3 but got 1"):
        read(path(b"a\n"), 3, b"\t", LINE, NUMBER)
    with pytest.raises(OutOfRangeError):
        read(path(b""), -1, b"\t", LINE, NUMBER)
    with pytest.raises(NotFoundError):
        read(b"/no/such/file", -1, b"\t", LINE, NUMBER)
    with pytest.raises(InvalidArgumentError, match="requires table value dtype of int64"):
        read(path(b"a\n"), -1, b"\t", LINE, (LINE_NUMBER, string))
