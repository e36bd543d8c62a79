"""Peers that know no secret: TensorFlow's client at a guarded task, and our client at TensorFlow's task."""

from __future__ import annotations

import subprocess

import pytest

import headrace as tf
from headrace.distributed.master.remote import RemoteMaster
from headrace.distributed.security.settings import Security
from headrace.formats import proto
from tests.distributed.clusters import addresses
from tests.tensorflow_peer import TF_PYTHON, needs_tensorflow
from tests.timing import PATIENCE

pytestmark = [pytest.mark.process, needs_tensorflow]
CLIENT = """
import os
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
try:
    tf.Session("{target}").run(tf.constant(1.0))
except tf.errors.UnauthenticatedError as error:
    print(error.message, flush=True)
os._exit(0)
"""
SERVER = """
import os
import tensorflow.compat.v1 as tf
server = tf.train.Server({cluster})
print("up", flush=True)
server.join()
"""


def test_a_client_of_tensorflow_is_refused_in_words(caplog):
    server = tf.train.Server({"local": ["localhost:0"]}, security=Security(secret="word"))
    try:
        done = subprocess.run(
            [TF_PYTHON, "-c", CLIENT.format(target=server.target)],
            capture_output=True,
            text=True,
            timeout=3 * PATIENCE,  # TensorFlow is imported there
            check=False,
        )
    finally:
        server.stop()
    assert "asks its callers for the cluster's secret" in done.stdout, done.stderr
    assert "was refused to ipv4:127.0.0.1:" in caplog.text


def test_a_task_of_tensorflow_is_refused_in_words():
    at = addresses(local=1)
    task = subprocess.Popen([TF_PYTHON, "-c", SERVER.format(cluster=at)], stdout=subprocess.PIPE)
    try:
        assert task.stdout is not None and task.stdout.readline() == b"up\n"
        master = RemoteMaster(at["local"][0], Security(secret="word"))
        with pytest.raises(tf.errors.UnauthenticatedError, match="asks for no secret"):
            master.create_session(proto.GraphDef(), proto.ConfigProto())
        master.close()
        master = RemoteMaster(at["local"][0], Security())  # without one it is a task like others
        handle, _ = master.create_session(proto.GraphDef(), proto.ConfigProto())
        master.close_session(handle)
        master.close()
    finally:
        task.kill()
        task.communicate(timeout=PATIENCE)
