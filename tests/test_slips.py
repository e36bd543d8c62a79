"""Slips of the pen in TF1 programs: tests/slips.txt has each with what it is told, from end to end.

Beside TensorFlow (HEADRACE_TF_PYTHON): the class of the error is TensorFlow's, and no name, number or shape
that TensorFlow tells is kept from the user.  `python -m tests.test_slips` writes the answers of the day."""

from __future__ import annotations

import json
import linecache
import re
from pathlib import Path

import pytest

import headrace as tf
from tests.tensorflow_peer import needs_tensorflow, tensorflow

FILE = Path(__file__).parent / "slips.txt"
# What TensorFlow 2.21 lacks, or does not refuse.
ONLY_TF1 = {
    "layers slip",
    "dense no last dim",
    "activation string",
    "rnn dtype",
    "rnn rank",
    "softmax ce positional",
    "a name that is absent",
    "a name in another module",
}
# What TensorFlow's message has besides: its own words for the same, with other numbers in them.
OTHER_WORDS = {
    "bad scope": {"9"},
    "bad node name": {"9"},
    "concat shapes": {"[2]", "[3]"},
    "constant mixed": {"1"},
    "a typo": {"'tensorflow._api.v2.compat.v1.nn'"},
    "mul float int": {"2.5"},
    "pickle tensor": {"'SymbolicTensor'"},
    "assign tensor": {"'SymbolicTensor'"},
    "item assignment": {"'SymbolicTensor'"},
}


def slips() -> dict[str, tuple[str, str]]:
    """Name: program and answer."""
    found = {}
    for block in FILE.read_text().split("## ")[1:]:
        name, *lines = block.rstrip("\n").split("\n")
        program = [line for line in lines if not line.startswith("|")]
        answer = [line[2:] for line in lines if line.startswith("|")]
        found[name] = ("\n".join(program) + "\n", "\n".join(answer))
    return found


SLIPS = slips()


def answer(program: str) -> tuple[Exception, str]:
    """What a program is told; it is in no file, but its lines are known."""
    lines = program.splitlines(keepends=True)
    linecache.cache["program.py"] = (len(program), None, lines, "program.py")
    with tf.Graph().as_default(), pytest.raises(Exception) as caught:
        exec(compile(program, "program.py", "exec"), {"tf": tf})
    text = f"{type(caught.value).__name__}: {caught.value}"
    text = re.sub(r"\. Did you mean '\w+'\?$", "", text)  # Python 3.13's own, for keywords
    return caught.value, re.sub("0x[0-9a-f]+", "0x...", text)


@pytest.mark.parametrize("name", SLIPS)
def test_answer(name):
    program, expected = SLIPS[name]
    assert answer(program)[1] == expected


IN_TENSORFLOW = """
import re
v1.disable_v2_behavior()
answers = {}
for name, program in json.loads(PROGRAMS).items():
    with v1.Graph().as_default():
        try:
            exec(compile(program, "program.py", "exec"), {"tf": v1})
            answers[name] = None
        except Exception as error:
            kinds = [kind.__name__ for kind in type(error).__mro__]
            answers[name] = [kinds, getattr(error, "message", str(error))]
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    programs = {name: program for name, (program, _) in SLIPS.items() if name not in ONLY_TF1}
    text = f"PROGRAMS = {json.dumps(programs)!r}\n{IN_TENSORFLOW}"
    return tensorflow(tmp_path_factory.mktemp("slips"), text)


def facts(message: str) -> set[str]:
    """The shapes, quoted names and numbers of a message of TensorFlow's."""
    message = message.rpartition("Node: ")[2]  # where the node was made: ours says it too
    for tail in (
        "defined at:",
        " for '{{node",
        "and with computed",
        "and with input tensors",
        "(graphs are",
        "\n\t [[",
    ):
        kept, _, rest = message.partition(tail)
        message = kept + (rest.partition("with input shapes:")[2] if "{{node" in tail else "")
    return set(re.findall(r"\[[\d?,]*\]|'[\w:/.]+'|(?<![\w.])\d+(?:\.\d+)?", message))


@needs_tensorflow
@pytest.mark.process
@pytest.mark.parametrize("name", [name for name in SLIPS if name not in ONLY_TF1])
def test_tensorflow_tells_no_more(theirs, name):
    error, ours = answer(SLIPS[name][0])
    assert theirs[name] is not None, "TensorFlow does not refuse it"
    kinds, message = theirs[name]
    own = [kind.__name__ for kind in type(error).__mro__]
    assert set(own) & {k for k in kinds if k not in ("Exception", "BaseException", "object")}, kinds
    missing = {fact for fact in facts(message) if fact.strip("'") not in ours}
    assert not missing - OTHER_WORDS.get(name, set()), message


if __name__ == "__main__":
    blocks = []
    for name, (program, _) in SLIPS.items():
        told = "\n".join(f"| {line}".rstrip() for line in answer(program)[1].split("\n"))
        blocks.append(f"## {name}\n{program}{told}\n")
    FILE.write_text("\n".join(blocks))
