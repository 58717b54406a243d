"""What every figure has in common: what it says, and what it is given to measure with."""

from __future__ import annotations

import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from harness.bench.arena import Arena
from harness.bench.subject import Running, Subject, running


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """`bar` is what it has to reach; None: it is only shown."""

    name: str
    value: float
    unit: str
    bar: float | None = None
    at_least: bool = False
    counts: str

    @property
    def met(self) -> bool:
        if self.bar is None:
            return True
        return self.value >= self.bar if self.at_least else self.value <= self.bar


class Course:
    """The arena, whom to measure, and where it logs; `scale` is the part of the usual sizes that is enough for trying."""

    def __init__(self, arena: Arena, subject: Subject, *, log: Path, scale: float = 1.0) -> None:
        self.arena = arena
        self.subject = subject
        self.log = log
        self._scale = scale
        self._rounds = 0

    def scaled(self, size: int) -> int:
        return max(1, round(size * self._scale))

    @asynccontextmanager
    async def running(
        self, subject: Subject | None = None, *, kubeconfig: Path | None = None
    ) -> AsyncIterator[Running]:
        """The subject, or the same one with other settings, or by another way to the server.

        It begins anew: one that finds another ledger than it had before would hold everything for an hour.
        """
        await self.arena.forget_state()
        way = kubeconfig or self.arena.access.kubeconfig
        async with running(subject or self.subject, way, port=_free_port(), log=self.log) as process:
            yield process

    async def namespace(self, what: str) -> str:
        self._rounds += 1
        return await self.arena.namespace(f"bench-{what}-{in_a_name(self.subject.name)}-{self._rounds}")


def in_a_name(words: str) -> str:
    """Of a peer's name, which people write as they like, what a Namespace may be called."""
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
