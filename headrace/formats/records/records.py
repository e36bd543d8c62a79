"""Files as records: whole, by lines, by fixed lengths, TFRecords.  Each function yields (key, value);
a key says where in which file the value stood."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.core.errors import OutOfRangeError
from headrace.formats import files
from headrace.formats.records.compression import ByteSource, Compression
from headrace.formats.records.tfrecord import RecordReader

Record = tuple[bytes, bytes]


def _key(path: bytes, place: int) -> bytes:
    return b"%s:%d" % (path, place)


def whole(path: bytes) -> Iterator[Record]:
    """The file."""
    yield path, files.read_bytes(path)


def lines(path: bytes, skip: int = 0) -> Iterator[Record]:
    """Lines without their ends, numbered from 1; carriage returns are dropped wherever they are."""
    with files.translated(path), open(files.local(path), "rb") as file:
        for number, line in enumerate(file, 1):
            if number > skip:
                yield _key(path, number), line.removesuffix(b"\n").replace(b"\r", b"")


def fixed(
    path: bytes, record: int, header: int = 0, footer: int = 0, hop: int = 0, encoding: str = ""
) -> Iterator[Record]:
    """Records of one length, numbered from 0, each `hop` bytes after the one before (its own length
    if 0); what is left over at the end of the file is not a record."""
    source = ByteSource(path, Compression(encoding))
    try:
        if len(source.read(header)) < header:
            raise OutOfRangeError(None, None, f"{files.local(path)} is shorter than its header")
        ahead, number = b"", 0
        step = hop or record
        while True:
            if number:
                missing = step - len(ahead)
                ahead = ahead[step:]
                if missing > 0 and len(source.read(missing)) < missing:
                    return
            wanted = record + footer - len(ahead)
            part = source.read(wanted) if wanted > 0 else b""
            if len(part) < wanted or not (part or ahead):
                return
            ahead += part
            yield _key(path, number), ahead[:record]
            number += 1
    finally:
        source.close()


def tfrecords(path: bytes, compression: str = "") -> Iterator[Record]:
    """The records of a TFRecord file; the keys say at which byte they start."""
    with RecordReader(path, Compression(compression)) as reader:
        while True:
            offset = reader.offset
            record = reader.read()
            if record is None:
                return
            yield _key(path, offset), record
