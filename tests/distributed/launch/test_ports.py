"""Free ports, and those that are not."""

from __future__ import annotations

import socket

import pytest

from headrace.distributed.launch.ports import PortInUse, choose


def test_different_ports():
    found = choose(20)
    assert len(set(found)) == 20 and all(0 < port < 65536 for port in found)


def test_ports_from_one_on():
    for _ in range(50):  # others take ports, too
        (first,) = choose(1)
        try:
            assert choose(2, first) == [first, first + 1]
            return
        except PortInUse:
            continue
    pytest.fail("no two ports in a row were free")


def test_a_port_in_use():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PortInUse, match=f"port {port} of 127.0.0.1: Address already in use"):
            choose(1, port)


@pytest.mark.parametrize("first", [0, 65535, 70000])
def test_no_such_ports(first):
    with pytest.raises(PortInUse, match=f"no 2 ports from {first}"):
        choose(2, first)
