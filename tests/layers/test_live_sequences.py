"""Recurrent cells and loops beside TensorFlow's: the same weights, the same inputs, the same outputs, states
and gradients.

Needs HEADRACE_TF_PYTHON, an interpreter with TensorFlow 2 and tf_keras; skipped without it."""

from __future__ import annotations

import json

import numpy as np
import pytest

import headrace as tf
from tests.tensorflow_peer import needs_tensorflow, tensorflow

pytestmark = [pytest.mark.process, needs_tensorflow]

# Both sides run this text; `cell` is the expression of a case.
PROGRAM = """
rng = np.random.default_rng(5)
x_value = rng.normal(size=(3, 6, 4)).astype(np.float32)
lengths = [6, 2, 4]
cells, nest = v1.nn.rnn_cell, v1.nest if hasattr(v1, 'nest') else v1.contrib.framework.nest

def filled(variable):
    # by name, so that the order in which variables are made does not matter
    seed = sum(map(ord, variable.op.name.split("rnn/", 1)[-1]))
    numbers = np.random.default_rng(seed).normal(size=variable.shape.as_list()) * 0.4
    return variable.assign(numbers.astype(np.float32))

def results(outputs, state):
    flat = [*nest.flatten(outputs), *nest.flatten(state)]
    loss = v1.add_n([v1.reduce_sum(v1.square(t)) for t in flat])
    weights = sorted(v1.trainable_variables(), key=lambda w: w.op.name)
    grads = v1.gradients(loss, [x, *weights])
    names = [w.op.name for w in weights]
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        session.run([filled(w) for w in weights])
        values = session.run([*flat, *[v1.convert_to_tensor(g) for g in grads]])
    return [names, [np.asarray(v, np.float64).round(6).tolist() for v in values]]

with v1.Graph().as_default():
    x = v1.placeholder_with_default(x_value, [3, 6, 4])
    found = results(*CASE)
"""

LSTM = "cells.LSTMCell(5, {})"
CELLS = {
    "basic_rnn": "cells.BasicRNNCell(5)",
    "gru": "cells.GRUCell(5)",
    "basic_lstm": "cells.BasicLSTMCell(5, forget_bias=0.3)",
    "lstm": LSTM.format("forget_bias=0.5"),
    "lstm_peepholes": LSTM.format("use_peepholes=True"),
    "lstm_projection": LSTM.format("num_proj=2, proj_clip=0.4"),
    "lstm_all": LSTM.format(
        "use_peepholes=True, cell_clip=0.5, num_proj=3, proj_clip=0.3, activation=v1.nn.relu"
    ),
    "lstm_joined_state": LSTM.format("state_is_tuple=False"),
    "multi": "cells.MultiRNNCell([cells.GRUCell(4), cells.LSTMCell(3)])",
    "residual": "cells.ResidualWrapper(cells.GRUCell(4))",
    "device": "cells.DeviceWrapper(cells.GRUCell(4), '/cpu:0')",
    "no_dropout": "cells.DropoutWrapper(cells.GRUCell(4), 1.0, 1.0, 1.0)",
}
OTHERS = {
    "static": "v1.nn.static_rnn({}, v1.unstack(x, axis=1), sequence_length=lengths, dtype=v1.float32)",
    "time_major": "v1.nn.dynamic_rnn({}, v1.transpose(x, [1, 0, 2]), lengths, dtype=v1.float32, "
    "time_major=True)",
    "bidirectional": "v1.nn.bidirectional_dynamic_rnn({0}, {0}, x, lengths, dtype=v1.float32)",
    "static_bidirectional": "(lambda r: (r[0], r[1:]))(v1.nn.static_bidirectional_rnn({0}, {0}, "
    "v1.unstack(x, axis=1), dtype=v1.float32, sequence_length=lengths))",
}
CASES = {name: f"v1.nn.dynamic_rnn({cell}, x, lengths, dtype=v1.float32)" for name, cell in CELLS.items()} | {
    name: text.format(CELLS["lstm_peepholes"]) for name, text in OTHERS.items()
}


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    """All cases in one process: importing TensorFlow is most of the time."""
    folder = tmp_path_factory.mktemp("live")
    (folder / "case.py").write_text(PROGRAM)
    (folder / "cases.json").write_text(json.dumps(CASES))
    return tensorflow(
        folder,
        """
        import sys
        os.environ["TF_USE_LEGACY_KERAS"] = "1"
        import warnings
        warnings.simplefilter("ignore")
        v1.disable_v2_behavior()
        text = open("case.py").read()
        out = {}
        for name, case in json.load(open("cases.json")).items():
            names = {"np": np, "v1": v1}
            exec(text.replace("CASE", case), names)
            out[name] = names["found"]
        print(json.dumps(out))
        """,
    )


@pytest.mark.parametrize("name", CASES)
def test_same_as_tensorflow(name, theirs):
    names: dict = {"np": np, "v1": tf}
    exec(PROGRAM.replace("CASE", CASES[name]), names)
    (our_names, ours), (their_names, wanted) = names["found"], theirs[name]
    assert our_names == their_names
    assert len(ours) == len(wanted)
    for got, value in zip(ours, wanted):
        np.testing.assert_allclose(got, value, rtol=2e-4, atol=2e-5)
