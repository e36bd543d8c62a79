"""What ops make of NaN: inputs and results, equal in every mode.
`python -m tests.codegen.numbers.not_a_number` says what differs here."""

from __future__ import annotations

import numpy as np

import headrace as tf

NAN, INF = float("nan"), float("inf")
MOST = float(np.finfo(np.float32).max)
ROWS = np.array(
    [
        [1, NAN, 3],
        [NAN, 1, 3],
        [1, 3, NAN],
        [NAN, NAN, NAN],
        [-INF, NAN, -INF],
        [NAN, -INF, -5],
        [INF, NAN, 1],
        [-INF, -MOST, NAN],
        [3, NAN, 3],
    ],
    np.float32,
)
ANY = [NAN] * len(ROWS)
GROUPS = np.array([0, 0, 1, 1, 2, 2, 3, 3, 3])

# name -> a function of rows (..., 3, width), and what it gives for each of ROWS
EXPECTED = {
    "argmax": (lambda x: tf.argmax(x, 1), [2, 2, 1, 0, 0, 2, 0, 0, 0]),
    "argmin": (lambda x: tf.argmin(x, 1), [0, 1, 0, 0, 0, 1, 2, 0, 0]),
    "sign": (lambda x: tf.sign(x[:, 1]), [0, 1, 1, 0, 0, -1, 0, -1, 0]),
    "max": (lambda x: tf.reduce_max(x, 1), ANY),
    "min": (lambda x: tf.reduce_min(x, 1), ANY),
    "maximum": (lambda x: tf.maximum(x[:, 0], x[:, 1]), [NAN, NAN, 3, NAN, NAN, NAN, NAN, -MOST, NAN]),
    "minimum": (lambda x: tf.minimum(x[:, 1], x[:, 0]), [NAN, NAN, 1, NAN, NAN, NAN, NAN, -INF, NAN]),
    "relu": (lambda x: tf.nn.relu(x[:, 1]), [NAN, 1, 3, NAN, NAN, 0, NAN, 0, NAN]),
    "relu6": (lambda x: tf.nn.relu6(x[:, 0]), [1, NAN, 1, NAN, 0, NAN, 6, 0, 3]),
    "segment_max": (
        lambda x: tf.gather(tf.segment_max(x[:, 2], GROUPS), GROUPS),
        [3, 3, NAN, NAN, -5, -5, NAN, NAN, NAN],
    ),
    "unsorted_segment_max": (
        lambda x: tf.gather(tf.unsorted_segment_max(x[:, 2], GROUPS, 4), GROUPS),
        [3, 3, NAN, NAN, -5, -5, NAN, NAN, NAN],
    ),
    "unsorted_segment_min": (
        lambda x: tf.gather(tf.unsorted_segment_min(x[:, 2], GROUPS, 4), GROUPS),
        [3, 3, NAN, NAN, -INF, -INF, NAN, NAN, NAN],
    ),
}


def differences(width: int) -> list[str]:
    """What comes out otherwise, for rows of vectors of this width."""
    found = []
    x = np.repeat(ROWS[:, :, None], width, 2)
    for name, (build, each) in EXPECTED.items():
        with tf.Graph().as_default(), tf.Session() as session:
            fed = tf.placeholder(tf.float32, x.shape)
            made = build(fed)
            for step in range(3):
                got = session.run(made, {fed: x})
                want = np.repeat(np.array(each, got.dtype)[:, None], width, 1)
                if not np.array_equal(got, want, equal_nan=got.dtype.kind == "f"):
                    found.append(f"{name} width {width} step {step}: {got[:, 0]} {want[:, 0]}")
                    break
    return found


if __name__ == "__main__":
    for line in [*differences(1), *differences(37)]:
        print(line)
