"""Every reader of other people's bytes, with files to damage: what fuzzing tries.

A reader gives a value or raises one of the errors that are named here; it neither crashes nor hangs, nor
takes memory beyond the size of what it reads.  By hand, for as long as you like:

    python -m tests.formats.fuzz_readers SECONDS [READER ...]
"""

from __future__ import annotations

import random
import struct
import sys
import tempfile
import time
import tracemalloc
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import text_format
from google.protobuf.message import DecodeError

import headrace as tf
from headrace.core.errors import OpError
from headrace.formats import proto
from headrace.formats.checkpoints import checkpoint_state
from headrace.formats.checkpoints.checkpoint import open_checkpoint
from headrace.formats.records import events
from headrace.formats.records.compression import Compression
from headrace.formats.records.tfrecord import RecordReader
from headrace.tools.inspect import describe
from tests.formats.test_image_formats import written_gif

HERE = Path(__file__).parent
GOLDEN, MODELS = HERE / "golden", HERE.parent / "train" / "golden"
MEMORY = 64 << 20  # bytes that a reader may take beside those of its file
SECONDS = 5  # of computing that one case may take; usual ones take milliseconds


@dataclass(frozen=True)
class Reader:
    """How to read a file of some kind, and the contents to start from."""

    read: Callable[[Path], Any]  # a folder with the file `name`
    name: str
    seed: Callable[[], bytes]
    beside: Callable[[Path], None] = lambda folder: None  # other files that belong to it
    errors: tuple[type[Exception], ...] = (OpError,)

    def start(self) -> bytes:
        return _seed(self.seed)

    def tried(self, folder: Path, data: bytes) -> Exception | None:
        """Read some bytes; returns the refusal.  What is no refusal is raised."""
        (folder / self.name).write_bytes(data)
        begin = time.process_time()  # machines are shared
        tracemalloc.start()
        try:
            self.read(folder)
            refusal = None
        except self.errors as error:
            refusal = error
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak < MEMORY + 64 * len(data), f"{peak} bytes of memory for {len(data)}"
        assert time.process_time() - begin < SECONDS, "it takes too long"
        return refusal


@cache
def _seed(make: Callable[[], bytes]) -> bytes:
    return make()


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Bytes flipped, cut, doubled, moved, replaced by telling ones; up to four times."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at, size = rng.randrange(len(out) + 1), rng.choice((1, 1, 2, 4, 8, 40))
        match rng.randrange(7):
            case 0:
                out[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                if at < len(out):
                    out[at] ^= 1 << rng.randrange(8)
            case 2:
                del out[at : at + size]
            case 3:
                out[at:at] = out[at : at + size]
            case 4:
                out[at : at + size] = rng.choice((b"\xff", b"\0", b"\x80", b"\x7f")) * size
            case 5:
                start = rng.randrange(len(out) + 1)
                out[at:at] = out[start : start + size]
            case 6:
                if rng.random() < 0.2:
                    del out[at:]
    return bytes(out)


# -- checkpoints, records, events ----------------------------------------------------------------
def _copied(*names: str) -> Callable[[Path], None]:
    def beside(folder: Path) -> None:
        for name in names:
            (folder / name).write_bytes((GOLDEN / name).read_bytes())

    return beside


def _golden(name: str) -> Callable[[], bytes]:
    return lambda: (GOLDEN / name).read_bytes()


def _checkpoint(prefix: str) -> Callable[[Path], None]:
    def read(folder: Path) -> None:
        with open_checkpoint(folder / prefix) as reader:
            for name, _, _ in list(reader.tensors()):
                reader.slices(name)
                reader.read(name)

    return read


def _records(kind: str) -> Callable[[Path], None]:
    def read(folder: Path) -> None:
        with RecordReader(folder / "r", Compression(kind)) as reader:
            for _ in reader:
                pass

    return read


def _described(name: str) -> Callable[[Path], Any]:
    return lambda folder: describe(str(folder / name))


# -- graphs --------------------------------------------------------------------------------------
@cache
def _meta_graph() -> Any:
    """Variables, a loop, a conditional, a function, a saver."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        w = tf.get_variable("w", [3, 2])
        y = tf.matmul(x, w)
        y = tf.cond(tf.reduce_sum(y) > 0, lambda: y + 1, lambda: y - 1)
        y = tf.while_loop(lambda v: tf.reduce_sum(v) < 9, lambda v: v + 1, [y])
        tf.strings.as_string(tf.cast(y, tf.int32), name="text")
        tf.train.Saver()
        return tf.train.export_meta_graph()


def _imported(message: Any) -> None:
    with tf.Graph().as_default():
        tf.import_graph_def(message, name="")


def _graph(folder: Path) -> None:
    _imported(proto.GraphDef.FromString((folder / "g").read_bytes()))


def _graph_text(folder: Path) -> None:
    _imported(text_format.Parse((folder / "g").read_bytes(), proto.GraphDef()))


def _import_meta_graph(folder: Path) -> None:
    with tf.Graph().as_default():
        tf.train.import_meta_graph(str(folder / "m.meta"))


def _saved_model(name: str) -> dict[str, Any]:
    def beside(folder: Path) -> None:
        for path in (MODELS / name).rglob("*"):
            target = folder / path.relative_to(MODELS / name)
            if path.is_file():
                target.parent.mkdir(exist_ok=True)
                target.write_bytes(path.read_bytes())

    def read(folder: Path) -> None:
        with tf.Graph().as_default(), tf.Session() as sess:
            tf.saved_model.load(sess, ["serve"], str(folder))
        if name == "tf2":
            with tf.Graph().as_default():
                tf.saved_model.load_v2(str(folder))

    seed = lambda: (MODELS / name / "saved_model.pb").read_bytes()
    errors = (OpError, OSError, ValueError, TypeError, RuntimeError, KeyError)
    return {"read": read, "name": "saved_model.pb", "seed": seed, "beside": beside, "errors": errors}


# -- what ops decode -----------------------------------------------------------------------------
@cache
def _op(build: Any) -> Any:
    with tf.Graph().as_default() as graph:
        data = tf.placeholder(tf.string, [])
        fetches = build(data)
    session = tf.Session(graph=graph)
    return lambda value: session.run(fetches, {data: value})


def _decoded(build: Any) -> Callable[[Path], Any]:
    return lambda folder: _op(build)((folder / "d").read_bytes())


def _example() -> bytes:
    feature = {
        "a": proto.Feature(float_list=proto.FloatList(value=[1.0, 2.0])),
        "b": proto.Feature(int64_list=proto.Int64List(value=[3, -4, 5])),
        "c": proto.Feature(bytes_list=proto.BytesList(value=[b"text", b""])),
    }
    return bytes(proto.Example(features=proto.Features(feature=feature)).SerializeToString())


def _sequence() -> bytes:
    features = [proto.Feature(int64_list=proto.Int64List(value=[i, i])) for i in range(3)]
    message = proto.SequenceExample()
    message.context.feature["a"].float_list.value.extend([1.0, 2.0])
    message.feature_lists.feature_list["b"].feature.extend(features)
    return bytes(message.SerializeToString())


def _parse_example(data: Any) -> Any:
    kinds = {
        "a": tf.FixedLenFeature([2], tf.float32),
        "b": tf.VarLenFeature(tf.int64),
        "c": tf.FixedLenSequenceFeature([], tf.string, allow_missing=True),
    }
    return tf.parse_example([data], kinds), tf.parse_single_example(data, kinds)


def _parse_sequence(data: Any) -> Any:
    return tf.parse_single_sequence_example(
        data, {"a": tf.FixedLenFeature([2], tf.float32)}, {"b": tf.VarLenFeature(tf.int64)}
    )


def _pixels(encode: Any) -> Callable[[], bytes]:
    def seed() -> bytes:
        image = np.random.default_rng(0).integers(0, 255, (9, 11, 3)).astype(np.uint8)
        with tf.Graph().as_default(), tf.Session() as sess:
            return bytes(sess.run(encode(tf.constant(image))))

    return seed


def _gif() -> bytes:
    index = np.arange(12).reshape(3, 4) % 4
    return bytes(written_gif([(0, 0, index), (1, 2, index[:1, :2])], 4, 3, bytes(range(12))))


def _bmp() -> bytes:
    head = b"BM" + bytes(8) + struct.pack("<iiiihh", 54, 40, 3, 2, 1, 24) + bytes(24)
    return head + bytes(range(24))


def _wav() -> bytes:
    with tf.Graph().as_default(), tf.Session() as sess:
        return bytes(sess.run(tf.audio.encode_wav(np.zeros((20, 2), np.float32), 8000)))


def _op_reader(build: Any, seed: Callable[[], bytes]) -> Reader:
    return Reader(_decoded(build), "d", seed)


_MESSAGE = (OpError, ValueError, TypeError, KeyError, DecodeError, text_format.ParseError)
_TENSOR = lambda: tf.make_tensor_proto(np.arange(6.0).reshape(2, 3)).SerializeToString()
READERS: dict[str, Reader] = {
    "index": Reader(
        _checkpoint("v2"), "v2.index", _golden("v2.index"), _copied("v2.data-00000-of-00001")
    ),
    "data": Reader(
        _checkpoint("v2"), "v2.data-00000-of-00001", _golden("v2.data-00000-of-00001"),
        _copied("v2.index"),
    ),
    "old checkpoint": Reader(_checkpoint("v1"), "v1", _golden("v1")),
    "state": Reader(
        lambda folder: checkpoint_state.read(str(folder), "checkpoint"), "checkpoint",
        lambda: b'model_checkpoint_path: "a-1"\nall_model_checkpoint_paths: "a-1"\n',
        errors=(OpError, ValueError),
    ),
    "records": Reader(_records(""), "r", _golden("records.tfrecord")),
    "gzip": Reader(_records("GZIP"), "r", _golden("recordsgzip.tfrecord")),
    "zlib": Reader(_records("ZLIB"), "r", _golden("recordszlib.tfrecord")),
    "events": Reader(
        lambda folder: list(events.read_events(folder / "e")), "e", _golden("events.tfevents"),
        errors=(OpError, DecodeError),
    ),
    "graph": Reader(
        _graph, "g", lambda: _meta_graph().graph_def.SerializeToString(), errors=_MESSAGE
    ),
    "graph text": Reader(
        _graph_text, "g", lambda: str(_meta_graph().graph_def).encode(),
        errors=(*_MESSAGE, UnicodeDecodeError),
    ),
    "meta graph": Reader(
        _import_meta_graph, "m.meta", lambda: _meta_graph().SerializeToString(),
        errors=(OpError, ValueError, TypeError, KeyError, OSError),
    ),
    "meta graph text": Reader(
        _import_meta_graph, "m.meta", lambda: str(_meta_graph()).encode(),
        errors=(*_MESSAGE, OSError),
    ),
    "saved model": Reader(**_saved_model("tf1")),
    "saved objects": Reader(**_saved_model("tf2")),
    "example": _op_reader(_parse_example, _example),
    "sequence": _op_reader(_parse_sequence, _sequence),
    "csv": _op_reader(
        lambda d: tf.decode_csv(d, [[1.0], [""], [3]]), lambda: b'1.5,"a ""quoted"", text",7'
    ),
    "json": _op_reader(
        tf.decode_json_example,
        lambda: b'{"features": {"feature": {"a": {"floatList": {"value": [1.5, 2]}}}}}',
    ),
    "raw": _op_reader(lambda d: tf.decode_raw(d, tf.int32), lambda: bytes(range(16))),
    "compressed": _op_reader(
        lambda d: tf.decode_compressed(d, "ZLIB"), lambda: zlib.compress(b"abc" * 99)
    ),
    "tensor": _op_reader(lambda d: tf.parse_tensor(d, tf.float64), _TENSOR),
    "png": _op_reader(tf.image.decode_png, _pixels(tf.image.encode_png)),
    "jpeg": _op_reader(tf.image.decode_jpeg, _pixels(tf.image.encode_jpeg)),
    "gif": _op_reader(tf.image.decode_gif, _gif),
    "bmp": _op_reader(tf.image.decode_bmp, _bmp),
    "any image": _op_reader(tf.image.decode_image, _pixels(tf.image.encode_png)),
    "wav": _op_reader(tf.audio.decode_wav, _wav),
    "inspected graph": Reader(
        _described("g"), "g", lambda: _meta_graph().graph_def.SerializeToString(),
        errors=(OpError, OSError, ValueError),
    ),
    "inspected records": Reader(
        _described("r"), "r", _golden("records.tfrecord"), errors=(OpError, OSError, ValueError)
    ),
    "inspected checkpoint": Reader(
        _described("v1"), "v1", _golden("v1"), errors=(OpError, OSError, ValueError)
    ),
}  # fmt: skip


def main() -> None:
    seconds, names = float(sys.argv[1]), sys.argv[2:] or list(READERS)
    tf.logging.set_verbosity(tf.logging.FATAL)
    for name in names:
        reader, count, refused = READERS[name], 0, 0
        seed, rng = reader.start(), random.Random(time.time_ns())
        end = time.monotonic() + seconds / len(names)
        with tempfile.TemporaryDirectory() as folder:
            reader.beside(Path(folder))
            while time.monotonic() < end:
                data = damaged(seed, rng)
                try:
                    refused += reader.tried(Path(folder), data) is not None
                except Exception as error:
                    kept = Path(tempfile.gettempdir()) / f"fuzz-{name.replace(' ', '-')}-{count}"
                    kept.write_bytes(data)
                    print(f"{name}: {type(error).__name__}: {error!s:.300}\n  {kept}", flush=True)
                count += 1
        print(f"{name}: {count} cases, {refused} refused", flush=True)


if __name__ == "__main__":
    main()
