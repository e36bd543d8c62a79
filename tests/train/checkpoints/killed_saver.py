"""Kill a process that saves, again and again, and look at what it left:  killed_saver.py FOLDER MODE ROUNDS

A child saves variables that all hold the number of the step, and reports each step whose save has returned.
After the kill, the newest checkpoint must exist, be undamaged, hold one step only, and be no older than the
last step that was reported.  MODE: "same" (one name, overwritten), "numbered", "sharded".
"""

from __future__ import annotations

import os
import random
import signal
import struct
import sys
import time
import traceback

import headrace as tf
from headrace.formats.checkpoints.checkpoint import open_checkpoint

SIZES = (3, 50_000, 0, 700)


class Model:
    """Variables on two devices, a node that advances them by a step, and a saver."""

    def __init__(self, mode: str) -> None:
        step = self.step = tf.Variable(tf.constant(1, tf.int64), name="step")
        parts = []
        for i, size in enumerate(SIZES):
            with tf.device(f"/cpu:{i % 2}"):
                parts.append(tf.Variable(tf.fill([size], 1.0), name=f"part{i}"))
        number = tf.cast(tf.identity(step.assign_add(1)), tf.float32)
        self.advance = tf.group(*[part.assign(tf.fill(part.shape, number)) for part in parts])
        self.initialize = tf.global_variables_initializer()
        self.saver = tf.train.Saver(sharded=mode == "sharded", max_to_keep=2)
        self.is_numbered = mode != "same"

    def save_for_ever(self, folder: str, report: int) -> None:
        """Go on where the last one was killed."""
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
            newest = tf.train.latest_checkpoint(folder)
            if newest is None:
                session.run(self.initialize)
            else:
                self.saver.restore(session, newest)
                session.run(self.advance)
            while True:
                number = session.run(self.step)
                self.saver.save(
                    session,
                    folder + "/model",
                    global_step=number if self.is_numbered else None,
                    write_meta_graph=False,
                )
                os.write(report, struct.pack("<q", number))
                session.run(self.advance)


def one_round(folder: str, model: Model, rng: random.Random) -> int:
    """Run and kill a child; returns the last step that it reported."""
    reader, report = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            model.save_for_ever(folder, report)
        except BaseException:
            traceback.print_exc()
        os._exit(1)
    os.close(report)
    last = struct.unpack("<q", os.read(reader, 8))[0]  # the first save is complete
    time.sleep(rng.random() * 0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while data := os.read(reader, 1 << 16):
        last = struct.unpack_from("<q", data, len(data) - 8)[0]
    os.close(reader)
    return last


def check(folder: str, last: int) -> int:
    """The step in the newest checkpoint."""
    state = tf.train.get_checkpoint_state(folder)
    path = tf.train.latest_checkpoint(folder)
    assert path is not None and path == state.model_checkpoint_path, "no checkpoint is found"
    with open_checkpoint(path) as reader:
        steps = {int(reader.read("step"))}
        for i, size in enumerate(SIZES):
            value = reader.read(f"part{i}")
            assert value.shape == (size,)
            steps |= {int(v) for v in set(value.tolist())}
    assert len(steps) == 1, f"steps are mixed: {steps}"
    (found,) = steps
    assert last <= found <= last + 1, f"{found} was restored, {last} was saved"
    for kept in state.all_model_checkpoint_paths:
        assert tf.train.checkpoint_exists(kept), f"{kept} is named, but gone"
    return found


def main() -> None:
    folder, mode, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    rng, step = random.Random(0), 0
    model = Model(mode)
    for number in range(rounds):
        last = one_round(folder, model, rng)
        try:
            step = check(folder, last)
        except Exception:
            print(f"round {number}: {sorted(os.listdir(folder))}", file=sys.stderr)
            raise
    print(f"{rounds} rounds, {step} steps")


if __name__ == "__main__":
    main()
