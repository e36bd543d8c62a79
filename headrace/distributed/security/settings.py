"""How a process guards its connections: one immutable record, from the environment or from a program.

HEADRACE_CLUSTER_SECRET       a text that all tasks and clients of a cluster share; it never travels
HEADRACE_CLUSTER_SECRET_FILE  a file that holds it
HEADRACE_TLS_CERT, _KEY       files: the certificate of this process, and its private key
HEADRACE_TLS_CA               a file: certificates of those who sign the peers' certificates
HEADRACE_TLS_NAME             the name in the peers' certificates, where it is not that of their addresses
HEADRACE_BIND                 where to listen, whatever the cluster calls this task: 0.0.0.0, 10.0.0.7
HEADRACE_ALLOW                what graphs of other processes may do (allow.py)
HEADRACE_LIMITS               how much they may ask for (limits.py)
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from headrace.core.errors import FailedPreconditionError, InvalidArgumentError
from headrace.distributed.security.limits import Limits


@dataclass(frozen=True, slots=True)
class Security:
    """Empty fields mean: none.

    Args:
      secret: what all of the cluster share.
      certificate, key: files of this process's certificate and private key: it speaks TLS.
      authority: a file with the certificates of those who sign those of peers.  A server that has one asks
        its callers for certificates, too.
      name: the name in the peers' certificates, where it is not that of their addresses.
      bind: where to listen.
      allow: what graphs of other processes may do (`allow.py`).
      limits: how much callers may ask for.
    """

    secret: str = field(default="", repr=False)
    certificate: str = ""
    key: str = ""
    authority: str = ""
    name: str = ""
    bind: str = ""
    allow: str = ""
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if bool(self.certificate) != bool(self.key):
            lacking = "HEADRACE_TLS_KEY" if self.certificate else "HEADRACE_TLS_CERT"
            raise InvalidArgumentError(
                None, None, f"a certificate and its private key go together: {lacking} is not given"
            )

    @property
    def serves_tls(self) -> bool:
        return bool(self.certificate)

    @property
    def calls_tls(self) -> bool:
        return bool(self.certificate or self.authority)

    @property
    def knows_callers(self) -> bool:
        """Whoever calls has shown that it belongs to the cluster."""
        return bool(self.secret or (self.certificate and self.authority))

    @staticmethod
    def from_environment(environment: Mapping[str, str] | None = None) -> Security:
        """What the environment says.

        Raises:
          FailedPreconditionError: the file of the secret can not be read.
          InvalidArgumentError: words that mean nothing.
        """
        words = os.environ if environment is None else environment
        return Security(
            secret=words.get("HEADRACE_CLUSTER_SECRET", "") or _secret_in(words),
            certificate=words.get("HEADRACE_TLS_CERT", ""),
            key=words.get("HEADRACE_TLS_KEY", ""),
            authority=words.get("HEADRACE_TLS_CA", ""),
            name=words.get("HEADRACE_TLS_NAME", ""),
            bind=words.get("HEADRACE_BIND", ""),
            allow=words.get("HEADRACE_ALLOW", ""),
            limits=Limits.parsed(words.get("HEADRACE_LIMITS", "")),
        )


def _secret_in(words: Mapping[str, str]) -> str:
    path = words.get("HEADRACE_CLUSTER_SECRET_FILE", "")
    if not path:
        return ""
    try:
        secret = Path(path).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise FailedPreconditionError(
            None, None, f"HEADRACE_CLUSTER_SECRET_FILE: {path} can not be read: {error}"
        ) from None
    if not secret:  # an empty secret would mean: none
        raise FailedPreconditionError(None, None, f"HEADRACE_CLUSTER_SECRET_FILE: {path} is empty")
    return secret
