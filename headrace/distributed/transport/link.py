"""Calls between two tasks of ours over a channel, in both directions.

Both sides may call (`Kind.RUN`, `ASK`, `CLEAN`), and push values (`VALUE`).  A call is answered once, or ends
with the connection; nothing is sent twice.  While a call is open the peer must show that it lives.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from typing import Any, Protocol

from headrace.core.errors import OpError, UnavailableError
from headrace.distributed.transport.channel import Channel
from headrace.distributed.transport.frames import Kind, Malformed, Message
from headrace.distributed.wire.status import from_status, to_status
from headrace.distributed.wire.watch import Watch

Answer = Callable[[Sequence[Any]], None]
Refuse = Callable[[BaseException], None]
Lost = Callable[[OpError], None]


class Service(Protocol):
    """What a task does for the other side of a link.  Answers come later; none of these waits."""

    def on_run(self, link: Link, message: Message, answer: Answer, refuse: Refuse) -> None: ...

    def on_ask(self, link: Link, message: Message, answer: Answer, refuse: Refuse) -> None: ...

    def on_value(self, link: Link, message: Message) -> None: ...

    def on_clean(self, link: Link, message: Message) -> None: ...


class Link:
    """`peer`: the task at the other side."""

    def __init__(self, channel: Channel, peer: str, address: str, service: Service) -> None:
        self.channel, self.peer, self.address, self.service = channel, peer, address, service
        self._numbers = itertools.count(1)
        self._calls: dict[int, _Call] = {}
        self._lock = threading.Lock()
        self._watch = Watch(peer, address, self._ping, lambda call, error: call(error))
        self._error: OpError | None = None
        self._on_lost: dict[Any, Lost] = {}
        self.lost: Callable[[Link], None] = lambda link: None
        channel.on_message, channel.on_closed = self._on_message, self._on_closed

    @property
    def is_up(self) -> bool:
        return self._error is None

    # -- calls -----------------------------------------------------------------------------------
    def call(self, kind: Kind, step: int, texts: Sequence[str], values: Sequence[Any] = ()) -> Future[Any]:
        """The values of the answer, later."""
        number, future = next(self._numbers), _Call()
        future.link, future.number = self, number
        self._calls[number] = future
        self._watch.begin(future.fail)
        try:
            self._send(Message(kind, number, step, texts, values))
        except OpError as error:
            future.fail(error)
        return future

    def tell(self, kind: Kind, step: int, texts: Sequence[str] = (), values: Sequence[Any] = ()) -> None:
        """Something that is not answered."""
        self._send(Message(kind, 0, step, texts, values))

    def _send(self, message: Message) -> None:
        if self._error is not None:
            raise self._error
        self.channel.send(message)

    def forget(self, call: _Call) -> None:
        self._calls.pop(call.number, None)
        self._watch.end(call.fail)

    # -- who waits for this peer without a call -------------------------------------------------------
    def expect(self, token: Any, lost: Lost) -> None:
        """Until `settled`, the peer must live; `lost` is told if it does not."""
        with self._lock:
            error = self._error
            if error is None:
                self._on_lost[token] = lost
        if error is not None:
            lost(error)
            return
        self._watch.begin(lost)

    def settled(self, token: Any) -> None:
        lost = self._on_lost.pop(token, None)
        if lost is not None:
            self._watch.end(lost)

    def _ping(self) -> None:
        try:
            self.tell(Kind.PING, 0)
        except OpError:
            pass  # whoever waits is told by the end of the connection

    # -- what comes ------------------------------------------------------------------------------
    def _on_message(self, message: Message) -> None:
        """Whatever comes is a sign of life, too."""
        self._watch.heard()
        match message.kind:
            case Kind.DONE:
                self._answered(message.number, lambda call: call.set_result(message.values))
            case Kind.ERROR:
                text = message.texts[0] if message.texts else ""
                error = from_status(message.step, text)
                self._answered(message.number, lambda call: call.set_exception(error))
            case Kind.VALUE:
                self._serve(self.service.on_value, message)
            case Kind.RUN:
                self._begin(self.service.on_run, message)
            case Kind.ASK:
                self._begin(self.service.on_ask, message)
            case Kind.CLEAN:
                self._serve(self.service.on_clean, message)
            case Kind.PING:
                self._ping_back()
            case Kind.PONG:
                pass
            case _:
                self.channel.close(Malformed(f"a message of kind {message.kind} at this point"))

    def _answered(self, number: int, put: Callable[[Future[Any]], None]) -> None:
        call = self._calls.pop(number, None)
        if call is None:
            return  # given up
        self._watch.end(call.fail)
        try:
            put(call)
        except InvalidStateError:
            pass  # given up meanwhile

    def _serve(self, what: Callable[[Link, Message], None], message: Message) -> None:
        try:
            what(self, message)
        except Exception as error:  # a message that makes no sense ends its connection, not the server
            self.channel.close(error)

    def _begin(self, what: Callable[..., None], message: Message) -> None:
        """Serve a question, which is answered now or later, by values or by an error."""

        def refuse(error: BaseException) -> None:
            code, text = to_status(error)
            self._reply(Message(Kind.ERROR, message.number, code, (text,)))

        def answer(values: Sequence[Any]) -> None:
            try:
                self._reply(Message(Kind.DONE, message.number, 0, (), values))
            except Exception as error:  # a value that can not leave the process
                refuse(error)

        try:
            what(self, message, answer, refuse)
        except Exception as error:
            refuse(error)

    def _reply(self, message: Message) -> None:
        try:
            self._send(message)
        except UnavailableError:
            pass  # nobody waits for it any more

    def _ping_back(self) -> None:
        self._reply(Message(Kind.PONG))

    # -- the end ---------------------------------------------------------------------------------
    def close(self) -> None:
        self.channel.close()

    def _on_closed(self, why: BaseException) -> None:
        error = UnavailableError(None, None, f"{self.peer} at {self.address} is not there: {why}")
        with self._lock:
            self._error = error
            waiting = [*self._on_lost.values(), *(call.fail for call in self._calls.values())]
            self._on_lost.clear()
        self._watch.close()
        self.lost(self)
        for fail in waiting:
            fail(error)


class _Call(Future[Any]):
    """The answer to a call, which its caller may give up."""

    link: Link
    number: int

    def fail(self, error: BaseException) -> None:
        self.link.forget(self)
        try:
            self.set_exception(error)
        except InvalidStateError:
            pass  # the answer came first
