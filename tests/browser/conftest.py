"""One Chromium for each test, and pages in it that complain about anything that goes wrong in them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from harness.browser import chromium

SECONDS = 60.0
# A page asks every five seconds.
expect.set_options(timeout=SECONDS * 1000)


class Window:
    """Opens pages; what a page logs as an error, or tries to say in a dialog, is in `complaints`."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self.complaints: list[str] = []

    async def open(self, address: str, **context: Any) -> Page:
        made = await self._browser.new_context(**context)
        made.set_default_timeout(SECONDS * 1000)
        page = await made.new_page()
        page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

        async def dismiss(dialog: Any) -> None:
            self.complaints.append(f"dialog: {dialog.message}")
            await dialog.dismiss()

        page.on("dialog", dismiss)
        await page.goto(address)
        return page


@pytest.fixture
async def window() -> AsyncIterator[Window]:
    async with chromium() as browser:
        yield Window(browser)
