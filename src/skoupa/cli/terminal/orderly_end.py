"""Ctrl-C and SIGTERM as a wish to stop: what is under way finishes, nothing new begins."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


@asynccontextmanager
async def stop_on_signal() -> AsyncIterator[asyncio.Event]:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) or signal.SIG_DFL for number in _SIGNALS}
    # Loops on Windows can't; there Ctrl-C ends the requests under way too.
    with suppress(NotImplementedError):
        for number in _SIGNALS:
            loop.add_signal_handler(number, stop.set)
    try:
        yield stop
    finally:
        with suppress(NotImplementedError):
            for number in _SIGNALS:
                loop.remove_signal_handler(number)
                signal.signal(number, before[number])
