"""A worker without its network: parts of steps that others end."""

from __future__ import annotations

import threading

import pytest

import headrace as tf
from headrace.core.errors import UnavailableError
from headrace.distributed.worker.interface import Call
from headrace.distributed.worker.worker import Worker
from tests.timing import PATIENCE, wait_until

TASK = "/job:ps/replica:0/task:0"


class LostLink:
    """A link to a master that is lost while a part runs."""

    peer = "/job:worker/replica:0/task:0"

    def expect(self, step, lost):
        self.step, self.lost = step, lost

    def settled(self, step):
        pass

    def tell(self, *message):
        pass


@pytest.mark.parametrize("kind", ["queue", "accumulator"])
def test_a_part_that_waits_when_its_master_is_lost_says_so(kind):
    """Not that it was cancelled: that is nothing which a training session recovers from."""
    worker = Worker(TASK, {}, {}, lambda task, address: worker)
    with tf.Graph().as_default() as graph, tf.device(f"{TASK}/device:CPU:0"):
        if kind == "queue":
            tf.FIFOQueue(1, [tf.float32]).dequeue()
        else:
            tf.ConditionalAccumulator(tf.float32, shape=[]).take_grad(1)
    handle = worker.register("", graph.as_graph_def()).result(PATIENCE)
    link, ended, found = LostLink(), threading.Event(), []

    def then(values, error):
        found.append(error)
        ended.set()

    worker.start(Call("", handle, 1, {}, []), link, then)
    wait_until(lambda: link.step.cancel._callbacks)  # the kernel's: it waits
    link.lost(UnavailableError(None, None, "the master is not there"))
    assert ended.wait(PATIENCE)
    assert isinstance(found[0], UnavailableError), found
