"""What a task does for another at the end of a link: transport.link.Service in front of a Worker."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from headrace.core.errors import InvalidArgumentError
from headrace.distributed.transport.frames import Kind, Message
from headrace.distributed.transport.link import Answer, Link, Refuse
from headrace.distributed.worker.interface import Call
from headrace.distributed.worker.worker import Worker


def run(link: Link, call: Call) -> Future[list[Any]]:
    """Ask for what `on_run` does."""
    texts = (call.session, call.graph, *call.given, *call.wanted)
    return link.call(Kind.RUN, call.step_id, texts, list(call.given.values()))


class LinkService:
    def __init__(self, worker: Worker) -> None:
        self.worker = worker

    def on_run(self, link: Link, message: Message, answer: Answer, refuse: Refuse) -> None:
        count = len(message.values)
        if len(message.texts) < 2 + count:
            raise InvalidArgumentError(None, None, "a run without a graph, or values without keys")
        session, graph, *keys = message.texts
        given = dict(zip(keys[:count], message.values))

        def then(values: Any, error: BaseException | None) -> None:
            if error is None:
                answer(values)
            else:
                refuse(error)

        self.worker.start(Call(session, graph, message.step, given, keys[count:]), link, then)

    def on_ask(self, link: Link, message: Message, answer: Answer, refuse: Refuse) -> None:
        (key,) = message.texts

        def come(future: Future[Any]) -> None:
            error = future.exception()
            if error is None:
                answer((future.result(),))
            else:
                refuse(error)

        self.worker.receive(message.step, key).add_done_callback(come)

    def on_value(self, link: Link, message: Message) -> None:
        (key,), (value,) = message.texts, message.values
        self.worker.deliver(message.step, key, value)

    def on_clean(self, link: Link, message: Message) -> None:
        self.worker.clean_step(message.step)
