"""What goes to standard error: progress on a terminal, and sentences for people."""

from __future__ import annotations

import sys


def progress(text: str) -> None:
    """One line that is written over, on a terminal only."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


def say(sentence: str) -> None:
    progress("")
    sys.stderr.write(f"skoupa: {sentence}\n")
