"""Graphs that later TensorFlows wrote."""

from __future__ import annotations

import pytest

import headrace as tf
from headrace.formats import proto

GRAPH = """
node { name: "a" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "v" op: "VarHandleOp"
       attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { } } }
       attr { key: "debug_name" value { s: "v/" } }
       attr { key: "allowed_devices" value { list { } } } }
node { name: "d" op: "DisableCopyOnRead" input: "v" input: "^a" }
node { name: "m" op: "MatMul" input: "a" input: "a" input: "^d"
       attr { key: "T" value { type: DT_FLOAT } }
       attr { key: "grad_a" value { b: true } } }
node { name: "k" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
       attr { key: "value" value { tensor { dtype: DT_INT32 int_val: 1 tensor_shape { } } } } }
node { name: "e" op: "TopKV2" input: "m" input: "k"
       attr { key: "T" value { type: DT_FLOAT } }
       attr { key: "index_type" value { type: %s } } }
versions { producer: %d }
"""


def imported(text):
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(proto.from_text(text, proto.GraphDef()), name="")
    return graph


def test_what_changes_nothing_is_dropped():
    graph = imported(GRAPH % ("DT_INT32", 2000))
    prepared = graph.get_operation_by_name("d")
    assert (prepared.type, [n.name for n in prepared.control_inputs]) == ("NoOp", ["v", "a"])
    assert "grad_a" not in graph.get_operation_by_name("m").node_def.attr
    with tf.Session(graph=graph) as session:
        assert session.run("e:0", {"a:0": [[1.0]]}).tolist() == [[1.0]]


def test_what_means_something_is_refused():
    with pytest.raises(ValueError, match="index_type"):
        imported(GRAPH % ("DT_INT64", 2000))


def test_graphs_of_1_15_are_as_strict_as_ever():
    with pytest.raises((ValueError, tf.errors.NotFoundError), match="not in Op<name=VarHandleOp"):
        imported(GRAPH % ("DT_INT32", 134))
