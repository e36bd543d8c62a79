"""Input pipelines beside TensorFlow 2.21: examples per second of CPU time and of the clock, by turns.

python -m bench.pipelines              needs HEADRACE_TF_PYTHON, an interpreter with TensorFlow
python -m bench.pipelines --only msb   some of them
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROUNDS, STEPS, BATCH = 3, 40, 100
TITLES = {
    "rows": "rows of 784 floats: shuffle, map, batch",
    "parallel": "the same with parallel calls and prefetch",
    "numbers": "numbers: map, batch",
    "generator": "from_generator, batch",
    "images": "TFRecord, parse, decode JPEG of 160 x 120, resize to 64, batch, prefetch",
    "photos": "the same with JPEG of 500 x 375, resized to 224",
}


def pipelines(tf: Any, folder: str) -> dict[str, Callable[[], Any]]:
    rows = np.random.RandomState(0).rand(10000, 784).astype(np.float32)
    labels = np.arange(10000) % 10
    data = tf.data.Dataset

    def scaled(x: Any, y: Any) -> Any:
        return x * (1 / 255.0) - 0.5, tf.one_hot(y, 10)

    def generator() -> Any:
        for i in range(1 << 40):
            yield rows[i % 10000], i % 10

    def image(record: Any, side: int = 64) -> Any:
        features = tf.parse_single_example(record, {"image": tf.FixedLenFeature([], tf.string)})
        picture = tf.image.decode_jpeg(features["image"], channels=3)
        return tf.image.resize_bilinear(tf.expand_dims(tf.cast(picture, tf.float32), 0), [side, side])[0]

    def photo(record: Any) -> Any:
        return image(record, 224)

    source = data.from_tensor_slices((rows, labels)).shuffle(5000, seed=1)

    def decoded(name: str, function: Any) -> Any:
        records = tf.data.TFRecordDataset(str(Path(folder) / f"{name}.tfrecord")).repeat()
        return records.map(function, num_parallel_calls=2).batch(16).prefetch(2)

    return {
        "rows": lambda: source.map(scaled).batch(BATCH).repeat(),
        "parallel": lambda: source.map(scaled, num_parallel_calls=2).batch(BATCH).prefetch(2).repeat(),
        "numbers": lambda: data.range(1 << 40).map(lambda x: x * 2).batch(BATCH),
        "generator": lambda: data.from_generator(generator, (tf.float32, tf.int32), ((784,), ())).batch(
            BATCH
        ),
        "images": lambda: decoded("images", image),
        "photos": lambda: decoded("photos", photo),
    }


SIZES = {"images": (120, 160), "photos": (375, 500)}


def write_images(tf: Any, path: str, height: int, width: int) -> None:
    """64 pictures."""
    rng = np.random.RandomState(0)
    with tf.Graph().as_default(), tf.Session() as session:
        pixels = tf.placeholder(tf.uint8, [None, None, 3])
        jpeg = tf.image.encode_jpeg(pixels)
        with tf.python_io.TFRecordWriter(path) as writer:
            for _ in range(64):
                coarse = rng.randint(0, 255, (-(-height // 8), -(-width // 8), 3))
                smooth = coarse.repeat(8, 0).repeat(8, 1)[:height, :width]
                value = [session.run(jpeg, {pixels: smooth})]
                feature = {"image": tf.train.Feature(bytes_list=tf.train.BytesList(value=value))}
                example = tf.train.Example(features=tf.train.Features(feature=feature))
                writer.write(example.SerializeToString())


def rate(tf: Any, make: Callable[[], Any], size: int) -> tuple[float, float]:
    """Examples per second: of CPU time, of the clock."""
    iterator = tf.data.make_initializable_iterator(make())
    following = tf.nest.flatten(iterator.get_next())[0].op
    with tf.Session() as session:
        session.run(iterator.initializer)
        for _ in range(15):
            session.run(following)
        cpu, clock = time.process_time(), time.perf_counter()
        for _ in range(STEPS):
            session.run(following)
        return STEPS * size / (time.process_time() - cpu), STEPS * size / (time.perf_counter() - clock)


def measure(which: str, name: str, folder: str) -> tuple[float, float]:
    """In this process: `which` is ours or TensorFlow."""
    if which == "ours":
        import headrace as tf
    else:
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
        import tensorflow.compat.v1 as tf  # type: ignore[no-redef]

        tf.disable_v2_behavior()
    records = Path(folder) / f"{name}.tfrecord"
    if name in SIZES and not records.exists():
        write_images(tf, str(records), *SIZES[name])
    with tf.Graph().as_default():
        return rate(tf, pipelines(tf, folder)[name], 16 if name in SIZES else BATCH)


def by_turns(module: str, names: list[str], folder: str) -> dict[str, dict[str, Any]]:
    """What `python -m MODULE --one WHICH NAME FOLDER` says, round after round."""
    pythons = {"ours": sys.executable, "tensorflow": os.environ["HEADRACE_TF_PYTHON"]}
    found: dict[str, dict[str, Any]] = {n: {w: [] for w in pythons} for n in names}
    for _ in range(ROUNDS):
        for name in names:
            for which, python in pythons.items():
                command = [python, "-m", module, "--one", which, name, folder]
                done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
                found[name][which].append(json.loads(done.stdout.splitlines()[-1]))
    return found


def table(found: dict[str, dict[str, Any]]) -> str:
    lines = ["| pipeline | ours / s | TensorFlow / s | CPU | clock |", "|---|---|---|---|---|"]
    for name, both in found.items():
        cpu = {w: statistics.median(x[0] for x in rounds) for w, rounds in both.items()}
        clock = {w: statistics.median(x[1] for x in rounds) for w, rounds in both.items()}
        lines.append(
            f"| {TITLES[name]} | {cpu['ours']:,.0f} | {cpu['tensorflow']:,.0f} | "
            f"{cpu['ours'] / cpu['tensorflow']:.1f}x | {clock['ours'] / clock['tensorflow']:.1f}x |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=TITLES)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(*given.one)))
        return
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        print(table(by_turns("bench.pipelines", given.only or list(TITLES), folder)))


if __name__ == "__main__":
    main()
