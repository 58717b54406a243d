"""How much an expression may take. What goes over a limit is an error for the object at hand, which stays."""

from __future__ import annotations

import msgspec


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of `expression` are CPU time of one condition for one object; the others are time that passes."""

    children: int = 1
    memory_bytes: int = 768 * 2**20
    expression_seconds: float = 1.0
    # Without a word from a child: it stands still, or the machine does.
    silence_seconds: float = 30.0
    batch_seconds: float = 300.0
    question_seconds: float = 10.0
    answer_bytes: int = 32 * 2**20
    # A child that grew to this much is replaced: the engine never gives back what functions were called with.
    retire_bytes: int = 256 * 2**20
