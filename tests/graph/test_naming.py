"""Names of nodes: TF 1.15's, in a table of programs.  With HEADRACE_TF_PYTHON (an interpreter that has
TensorFlow 2) the same programs also run there; some of 1.15's names it makes no longer."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

import headrace as tf

# what it shows: (program, names of its nodes in order)
CASES = {
    "twice": ("tf.constant(1); tf.constant(2); tf.constant(3)", "Const Const_1 Const_2"),
    "given": ("tf.constant(1, name='a'); tf.constant(2, name='a')", "a a_1"),
    "case does not count": ("tf.no_op(name='A'); tf.no_op(name='a'); tf.no_op(name='A')", "A a_1 A_2"),
    "a suffix that is taken": ("tf.no_op(name='a'); tf.no_op(name='a_1'); tf.no_op(name='a')", "a a_1 a_2"),
    "a suffix of a suffix": (
        "tf.no_op(name='a_1'); tf.no_op(name='a'); tf.no_op(name='a'); tf.no_op(name='a_1')",
        "a_1 a a_2 a_1_1",
    ),
    "scope": ("with tf.name_scope('s'):\n    tf.no_op(name='a')", "s/a"),
    "scope twice": (
        "for _ in range(2):\n    with tf.name_scope('s'):\n        tf.no_op(name='a')",
        "s/a s_1/a",
    ),
    "scope again": (
        "with tf.name_scope('s') as s:\n"
        "    tf.no_op(name='a')\n"
        "with tf.name_scope(s):\n"
        "    tf.no_op(name='a')",
        "s/a s/a_1",
    ),
    "nested": (
        "with tf.name_scope('s'):\n    with tf.name_scope('t'):\n        tf.no_op()\n    tf.no_op()",
        "s/t/NoOp s/NoOp",
    ),
    "root": ("with tf.name_scope('s'):\n    with tf.name_scope(None):\n        tf.no_op()", "NoOp"),
    "empty": ("with tf.name_scope('s'):\n    with tf.name_scope(''):\n        tf.no_op()", "NoOp"),
    "slash in a name": ("tf.no_op(name='a/b'); tf.no_op(name='a/b'); tf.no_op(name='a')", "a/b a/b_1 a"),
    "scope like a node": ("tf.no_op(name='s')\nwith tf.name_scope('s'):\n    tf.no_op(name='a')", "s s_1/a"),
    "node like a scope": ("with tf.name_scope('s'):\n    tf.no_op(name='a')\ntf.no_op(name='s')", "s/a s_1"),
    "dots and dashes": ("tf.no_op(name='a.b-c_d')", "a.b-c_d"),
    "scope with values": ("with tf.name_scope('f', values=[1]):\n    tf.no_op()", "f/NoOp"),
    "scope by default": ("with tf.name_scope(None, 'default', [1]):\n    tf.no_op()", "default/NoOp"),
    "operators": (
        "a = tf.constant(1.0); b = a + 2.0; c = b * a; d = c - b; e = d / a; f = -e",
        "Const add/y add mul sub truediv Neg",
    ),
    "operators from the right": (
        "a = tf.constant(1.0); 2.0 + a; 2.0 * a; 2.0 - a; 2.0 / a",
        "Const add/x add mul/x mul sub/x sub truediv/x truediv",
    ),
    "comparisons": (
        "a = tf.constant(1.0); a < 2.0; a >= 2.0; tf.equal(a, 2.0)",
        "Const Less/y Less GreaterEqual/y GreaterEqual Equal/y Equal",
    ),
    "logic": ("a = tf.constant(True); a & a; a | a; ~a", "Const and or LogicalNot"),
    "index": (
        "a = tf.constant([1, 2, 3]); a[0]; a[1:]; a[...]",
        "Const strided_slice/stack strided_slice/stack_1 strided_slice/stack_2 strided_slice "
        "strided_slice_1/stack strided_slice_1/stack_1 strided_slice_1/stack_2 "
        "strided_slice_1 strided_slice_2/stack strided_slice_2/stack_1 "
        "strided_slice_2/stack_2 strided_slice_2",
    ),
    "functions": (
        "a = tf.constant([1.0]); tf.exp(a); tf.nn.relu(a); tf.square(a); tf.sqrt(a)",
        "Const Exp Relu Square Sqrt",
    ),
    "named function": ("a = tf.constant([1.0]); tf.exp(a, name='e'); tf.nn.relu(a, name='e')", "Const e e_1"),
    "matmul": (
        "a = tf.ones([2, 2]); tf.matmul(a, a); tf.matmul(a, a, name='product')",
        "ones MatMul product",
    ),
    "reductions": (
        "a = tf.constant([1.0, 2.0]); tf.reduce_sum(a); tf.reduce_mean(a); tf.reduce_max(a, 0)",
        "Const Const_1 Sum Const_2 Mean Max/reduction_indices Max",
    ),
    "zeros and ones": (
        "tf.zeros([2]); tf.ones([2]); tf.fill([2], 1.0)",
        "zeros ones Fill/dims Fill/value Fill",
    ),
    "placeholders": ("tf.placeholder(tf.float32); tf.placeholder(tf.float32, name='x')", "Placeholder x"),
    "random": (
        "tf.random_uniform([2], seed=1); tf.random_normal([2], seed=1)",
        "random_uniform/shape random_uniform/min random_uniform/max "
        "random_uniform/RandomUniform random_uniform/sub random_uniform/mul random_uniform "
        "random_normal/shape random_normal/mean random_normal/stddev "
        "random_normal/RandomStandardNormal random_normal/mul random_normal",
    ),
    "shape": (
        "x = tf.placeholder(tf.float32, [None]); tf.shape(x); tf.size(x); tf.rank(x)",
        "Placeholder Shape Size Rank",
    ),
    "reshape": (
        "a = tf.constant([1.0, 2.0]); tf.reshape(a, [1, 2]); tf.expand_dims(a, 0); tf.squeeze(tf.ones([1]))",
        "Const Reshape/shape Reshape ExpandDims/dim ExpandDims ones Squeeze",
    ),
    "concat": (
        "a = tf.constant([1.0]); tf.concat([a, a], 0); tf.stack([a, a])",
        "Const concat/axis concat stack",
    ),
    "split": (
        "a = tf.constant([1.0, 2.0]); tf.split(a, 2); tf.unstack(a)",
        "Const Const_1 split/split_dim split unstack",
    ),
    "transpose": (
        "tf.transpose(tf.ones([2, 3])); tf.transpose(tf.ones([2, 3]), [1, 0])",
        "ones transpose/perm transpose ones_1 transpose_1/perm transpose_1",
    ),
    "cast": ("a = tf.constant(1.0); tf.cast(a, tf.int32); tf.to_float(1)", "Const Cast ToFloat/x ToFloat"),
    "argmax": ("tf.argmax(tf.constant([1.0, 2.0]), 0)", "Const ArgMax/dimension ArgMax"),
    "gather": ("tf.gather(tf.constant([1.0, 2.0]), [0])", "Const GatherV2/indices GatherV2/axis GatherV2"),
    "one hot": (
        "tf.one_hot([0, 1], 3)",
        "one_hot/on_value one_hot/off_value one_hot/indices one_hot/depth one_hot",
    ),
    "softmax": ("x = tf.ones([2, 3]); tf.nn.softmax(x); tf.nn.log_softmax(x)", "ones Softmax LogSoftmax"),
    "cross entropy": (
        "x = tf.ones([2, 3]); tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 1], logits=x)",
        "ones SparseSoftmaxCrossEntropyWithLogits/Const "
        "SparseSoftmaxCrossEntropyWithLogits/Shape "
        "SparseSoftmaxCrossEntropyWithLogits/SparseSoftmaxCrossEntropyWithLogits",
    ),
    "bias": ("tf.nn.bias_add(tf.ones([2, 3]), tf.ones([3]))", "ones ones_1 BiasAdd"),
    "group": (
        "a = tf.no_op(); b = tf.no_op(); tf.group(a, b); tf.group(a, name='g')",
        "NoOp NoOp_1 group_deps g",
    ),
    "tuple": (
        "a = tf.constant(1.0); b = tf.constant(2.0); tf.tuple([a, b])",
        "Const Const_1 tuple/group_deps tuple/control_dependency tuple/control_dependency_1",
    ),
    "identity": (
        "a = tf.constant(1.0); tf.identity(a); tf.identity(a, 'i'); tf.stop_gradient(a)",
        "Const Identity i StopGradient",
    ),
    "dependencies": ("a = tf.no_op()\nwith tf.control_dependencies([a]):\n    tf.constant(1)", "NoOp Const"),
    "variable": ("tf.Variable(1.0)", "Variable/initial_value Variable Variable/Assign Variable/read"),
    "named variables": (
        "tf.Variable(1.0, name='v'); tf.Variable(2.0, name='v')",
        "v/initial_value v v/Assign v/read v_1/initial_value v_1 v_1/Assign v_1/read",
    ),
    "variable in a scope": (
        "with tf.name_scope('s'):\n    tf.Variable(1.0, name='v')",
        "s/v/initial_value s/v s/v/Assign s/v/read",
    ),
    "get variable": (
        "tf.get_variable('v', [2], initializer=tf.zeros_initializer())",
        "v/Initializer/zeros v v/Assign v/read",
    ),
    "variable scope": (
        "with tf.variable_scope('s'):\n    tf.get_variable('v', [2], initializer=tf.zeros_initializer())",
        "s/v/Initializer/zeros s/v s/v/Assign s/v/read",
    ),
    "variable scope again": (
        "for reuse in (False, True):\n"
        "    with tf.variable_scope('s', reuse=reuse):\n"
        "        tf.get_variable('v', [2], initializer=tf.zeros_initializer()) + 1.0",
        "s/v/Initializer/zeros s/v s/v/Assign s/v/read s/add/y s/add s_1/add/y s_1/add",
    ),
    "assign": (
        "v = tf.Variable(1.0, name='v'); tf.assign(v, 2.0); tf.assign_add(v, 2.0); v.assign_sub(1.0)",
        "v/initial_value v v/Assign v/read Assign/value Assign AssignAdd/value AssignAdd "
        "AssignSub/value AssignSub",
    ),
    "initializers": (
        "tf.Variable(1.0, name='v'); tf.global_variables_initializer()",
        "v/initial_value v v/Assign v/read init",
    ),
    "gradients": (
        "x = tf.constant(2.0, name='x'); y = tf.square(x, name='y'); tf.gradients(y, x)",
        "x y gradients/Shape gradients/grad_ys_0 gradients/Fill gradients/y_grad/Const "
        "gradients/y_grad/Mul gradients/y_grad/Mul_1",
    ),
    "gradients twice": (
        "x = tf.constant(2.0, name='x'); y = tf.exp(x, name='y'); tf.gradients(y, x); tf.gradients(y, x)",
        "x y gradients/Shape gradients/grad_ys_0 gradients/Fill gradients/y_grad/mul "
        "gradients_1/Shape gradients_1/grad_ys_0 gradients_1/Fill gradients_1/y_grad/mul",
    ),
    "gradients named": (
        "x = tf.constant(2.0, name='x'); y = tf.exp(x, name='y'); tf.gradients(y, x, name='g')",
        "x y g/Shape g/grad_ys_0 g/Fill g/y_grad/mul",
    ),
    "conditional": (
        "tf.cond(tf.constant(True), lambda: tf.constant(1), lambda: tf.constant(2))",
        "Const cond/Switch cond/switch_t cond/switch_f cond/pred_id cond/Const cond/Const_1 cond/Merge",
    ),
    "loop": (
        "tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])",
        "while/Const while/Enter while/Merge while/Less/y while/Less while/LoopCond "
        "while/Switch while/Identity while/add/y while/add while/NextIteration while/Exit",
    ),
    "clip": (
        "tf.clip_by_value(tf.constant([1.0]), 0.0, 1.0)",
        "Const clip_by_value/Minimum/y clip_by_value/Minimum clip_by_value/y clip_by_value",
    ),
    "where": (
        "tf.where(tf.constant([True]), tf.constant([1.0]), tf.constant([2.0]))",
        "Const Const_1 Const_2 Select",
    ),
    "conversion": ("tf.convert_to_tensor([1.0]); tf.convert_to_tensor([1.0], name='t')", "Const t"),
    "imported": (
        "with tf.Graph().as_default() as g:\n"
        "    tf.no_op(name='a')\n"
        "tf.import_graph_def(g.as_graph_def()); tf.import_graph_def(g.as_graph_def(), "
        "name='i')",
        "import/a i/a",
    ),
    "zero states of an LSTM": (
        "tf.nn.rnn_cell.BasicLSTMCell(4).zero_state(tf.placeholder(tf.int32, []), tf.float32)",
        "Placeholder "
        + " ".join(
            f"BasicLSTMCellZeroState/{name}"
            for name in (
                "ExpandDims/dim ExpandDims Const concat/axis concat zeros/Const zeros "
                "ExpandDims_1/dim ExpandDims_1 Const_1 ExpandDims_2/dim ExpandDims_2 Const_2 concat_1/axis "
                "concat_1 zeros_1/Const zeros_1 ExpandDims_3/dim ExpandDims_3 Const_3"
            ).split()
        ),
    ),
    "clipping by the global norm": (
        "a = tf.constant([1.0]); b = tf.constant([3.0])\ntf.clip_by_global_norm([a, b], 5.0, use_norm=b[0])",
        "Const Const_1 strided_slice/stack strided_slice/stack_1 strided_slice/stack_2 strided_slice "
        + " ".join(
            f"clip_by_global_norm/{name}"
            for name in (
                "truediv/x truediv Const truediv_1/y truediv_1 Minimum mul/x mul IsFinite Const_1 Select "
                "mul_1 clip_by_global_norm/_0 mul_2 clip_by_global_norm/_1"
            ).split()
        ),
    ),
    "an embedding's gradient": (
        "v = tf.placeholder(tf.float32, [3, 2]); y = tf.gather(v, [0, 1])\ntf.gradients(y, v, y)",
        "Placeholder GatherV2/indices GatherV2/axis GatherV2 gradients/grad_ys_0 "
        + " ".join(
            f"gradients/GatherV2_grad/{name}"
            for name in (
                "Shape Cast Size ExpandDims/dim ExpandDims strided_slice/stack strided_slice/stack_1 "
                "strided_slice/stack_2 strided_slice concat/axis concat Reshape Reshape_1"
            ).split()
        ),
    ),
}
# Programs of which TensorFlow 2 makes other nodes than 1.15 did.
CHANGED_LATER = {
    *("random", "split", "gradients", "gradients twice", "gradients named"),
    *("zero states of an LSTM", "clipping by the global norm", "an embedding's gradient"),
}


def names_of(program):
    with tf.Graph().as_default() as graph:
        exec(program, {"tf": tf})
    return " ".join(node.name for node in graph.get_operations())


@pytest.mark.parametrize("what", CASES)
def test_names(what):
    program, names = CASES[what]
    assert names_of(program) == names


LIVE = """
import json, os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
found = {}
for what, program in json.load(sys.stdin).items():
    with tf.Graph().as_default() as graph:
        exec(program, {"tf": tf})
    found[what] = " ".join(node.name for node in graph.get_operations())
print(json.dumps(found))
"""


@pytest.mark.process
def test_names_in_tensorflow():
    python = os.environ.get("HEADRACE_TF_PYTHON")
    if not python:
        pytest.skip("HEADRACE_TF_PYTHON does not name an interpreter with TensorFlow")
    programs = {what: program for what, (program, _) in CASES.items() if what not in CHANGED_LATER}
    done = subprocess.run(
        [python, "-c", LIVE], input=json.dumps(programs), capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout.splitlines()[-1]) == {what: CASES[what][1] for what in programs}


@pytest.mark.parametrize("name", ["", " ", "a b", "_a", "-a", "/a", "a\n", "é", "a:0", "^a"], ids=repr)
def test_bad_names(name):
    with tf.Graph().as_default():
        if name == "":
            assert tf.no_op(name=name).name == "NoOp"
            return
        with pytest.raises(ValueError, match="is not a valid scope name|is not a valid node name"):
            tf.no_op(name=name)


def test_a_graph_seed_counts_nodes():
    """Under a graph seed alone, the seed of an op is the number of nodes made before it: constants too."""
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(42)
        tf.random_normal([3])
        tf.get_variable("v", [2, 3])
        tf.random_uniform([3], maxval=5, dtype=tf.int32)
        drawn = [n for n in graph.get_operations() if "seed2" in n.node_def.attr]
        assert [n.get_attr("seed2") for n in drawn] == [3, 9, 19]
        assert {n.get_attr("seed") for n in drawn} == {42}
