"""Groups of collectives at their leader: requests in, answers out."""

from __future__ import annotations

import random
from concurrent.futures import wait

import pytest

import headrace as tf
from headrace.core.errors import InternalError, InvalidArgumentError
from headrace.distributed.wire.grpc_channel import GrpcChannel
from headrace.formats import proto
from headrace.runtime.collectives.groups import BROADCAST, GATHER, NO_SOURCE, Groups, Meaning, Sequences, Told

BOTH = Meaning(BROADCAST)
DEVICES = [f"/job:worker/replica:0/task:{i // 2}/device:CPU:{i % 2}" for i in range(4)]


def test_all_are_answered_when_the_last_has_asked():
    groups = Groups()
    for i, device in enumerate(DEVICES[:3]):
        assert groups.join(i, 7, 4, "CPU", device) == []
    answers = groups.join(3, 7, 4, "CPU", DEVICES[3])
    made = groups.group(7)
    assert answers == [Told(i, made) for i in range(4)] and made.devices == tuple(DEVICES)
    assert made.tasks == ("/job:worker/replica:0/task:0",) * 2 + ("/job:worker/replica:0/task:1",) * 2
    assert groups.join("again", 7, 4, "CPU", DEVICES[1]) == [Told("again", made)]


@pytest.mark.parametrize(
    ("size", "kind", "device", "message"),
    [
        (3, "CPU", DEVICES[1], "has 2 members"),
        (2, "GPU", DEVICES[1], "is of CPU devices"),
        (2, "CPU", DEVICES[2], "one too many"),
    ],
)
def test_who_does_not_fit_is_refused(size, kind, device, message):
    groups = Groups()
    groups.join(0, 1, 2, "CPU", DEVICES[0])
    groups.join(1, 1, 2, "CPU", DEVICES[1])
    ((_, error),) = groups.join(2, 1, size, kind, device)
    assert isinstance(error, InternalError) and message in error.message


def test_the_source_of_a_broadcast():
    groups = Groups()
    for device in DEVICES[:2]:
        groups.join(device, 1, 2, "CPU", device)
    assert groups.instance("a", 5, 1, BOTH, DEVICES[0], False) == []
    assert groups.instance("b", 5, 1, BOTH, DEVICES[1], True) == [Told("a", 1), Told("b", 1)]
    assert groups.instance("c", 6, 1, Meaning(0), DEVICES[0], False) == [Told("c", NO_SOURCE)]
    groups.instance("d", 8, 1, BOTH, DEVICES[0], False)
    none = groups.instance("e", 8, 1, BOTH, DEVICES[1], False)
    assert all("found 0 sources" in told.answer.message for told in none)
    ((_, error),) = groups.instance("f", 9, 2, BOTH, DEVICES[0], True)
    assert "no member" in error.message


def test_members_mean_the_same():
    groups = Groups()
    for device in DEVICES[:2]:
        groups.join(device, 1, 2, "CPU", device)
    groups.instance("a", 5, 1, Meaning(GATHER, "float", (4,)), DEVICES[0], False)
    ((_, error),) = groups.instance("b", 5, 1, Meaning(GATHER, "float", (2,)), DEVICES[1], False)
    assert isinstance(error, InvalidArgumentError) and "Shape mismatch" in error.message
    ((_, error),) = groups.instance("b", 5, 1, Meaning(GATHER, "int", (4,)), DEVICES[1], False)
    assert isinstance(error, InternalError) and "takes it for" in error.message


def test_a_member_that_was_started_again_is_the_same_one():
    groups = Groups()
    for number, device in enumerate(DEVICES[1::-1]):
        groups.join(device, 1, 2, "CPU", device, 7 + number)
    assert groups.group(1).incarnations == (8, 7)
    ((_, made),) = groups.join("again", 1, 2, "CPU", DEVICES[0], 9)
    assert made.devices == tuple(DEVICES[:2]) and made.incarnations == (9, 7)


def test_who_has_gone_is_not_answered():
    groups = Groups()
    groups.join("gone", 1, 2, "CPU", DEVICES[0])
    groups.leave("gone")
    assert [told.ticket for told in groups.join("here", 1, 2, "CPU", DEVICES[1])] == ["here"]


def test_masters_count_alike():
    leader, other = Sequences(lambda: 100), Sequences()
    first = leader.led(5)
    assert other.known(5) is None
    other.learn(5, first)
    for well in (True, True, False):
        assert leader.led(5) == other.known(5)
        leader.retire(5, leader.led(5), well, leads=True)
        other.retire(5, other.known(5), well, leads=False)
    assert leader.led(5) == 103 and other.known(5) is None  # it asks again


def test_random_orders():
    """Whoever asks in whatever order and however often: one answer each, the same for all of a group."""
    for seed in range(2000):
        rng, groups = random.Random(seed), Groups()
        wanted = {key: rng.sample(DEVICES, rng.randint(1, 4)) for key in range(rng.randint(1, 3))}
        requests = [
            (key, d) for key, devices in wanted.items() for d in devices for _ in range(rng.randint(1, 2))
        ]
        rng.shuffle(requests)
        answers = {}
        for ticket, (key, device) in enumerate(requests):
            for told in groups.join(ticket, key, len(wanted[key]), "CPU", device):
                assert told.ticket not in answers, seed
                answers[told.ticket] = told.answer
        assert len(answers) == len(requests), seed
        for ticket, (key, _) in enumerate(requests):
            assert answers[ticket].key == key and set(answers[ticket].devices) == set(wanted[key]), seed


@pytest.mark.process
def test_over_the_wire():
    server = tf.train.Server.create_local_server()
    channel = GrpcChannel(server.address)
    try:
        asked = [
            channel.call(
                "CompleteGroup",
                proto.CompleteGroupRequest(
                    group_key=3, group_size=2, device_type="CPU", device_name=[device]
                ),
            )
            for device in DEVICES[1:3]
        ]
        wait(asked, 20)
        for answer in asked:
            made = answer.result(0)
            assert sorted(made.device_name) == DEVICES[1:3] and made.num_tasks == 2 and made.communicator_key
        instance = [
            channel.call(
                "CompleteInstance",
                proto.CompleteInstanceRequest(
                    name="b",
                    type=BROADCAST,
                    group_key=3,
                    group_size=2,
                    instance_key=1,
                    data_type=1,
                    device=device,
                    is_source=device == DEVICES[1],
                    device_type="CPU",
                ),
            )
            for device in DEVICES[1:3]
        ]
        wait(instance, 20)
        source = list(asked[0].result(0).device_name).index(DEVICES[1])
        assert [answer.result(0).source_rank for answer in instance] == [source] * 2
        steps = [
            channel.call("GetStepSequence", proto.GetStepSequenceRequest(graph_key=[1, 2])).result(20)
            for _ in range(2)
        ]
        assert steps[0] == steps[1] and [s.graph_key for s in steps[0].step_sequence] == [1, 2]
        with pytest.raises(tf.errors.InvalidArgumentError, match="is no device of"):
            channel.call("RecvBuf", proto.RecvBufRequest(src_device="/job:a/device:CPU:0")).result(20)
    finally:
        channel.close()
        server.stop()
