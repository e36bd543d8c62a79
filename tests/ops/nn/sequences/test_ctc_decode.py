"""The beam search of CTC beside TensorFlow's: narrow beams, from which sequences drop out and come back."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import headrace as tf
from tests.tensorflow_peer import needs_tensorflow, tensorflow

pytestmark = pytest.mark.pure

# Seed, width, the two best sequences and their log probabilities, by TensorFlow 2.21.
NARROW = [
    (0, 1, [[2, 1, 1, 0, 1]], [-2.76324]),
    (1, 2, [[1, 0, 2], [1, 0, 0, 2]], [-3.42734, -3.59935]),
    (2, 2, [[0, 2, 0, 2], [0, 2, 0, 1, 2]], [-1.36209, -4.30974]),
    (3, 3, [[0, 1, 2, 1, 2, 1], [0, 1, 0, 2, 1, 2, 1]], [-1.44563, -1.84997]),
    (4, 3, [[2, 1, 2, 0], [2, 1, 1, 2, 0]], [-1.44103, -1.85433]),
    (5, 4, [[0, 1, 0, 1], [0, 1, 2, 1]], [-2.04366, -2.45636]),
    (6, 5, [[1, 1, 2, 0], [1, 0, 1, 2, 0]], [-2.73802, -3.30083]),
    (7, 6, [[1, 2, 1, 0], [1, 2, 1, 0, 1]], [-2.89191, -3.15977]),
]


def decoded(inputs, width, paths):
    with tf.Graph().as_default(), tf.Session() as session:
        found = tf.raw_ops.CTCBeamSearchDecoder(
            inputs=inputs,
            sequence_length=[len(inputs)],
            beam_width=width,
            top_paths=paths,
            merge_repeated=False,
        )
        values, scores = session.run([list(found[1]), found[3]])
    return [v.tolist() for v in values], scores[0]


@pytest.mark.parametrize("seed, width, paths, scores", NARROW)
def test_narrow_beams(seed, width, paths, scores):
    inputs = np.random.default_rng(seed).normal(size=(8, 1, 4)).astype(np.float32) * 2
    found, totals = decoded(inputs, width, len(paths))
    assert found == paths
    np.testing.assert_allclose(totals, scores, atol=2e-5)


CASES = list(itertools.product([-1, *range(20)], [3, 5, 9], [1, 3]))


def inputs_of(seed):
    if seed < 0:  # all alike: the order of equal sequences counts
        return np.zeros((3, 1, 4), np.float32)
    return np.random.default_rng(seed).normal(size=(7, 1, 5)).astype(np.float32) * 2


@pytest.mark.process
@needs_tensorflow
def test_beams_beside_tensorflow(tmp_path):
    np.savez(tmp_path / "inputs.npz", *[inputs_of(seed) for seed, _, _ in CASES])
    program = f"""
found, given = [], np.load("inputs.npz")
for i, (seed, width, paths) in enumerate({CASES}):
    x = given["arr_%d" % i]
    r = tf.raw_ops.CTCBeamSearchDecoder(inputs=x, sequence_length=[len(x)], beam_width=width,
                                        top_paths=paths, merge_repeated=False)
    found.append([v.numpy().tolist() for v in r[1]])
print(json.dumps(found))
"""
    for (seed, width, paths), best in zip(CASES, tensorflow(tmp_path, program)):
        assert decoded(inputs_of(seed), width, paths)[0] == best, (seed, width, paths)
