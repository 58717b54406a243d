"""Labels that do something else than their writer meant: written as annotations, or a keep label with a slip in it.

No selector finds an annotation, so it does nothing; one that only repeats the label harms nobody and is not spoken of.
Its value is never acted on; it serves to write down the command that makes it a label, and only as far as it is
understood and a label can hold it. A keep label that is not understood keeps for good, whatever was meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from skoupa import names
from skoupa.expr.instants import parse_label_time
from skoupa.expr.readings import After, At, Never, Problem
from skoupa.expr.ttl import keep_slip
from skoupa.expr.ttl_after import parse_ttl_after
from skoupa.facts.rows import Row
from skoupa.model.reasons import Reason, reason

# What stands for a value that nobody can guess.
ANY_TTL: Final = "TTL, with a TTL such as 30m, 12h, 1d12h or 2026-09-30"
ANY_TTL_AFTER: Final = "VALUE, with a value such as finished-1h or unused-30m"
LABEL_VALUE: Final = "[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
KEEP_FOR_GOOD: Final = "true"
_LABEL_VALUE: Final = re.compile(LABEL_VALUE)


def misplaced_ttl(row: Row, read: Callable[[str], After | At | Never | Problem]) -> Iterator[Reason]:
    """`read` is how the label would be understood."""
    value = _misplaced(row, names.TTL_LABEL)
    if value is not None:
        reading = read(value)
        written = reading.suggestion if isinstance(reading, Problem) else value
        if not _LABEL_VALUE.fullmatch(written):
            written = ANY_TTL
        yield reason("ttl-annotation", key=names.TTL_LABEL, command=_command(row, names.TTL_LABEL, written))


def misplaced_ttl_after(row: Row) -> Iterator[Reason]:
    value = _misplaced(row, names.TTL_AFTER_LABEL) if row.annotations else None
    if value is not None:
        written = ANY_TTL_AFTER if isinstance(parse_ttl_after(value), Problem) else value
        key = names.TTL_AFTER_LABEL
        yield reason("ttl-annotation", key=key, command=_command(row, key, written))


def misplaced_keep(row: Row) -> Iterator[Reason]:
    value = _misplaced(row, names.KEEP_LABEL)
    if value is not None:
        if not _LABEL_VALUE.fullmatch(value):
            time = parse_label_time(value)
            value = (time.suggestion if isinstance(time, Problem) else "") or KEEP_FOR_GOOD
        yield reason("keep-annotation", key=names.KEEP_LABEL, command=_command(row, names.KEEP_LABEL, value))


def unclear_keep(row: Row) -> Iterator[Reason]:
    value = row.label(names.KEEP_LABEL)
    slip = keep_slip(value) if value is not None else None
    if slip is not None:
        what, instead = slip
        yield reason("keep-unclear", key=names.KEEP_LABEL, value=value, what=what, instead=instead)


def _misplaced(row: Row, key: str) -> str | None:
    value = row.annotation(key)
    return value if value != row.label(key) else None


def _command(row: Row, key: str, value: str) -> str:
    where = f" -n {row.namespace}" if row.namespace else ""
    again = " --overwrite" if row.label(key) is not None else ""
    return f"kubectl label{again} {row.resource.qualified}/{row.name}{where} {key}={value}"
