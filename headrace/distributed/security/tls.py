"""Certificates by path -> what gRPC takes.  A file that is missing or is none is an error that names it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headrace.core.errors import FailedPreconditionError
from headrace.distributed.security.settings import Security


def server_credentials(grpc: Any, security: Security) -> Any:
    """For a task; callers must show a certificate where it knows who may sign one."""
    pair = _read(security.key, "HEADRACE_TLS_KEY"), _read(security.certificate, "HEADRACE_TLS_CERT")
    authority = _read(security.authority, "HEADRACE_TLS_CA") if security.authority else None
    return grpc.ssl_server_credentials([pair], authority, require_client_auth=authority is not None)


def channel_credentials(grpc: Any, security: Security) -> Any:
    """For a caller; without an authority of its own those of the system count."""
    authority = _read(security.authority, "HEADRACE_TLS_CA") if security.authority else None
    if not security.certificate:
        return grpc.ssl_channel_credentials(authority)
    key, chain = _read(security.key, "HEADRACE_TLS_KEY"), _read(security.certificate, "HEADRACE_TLS_CERT")
    return grpc.ssl_channel_credentials(authority, key, chain)


def _read(path: str, setting: str) -> bytes:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise FailedPreconditionError(None, None, f"{setting}: {path} can not be read: {error}") from None
    if b"-----BEGIN " not in data:
        raise FailedPreconditionError(None, None, f"{setting}: {path} is no PEM file")
    return data
