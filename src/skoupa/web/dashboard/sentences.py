"""The first thing that the first page says: what the controller does here, and how much would go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from skoupa.controller.survey import Gap
from skoupa.web.dashboard.look import Look
from skoupa.web.dashboard.shapes import Counts, Standing

_NAMED: Final = 5


def standing(look: Look, counts: Counts, *, overdue: int) -> Standing:
    """`overdue` is how many would have gone, were they not held."""
    headline = _headline(look, counts, overdue=overdue)
    return Standing(mode=look.mode, headline=headline, sentence=_sentence(look))


def counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def missing(gaps: Sequence[Gap]) -> Iterator[str]:
    """Of what could not be read, for a list from which something may be missing then."""
    if gaps:
        first = ", ".join(gap.what for gap in gaps[:_NAMED])
        more = f" and {len(gaps) - _NAMED:,} more" if len(gaps) > _NAMED else ""
        yield f"something may be missing here, since not all can be read: {first}{more}"


def _headline(look: Look, counts: Counts, *, overdue: int) -> str:
    due = counts.due
    if look.is_silent:
        return "What is to go is not known here"
    if not due and not counts.later and not counts.held:
        return "Nothing is to go" if look.is_complete else "Nothing of what is shown is to go"
    if not due and overdue:
        return counted(overdue, "object is overdue and held", "objects are overdue and held")
    match look.mode:
        case "observes":
            objects = counted(due, "object", "objects")
            return f"{objects} would have gone by now" if due else "Nothing would have gone yet"
        case "acts":
            return counted(due, "object goes now", "objects go now") if due else "Nothing is due now"
        case "files":
            return f"{counted(due, 'object', 'objects')} would go at once" if due else "Nothing is due there"
        case _:
            return counted(due, "object is due", "objects are due") if due else "Nothing is due now"


def _sentence(look: Look) -> str:
    match look.mode:
        case "observes":
            return "Skoupa only observes: it reports what would go, and deletes nothing."
        case "acts":
            return "Skoupa enforces: what is due, and held by nothing, goes."
        case "stands-by":
            return "Only replicas that stand by have answered: another one leads, and acts."
        case "starts":
            return "The controller has only begun to look at the cluster: what it holds is not known yet."
        case "absent":
            why = look.mode_why or "no controller of Skoupa is here"
            return f"Nothing goes by itself: {why}."
        case "files":
            return (
                "This is a cluster in files, judged as a controller would judge it; nothing here is deleted."
            )
        case "unknown":
            return f"Whether a controller acts here is not known: {look.mode_why}."
