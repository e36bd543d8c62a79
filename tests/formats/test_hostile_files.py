"""Damaged files: flipped, cut, spliced, made up.  A reader gives the right values or raises DataLossError,
NotFoundError, InvalidArgumentError, ...; it never crashes, hangs, or takes more memory than the file says."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.core.errors import DataLossError, InvalidArgumentError, NotFoundError, OpError
from headrace.formats import proto
from headrace.formats.checkpoints import checkpoint_state
from headrace.formats.checkpoints.bundle import BundleReader
from headrace.formats.checkpoints.bundle_writer import BundleWriter
from headrace.formats.checkpoints.checkpoint import open_checkpoint
from headrace.formats.checkpoints.table import MAGIC, Table
from headrace.formats.checkpoints.table_writer import TableWriter
from headrace.formats.checkpoints.tensor_slice import parse_shape_and_slice
from headrace.formats.coding import Damaged, fixed32, read_slice_key, slice_key, varint
from headrace.formats.records import crc32c, events, snappy
from headrace.formats.records.compression import Compression
from headrace.formats.records.tfrecord import RecordReader
from tests.formats import golden_values

GOLDEN = Path(__file__).parent / "golden"
FEW = settings(max_examples=40)


@st.composite
def damage(draw, data):
    """The data with a byte flipped, a part cut out or doubled, or the end missing."""
    at = draw(st.integers(0, len(data) - 1))
    kind = draw(st.sampled_from("flip cut drop double".split()))
    if kind == "flip":
        return data[:at] + bytes([data[at] ^ draw(st.integers(1, 255))]) + data[at + 1 :]
    if kind == "cut":
        return data[:at]
    size = draw(st.integers(1, 64))
    return data[:at] + (b"" if kind == "drop" else data[at : at + size] * 2) + data[at + size :]


def read_all(prefix):
    with open_checkpoint(prefix) as reader:
        return {name: reader.read(name) for name, _, _ in list(reader.tensors())}


def read_records(path, kind):
    with RecordReader(path, Compression(kind)) as reader:
        return list(reader)


@FEW
@given(st.data())
def test_damaged_index(tmp_path, data):
    index = (GOLDEN / "v2.index").read_bytes()
    (tmp_path / "v2.index").write_bytes(data.draw(damage(index)))
    (tmp_path / "v2.data-00000-of-00001").write_bytes((GOLDEN / "v2.data-00000-of-00001").read_bytes())
    try:
        found = read_all(tmp_path / "v2")
    except OpError:
        return
    for name, value in golden_values.tensors().items():
        assert np.array_equal(found[name], value)


@FEW
@given(st.data())
def test_damaged_data(tmp_path, data):
    whole = (GOLDEN / "v2.data-00000-of-00001").read_bytes()
    (tmp_path / "v2.index").write_bytes((GOLDEN / "v2.index").read_bytes())
    (tmp_path / "v2.data-00000-of-00001").write_bytes(data.draw(damage(whole)))
    with BundleReader(tmp_path / "v2") as reader:
        for name, value in golden_values.tensors().items():
            try:
                assert np.array_equal(reader.read(name), value)
            except DataLossError as error:
                assert name in str(error) and "v2.data-00000-of-00001" in str(error)


@FEW
@given(st.data())
def test_damaged_v1(tmp_path, data):
    (tmp_path / "v1").write_bytes(data.draw(damage((GOLDEN / "v1").read_bytes())))
    try:
        found = read_all(tmp_path / "v1")
    except OpError:
        return
    for name, value in golden_values.old_tensors().items():
        assert np.array_equal(found[name], value)


@FEW
@given(st.data(), st.sampled_from(["", "GZIP", "ZLIB"]))
def test_damaged_records(tmp_path, data, kind):
    whole = (GOLDEN / f"records{kind.lower()}.tfrecord").read_bytes()
    (tmp_path / "r").write_bytes(data.draw(damage(whole)))
    found = []
    try:
        with RecordReader(tmp_path / "r", Compression(kind)) as reader:
            for record in reader:
                found.append(record)
                assert record in golden_values.RECORDS
    except DataLossError as error:
        assert str(tmp_path) in str(error)


@FEW
@given(st.data())
def test_damaged_events(tmp_path, data):
    (tmp_path / "e").write_bytes(data.draw(damage((GOLDEN / "events.tfevents").read_bytes())))
    try:
        for event in events.read_events(tmp_path / "e"):
            assert event.wall_time
    except DataLossError:
        pass


@FEW
@given(st.binary(max_size=400))
def test_noise(tmp_path, noise):
    """Random bytes in place of every kind of file."""
    (tmp_path / "x").write_bytes(noise)
    (tmp_path / "x.index").write_bytes(noise)
    for action in (
        lambda: read_all(tmp_path / "x"),
        lambda: read_records(tmp_path / "x", ""),
        lambda: read_records(tmp_path / "x", "ZLIB"),
        lambda: list(events.read_events(tmp_path / "x")),
        lambda: checkpoint_state.read(tmp_path, "x"),
    ):
        try:
            action()
        except (DataLossError, ValueError):  # a state that names nothing is a ValueError, as in TF
            pass
    for decode in (snappy.decompress, read_slice_key):
        try:
            decode(noise)
        except Damaged:
            pass


@FEW
@given(st.binary(min_size=1, max_size=200))
def test_block_of_noise(tmp_path, noise):
    """Checksums right, contents not: the parser itself is tried."""
    body = noise + b"\0" + fixed32(crc32c.masked(noise + b"\0"))
    handle = varint(0) + varint(len(noise))
    footer = (handle + handle).ljust(40, b"\0") + MAGIC.to_bytes(8, "little")
    (tmp_path / "t").write_bytes(body + footer)
    try:
        with Table(tmp_path / "t") as table:
            list(table.items())
    except DataLossError:
        pass


def entry(**fields):
    return proto.BundleEntryProto(**fields)


def write_index(folder, entries, shards=1):
    with open(folder / "x.index", "wb") as file:
        writer = TableWriter(file)
        writer.add(b"", proto.BundleHeaderProto(num_shards=shards).SerializeToString())
        for key in sorted(entries):
            writer.add(key, entries[key].SerializeToString())
        writer.finish()


def shape(*sizes):
    return proto.TensorShapeProto(dim=[proto.TensorShapeProto.Dim(size=s) for s in sizes])


@FEW
@given(
    dtype=st.integers(-1, 130),
    sizes=st.lists(st.integers(-(2**62), 2**62) | st.integers(0, 4), max_size=4),
    offset=st.integers(-(2**62), 2**62) | st.integers(0, 30),
    size=st.integers(-(2**62), 2**62) | st.integers(0, 30),
    shard=st.integers(-2, 2),
)
def test_impossible_entries(tmp_path, dtype, sizes, offset, size, shard):
    (tmp_path / "x.data-00000-of-00001").write_bytes(bytes(range(30)))
    made = entry(dtype=dtype, shape=shape(*sizes), offset=offset, size=size, shard_id=shard)
    write_index(tmp_path, {b"t": made})
    tracemalloc.start()
    try:
        read_all(tmp_path / "x")
    except (DataLossError, NotFoundError):
        pass
    finally:
        assert tracemalloc.get_traced_memory()[1] < 10e6
        tracemalloc.stop()


@pytest.mark.parametrize("dtype", [7, 21])
def test_more_strings_than_bytes(tmp_path, dtype):
    (tmp_path / "x.data-00000-of-00001").write_bytes(bytes(30))
    write_index(tmp_path, {b"t": entry(dtype=dtype, shape=shape(2**40), size=30)})
    with pytest.raises(DataLossError, match="30 bytes for 1099511627776"):
        read_all(tmp_path / "x")


def test_slices_that_share_bytes(tmp_path):
    """A small file must not describe a large tensor."""
    (tmp_path / "x.data-00000-of-00001").write_bytes(bytes(1000))
    whole = entry(dtype=4, shape=shape(1_000_000))
    entries = {b"t": whole}
    for i in range(1000):
        extent = proto.TensorSliceProto.Extent(start=1000 * i, length=1000)
        whole.slices.append(proto.TensorSliceProto(extent=[extent]))
        crc = crc32c.masked(bytes(1000))
        entries[slice_key(b"t", [(1000 * i, 1000)])] = entry(
            dtype=4, shape=shape(1000), size=1000, crc32c=crc
        )
    write_index(tmp_path, entries)
    with BundleReader(tmp_path / "x") as reader, pytest.raises(DataLossError, match="larger than"):
        reader.read("t")


def test_future_format(tmp_path):
    with open(tmp_path / "x.index", "wb") as file:
        writer = TableWriter(file)
        header = proto.BundleHeaderProto(num_shards=1)
        header.version.min_consumer = 9
        writer.add(b"", header.SerializeToString())
        writer.finish()
    with pytest.raises(InvalidArgumentError, match="min consumer version 9"):
        BundleReader(tmp_path / "x")


def test_big_endian(tmp_path):
    """Files of a machine with the other byte order are read."""
    numbers = np.array([1.5, -2], ">f8")
    lengths = (3).to_bytes(4, "big")
    crc = crc32c.value(lengths)
    stored = crc32c.mask(crc).to_bytes(4, "big")
    text = b"\x03" + stored + b"abc"
    (tmp_path / "x.data-00000-of-00001").write_bytes(numbers.tobytes() + text)
    entries = {
        b"n": entry(dtype=2, shape=shape(2), size=16, crc32c=crc32c.masked(numbers.tobytes())),
        b"s": entry(
            dtype=7,
            shape=shape(1),
            offset=16,
            size=len(text),
            crc32c=crc32c.mask(crc32c.extend(crc, stored + b"abc")),
        ),
    }
    with open(tmp_path / "x.index", "wb") as file:
        writer = TableWriter(file)
        writer.add(b"", proto.BundleHeaderProto(num_shards=1, endianness=1).SerializeToString())
        for key in sorted(entries):
            writer.add(key, entries[key].SerializeToString())
        writer.finish()
    found = read_all(tmp_path / "x")
    assert found["n"].tolist() == [1.5, -2] and found["s"].tolist() == [b"abc"]


def test_errors_name_the_place(tmp_path):
    with pytest.raises(NotFoundError, match="matching files for .*none"):
        open_checkpoint(tmp_path / "none")
    (tmp_path / "text").write_text("no checkpoint at all, but long enough to have a footer" * 3)
    with pytest.raises(DataLossError, match="text: at byte .*not an sstable"):
        open_checkpoint(tmp_path / "text")
    with BundleWriter(tmp_path / "w") as writer:
        writer.add("a", np.zeros(3))
        with pytest.raises(InvalidArgumentError, match="duplicate key: a"):
            writer.add("a", np.zeros(3))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["text"]  # nothing was left behind
    with BundleReader(GOLDEN / "v2") as reader, pytest.raises(NotFoundError, match="Key nix not"):
        reader.read("nix")


@pytest.mark.parametrize(
    "text", ["", "4", "4 ", "x 0,2", "4 0", "4 0,5", "4 -1,2", "4 0,0", "4 4 0,2", "4 0,2:-"]
)
def test_bad_slice_texts(text):
    with pytest.raises(InvalidArgumentError):
        parse_shape_and_slice(text)


@given(st.binary(max_size=40), st.lists(st.integers(0, 2**63 - 1), max_size=3))
def test_slice_keys_round_trip(name, places):
    extents = [(p, p // 2 + 1) for p in places]
    assert read_slice_key(slice_key(name, extents)) == (name, extents)


@given(st.lists(st.tuples(st.binary(max_size=6), st.integers(0, 2**40)), min_size=2, max_size=8))
def test_slice_keys_sort_as_their_values(items):
    keys = [slice_key(name, [(start, 1)]) for name, start in sorted(items)]
    assert keys == sorted(keys)


def test_large_table(tmp_path):
    """Several blocks, separators between them, lookups on both sides."""
    entries = {f"key/{i:05d}".encode(): bytes([i % 256]) * (i % 900) for i in range(3000)}
    with open(tmp_path / "t", "wb") as file:
        writer = TableWriter(file)
        for key, value in entries.items():
            writer.add(key, value)
        writer.finish()
    with Table(tmp_path / "t") as table:
        assert {k: bytes(v) for k, v in table.items()} == entries
        assert len(table._index.keys) > 3
        for key in (b"key/00000", b"key/01499", b"key/02999"):
            assert table.get(key) == entries[key]
        assert table.get(b"key/01499x") is None and table.get(b"zzz") is None


def test_restored_bools_are_bools(tmp_path):
    """A byte of 2 in a file must not become a bool that is neither."""
    (tmp_path / "x.data-00000-of-00001").write_bytes(b"\0\1\2")
    made = entry(dtype=10, shape=shape(3), size=3, crc32c=crc32c.masked(b"\0\1\2"))
    write_index(tmp_path, {b"t": made})
    assert read_all(tmp_path / "x")["t"].view(np.uint8).tolist() == [0, 1, 1]
