"""Message classes: bytes and text as TensorFlow's, laziness, and field by field against TF 2.21."""

import copy
import os
import pickle
import subprocess
import sys
from functools import cache

import pytest
from google.protobuf import text_format

from headrace.formats import proto
from headrace.formats.proto import notation

TF_PYTHON = os.environ.get("HEADRACE_TF_PYTHON")
needs_tensorflow = pytest.mark.skipif(
    not TF_PYTHON, reason="HEADRACE_TF_PYTHON does not name an interpreter with TensorFlow"
)

# Prints a FileDescriptorSet of every message file that TensorFlow ships as a Python module.
DUMP = """
import importlib, pathlib, sys
import tensorflow
from google.protobuf import descriptor_pb2
root = pathlib.Path(tensorflow.__file__).parent
files = {}
def add(file):
    if file.name not in files:
        for used in file.dependencies:
            add(used)
        file.CopyToProto(files.setdefault(file.name, descriptor_pb2.FileDescriptorProto()))
for folder in ("core/**", "python/framework", "python/training", "tsl/**"):
    for path in sorted(root.glob(folder + "/*_pb2.py")):
        name = ".".join(path.relative_to(root.parent).with_suffix("").parts)
        add(importlib.import_module(name).DESCRIPTOR)
sys.stdout.buffer.write(descriptor_pb2.FileDescriptorSet(file=files.values()).SerializeToString())
"""

# Changed in TensorFlow after 1.15: fields dropped, one oneof renamed.  Other bytes are the same.
CHANGED_SINCE = {
    "tensorflow.TensorSliceProto.Extent.length",
    "tensorflow.TrackableObjectGraph.TrackableObject.SerializedTensor.optional_restore",
    "tensorflow.tfprof.CodeDef.Trace.file",
    "tensorflow.tfprof.CodeDef.Trace.function",
    "tensorflow.tfprof.CodeDef.Trace.line",
}
# TensorFlow 2.21 has no Python module for these, or has dropped them.
WITHOUT_MODULE = {
    "core/framework/remote_fused_graph_execute_info",
    "core/kernels/boosted_trees/boosted_trees",
    "core/profiler/op_profile",
    "core/profiler/profiler_analysis",
    "core/profiler/profiler_service",
    "core/protobuf/autotuning",
    "core/protobuf/conv_autotuning",
    "core/protobuf/critical_section",
    "core/protobuf/eager_service",
    "core/protobuf/master",
    "core/protobuf/replay_log",
    "core/protobuf/trace_events",
    "core/protobuf/worker",
    "stream_executor/dnn",
}


def run_python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_graph_bytes():
    graph = proto.GraphDef()
    node = graph.node.add(name="a", op="Const")
    node.attr["T"].type = proto.DataType.DT_FLOAT
    node.attr["T"].list.type.extend([1, 3])
    graph.versions.producer = 134
    assert graph.SerializeToString(deterministic=True) == (
        b"\x0a\x17"  # node, 23 bytes
        b"\x0a\x01a"  # name
        b"\x12\x05Const"  # op
        b"\x2a\x0b\x0a\x01T\x12\x06\x0a\x04\x32\x02\x01\x03"  # attr T: list(type), packed
        b"\x22\x03\x08\x86\x01"  # versions
    )


def test_oneof_keeps_the_last():
    value = proto.AttrValue(i=3)
    value.s = b"x"
    assert value.WhichOneof("value") == "s"
    assert value.SerializeToString() == b"\x12\x01x"


def test_map_of_messages():
    function = proto.FunctionDef()
    function.arg_attr[2].attr["_user_specified_name"].s = b"x"
    again = proto.FunctionDef.FromString(function.SerializeToString())
    assert again.arg_attr[2].attr["_user_specified_name"].s == b"x"


def test_negative_enum_value():
    options = proto.OptimizerOptions(opt_level=proto.OptimizerOptions.L0)
    assert options.SerializeToString() == b"\x18" + b"\xff" * 9 + b"\x01"


def test_fixed_and_zigzag_numbers():
    assert proto.DeviceAttributes(incarnation=1).SerializeToString() == b"\x31\x01" + bytes(7)
    assert proto.StructuredValue(int64_value=-1).SerializeToString() == b"\x60\x01"
    assert proto.BundleEntryProto(crc32c=1).SerializeToString() == b"\x35\x01\0\0\0"


def test_unknown_fields_survive():
    later = b"\x98\x06\x07"  # field 99, a number
    assert proto.NodeDef.FromString(b"\x0a\x01a" + later).SerializeToString().endswith(later)


def test_truncated_bytes_are_refused():
    from google.protobuf.message import DecodeError

    with pytest.raises(DecodeError):
        proto.GraphDef.FromString(b"\x0a\x17\x0a")


def test_enum():
    assert proto.DataType.Name(14) == "DT_BFLOAT16"
    assert proto.DataType.Value("DT_STRING_REF") == 107
    assert proto.DataType.DT_HALF == 19
    assert proto.Code.Name(8) == "RESOURCE_EXHAUSTED"


def test_text():
    text = 'node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_INT64 } } }'
    graph = proto.from_text(text, proto.GraphDef())
    assert graph.node[0].attr["dtype"].type == 9
    assert "type: DT_INT64" in proto.to_text(graph)
    assert proto.from_text(proto.to_text(graph), proto.GraphDef()) == graph


def test_any_opens_in_text_although_its_type_was_not_used_before():
    code = """
from headrace.formats import proto
held = proto.Any(type_url="type.googleapis.com/tensorflow.QueueRunnerDef", value=b"\\x0a\\x01q")
print(proto.to_text(held))
assert proto.from_text(proto.to_text(held), proto.Any()) == held
"""
    assert 'queue_name: "q"' in run_python(code)


def test_any_packs_and_unpacks():
    held = proto.Any()
    held.Pack(proto.SaverDef(filename_tensor_name="save/Const:0"))
    saver = proto.SaverDef()
    assert held.type_url == "type.googleapis.com/tensorflow.SaverDef"
    assert held.Unpack(saver) and saver.filename_tensor_name == "save/Const:0"


def test_files_and_packages_are_tensorflows():
    assert proto.GraphDef.DESCRIPTOR.full_name == "tensorflow.GraphDef"
    assert proto.GraphDef.DESCRIPTOR.file.name == "tensorflow/core/framework/graph.proto"
    assert proto.Code.DESCRIPTOR.full_name == "tensorflow.error.Code"


def test_find_tells_packages_apart():
    assert proto.find("tensorflow.tfprof.pprof.Profile").DESCRIPTOR.fields_by_name["sample_type"]
    assert proto.find("tensorflow.profiler.op_profile.Profile").DESCRIPTOR.fields_by_name["by_category"]
    with pytest.raises(KeyError):
        proto.find("tensorflow.NoSuchMessage")


def test_short_names_clash_in_three_cases_only():
    short = [name.rpartition(".")[2] for name in proto.full_names()]
    assert {name for name in short if short.count(name) > 1} == {"DataType", "Node", "Profile"}
    assert proto.DataType.DESCRIPTOR.full_name == "tensorflow.DataType"


def test_unknown_name():
    with pytest.raises(AttributeError, match="NoSuchMessage"):
        proto.NoSuchMessage  # noqa: B018


def test_contents_is_what_a_generated_module_holds():
    types = proto.contents("tensorflow/core/framework/types.proto")
    assert types["DT_FLOAT"] == 1 and types["DataType"].Name(1) == "DT_FLOAT"
    graph = proto.contents("tensorflow/core/framework/graph.proto")
    assert graph["GraphDef"] is proto.GraphDef
    assert graph["DESCRIPTOR"].name == "tensorflow/core/framework/graph.proto"
    with pytest.raises(KeyError):
        proto.contents("tensorflow/core/framework/no_such.proto")


def test_every_name_builds():
    assert len(proto.full_names()) > 300
    assert {"GraphDef", "Any", "OpLogProto"} <= set(dir(proto))
    for name in proto.full_names():
        made = proto.find(name)
        assert made.DESCRIPTOR.full_name == name
        if hasattr(made, "FromString"):
            assert made.FromString(b"") == made()


def test_pickle_and_copy():
    graph = proto.GraphDef(version=3)
    assert pickle.loads(pickle.dumps(graph)) == graph
    assert copy.deepcopy(graph) == graph


def test_laziness():
    code = """
import sys
from headrace.formats import proto
assert not any(name.startswith("google") for name in sys.modules), "protobuf was imported"
proto.GraphDef()
print([name for name in sys.modules if name.startswith("headrace.formats.proto.")])
"""
    assert "framework" in run_python(code)
    assert "config" not in run_python(code)


def test_notation():
    text = notation.split_files("""
file core/a package p.q
use core/b google/protobuf/any
message A  x=1:*int32 which{ y=2:string z=3:B } by_key=4:string>B
message A.Inner  w=1:bytes
enum A.Kind  ZERO=0 NULL=0 ONE=1
file core/c
message C
""")
    assert list(text) == ["tensorflow/core/a.proto", "tensorflow/core/c.proto"]
    file = notation.parse(text["tensorflow/core/a.proto"])
    assert notation.type_names(text["tensorflow/core/a.proto"]) == ["A"]
    assert (file.package, list(file.dependency)) == (
        "p.q",
        ["tensorflow/core/b.proto", "google/protobuf/any.proto"],
    )
    a = file.message_type[0]
    assert [(f.name, f.number, f.label) for f in a.field] == [
        ("x", 1, 3),
        ("y", 2, 1),
        ("z", 3, 1),
        ("by_key", 4, 3),
    ]
    assert [f.name for f in a.field if f.HasField("oneof_index")] == ["y", "z"]
    assert [n.name for n in a.nested_type] == ["ByKeyEntry", "Inner"]
    assert a.enum_type[0].options.allow_alias


@cache
def tensorflow_pool():
    from google.protobuf.descriptor_pb2 import FileDescriptorSet
    from google.protobuf.descriptor_pool import DescriptorPool

    done = subprocess.run([TF_PYTHON, "-c", DUMP], check=True, capture_output=True)
    pool = DescriptorPool()
    for file in FileDescriptorSet.FromString(done.stdout).file:
        pool.AddSerializedFile(file.SerializeToString())
    return pool


def described(field):
    """All that decides the bytes and the meaning of a field."""
    kind = field.message_type or field.enum_type
    oneof = field.containing_oneof
    return (
        field.name,
        field.number,
        field.type,
        field.is_repeated,
        field.is_packed,
        kind and kind.full_name,
        oneof and oneof.name,
    )


def differences(ours, theirs):
    """The full names of our fields and enum values that theirs does not have, or has otherwise."""
    if hasattr(ours, "values"):
        numbers = {value.name: value.number for value in theirs.values}
        return [f"{ours.full_name}.{v.name}" for v in ours.values if numbers.get(v.name) != v.number]
    found = []
    for field in ours.fields:
        other = theirs.fields_by_name.get(field.name)
        if other is None or described(field) != described(other):
            found.append(field.full_name)
    for inner in ours.nested_types:
        found += differences(inner, theirs.nested_types_by_name[inner.name])
    for enum in ours.enum_types:
        found += differences(enum, theirs.enum_types_by_name[enum.name])
    return found


@needs_tensorflow
def test_fields_are_tensorflows():
    pool, found, absent = tensorflow_pool(), [], set()
    for name in proto.full_names():
        ours = proto.find(name).DESCRIPTOR
        look_up = pool.FindMessageTypeByName if hasattr(ours, "fields") else pool.FindEnumTypeByName
        try:
            found += differences(ours, look_up(name))
        except KeyError:
            absent.add(ours.file.name)
    assert set(found) == CHANGED_SINCE
    assert absent == {notation.full_path(stem) for stem in WITHOUT_MODULE}


def test_fields_of_newer_versions():
    """Those that TensorFlow 2 writes into graphs are known; others are skipped."""
    text = """
    node { name: "x" op: "NoOp" experimental_type { type_id: TFT_PRODUCT args { type_id: TFT_FLOAT } } }
    library {
      function {
        signature { name: "f" input_arg { name: "a" experimental_full_type { type_id: TFT_ITERATOR } } }
      }
      registered_gradients { gradient_func: "g" registered_op_type: "f" }
    }
    debug_info { files: "a.py" name_to_trace_id { key: "x" value: 7 } }
    """
    graph = proto.from_text(text, proto.GraphDef())
    assert graph.node[0].experimental_type.args[0].type_id == proto.FullTypeId.TFT_FLOAT
    assert graph.debug_info.name_to_trace_id["x"] == 7
    newer = proto.from_text(text + 'of_tomorrow { deep: 1 also: ["a", "b"] }', proto.GraphDef())
    assert newer == graph
    with pytest.raises(text_format.ParseError, match="of_tomorrow"):
        proto.from_text("of_tomorrow: 1", proto.GraphDef())
