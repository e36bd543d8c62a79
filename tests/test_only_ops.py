"""Ops of TF's own test library, which its tests build graphs from.  Imported by tests only."""

from __future__ import annotations

from headrace.core.errors import require
from headrace.core.shapes import UNKNOWN
from headrace.graph.defaults import get_default_graph
from headrace.ops.declaration.declare import primitive
from headrace.ops.declaration.shape_rules import none, scalar, unknown
from headrace.ops.declaration.signature import Int, Type, Types
from headrace.version import GRAPH_DEF_VERSION


def list_shapes(*, T):
    return [UNKNOWN] * len(T)


def older_graph():
    version = get_default_graph().graph_def_versions.producer
    require(
        version == GRAPH_DEF_VERSION - 1,
        f"Wrong graph version for op: expected {GRAPH_DEF_VERSION - 1}, got {version}",
    )
    return scalar()


def two(*inputs):
    return [UNKNOWN, UNKNOWN]


for _name, _signature, _shape in (
    ("IntOutput", "-> a: int32", unknown),
    ("FloatOutput", "-> a: float32", unknown),
    ("TwoIntOutputs", "-> a: int32, b: int32", two),
    ("TwoFloatOutputs", "-> a: float32, b: float32", two),
    ("IntOutputFloatOutput", "-> a: int32, b: float32", two),
    ("FloatOutputStringOutput", "-> a: float32, b: string", two),
    ("RefOutput", "-> a: Ref(int32)", unknown),
    ("RefOutputFloatOutput", "-> a: Ref(float32), b: float32", two),
    ("IntInput", "a: int32 ->", none),
    ("FloatInput", "a: float32 ->", none),
    ("IntInputIntOutput", "a: int32 -> b: int32", unknown),
    ("IntInputFloatInput", "a: int32, b: float32 ->", none),
    ("TwoIntInputs", "a: int32, b: int32 ->", none),
    ("TwoFloatInputs", "a: float32, b: float32 ->", none),
    ("TwoFloatInputsFloatOutput", "a: float32, b: float32 -> c: float32", unknown),
    ("TwoFloatInputsIntOutput", "a: float32, b: float32 -> c: int32", unknown),
    ("RefInputFloatInput", "a: Ref(float32), b: float32 ->", none),
    ("RefInputFloatInputIntOutput", "a: Ref(float32), b: float32 -> c: int32", unknown),
    ("RefInputIntInput", "a: Ref(int32), b: int32 ->", none),
    ("TestStringOutput", "input: float32 -> output1: float32, output2: string", two),
    ("None", "->", none),
    ("OpWithFutureDefaultAttr", "->", none),
):
    primitive(_name, _signature, shape=_shape)
primitive("RequiresOlderGraphVersion", "-> version: int32", shape=older_graph)
primitive("OpWithDefaultAttr", "-> a: int32", shape=unknown, default_float=123.0)
primitive("ListOutput", "-> a: T", shape=list_shapes, T=Types(min=1))
primitive("ListInput", "a: N*T ->", shape=none, N=Int(min=1), T=Type())
