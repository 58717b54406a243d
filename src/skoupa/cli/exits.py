"""What a command says with its exit code; `docs/output.md` has the table. Errors carry their own (`skoupa.errors`)."""

from __future__ import annotations

from typing import Final

DONE: Final = 0
# A test of `skoupa test` failed, or the server took a request for a mistake.
FAILED: Final = 1
TIMED_OUT: Final = 3
LEFTOVERS: Final = 4
REFUSED: Final = 5
DENIED: Final = 6
INTERRUPTED: Final = 7
# Only with --detailed-exitcode: the plan has work, or `migrate` found differences.
WORK: Final = 10
