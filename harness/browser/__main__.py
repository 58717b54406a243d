"""`python -m harness.browser`: has Chromium installed where there is none, and says where it is."""

from __future__ import annotations

import sys

from harness.browser.program import provide
from harness.controlplane.errors import NoBinaryError


def main() -> None:
    try:
        print(f"Chromium: {provide()}")
    except NoBinaryError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
