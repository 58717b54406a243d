"""Chromium as Playwright drives it: headless, without a sandbox (tests may run as root), and with nothing from elsewhere."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from playwright.async_api import Browser, async_playwright

from harness.browser.program import provide

# Whatever it would like to ask somebody at its maker's is not asked.
_ARGUMENTS: Final = ("--no-sandbox", "--disable-background-networking", "--disable-component-update")


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    program = provide()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=list(_ARGUMENTS))
        try:
            yield browser
        finally:
            await browser.close()
