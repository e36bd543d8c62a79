"""Elements from files: lines, records, records of one length, names that match."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core.dtypes import string
from headrace.core.errors import DataLossError, InvalidArgumentError, NotFoundError, require
from headrace.core.shapes import SCALAR
from headrace.formats import files
from headrace.formats.records.compression import ByteSource, Compression
from headrace.formats.records.tfrecord import RecordReader
from headrace.ops.data.pipeline.dataset import Dataset, Element, Iterator, Place
from headrace.ops.data.pipeline.declaring import boxed, dataset_op, scalar_of
from headrace.ops.declaration.text import shown
from headrace.ops.declaration.traits import STATEFUL

_CHUNK = 1 << 18


def names_of(filenames: Any) -> list[bytes]:
    require(np.ndim(filenames) <= 1, "`filenames` must be a scalar or a vector.")
    return list(np.asarray(filenames).reshape(-1))


def compression_of(compression_type: Any) -> Compression:
    name = scalar_of(compression_type, "compression_type").decode()
    require(name in ("", "ZLIB", "GZIP"), "Unsupported compression_type.")
    return Compression(name)


class Files(Dataset):
    """The contents of files, one after the other."""

    def __init__(self, names: Sequence[bytes], compression: Compression) -> None:
        super().__init__((string,), (SCALAR,))
        self.names, self.compression = list(names), compression


class FilesIterator(Iterator):
    """`file` is number `at`.  A subclass opens one, reads from it, and says where it is."""

    def __init__(self, dataset: Any, running: Any, path: str) -> None:
        super().__init__(dataset, running, path)
        self.file: Any = None
        self.at = 0

    def open(self, name: bytes, offset: int) -> Any:
        raise NotImplementedError

    def read(self, file: Any) -> bytes | None:
        raise NotImplementedError

    def next(self) -> Element | None:
        with files.fenced(self.running.background.folders):
            while self.at < len(self.dataset.names):
                if self.file is None:
                    self.file = self.open(self.dataset.names[self.at], 0)
                found = self.read(self.file)
                if found is not None:
                    return [boxed(found)]
                self.close()
                self.at += 1
        return None

    def save(self) -> Place:
        return {"at": self.at, "offset": -1 if self.file is None else self.file.offset}

    def restore(self, place: Place) -> None:
        self.close()
        self.at = place["at"]
        if place["offset"] >= 0:
            with files.fenced(self.running.background.folders):
                self.file = self.open(self.dataset.names[self.at], place["offset"])

    def close(self) -> None:
        file, self.file = self.file, None
        if file is not None:
            file.close()


# -- lines -----------------------------------------------------------------------------------------
class Lines:
    """The lines of a file.  `offset`: where the next one begins, after decompression."""

    def __init__(self, name: bytes, compression: Compression, offset: int) -> None:
        self._source, self._rest, self._at = ByteSource(name, compression), b"", 0
        if offset:
            self._source.skip_to(offset)

    @property
    def offset(self) -> int:
        return self._source.offset - len(self._rest) + self._at

    def read(self) -> bytes | None:
        end = self._rest.find(b"\n", self._at)
        while end < 0:
            more = self._source.read(_CHUNK)
            if not more:
                line, self._rest, self._at = self._rest[self._at :], b"", 0
                return line.replace(b"\r", b"") if line else None
            scanned = len(self._rest) - self._at
            self._rest, self._at = self._rest[self._at :] + more, 0
            end = self._rest.find(b"\n", scanned)
        line, self._at = self._rest[self._at : end], end + 1
        return line.replace(b"\r", b"")

    def close(self) -> None:
        self._source.close()


class TextLines(Files):
    kind = "TextLine"


class LinesIterator(FilesIterator, over=TextLines):
    def open(self, name: bytes, offset: int) -> Lines:
        return Lines(name, self.dataset.compression, offset)

    def read(self, file: Any) -> bytes | None:
        return file.read()


_READ = "filenames: string, compression_type: string, buffer_size: int64 -> handle: variant"


def _check_buffer(buffer_size: Any) -> None:
    require(scalar_of(buffer_size, "buffer_size") >= 0, "`buffer_size` must be >= 0 (0 == default)")


@dataset_op("TextLineDataset", _READ, [STATEFUL], attrs={})
def text_line_dataset(ctx, filenames, compression_type, buffer_size):
    """The lines of files, without what ends them."""
    _check_buffer(buffer_size)
    return TextLines(names_of(filenames), compression_of(compression_type))


# -- records ---------------------------------------------------------------------------------------
class Records(Files):
    kind = "TFRecord"


class RecordsIterator(FilesIterator, over=Records):
    def open(self, name: bytes, offset: int) -> RecordReader:
        return RecordReader(name, self.dataset.compression, offset)

    def read(self, file: Any) -> bytes | None:
        return file.read()

    def next(self) -> Element | None:
        try:
            return super().next()
        except DataLossError:
            # As TensorFlow: the rest of a damaged file is passed over, if somebody asks on.
            self.close()
            self.at += 1
            raise


@dataset_op("TFRecordDataset", _READ, [STATEFUL], attrs={})
def tf_record_dataset(ctx, filenames, compression_type, buffer_size):
    """The records of TFRecord files."""
    _check_buffer(buffer_size)
    return Records(names_of(filenames), compression_of(compression_type))


# -- records of one length -------------------------------------------------------------------------
class FixedLength(Files):
    kind = "FixedLengthRecord"

    def __init__(
        self, names: Sequence[bytes], compression: Compression, header: int, record: int, footer: int
    ) -> None:
        super().__init__(names, compression)
        self.header, self.record, self.footer = header, record, footer


class Pieces:
    """Pieces of one length between a header and a footer."""

    def __init__(self, dataset: FixedLength, name: bytes, offset: int) -> None:
        self._dataset, self._name = dataset, name
        if not dataset.compression.kind:
            body = files.stat(name).length - dataset.header - dataset.footer
            if body % dataset.record or body < 0:
                raise InvalidArgumentError(None, None, self._misfit(body))
        self._source = ByteSource(name, dataset.compression)
        self._ahead = b""  # what may be the footer
        self._source.read(dataset.header)
        if offset > dataset.header:
            self._source.skip_to(offset)

    @property
    def offset(self) -> int:
        return self._source.offset - len(self._ahead)

    def read(self) -> bytes | None:
        record, footer = self._dataset.record, self._dataset.footer
        self._ahead += self._source.read(record + footer - len(self._ahead))
        if len(self._ahead) < record + footer:
            left = len(self._ahead) - footer
            if left > 0:
                body = self._source.offset - self._dataset.header - footer
                raise DataLossError(None, None, self._misfit(body))
            return None
        found, self._ahead = self._ahead[:record], self._ahead[record:]
        return found

    def _misfit(self, body: int) -> str:
        dataset = self._dataset
        return (
            f"Excluding the header ({dataset.header} bytes) and footer ({dataset.footer} bytes), input file "
            f'"{shown(self._name)}" has body length {body} bytes, which is not an exact multiple of the '
            f"record length ({dataset.record} bytes)."
        )

    def close(self) -> None:
        self._source.close()


class FixedLengthIterator(FilesIterator, over=FixedLength):
    def open(self, name: bytes, offset: int) -> Pieces:
        return Pieces(self.dataset, name, offset)

    def read(self, file: Any) -> bytes | None:
        return file.read()


def _fixed(filenames, header_bytes, record_bytes, footer_bytes, buffer_size, compression):
    header, record, footer = (
        scalar_of(v, n)
        for v, n in ((header_bytes, "header_bytes"), (record_bytes, "record_bytes"), (footer_bytes, "footer"))
    )
    require(header >= 0, "`header_bytes` must be >= 0")
    require(record > 0, "`record_bytes` must be > 0")
    require(footer >= 0, "`footer_bytes` must be >= 0")
    _check_buffer(buffer_size)
    return FixedLength(names_of(filenames), compression, header, record, footer)


_FIXED = (
    "filenames: string, header_bytes: int64, record_bytes: int64, footer_bytes: int64, buffer_size: int64"
)


@dataset_op("FixedLengthRecordDataset", f"{_FIXED} -> handle: variant", [STATEFUL], attrs={})
def fixed_length_record_dataset(ctx, filenames, header_bytes, record_bytes, footer_bytes, buffer_size):
    """The pieces of one length that files consist of."""
    given = filenames, header_bytes, record_bytes, footer_bytes, buffer_size
    return _fixed(*given, Compression())


@dataset_op(
    "FixedLengthRecordDatasetV2",
    f"{_FIXED}, compression_type: string -> handle: variant",
    [STATEFUL],
    attrs={},
)
def fixed_length_record_dataset_v2(
    ctx, filenames, header_bytes, record_bytes, footer_bytes, buffer_size, compression_type
):
    """The pieces of one length that files consist of."""
    given = filenames, header_bytes, record_bytes, footer_bytes, buffer_size
    return _fixed(*given, compression_of(compression_type))


# -- names -----------------------------------------------------------------------------------------
class Matching(Dataset):
    """The names of files that match patterns, in the order of the patterns, then of the alphabet."""

    kind = "MatchingFiles"

    def __init__(self, patterns: Sequence[bytes]) -> None:
        super().__init__((string,), (SCALAR,))
        self.patterns = list(patterns)


class MatchingIterator(Iterator, over=Matching):
    def __init__(self, dataset: Any, running: Any, path: str) -> None:
        super().__init__(dataset, running, path)
        self.found: list[bytes] = []
        self.at, self.has_match = 0, False

    def next(self) -> Element | None:
        while not self.found and self.at < len(self.dataset.patterns):
            with files.fenced(self.running.background.folders):
                names = files.glob(self.dataset.patterns[self.at])
            self.found = [n.encode() if isinstance(n, str) else n for n in names if not files.isdir(n)]
            heapq.heapify(self.found)
            self.at += 1
        if self.found:
            self.has_match = True
            return [boxed(heapq.heappop(self.found))]
        if not self.has_match:
            raise NotFoundError(None, None, "Don't find any matched files")
        return None

    def save(self) -> Place:
        return {"at": self.at, "found": list(self.found), "matched": self.has_match}

    def restore(self, place: Place) -> None:
        self.at, self.found, self.has_match = place["at"], list(place["found"]), place["matched"]


@dataset_op(
    "MatchingFilesDataset",
    "patterns: string -> handle: variant",
    [STATEFUL],
    also="ExperimentalMatchingFilesDataset",
    attrs={},
)
def matching_files_dataset(ctx, patterns):
    """The names of the files that match."""
    require(np.ndim(patterns) <= 1, "`patterns` must be a scalar or a vector.")
    return Matching(list(np.asarray(patterns).reshape(-1)))
