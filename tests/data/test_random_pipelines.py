"""Random pipelines give what a model in plain Python says, and, where TensorFlow is there, what it gives."""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path

import pytest

import headrace as tf
from tests import timing
from tests.data import random_pipelines

HERE = Path(__file__).parent
PEER = """
import sys, json
sys.path.insert(0, sys.argv[1])
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
import random_pipelines
print(json.dumps([random_pipelines.elements(tf, w) for w in json.load(sys.stdin)]))
"""


def pipelines(seed, count):
    rng = random.Random(seed)
    return [random_pipelines.pipeline(rng) for _ in range(count)]


@pytest.mark.parametrize("seed", range(3))
def test_the_model_agrees(seed):
    for words in pipelines(seed, 8):
        expected = random_pipelines.model(words)
        if expected is not None and len(expected) < 300:
            assert random_pipelines.elements(tf, words) == expected, words


@pytest.mark.slow
def test_tensorflow_agrees():
    python = os.environ.get("HEADRACE_TF_PYTHON")
    if not python:
        pytest.skip("HEADRACE_TF_PYTHON does not name an interpreter with TensorFlow")
    chosen = pipelines(int(os.environ.get("PIPELINES_SEED", "7")), int(os.environ.get("PIPELINES", "40")))
    done = subprocess.run(
        [python, "-c", PEER, str(HERE)],
        input=json.dumps(chosen),
        capture_output=True,
        text=True,
        timeout=5 * timing.PATIENCE,
        check=True,
    )
    for words, expected in zip(chosen, json.loads(done.stdout.splitlines()[-1])):
        assert random_pipelines.elements(tf, words) == expected, words
