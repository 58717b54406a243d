"""Stories that share a process and its ticks, told at once: a minute of the wall clock is long, and waiting costs nothing.

All are told to their end; then every one that failed is named, with what was wrong in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


async def together(*stories: Coroutine[Any, Any, object]) -> None:
    names = [str(getattr(story, "__qualname__", story)) for story in stories]
    ends = await asyncio.gather(*stories, return_exceptions=True)
    failed = {name: end for name, end in zip(names, ends, strict=True) if isinstance(end, BaseException)}
    for name, error in failed.items():
        error.add_note(f"in the story {name}")
    if failed:
        raise BaseExceptionGroup(
            f"{len(failed)} of {len(names)} stories: {', '.join(failed)}", [*failed.values()]
        )
