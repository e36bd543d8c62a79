"""Thousands of hostile calls: each ends with an answer or an error of TF's, and leaves nothing behind."""

from __future__ import annotations

import gc
import random
import resource
from pathlib import Path

import grpc
import pytest

import headrace as tf
from headrace.distributed.security.limits import Limits
from headrace.distributed.security.settings import Security
from headrace.distributed.wire import services
from headrace.formats import proto
from tests.distributed.hostile import OWN, Corpus, graph_def, part
from tests.timing import PATIENCE, wait_until

pytestmark = pytest.mark.process
GROUPS = "Collective: "  # members of a group that do not agree: TF's class is Internal
CODES = {code.value[0] for code in grpc.StatusCode} - {2, 13}  # of TF's errors; unknown and internal are none
SECONDS = 0.5  # that a call may wait for a value that nobody sends


class Target:
    """A server, a good client of it, and raw calls."""

    def __init__(self) -> None:
        self.server = tf.train.Server(
            {"local": ["localhost:0"]}, security=Security(limits=Limits(tensor=1 << 24, nodes=10_000))
        )
        self.channel = grpc.insecure_channel(self.server.address)
        self.calls = {m: self.channel.unary_unary(services.path(m)) for m in (*services.SERVICE_OF, *OWN)}
        self.incarnation = self.server.worker.infos[0].incarnation
        signed = self.incarnation - (1 << 64) if self.incarnation >= 1 << 63 else self.incarnation
        self.graph = self.good("RegisterGraph", graph_def=part(signed)).graph_handle
        self.begin()

    def begin(self) -> None:
        self.session = self.good("CreateSession", graph_def=graph_def()).session_handle
        self.corpus = Corpus(self.session, self.graph, self.incarnation)

    def good(self, method: str, **fields: object):
        request = services.request_class(method)(**fields)
        return services.response_class(method).FromString(
            self.calls[method](request.SerializeToString(), timeout=60)
        )

    def send(self, method: str, data: bytes, seconds: float = PATIENCE) -> tuple[int, str]:
        try:
            self.calls[method](data, timeout=seconds)
        except grpc.RpcError as error:
            return error.code().value[0], error.details() or ""
        return 0, ""

    def works(self) -> bool:
        """The good client goes on, as if nothing had been."""
        self.good("RunStep", session_handle=self.session, target=["v/Assign"])
        request = proto.RunStepRequest()
        request.CopyFrom(self.corpus.good["RunStep"])
        found = services.response_class("RunStep").FromString(
            self.calls["RunStep"](request.SerializeToString(), timeout=60)
        )
        return list(found.tensor[0].tensor.tensor_shape.dim) != []

    def kept(self) -> dict[str, int]:
        """What the server keeps."""
        worker, master = self.server.worker, self.server.master
        return {
            "sessions": len(master._sessions),
            "worker sessions": len(worker.sessions.handles()),
            "graphs": worker.counts()[0] - len(self._of_session()),
            "running": worker.counts()[1],
            "steps": len(worker._steps),
            "partial": len(worker._partial),
        }

    def clean(self) -> None:
        """What honest clients would do with what they were given."""
        for handle in list(self.server.master._sessions):
            if handle != self.session:
                self.server.master.close_session(handle)
        for handle in self.server.worker.sessions.handles():
            self.server.worker.delete_session(handle)
        for step in list(self.server.worker._steps._live):
            self.server.worker.clean_step(step)
        graphs = self.server.worker.sessions.find("").graphs
        for graph in list(graphs):
            if graph != self.graph and graph not in self._of_session():
                del graphs[graph]

    def _of_session(self) -> set[str]:
        known = self.server.master._sessions[self.session].signatures._known.values()
        return {part.handle for parts in known if isinstance(parts, list) for part in parts}

    def close(self) -> None:
        self.channel.close()
        self.server.stop()


@pytest.fixture
def target():
    made = Target()
    try:
        yield made
    finally:
        made.close()


def attack(target: Target, calls: int, seed: int) -> dict[tuple[str, int], str]:
    """Send; the answers that no client can make sense of, by method and code."""
    rng = random.Random(seed)
    strange = {}
    for number in range(calls):
        method, data = target.corpus.hostile(rng)
        code, details = target.send(method, data, SECONDS)
        if code and code not in CODES and not (code == 13 and details.startswith(GROUPS)):
            strange[method, code] = f"call {number} of seed {seed}: {details}"
        if target.session not in target.server.master._sessions:
            assert method in ("CloseSession", "Reset"), f"{method} has ended a session: {data!r}"
            target.begin()
    return strange


def test_hostile_calls_end_with_an_error_and_leave_nothing_behind(target):
    assert target.works()
    assert not attack(target, 200, 1)  # what is made once, is
    target.clean()
    before = target.kept()
    assert not attack(target, 200, 2)
    target.clean()
    assert target.works()

    def is_clean() -> bool:
        target.clean()  # what was given up may have come to its end since
        return target.kept() == before

    wait_until(is_clean)


@pytest.mark.slow
def test_ten_thousand_hostile_calls_leave_no_memory_behind(target):
    assert not attack(target, 2_000, 3)
    sizes = []
    for seed in range(4, 9):
        assert not attack(target, 2_000, seed)
        target.clean()
        assert target.works()
        gc.collect()
        sizes.append(resident())
    print(f"resident, MB: {[round(size / 1e6) for size in sizes]}")
    assert sizes[-1] < 1.1 * sizes[0], sizes


def resident() -> int:
    """Bytes of memory that the process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


# -- one by one ------------------------------------------------------------------------------------
def const(name: str = "c", size: int = 2, **fields: object):
    node = proto.NodeDef(name=name, op="Const")
    node.attr["dtype"].type = 1
    tensor = node.attr["value"].tensor
    tensor.dtype = 1
    tensor.tensor_shape.dim.add(size=size)
    tensor.float_val.append(1.0)
    return node


def graph(*nodes, functions=()):
    made = proto.GraphDef(node=nodes)
    made.versions.producer = 134
    made.library.function.extend(functions)
    return made


def function(name: str, *called: str):
    made = proto.FunctionDef()
    made.signature.name = name
    for place, op in enumerate(called):
        made.node_def.add(name=f"n{place}", op=op)
    return made


def nested(depth: int):
    """A node whose attribute has a function with an attribute that has a function ..."""
    node = proto.NodeDef(name="f", op="SymbolicGradient")
    value = node.attr["f"]
    for _ in range(depth):
        value.func.name = "g"
        value = value.func.attr["h"]
    return node


NO_OP = proto.NodeDef(name="n", op="NoOp")
GRAPHS = {
    "huge constant": graph(const(size=2**40)),
    "overflow": graph(const(size=2**62), const("d", 2**62)),
    "negative size": graph(const(size=-5)),
    "unknown op": graph(proto.NodeDef(name="n", op="Nothing")),
    "no name": graph(proto.NodeDef(op="NoOp")),
    "no attributes": graph(proto.NodeDef(name="n", op="Const")),
    "twice": graph(NO_OP, NO_OP),
    "no input": graph(proto.NodeDef(name="n", op="Identity", input=["nobody"])),
    "itself": graph(proto.NodeDef(name="n", op="NoOp", input=["^n"])),
    "circle": graph(
        proto.NodeDef(name="a", op="NoOp", input=["^b"]), proto.NodeDef(name="b", op="NoOp", input=["^a"])
    ),
    "deep": graph(nested(20)),
    "many nodes": graph(*(proto.NodeDef(name=f"n{i}", op="NoOp") for i in range(10_001))),
    "no device": graph(proto.NodeDef(name="n", op="NoOp", device="/job:nobody/task:9")),
    "bad device": graph(proto.NodeDef(name="n", op="NoOp", device="/job:/task:x:y:z")),
    "later version": proto.GraphDef(versions=proto.VersionDef(producer=10**6, min_consumer=10**5)),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs(target, name):
    """No part of a step, no session: and what was there before goes on."""
    before = target.kept()
    data = services.request_class("RegisterGraph")(graph_def=GRAPHS[name]).SerializeToString()
    code, details = target.send("RegisterGraph", data)
    assert code in CODES - {0} and code != 4, (code, details)
    assert target.kept() == before
    request = services.request_class("CreateSession")(graph_def=GRAPHS[name])
    code, details = target.send("CreateSession", request.SerializeToString())
    if not code:  # a graph may be refused later, when it is used
        target.clean()
    assert (code == 0 or code in CODES) and code != 4, (code, details)
    assert target.kept() == before
    assert target.works()


def test_a_function_that_calls_itself_ends(target):
    made = graph(proto.NodeDef(name="n", op="f"), functions=[function("f", "g"), function("g", "f")])
    handle = target.good("RegisterGraph", graph_def=made).graph_handle
    request = proto.RunGraphRequest(graph_handle=handle, step_id=77)
    code, details = target.send("RunGraph", request.SerializeToString())
    assert code in CODES and code != 4, (code, details)
    assert target.works()


def test_limits(target):
    limits = Limits(message=10_000, tensor=1000, sessions=2, graphs=3, kept=2, steps=2)
    target.server.master.limits = target.server.worker.limits = limits
    target.server.worker._steps._limits = target.server.worker.sessions.limits = limits
    target.server.master._sessions[target.session]._limits = limits
    assert target.send("CreateSession", b"")[0] == 0
    assert target.send("CreateSession", b"")[0] == grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]
    request = proto.MakeCallableRequest()
    request.CopyFrom(target.corpus.good["MakeCallable"])
    codes = [target.send("MakeCallable", request.SerializeToString())[0] for _ in range(3)]
    assert codes == [0, 0, 8]
    data = target.corpus.good["RegisterGraph"].SerializeToString()
    codes = [target.send("RegisterGraph", data)[0] for _ in range(4)]
    assert codes[-1] == 8 and codes.count(8) < 4
    waiting = [
        target.calls["RecvTensor"].future(
            proto.RecvTensorRequest(step_id=n, rendezvous_key=target.corpus.key).SerializeToString()
        )
        for n in range(100, 102)
    ]
    wait_until(lambda: target.kept()["steps"] == 2)
    request = proto.RecvTensorRequest(step_id=200, rendezvous_key=target.corpus.key)
    assert target.send("RecvTensor", request.SerializeToString())[0] == 8
    for call in waiting:
        call.cancel()
    wait_until(lambda: target.kept()["steps"] == 0)  # nobody asks any more


def test_a_message_that_is_too_long_is_refused():
    server = tf.train.Server(
        {"local": ["localhost:0"]}, security=Security(limits=Limits.parsed("message=1000"))
    )
    with grpc.insecure_channel(server.address) as channel:
        call = channel.unary_unary(services.path("GetStatus"))
        call(b"", timeout=60)
        with pytest.raises(grpc.RpcError) as raised:
            call(bytes(2000), timeout=60)
    assert raised.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    server.stop()
