"""Files that TensorFlow 2.21 wrote (make_golden.py): read, and written back byte for byte."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from headrace.formats.checkpoints import checkpoint_state
from headrace.formats.checkpoints.bundle import BundleReader
from headrace.formats.checkpoints.bundle_writer import BundleWriter, merge
from headrace.formats.checkpoints.checkpoint import describe, open_checkpoint
from headrace.formats.checkpoints.checkpoint_v1 import V1Reader
from headrace.formats.checkpoints.tensor_slice import parse_slice
from headrace.formats.coding import read_varint
from headrace.formats.records import events, snappy
from headrace.formats.records.compression import Compression
from headrace.formats.records.tfrecord import RecordReader, RecordWriter
from tests.formats import golden_values

GOLDEN = Path(__file__).parent / "golden"


def equal(a, b):
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    return np.array_equal(a, b) if a.dtype == object else a.tobytes() == b.tobytes()


def test_read_v2():
    with BundleReader(GOLDEN / "v2") as reader:
        listed = {name: shape for name, _, shape in reader.tensors()}
        for name, value in golden_values.tensors().items():
            assert equal(reader.read(name), value), name
            assert listed[name] == value.shape and name in reader
        assert "none" not in reader
        assert equal(reader.read("partitioned"), golden_values.PARTITIONED)
        assert equal(reader.read("partitioned", parse_slice("4,3:-")), golden_values.PARTITIONED[4:7])
        across = reader.read("partitioned", parse_slice("2,6:1,2"))
        assert equal(across, golden_values.PARTITIONED[2:8, 1:])
        assert reader.read("variant").item().type_name == "tensorflow::TensorList"


def test_write_v2_back(tmp_path):
    with BundleReader(GOLDEN / "v2") as reader, BundleWriter(tmp_path / "v2") as writer:
        for name, value in golden_values.tensors().items():
            writer.add(name, value)
        for start, count in golden_values.PARTS:
            part = golden_values.PARTITIONED[start : start + count]
            writer.add_slice("partitioned", (10, 3), parse_slice(f"{start},{count}:-"), part)
        for name in ("variant", "snappy"):
            writer.add(name, reader.read(name), "variant")
        writer.finish()
    for name in ("v2.index", "v2.data-00000-of-00001"):
        assert (tmp_path / name).read_bytes() == (GOLDEN / name).read_bytes(), name
    assert sorted(os.listdir(tmp_path)) == ["v2.data-00000-of-00001", "v2.index"]


def test_snappy_of_tensorflow():
    with BundleReader(GOLDEN / "v2") as reader:
        message = reader.read("snappy").item().metadata
    size, at = read_varint(message, 1)
    assert snappy.decompress(message[at : at + size]) == golden_values.COMPRESSIBLE


def test_saver_of_tensorflow():
    state = checkpoint_state.read(GOLDEN / "saver")
    assert state.model_checkpoint_path == str(GOLDEN / "saver" / "model-3")
    assert list(state.all_model_checkpoint_paths) == [str(GOLDEN / "saver" / f"model-{i}") for i in (2, 3)]
    with open_checkpoint(state.model_checkpoint_path) as reader:
        assert reader.read("step") == 3
        assert equal(reader.read("partitioned"), golden_values.PARTITIONED)
        assert len(reader.slices("partitioned")) == 3
        assert describe(reader) == ("partitioned (DT_FLOAT) [10,3], 3 slices\nstep (DT_INT64) []\n")


def test_merge_shards(tmp_path):
    for i, (start, count) in enumerate(golden_values.PARTS):
        with BundleWriter(tmp_path / "parts" / f"part-{i}") as writer:
            part = golden_values.PARTITIONED[start : start + count]
            writer.add_slice("p", (10, 3), parse_slice(f"{start},{count}:-"), part)
            writer.add(f"own/{i}", np.int32(i))
            writer.finish()
    merge([tmp_path / "parts" / f"part-{i}" for i in range(3)], tmp_path / "whole")
    assert sorted(os.listdir(tmp_path)) == ["parts"] + [f"whole.data-0000{i}-of-00003" for i in range(3)] + [
        "whole.index"
    ]
    assert os.listdir(tmp_path / "parts") == []
    with BundleReader(tmp_path / "whole") as reader:
        assert equal(reader.read("p"), golden_values.PARTITIONED)
        assert [reader.read(f"own/{i}") for i in range(3)] == [0, 1, 2]


def test_read_v1():
    with V1Reader(GOLDEN / "v1") as reader:
        for name, value in golden_values.old_tensors().items():
            assert equal(reader.read(name), value), name
        assert len(list(reader.tensors())) == len(golden_values.old_tensors())


@pytest.mark.parametrize("kind", ["", "GZIP", "ZLIB"])
def test_records(kind, tmp_path):
    compression = Compression(kind)
    with RecordReader(GOLDEN / f"records{kind.lower()}.tfrecord", compression) as reader:
        assert list(reader) == golden_values.RECORDS
    with RecordWriter(tmp_path / "r", compression) as writer:
        for record in golden_values.RECORDS:
            writer.write(record)
    with RecordReader(tmp_path / "r", compression) as reader:
        assert list(reader) == golden_values.RECORDS
    if not kind:
        assert (tmp_path / "r").read_bytes() == (GOLDEN / "records.tfrecord").read_bytes()


def test_events(tmp_path):
    found = list(events.read_events(GOLDEN / "events.tfevents"))
    assert found[0].file_version == events.VERSION
    scalars = [(e.step, e.summary.value[0].simple_value) for e in found[1:]]
    assert scalars == golden_values.EVENT_STEPS
    writer = events.EventsWriter(tmp_path / "events", ".v2")
    for event in found[1:]:
        writer.write(event)
    writer.flush()
    writer.close()
    assert writer.path.endswith(".v2") and ".out.tfevents." in writer.path
    assert list(events.read_events(writer.path))[1:] == found[1:]


def test_missing_shard(tmp_path):
    from headrace.core.errors import NotFoundError

    shutil.copy(GOLDEN / "v2.index", tmp_path)
    with BundleReader(tmp_path / "v2") as reader:
        with pytest.raises(NotFoundError, match="v2.data-00000-of-00001"):
            reader.read("scalar")
