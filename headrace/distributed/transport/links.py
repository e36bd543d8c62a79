"""The links of one task: to the tasks of ours that it has met, by whatever way."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable

from headrace.distributed.transport import registry
from headrace.distributed.transport.channel import Channel
from headrace.distributed.transport.link import Link, Service
from headrace.distributed.transport.local import Local
from headrace.distributed.transport.memory import Memory

registry.register("memory", Memory())
registry.register("local", Local())


class Links:
    """`task` is the one that these are the links of; `service` is what it does for others."""

    def __init__(self, task: str, address: Callable[[], str], service: Service) -> None:
        self.task, self._address, self._service = task, address, service
        self._links: dict[str, Link] = {}
        self._all: set[Link] = set()
        self._ways: dict[Link, str] = {}
        self._lock = threading.Lock()
        self._is_closed = False

    def to(self, task: str) -> Link | None:
        """The link to a task, if there is one."""
        return self._links.get(task)

    def way_to(self, task: str) -> str:
        """By which transport values go there."""
        link = self.to(task)
        return "grpc" if link is None else self._ways[link]

    # -- meeting ---------------------------------------------------------------------------------
    def question(self) -> bytes:
        """What a task asks another one, when it finds that it is one of ours."""
        return json.dumps({"task": self.task, "address": self._address()}).encode()

    def answer(self, question: bytes) -> bytes:
        """The offers of this task.

        Raises:
          ValueError: that was no question.
        """
        asked = json.loads(question)
        if not isinstance(asked, dict) or not isinstance(asked.get("task"), str):
            raise ValueError("a task must say which one it is")
        peer, address = asked["task"], str(asked.get("address", ""))
        made = registry.offers(lambda way, channel: self._add(channel, peer, address, way))
        return json.dumps({"task": self.task, "offers": made}).encode()

    def take_up(self, peer: str, address: str, answer: bytes) -> None:
        """Connect to a task by one of its offers; without a way all goes on over gRPC."""
        told = json.loads(answer)
        if self.to(peer) is not None or told.get("task") != peer:
            return
        found = registry.connect(told.get("offers", {}))
        if found is not None:
            name, channel = found
            self._add(channel, peer, address, name)

    def _add(self, channel: Channel, peer: str, address: str, way: str) -> None:
        link = Link(channel, peer, address, self._service)
        link.lost = self._lost
        with self._lock:
            is_late = self._is_closed
            if not is_late:
                self._links[peer] = link
                self._all.add(link)
                self._ways[link] = way
        if is_late:
            link.close()
        else:
            channel.start()

    def _lost(self, link: Link) -> None:
        with self._lock:
            self._all.discard(link)
            self._ways.pop(link, None)
            if self._links.get(link.peer) is link:
                del self._links[link.peer]

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            links = list(self._all)
        for link in links:
            link.close()
