"""What the running controller holds that can't be seen from here: it is asked about what would go now.

It alone knows that an object did not fit into its trash, that its ledger is away, or which rights it lost. Where no
controller is within reach nothing is said; where one is and does not tell, that is. Never takes away a hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from skoupa.cli.looking.backlogs import only_perhaps
from skoupa.cli.worlds import World
from skoupa.controller.survey import Finding
from skoupa.errors import NoController, SkoupaError, Unauthorized
from skoupa.facts.rows import Row, uid_text
from skoupa.kube.resources import NAMESPACES
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Hold, Verdict

if TYPE_CHECKING:
    from skoupa.cli.looking.planning import Plan
    from skoupa.cli.remembering.asking import ControllerSource
    from skoupa.report.opinions import Acts
    from skoupa.web.shapes import Named, Standings

# It is an extra: nobody waits long for it.
_SECONDS: Final = 5.0
_MOST: Final = 1000
_TRIES: Final = 5
# Of a controller by its namespace.
OBSERVES: Final = "the controller in {} only observes: nothing goes by it"
_SILENT: Final = {
    "starts": "it has only begun to look at the cluster; ask again",
    "stands-by": "only replicas that do not lead have answered; ask again",
}


class Heard(msgspec.Struct, kw_only=True):
    """What the controller said: holds by uid, and remarks for people."""

    home: str
    holds: dict[str, tuple[Hold, ...]] = msgspec.field(default_factory=dict)
    remarks: list[str] = msgspec.field(default_factory=list)

    def not_seen(self, why: str) -> None:
        self.remarks.append(
            f"whether the controller in {self.home} holds any of it can't all be seen from here: {why}"
        )

    def added_to(self, found: Finding) -> Finding:
        """With the controller's holds behind those that are known here too."""
        known = {hold.reason.code for hold in found.verdict.holds}
        more = tuple(
            hold
            for hold in self.holds.get(uid_text(found.row.uid), ())
            if dict(hold.reason.facts)["by"] not in known
        )
        if not more:
            return found
        verdict = msgspec.structs.replace(found.verdict, holds=(*found.verdict.holds, *more))
        return Finding(found.row, verdict)


async def hear_controller(
    world: World, findings: Iterable[Finding], *, home: str, token_file: str | None = None
) -> Heard:
    """About those that nothing here holds for good, from the controller in `home`."""
    heard = Heard(home=home)
    free = [found.row for found in findings if _may_go(found.verdict) and not found.row.deleted_at]
    if world.given is not None or not free:
        return heard
    # Most plans have nothing that is due, and need nothing of this.
    from skoupa.cli.remembering.ledgers import LedgerChoice, controller_of  # noqa: PLC0415

    try:
        choice = LedgerChoice(home=home, token_file=token_file)
        source = controller_of(choice, client=world.client, token=world.token)
        await _ask(source, free[:_MOST], heard)
    except NoController:
        return heard
    except Unauthorized:
        heard.not_seen("it was shown no token that it takes")
    except SkoupaError as error:
        heard.not_seen(error.message)
    if len(free) > _MOST:
        heard.not_seen(
            f"it is asked about the first {_MOST} of {len(free)} objects; name kinds, or a namespace"
        )
    return heard


async def controller_acts(world: World, *, home: str, token_file: str | None = None) -> Acts:
    """What the controller in `home` does. Raises why it does not tell, NoController where there is none."""
    from skoupa.cli.remembering.ledgers import LedgerChoice, controller_of  # noqa: PLC0415
    from skoupa.web.shapes import Named  # noqa: PLC0415 - of the way to the controller

    choice = LedgerChoice(home=home, token_file=token_file)
    source = controller_of(choice, client=world.client, token=world.token)
    # It answers who names an object, whether that is there or not.
    nothing = Named(resource=NAMESPACES.qualified, namespace=home, uid="-")
    return (await _said_by_leader(source, [nothing])).acts


async def with_controllers_holds(
    world: World, plan: Plan, *, home: str, token_file: str | None = None
) -> Plan:
    """A plan of what the controller in `home` will do, with what it says of that which is due."""
    due = [
        found
        for found in plan.findings
        if _may_go(found.verdict) and (found.verdict.goes or found.verdict.due or math.inf) <= plan.now
    ]
    heard = await hear_controller(world, due, home=home, token_file=token_file)
    return msgspec.structs.replace(
        plan,
        findings=[heard.added_to(found) for found in plan.findings],
        warnings=[*plan.warnings, *heard.remarks],
    )


def _may_go(verdict: Verdict) -> bool:
    return verdict.goes is not None or only_perhaps(verdict)


async def _ask(source: ControllerSource, rows: Sequence[Row], heard: Heard) -> None:
    from skoupa.web.shapes import MOST_OBJECTS, Named  # noqa: PLC0415 - of the way to the controller

    for start in range(0, len(rows), MOST_OBJECTS):
        asked = [
            Named(resource=row.resource.qualified, namespace=row.namespace, uid=uid_text(row.uid))
            for row in rows[start : start + MOST_OBJECTS]
        ]
        said = await _said_by_leader(source, asked)
        if said.acts in _SILENT:
            heard.not_seen(_SILENT[said.acts])
            return
        if said.acts == "observes" and not start:
            heard.remarks.append(OBSERVES.format(heard.home))
        for opinion in said.items:
            heard.holds[opinion.uid] = tuple(
                Hold(reason=reason("controller-holds", namespace=heard.home, by=one.code, why=one.text))
                for one in opinion.stays
            )


async def _said_by_leader(source: ControllerSource, asked: Sequence[Named]) -> Standings:
    """Which replica answers is chance, and one that stands by knows nothing."""
    for _ in range(_TRIES - 1):
        said = await source.standings(asked, seconds=_SECONDS)
        if said.acts != "stands-by":
            return said
    return await source.standings(asked, seconds=_SECONDS)
