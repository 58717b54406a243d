"""A process somewhere else on Earth: the time zone of this one, for as long as a test looks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def in_zone(zone: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patched:
        patched.setenv("TZ", zone)
        time.tzset()
        try:
            yield
        finally:
            patched.undo()
            time.tzset()
