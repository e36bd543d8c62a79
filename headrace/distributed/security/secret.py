"""Both ends of a call show that they know the cluster's secret, which never travels.

The caller says hello with a number of its own; the server refuses with a number of its own (a challenge) and
a proof made of both numbers and the secret; from then on the caller signs every call with a key that comes of
both numbers and the secret, and with a count, so that a call that somebody has seen can not be repeated.
Whoever listens learns neither secret nor key; whoever can change what travels can still change the contents
of a call: against that there is TLS.

Pure but for the clock and random numbers, which the caller may bring: metadata in, metadata out.
"""

from __future__ import annotations

import hashlib
import hmac
import itertools
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from headrace.core.errors import UnauthenticatedError

HELLO, CHALLENGE, PROOF, SIGNED = "headrace-hello", "headrace-challenge", "headrace-proof", "headrace-signed"
KEYS = 4096  # callers that a server knows at a time
FRESH = 60.0  # seconds in which a challenge must be met first
WINDOW = 1024  # calls of one caller that may overtake one another
_ROUNDS = 100_000  # so that guessing short secrets takes long
Metadata = tuple[tuple[str, str], ...]


@cache
def _stretched(secret: str) -> bytes:
    return hashlib.pbkdf2_hmac("sha256", secret.encode(), b"headrace cluster", _ROUNDS)


def _mac(key: bytes, *words: str) -> str:
    return hmac.digest(key, "\n".join(words).encode(), "sha256").hex()


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())


class Caller:
    """The calling end, for one address."""

    def __init__(self, secret: str) -> None:
        self._base = _stretched(secret)
        self._mine = secrets.token_hex(16)
        self._agreed: tuple[str, bytes] | None = None  # the server's number, and the key
        self._counts = itertools.count(1)

    @property
    def is_known(self) -> bool:
        return self._agreed is not None

    def hello(self) -> Metadata:
        return ((HELLO, self._mine),)

    def on_challenge(self, answer: Mapping[str, str]) -> bool:
        """Take the server's number; does the server know the secret?  From now on calls can be signed."""
        theirs = answer.get(CHALLENGE, "")
        key = _mac(self._base, "key", self._mine, theirs)
        self._agreed = theirs, bytes.fromhex(key)
        return _same(answer.get(PROOF, ""), _mac(self._base, "server", self._mine, theirs))

    def sign(self, method: str) -> Metadata:
        """What goes with a call; a hello comes along, for a server that was started again."""
        assert self._agreed is not None, "say hello first"
        theirs, key = self._agreed
        count = str(next(self._counts))
        return (*self.hello(), (SIGNED, f"{theirs}.{count}.{_mac(key, method, count)}"))


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call is not let in, and what goes back with the answer."""

    text: str
    metadata: Metadata = ()
    is_known: bool = False  # a caller of the cluster on its way in: nothing to report

    def error(self) -> UnauthenticatedError:
        return UnauthenticatedError(None, None, self.text)


@dataclass(slots=True)
class _Key:
    key: bytes
    issued: int  # in microseconds of the server's clock
    highest: int = 0
    seen: int = 0  # bit n: the call of number highest - n has come

    def admit(self, count: int) -> bool:
        """Each number once."""
        if count > self.highest:
            self.seen = ((self.seen << min(count - self.highest, WINDOW)) | 1) & ((1 << WINDOW) - 1)
            self.highest = count
            return True
        bit = 1 << (self.highest - count) if self.highest - count < WINDOW else 0
        if not bit or self.seen & bit:
            return False
        self.seen |= bit
        return True


class Door:
    """The serving end.  Callers who do not know the secret leave nothing behind: a challenge carries its own
    date and signature."""

    def __init__(self, secret: str, who: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._base, self._who, self._clock = _stretched(secret), who, clock
        self._own = secrets.token_bytes(32)
        self._keys: OrderedDict[tuple[str, str], _Key] = OrderedDict()
        self._closed_until = -1  # challenges up to this date are met no more: their keys were forgotten
        self._lock = threading.Lock()

    def enter(self, method: str, given: Mapping[str, str]) -> Refusal | None:
        """May the call come in?"""
        theirs, signed = given.get(HELLO, ""), given.get(SIGNED, "")
        if not theirs:
            return Refusal(
                f"{self._who} asks its callers for the cluster's secret: set HEADRACE_CLUSTER_SECRET to the "
                "same text as there (tasks and clients of TensorFlow know no secret)"
            )
        if not signed:
            return Refusal(f"{self._who} asks for the cluster's secret", self._challenge(theirs), True)
        words = signed.split(".")
        if len(words) != 3 or not words[1].isdecimal() or len(words[1]) > 18:
            return Refusal(f"{self._who}: no signature", self._challenge(theirs))
        with self._lock:
            return self._check(method, theirs, *words)

    def _check(self, method: str, theirs: str, mine: str, count: str, signature: str) -> Refusal | None:
        """Whether the caller knows the key, and has not made this call before; None: he may come in."""
        known = self._keys.get((mine, theirs)) or self._met(mine, theirs)
        if known is None:  # of another life of this task, or forgotten
            return Refusal(f"{self._who} asks for the cluster's secret again", self._challenge(theirs), True)
        if not _same(signature, _mac(known.key, method, count)):
            return Refusal(
                f"{self._who} and its caller have different secrets: HEADRACE_CLUSTER_SECRET must be the "
                "same text everywhere",
                self._challenge(theirs),
            )
        if not known.admit(int(count)):
            return Refusal(f"{self._who} had this call before", self._challenge(theirs))
        self._keys[mine, theirs] = known
        self._keys.move_to_end((mine, theirs))
        if len(self._keys) > KEYS:
            _, gone = self._keys.popitem(last=False)
            self._closed_until = max(self._closed_until, gone.issued)
        return None

    def _now(self) -> int:
        return int(self._clock() * 1e6)

    def _challenge(self, theirs: str) -> Metadata:
        mine = f"{self._now()}-{secrets.token_hex(16)}"
        mine += "-" + _mac(self._own, mine)[:32]
        return (CHALLENGE, mine), (PROOF, _mac(self._base, "server", theirs, mine))

    def _met(self, mine: str, theirs: str) -> _Key | None:
        """The key that belongs to a challenge of ours, unless it is too old."""
        text, _, signature = mine.rpartition("-")
        if not _same(signature, _mac(self._own, text)[:32]):
            return None
        issued = int(text.partition("-")[0])
        if issued <= self._closed_until or self._now() - issued > FRESH * 1e6:
            return None
        return _Key(bytes.fromhex(_mac(self._base, "key", theirs, mine)), issued)

    def __len__(self) -> int:
        return len(self._keys)
