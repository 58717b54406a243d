"""What goes by retention policies within one hour, weighed as the controller will: what would pull a Brake is held by that.

What went within the last hour is not known here, so a ceiling may be nearer than it looks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skoupa.cli.looking.policies_weighed import ScalesAhead
from skoupa.controller.survey import Survey
from skoupa.errors import SkoupaError
from skoupa.facts.rows import Row, Uid
from skoupa.judge.mechanism import Run
from skoupa.judge.retention import NAME
from skoupa.kube.client import Client
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Claim, Hold
from skoupa.settings import Settings


class _Stopped:
    """A guard: what a Brake would stop."""

    def __init__(self) -> None:
        self.why: dict[Uid, str] = {}

    def holds(self, row: Row, claim: Claim, now: float) -> Iterator[Hold]:  # noqa: ARG002 - known for that hour
        if claim.mechanism == NAME and claim.run and row.uid in self.why:
            yield Hold(reason=reason("run-would-brake", why=self.why[row.uid]))


async def weighed(
    client: Client, survey: Survey, settings: Settings, loads: Sequence[tuple[Run, list[Row]]], now: float
) -> dict[str, tuple[str, ...]]:
    """By policy why a Brake would stop what goes by it; the judge of the survey knows it too."""
    scales, guard = ScalesAhead(client, survey, settings), _Stopped()
    found: dict[str, tuple[str, ...]] = {}
    for run, rows in loads:
        try:
            objections = await scales.objections(run, rows, now)
        except SkoupaError as error:
            survey.doubts.append(f"whether a Brake would stop {run.rule} is not known: {error.brief}")
            continue
        if objections:
            guard.why |= dict.fromkeys((row.uid for row in rows), objections[0])
            found[run.rule] = tuple(dict.fromkeys((*found.get(run.rule, ()), *objections)))
    survey.knowledge.judge.join(guard)
    return found
