"""What functions may know besides their arguments: the moment, a source of chance, and whom to ask for what lies outside.

All of it is handed in per object, so the same object judged again (in a new child, after a crash) gets the same
moment and the same random strings. Nothing in the library reads a clock, the system's randomness or the network.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from skoupa.expr.cel.messages import Question


class World:
    """One per child; the child sets it before each object."""

    def __init__(self) -> None:
        self.now = datetime.fromtimestamp(0, UTC)
        self.chance = random.Random(0)  # noqa: S311 - deterministic on purpose, no secret comes from it
        self.namespace = ""
        self.ask: Callable[[Question], Any] = _nobody
        self.variable: Callable[[str], Any] = _no_variable


def _nobody(question: Question) -> Any:
    raise ValueError(f"{type(question).__name__} can't be asked here: calls are not allowed")


def _no_variable(name: str) -> Any:
    raise ValueError(f"variables.{name} has no value here")
