"""Why a connection did not come about, in words that say what to change.

gRPC's texts for a peer that speaks another protocol name a frame or a number; here they become: no TLS
there, TLS there, another certificate, another kind of server.  Nobody is blamed without evidence: an end of
the connection that says nothing of its cause is followed by one question to the address.
"""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass

from headrace.distributed.security.settings import Security

SECONDS = 1.0  # for the one question
_HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])  # and empty settings


@dataclass(frozen=True, slots=True)
class Cause:
    """Something that stays until somebody changes a setting: trying again does not help."""

    text: str


NO_TLS = Cause(
    "it speaks no TLS, and this process does: start it with HEADRACE_TLS_CERT and HEADRACE_TLS_KEY, or this "
    "process without HEADRACE_TLS_*"
)
TLS = Cause(
    "it speaks TLS, and this process does not: set HEADRACE_TLS_CA (and HEADRACE_TLS_CERT, HEADRACE_TLS_KEY)"
)
STRANGER = Cause(
    "its certificate is not signed by the authority of this process (HEADRACE_TLS_CA), or is made out to "
    "another name than that of the address (HEADRACE_TLS_NAME)"
)
REFUSED = Cause(
    "it has ended the TLS connection, probably since it does not accept this process's certificate "
    "(HEADRACE_TLS_CERT, HEADRACE_TLS_KEY): its own HEADRACE_TLS_CA must have signed it"
)
OTHER = Cause("a server of another kind answers there, no task of a cluster: is the port right?")


def cause(details: str, address: str, security: Security) -> Cause | None:
    """What gRPC's text means; None where the peer may just not be there (yet)."""
    if "CERTIFICATE_VERIFY_FAILED" in details or "Hostname Verification" in details:
        return STRANGER
    if "WRONG_VERSION_NUMBER" in details:
        return OTHER if _answer(address) == "other" else NO_TLS
    if "Failed parsing HTTP/2" in details:
        return OTHER
    if "failed to connect" in details and "Socket closed" in details:  # connected, and then not welcome
        if security.calls_tls:
            return REFUSED if _speaks_tls(address) else None
        return TLS if _speaks_tls(address) else OTHER if _answer(address) == "other" else None
    return None


def _connect(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    return socket.create_connection((host.strip("[]"), int(port)), SECONDS)


def _speaks_tls(address: str) -> bool:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    try:
        with _connect(address) as plain, context.wrap_socket(plain) as wrapped:
            return wrapped.version() is not None
    except (OSError, ValueError):
        return False


def _answer(address: str) -> str:
    """What comes back to the first bytes of HTTP/2: "" for nothing, "http2", or "other"."""
    try:
        with _connect(address) as found:
            found.sendall(_HTTP2)
            first = found.recv(9)
    except (OSError, ValueError):
        return ""
    if not first:
        return ""
    return "http2" if len(first) >= 4 and first[3] == 4 else "other"
