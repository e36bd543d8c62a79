"""The calls of advisories.txt: `python -m tests.ops.calls.advisories FIRST STEP` prints the number of a call
before it runs, and after it what it came to.  A call may be refused, with any of TensorFlow's classes."""

from __future__ import annotations

import faulthandler
import sys
from pathlib import Path
from typing import Any

import numpy as np

import headrace as tf
from headrace.core.errors import KERNEL_ERRORS

CALLS = [
    line
    for line in (Path(__file__).parent / "advisories.txt").read_text().splitlines()
    if line and not line.startswith("#")
]
TYPES = {
    "f32": tf.float32,
    "i32": tf.int32,
    "i64": tf.int64,
    "u8": tf.uint8,
    "b": tf.bool,
    "c64": tf.complex64,
}
SECONDS = 60  # a call that takes longer ends the process, with a traceback
REFUSALS = (*KERNEL_ERRORS, LookupError, AttributeError)


def known(session: Any) -> dict[str, Any]:
    """What a line may name."""

    def variable(is_resource: bool, value: Any) -> Any:
        made = tf.Variable(np.array(value, np.float32), use_resource=is_resource)
        session.run(made.initializer)
        return made.handle if is_resource else made._ref()

    return {
        **TYPES,
        "s": tf.string,
        "t": lambda value, dtype=tf.float32: tf.constant(value, dtype),
        "z": lambda shape, dtype=tf.float32: (
            tf.fill(shape, "") if dtype is tf.string else tf.zeros(shape, dtype)
        ),
        "q": lambda value, name: tf.bitcast(tf.constant(value, getattr(tf, name[1:])), getattr(tf, name)),
        "qt": lambda name: getattr(tf, name),
        "v": lambda value: variable(False, value),
        "r": lambda value: variable(True, value),
        "float": float,
    }


def run(line: str) -> str:
    with tf.Graph().as_default(), tf.Session() as session:
        names = known(session)
        name, _, arguments = line.partition("(")
        function = getattr(tf.raw_ops, name)
        outputs = eval(f"dict({arguments}", {"__builtins__": {"dict": dict}, **names})
        made = function(**outputs)
        node = made if isinstance(made, tf.Operation) else next(t for t in _flat(made)).op
        wanted = [t for t in node.outputs if t.dtype.base_dtype.kind not in "rv"]
        for _ in range(2):
            session.run(wanted or node, options=tf.RunOptions(timeout_in_ms=5000))
    return "answered"


def _flat(made: Any) -> Any:
    for each in made if isinstance(made, (list, tuple)) else [made]:
        yield from _flat(each) if isinstance(each, (list, tuple)) else [each]


def main(first: int, step: int) -> None:
    for number in range(first, len(CALLS), step):
        line = CALLS[number]
        print(number, end=" ", flush=True)
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        try:
            said = run(line)
        except tf.errors.UnknownError as error:  # a fault of a kernel
            said = f"BAD {error} in {line}".replace("\n", " ")
        except REFUSALS as error:
            said = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:150]
        except Exception as error:  # nobody foresaw this
            said = f"BAD {type(error).__name__}: {error} in {line}".replace("\n", " ")
        print(said, flush=True)
    faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
