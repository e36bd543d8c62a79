"""Hostile calls: requests of all methods, made of good ones by changing bytes, fields, names and numbers.

A `Corpus` has good requests, of live sessions and graphs; `hostile(random)` gives (method, bytes) to send.
"""

from __future__ import annotations

import random
from typing import Any

from google.protobuf import text_format

import headrace as tf
from headrace.distributed.wire import services
from headrace.formats import proto

METHODS = [m for methods in services.SERVICES.values() for m in methods]
OWN = ["Meet", "TaskStatus", "Attend"]
TASK = "/job:local/replica:0/task:0"
DEVICE = f"{TASK}/device:CPU:0"
TEXTS = [
    "",
    "x",
    "0",
    "x:0",
    "x:9",
    "^x",
    "é\x00",
    "a" * 5000,
    ";;;;",
    "/job:nobody/task:99",
    "../../etc",
    "_",
]
NUMBERS = [0, 1, -1, 2, 7, 2**31 - 1, 2**31, -(2**31), 2**62, 2**63 - 1, -(2**63)]


def graph_def() -> Any:
    """Something of everything: feeds, a variable, a queue, a branch, a loop, text."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        v = tf.get_variable("v", [2, 2], initializer=tf.ones_initializer())
        y = tf.matmul(x, v, name="y")
        tf.cond(tf.reduce_sum(y) > 0, lambda: y + 1.0, lambda: y - 1.0)
        tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0], name="loop")
        queue = tf.FIFOQueue(2, [tf.string], shapes=[[]], name="queue")
        queue.enqueue(["text"], name="put")
        tf.strings.join([tf.constant(["a", "b"]), tf.constant("c")], name="text")
        return graph.as_graph_def()


def part(incarnation: int) -> Any:
    """A graph as masters register it: what is fed is a Recv, what is fetched a Send."""
    ends = f"""attr {{ key: "send_device" value {{ s: "{DEVICE}" }} }}
      attr {{ key: "recv_device" value {{ s: "{DEVICE}" }} }}
      attr {{ key: "send_device_incarnation" value {{ i: {incarnation} }} }}"""
    text = f"""
    node {{ name: "in" op: "_Recv" device: "{DEVICE}" {ends}
      attr {{ key: "tensor_type" value {{ type: DT_FLOAT }} }}
      attr {{ key: "tensor_name" value {{ s: "in" }} }}
      attr {{ key: "client_terminated" value {{ b: true }} }} }}
    node {{ name: "twice" op: "AddV2" input: "in" input: "in" device: "{DEVICE}"
      attr {{ key: "T" value {{ type: DT_FLOAT }} }} }}
    node {{ name: "out" op: "_Send" input: "twice" device: "{DEVICE}" {ends}
      attr {{ key: "T" value {{ type: DT_FLOAT }} }}
      attr {{ key: "tensor_name" value {{ s: "out" }} }}
      attr {{ key: "client_terminated" value {{ b: true }} }} }}
    versions {{ producer: 134 }}"""
    return text_format.Parse(text, proto.GraphDef())


class Corpus:
    """Good requests.  `session`, `graph`: handles that live; `incarnation` is that of the task's device."""

    def __init__(self, session: str, graph: str, incarnation: int) -> None:
        self.key = f"{DEVICE};{incarnation:016x};{DEVICE};in;0:0"
        tensor = proto.TensorProto(dtype=1, float_val=[1.0, 2.0])
        tensor.tensor_shape.dim.add(size=2)
        named = [proto.NamedTensorProto(name=self.key, tensor=tensor)]
        fed = proto.TensorProto(dtype=1, float_val=[1.0, 2.0])
        for size in (1, 2):
            fed.tensor_shape.dim.add(size=size)
        feeds = [proto.NamedTensorProto(name="x:0", tensor=fed)]
        options = proto.CallableOptions(feed=["x:0"], fetch=["y:0"])
        made: dict[str, Any] = {
            "CreateSession": {"graph_def": graph_def(), "config": proto.ConfigProto()},
            "ExtendSession": {
                "session_handle": session,
                "graph_def": graph_def(),
                "current_graph_version": 1,
            },
            "PartialRunSetup": {"session_handle": session, "feed": ["x:0"], "fetch": ["y:0"]},
            "RunStep": {"session_handle": session, "feed": feeds, "fetch": ["y:0"], "target": ["v/Assign"]},
            "CloseSession": {"session_handle": "nobody"},
            "ListDevices": {"session_handle": session},
            "Reset": {"container": ["nobody"], "device_filters": ["/job:nobody"]},
            "MakeCallable": {"session_handle": session, "options": options},
            "RunCallable": {"session_handle": session, "handle": 1, "feed": [fed]},
            "ReleaseCallable": {"session_handle": session, "handle": 99},
            "CreateWorkerSession": {"session_handle": "fuzz"},
            "DeleteWorkerSession": {"session_handle": "fuzz"},
            "RegisterGraph": {"graph_def": part(incarnation)},
            "DeregisterGraph": {"graph_handle": f"{0:016x}"},
            "RunGraph": {"graph_handle": graph, "step_id": 5, "send": named, "recv_key": [self.key]},
            "CleanupGraph": {"step_id": 5},
            "CleanupAll": {"container": ["nobody"]},
            "RecvTensor": {"step_id": 5, "rendezvous_key": self.key},
            "MarkRecvFinished": {"request_id": 5},
        }
        self.last = 5
        self.good = {m: services.request_class(m)(**made.get(m, {})) for m in METHODS}

    def hostile(self, rng: random.Random) -> tuple[str, bytes]:
        method = rng.choice(METHODS)
        if rng.random() < 0.05:
            junk = [b"", b"{}", b"[" * 5000, b'{"task": 5}', b'{"task": "/job:x"}', rng.randbytes(50)]
            return rng.choice(OWN), rng.choice(junk)
        if method == "Reset" and rng.random() < 0.9:  # it ends all sessions, as it should
            method = "RunGraph"
        kind = rng.random()
        if kind < 0.1:
            return method, rng.randbytes(rng.randrange(200))
        if kind < 0.2:  # of another method
            return method, self.good[rng.choice(METHODS)].SerializeToString()
        request = type(self.good[method])()
        request.CopyFrom(self.good[method])
        if hasattr(request, "step_id"):
            request.step_id = rng.choice([rng.getrandbits(62), self.last])
            self.last = request.step_id  # so that steps are met again
        for _ in range(rng.randrange(1, 5)):
            mutate(request, rng)
        data = bytearray(request.SerializeToString())
        if kind < 0.4 and data:
            for _ in range(rng.randrange(1, 4)):
                data[rng.randrange(len(data))] = rng.randrange(256)
        elif kind < 0.45:
            del data[rng.randrange(len(data) + 1) :]
        return method, bytes(data)


def mutate(message: Any, rng: random.Random) -> None:
    """Change one field, somewhere in a message."""
    for _ in range(rng.randrange(8)):  # go down
        inner = [
            (f, getattr(message, f.name))
            for f, _ in message.ListFields()
            if f.message_type is not None and not f.message_type.GetOptions().map_entry
        ]
        maps = [
            getattr(message, f.name)
            for f, _ in message.ListFields()
            if f.message_type is not None and f.message_type.GetOptions().map_entry
        ]
        if maps and rng.random() < 0.5:
            found = rng.choice(maps)
            key = rng.choice(sorted(found))
            if rng.random() < 0.2:
                del found[key]
                return
            if hasattr(found[key], "ListFields"):
                message = found[key]
            continue
        if not inner:
            break
        field, value = rng.choice(inner)
        message = rng.choice(value) if field.is_repeated and len(value) else value
        if field.is_repeated and not hasattr(message, "ListFields"):
            return
    change(message, rng)


def change(message: Any, rng: random.Random) -> None:
    if not message.DESCRIPTOR.fields:
        return
    field = rng.choice(message.DESCRIPTOR.fields)
    if rng.random() < 0.15:
        message.ClearField(field.name)
        return
    if field.message_type is not None:
        if field.message_type.GetOptions().map_entry:
            message.ClearField(field.name)
        elif field.is_repeated:
            values = getattr(message, field.name)
            if len(values) and rng.random() < 0.7:
                values.add().CopyFrom(rng.choice(values))
            else:
                values.add()
        else:
            getattr(message, field.name).SetInParent()
        return
    value = scalar(field, rng)
    try:
        if field.is_repeated:
            getattr(message, field.name).append(value)
        else:
            setattr(message, field.name, value)
    except (ValueError, TypeError):
        pass  # out of the field's range


def scalar(field: Any, rng: random.Random) -> Any:
    kind = field.cpp_type
    if kind == field.CPPTYPE_STRING:
        text = rng.choice(TEXTS)
        return text.encode() if field.type == field.TYPE_BYTES else text
    if kind == field.CPPTYPE_ENUM:
        return rng.choice([0, 1, 7, 20, 21, 101, 200])
    if kind == field.CPPTYPE_BOOL:
        return rng.random() < 0.5
    if kind in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
        return rng.choice([0.0, float("nan"), 1e300, -1.0])
    return rng.choice(NUMBERS)
