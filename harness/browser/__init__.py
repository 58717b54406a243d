"""A headless Chromium for tests of the dashboard.

async with chromium() as browser:
    page = await browser.new_page()
"""

from harness.browser.chromium import chromium
from harness.browser.program import provide

__all__ = ["chromium", "provide"]
