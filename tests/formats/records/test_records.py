"""Files as records: lines, stretches of one length, TFRecords."""

import gzip
import zlib

import pytest

import headrace as tf
from headrace.core.errors import DataLossError, InvalidArgumentError, NotFoundError, OutOfRangeError
from headrace.formats.records import records
from headrace.formats.records.tfrecord import RecordWriter


@pytest.fixture
def file(tmp_path):
    def write(data):
        path = tmp_path / "file"
        path.write_bytes(data)
        return str(path).encode()

    return write


def values(found):
    return [value for _, value in found]


def test_lines(file):
    path = file(b"one\ntwo\r\n\nlast")
    assert list(records.lines(path)) == [
        (path + b":1", b"one"),
        (path + b":2", b"two"),
        (path + b":3", b""),
        (path + b":4", b"last"),
    ]
    assert values(records.lines(path, skip=2)) == [b"", b"last"]
    assert values(records.lines(path, skip=9)) == []


def test_fixed_lengths(file):
    path = file(b"HH" + b"abc" + b"def" + b"g" + b"F")
    found = list(records.fixed(path, 3, header=2, footer=1))
    assert found == [(path + b":0", b"abc"), (path + b":1", b"def")]
    assert values(records.fixed(path, 3, header=2, footer=1, hop=2)) == [b"abc", b"cde", b"efg"]
    assert values(records.fixed(path, 3, header=2, hop=5)) == [b"abc", b"fgF"][:2]
    with pytest.raises(OutOfRangeError, match="shorter than its header"):
        list(records.fixed(path, 3, header=50))


@pytest.mark.parametrize("encoding, pack", [("GZIP", gzip.compress), ("ZLIB", zlib.compress)])
def test_compressed(file, encoding, pack):
    path = file(pack(b"abcdef" * 100))
    assert values(records.fixed(path, 6, encoding=encoding)) == [b"abcdef"] * 100
    with pytest.raises(InvalidArgumentError):
        list(records.fixed(path, 6, encoding="LZ4"))
    damaged = file(pack(b"abcdef" * 100)[:-8])
    with pytest.raises(DataLossError):
        list(records.fixed(damaged, 6, encoding=encoding))


def test_tfrecords_say_where_they_start(tmp_path):
    path = tmp_path / "r"
    with RecordWriter(path) as writer:
        for text in (b"a", b"bcd"):
            writer.write(text)
    name = str(path).encode()
    assert list(records.tfrecords(name)) == [(name + b":0", b"a"), (name + b":17", b"bcd")]


def test_missing():
    for read in (records.whole, records.lines, records.tfrecords):
        with pytest.raises(NotFoundError):
            list(read(b"/nowhere"))


def test_a_closed_writer_refuses(tmp_path):
    writer = tf.io.TFRecordWriter(str(tmp_path / "records"))
    writer.write(b"a")
    writer.close()
    writer.close()
    for use in (writer.flush, lambda: writer.write(b"b")):
        with pytest.raises(tf.errors.FailedPreconditionError, match="not initialized or previously closed"):
            use()
    assert list(tf.io.tf_record_iterator(str(tmp_path / "records"))) == [b"a"]
