"""Where a server listens: on this host alone, unless the cluster or a setting names an address of others.

The cluster's own address for a task is a word of the user: a task that others know as 10.0.0.7:2222 must be
reachable there, and listens there and nowhere else.  Where that is none of this host's addresses (a forwarded
port, the name of a service), or a name that means this host only to itself (Debian's 127.0.1.1), it listens
on all interfaces.  Whoever can be reached from elsewhere says so.
"""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass

from headrace.distributed.security.settings import Security

EVERYWHERE = "0.0.0.0"


@dataclass(frozen=True, slots=True)
class Binding:
    address: str  # host:port, for gRPC
    is_local: bool  # nobody from another host can come

    def notice(self, who: str, port: int, security: Security) -> tuple[bool, str]:
        """(is it a warning, the line that a server says when it starts)."""
        text = f"{who} listens at {self.address.rpartition(':')[0]}:{port}"
        if self.is_local:
            return False, f"{text}, on this host alone"
        if security.knows_callers:
            by = " and ".join(
                name for name, has in (("TLS", security.serves_tls), ("secret", security.secret)) if has
            )
            return False, f"{text}, for all hosts that reach it, guarded by {by}"
        return True, (
            f"{text}, and whoever reaches that address can run graphs here: keep it on a closed network, or "
            "set HEADRACE_CLUSTER_SECRET on all tasks and clients, or HEADRACE_TLS_CERT, HEADRACE_TLS_KEY "
            "and HEADRACE_TLS_CA (docs/clusters.md, How to secure it); HEADRACE_BIND=127.0.0.1 listens on "
            "this host alone"
        )


def binding(address: str, bind: str = "") -> Binding:
    """Where a task listens that the cluster knows by `address`; `bind`: the host that a setting names."""
    host, _, port = address.rpartition(":")
    wanted = bind.strip("[]") or host.strip("[]")
    numbers = _numbers(wanted)
    if any(_is_loopback(n) for n in numbers) and (bind or wanted in ("localhost", *numbers)):
        return Binding(_joined(next(n for n in numbers if _is_loopback(n)), port), True)
    if bind:
        return Binding(_joined(numbers[0] if numbers else bind, port), False)
    mine = [n for n in numbers if not _is_loopback(n) and _is_mine(n)]
    return Binding(_joined(mine[0] if len(mine) == 1 else EVERYWHERE, port), False)


def _is_loopback(number: str) -> bool:
    return ipaddress.ip_address(number).is_loopback


def _numbers(host: str) -> list[str]:
    """The numbers of a host, IPv4 first; none where nobody knows the name."""
    try:
        found = socket.getaddrinfo(host or EVERYWHERE, None, type=socket.SOCK_STREAM)
    except OSError:
        return []
    numbers = [str(entry[4][0]).partition("%")[0] for entry in found]
    return sorted(dict.fromkeys(numbers), key=lambda number: ":" in number)


def _is_mine(number: str) -> bool:
    """Some interface of this host has the address."""
    family = socket.AF_INET6 if ":" in number else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind((number, 0))
    except OSError:
        return False
    return True


def _joined(host: str, port: str) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
