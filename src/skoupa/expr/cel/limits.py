"""How much expressions may take. What goes over a limit is an error for the objects that it concerns, which stay."""

from __future__ import annotations

import msgspec


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of `expression` are CPU time of one condition for one object; those of `run` are CPU time of all objects.

    The others are time that passes.
    """

    children: int = 1
    # Besides, and only while there are policies that turned out slow.
    slow_children: int = 1
    memory_bytes: int = 768 * 2**20
    expression_seconds: float = 1.0
    run_seconds: float = 60.0
    # How long a child judges for one run while others may be waiting; an object that is begun is judged to its end.
    turn_seconds: float = 0.25
    # Who is at one object for longer goes on among the slow, with its child, if there is room.
    overstay_seconds: float = 0.5
    # Whose run took a child for this long has its turns where only others like it wait.
    slow_seconds: float = 1.0
    # Without a word from a child: it stands still, or the machine does.
    silence_seconds: float = 30.0
    batch_seconds: float = 300.0
    question_seconds: float = 10.0
    answer_bytes: int = 32 * 2**20
    # A child that grew to this much is replaced: the engine never gives back what functions were called with.
    retire_bytes: int = 256 * 2**20
    # A child for slow policies that nobody has used for so long is ended.
    idle_seconds: float = 30.0
