"""Which objects are left over: what its kind's question says, and that nobody needs it."""

from __future__ import annotations

import msgspec

from skoupa.facts.rows import Row
from skoupa.model.reasons import Reason
from skoupa.usage.graph import kind_name
from skoupa.usage.leftovers.looked import Looked
from skoupa.usage.leftovers.particulars import Particulars
from skoupa.usage.leftovers.questions import ANSWERED_ALONE, question_of
from skoupa.usage.needs import Answer, Confidence, Needed, Unknown, Unneeded


class Leftover(msgspec.Struct, frozen=True, kw_only=True):
    """`walked` are kinds without rules that were read all the same."""

    row: Row
    reason: Reason
    confidence: Confidence
    walked: tuple[str, ...]
    particulars: Particulars


class NotJudged(msgspec.Struct, frozen=True):
    row: Row
    why: Unknown


def judge(looked: Looked, row: Row) -> Leftover | NotJudged | None:
    """None where it is good for something, or somebody needs it."""
    kind = kind_name(row.resource)
    looks = question_of(kind)(looked, row)
    if looks is None:
        return None
    answer: Answer = looked.needs.of(row)
    if kind in ANSWERED_ALONE:
        answer = Needed(()) if looked.needs.is_never_garbage(row) else Unneeded("proved")
    if isinstance(answer, Needed):
        return None
    if isinstance(looks, Unknown):
        return NotJudged(row, looks)
    if isinstance(answer, Unknown):
        return NotJudged(row, answer)
    return Leftover(
        row=row,
        reason=looks,
        confidence=answer.confidence,
        walked=answer.walked,
        particulars=looked.seen(row),
    )
