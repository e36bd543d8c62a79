"""Every test builds its pipelines in a graph of its own."""

from __future__ import annotations

import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph
