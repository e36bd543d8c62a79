"""Make golden_cells.npz: what TensorFlow 1.15's own cells compute, run by a later TensorFlow.

    TENSORFLOW'S PYTHON tests/contrib/make_golden_cells.py MIRROR

MIRROR is a git repository of TensorFlow 1.15; its contrib/rnn cells are loaded over tf.compat.v1.
"""

import pathlib
import subprocess
import sys
import types

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))
from tests.contrib.contrib_cells import CASES, run

HERE = pathlib.Path(__file__).parent
FOLDER = "tensorflow/contrib/rnn/python/ops"


def cells_of(mirror, tf):
    """The module rnn_cell of TF 1.15."""
    import tensorflow.python.ops as ops
    from tensorflow.python.keras.layers.legacy_rnn import rnn_cell_impl
    from tensorflow.python.ops import array_ops, control_flow_ops
    from tensorflow.python.util import nest

    ops.rnn_cell_impl = rnn_cell_impl
    control_flow_ops.cond, array_ops.stack, array_ops.squeeze = tf.cond, tf.stack, tf.squeeze
    nest.is_sequence = nest.is_nested
    sys.modules["tensorflow.python.ops.rnn_cell_impl"] = rnn_cell_impl
    contrib = {}
    for name in (
        "contrib",
        "contrib.compiler",
        "contrib.layers",
        "contrib.layers.python",
        "contrib.layers.python.layers",
        "contrib.rnn",
        "contrib.rnn.python",
        "contrib.rnn.python.ops",
    ):
        contrib[name] = sys.modules["tensorflow." + name] = types.ModuleType("tensorflow." + name)
    contrib["contrib.compiler"].jit = None
    layers = contrib["contrib.layers.python.layers"]
    layers.layers = types.SimpleNamespace(layer_norm=lambda x, reuse, scope: layer_norm(tf, x, scope))
    for name in ("core_rnn_cell", "rnn_cell"):
        text = subprocess.check_output(
            ["git", f"--git-dir={mirror}", "show", f"HEAD:{FOLDER}/{name}.py"], text=True
        )
        module = types.ModuleType(f"tensorflow.contrib.rnn.python.ops.{name}")
        exec(compile(text, name, "exec"), vars(module))
        setattr(contrib["contrib.rnn.python.ops"], name, module)
        sys.modules[module.__name__] = module
    return module


def layer_norm(tf, x, scope):
    with tf.variable_scope(scope, reuse=True):
        gamma, beta = (tf.get_variable(n, x.shape[-1:]) for n in ("gamma", "beta"))
    mean, variance = tf.nn.moments(x, [1], keepdims=True)
    return (x - mean) / tf.sqrt(variance + 1e-12) * gamma + beta


def main():
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    cells = cells_of(sys.argv[1], tf)
    found = {}
    for name in CASES:
        names, outputs, slopes = run(tf, cells, name)
        found[f"{name}/names"] = np.array(names)
        for kind, arrays in (("output", outputs), ("slope", slopes)):
            for i, array in enumerate(arrays):
                found[f"{name}/{kind}{i}"] = array
        print(name, len(names))
    np.savez_compressed(HERE / "golden_cells.npz", **found)


if __name__ == "__main__":
    main()
