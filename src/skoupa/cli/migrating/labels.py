"""Every object that has a TTL, with both readings of it. Kyverno's rights are asked once for each kind that is labelled."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from skoupa import names
from skoupa.cli.looking.planning import surrounded
from skoupa.cli.migrating.kyverno import Controller, Kyverno
from skoupa.cli.worlds import World
from skoupa.controller.backlogs.backlog import FIRST_START_LIMIT, OVERDUE_SECONDS
from skoupa.controller.keeping.surroundings import Surroundings
from skoupa.controller.survey import Finding, Gap, Survey
from skoupa.errors import ApiError, BadReply, TimedOut
from skoupa.facts.rows import Row
from skoupa.judge.kyverno_labels import Beside, KyvernoReading, differences, kyverno_view
from skoupa.kube.resources import Resource
from skoupa.kube.reviews import SUBJECT_ACCESS_REVIEWS, Ask, Caller, may
from skoupa.model.differences import Difference, difference
from skoupa.model.verdicts import Verdict

# What Kyverno's own controller asks before it watches a kind.
_VERBS: Final = ("watch", "list", "delete")


class Labelled(msgspec.Struct, frozen=True, kw_only=True):
    """One object, and what differs."""

    row: Row
    verdict: Verdict
    kyverno: KyvernoReading
    differences: tuple[Difference, ...] = ()


async def compare_labels(world: World, survey: Survey, kyverno: Kyverno, *, now: float) -> list[Labelled]:
    """The survey has read; sorted by namespace, kind and name."""
    found = [survey.finding(row, now) for row in survey.rows()]
    found = [one for one in found if one.verdict.claims or one.row.label(names.TTL_LABEL) is not None]
    if world.as_user:
        await survey.learn_rights(one.row for one in found)
    around = Surroundings(world.client, survey.knowledge)
    found = [await surrounded(one, around) for one in found]
    lacking = await _Rights(world, kyverno, survey.gaps).lacking({one.row.resource for one in found})
    compat = survey.knowledge.settings.compat.kyverno_ttl
    many = [_compared(one, kyverno, lacking, now=now, compat=compat, world=world) for one in found]
    return sorted(many, key=lambda one: (one.row.namespace, one.row.resource.kind, one.row.name))


def many_overdue(labelled: Iterable[Labelled], *, now: float) -> list[Difference]:
    """Whether a first start would hold the overdue ones back."""
    number = sum(
        1
        for one in labelled
        if not one.row.deleted_at
        and one.verdict.goes is not None
        and one.verdict.due is not None
        and one.verdict.due < now - OVERDUE_SECONDS
    )
    return [difference("many-overdue", number=number)] if number > FIRST_START_LIMIT else []


def _compared(
    found: Finding,
    kyverno: Kyverno,
    lacking: dict[Resource, tuple[str, ...]],
    *,
    now: float,
    compat: bool,
    world: World,
) -> Labelled:
    row, verdict = found.row, found.verdict
    lacks = lacking.get(row.resource, ())
    beside = Beside(lives=kyverno.lives, lacks=lacks, our_rights=bool(world.as_user))
    told = tuple(differences(row, verdict, now=now, compat=compat, beside=beside))
    return Labelled(row=row, verdict=verdict, kyverno=kyverno_view(row, beside), differences=told)


class _Rights:
    """What Kyverno's accounts may do, as far as we may ask."""

    def __init__(self, world: World, kyverno: Kyverno, gaps: list[Gap]) -> None:
        self._client = world.client
        # Manifests have no rules that anybody could ask.
        self._controllers = kyverno.controllers if world.given is None else ()
        self._gaps = gaps

    async def lacking(self, kinds: Iterable[Resource]) -> dict[Resource, tuple[str, ...]]:
        """For each kind the verbs that none of them has, in the whole cluster."""
        found: dict[Resource, tuple[str, ...]] = {}
        if not self._controllers:
            return found
        try:
            for kind in kinds:
                found[kind] = tuple([verb for verb in _VERBS if not await self._any_may(verb, kind)])
        except (ApiError, BadReply, TimedOut) as error:
            self._gaps.append(
                Gap(
                    what=f"what Kyverno may delete ({SUBJECT_ACCESS_REVIEWS.qualified})",
                    why=error.message,
                )
            )
            return {}
        return found

    async def _any_may(self, verb: str, kind: Resource) -> bool:
        ask = Ask(verb=verb, resource=kind.qualified)
        return any([await may(self._client, _caller(one), ask) for one in self._controllers])


def _caller(controller: Controller) -> Caller:
    groups = (
        "system:serviceaccounts",
        f"system:serviceaccounts:{controller.namespace}",
        "system:authenticated",
    )
    return Caller(username=controller.account, groups=groups)
