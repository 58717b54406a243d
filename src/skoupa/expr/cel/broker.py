"""Whoever answers what expressions ask about the outside: the API server, HTTP services, global context, registries.

Confinement is the Broker's: which namespaces, which hosts, whether anything may be asked at all. It answers JSON bytes
as they came, or raises a SkoupaError whose words the user reads: also where what is asked for is not there.
"""

from __future__ import annotations

from typing import Protocol

from skoupa.errors import UsageError
from skoupa.expr.cel.messages import Question


class Broker(Protocol):
    async def answer(self, question: Question) -> bytes: ...


class Nobody:
    """Refuses everything: for plans and checks that make no calls."""

    async def answer(self, question: Question) -> bytes:
        raise UsageError(f"{type(question).__name__} is not allowed here")
