"""A last fresh look into a Namespace or a definition before it goes, because everything in it goes along.

What is inside is asked for once more, kind by kind, and each object is held against the same protection that guards it
on its own: kept, in a kept or protected namespace, protected by a setting, Skoupa's own (but not the policies of a
Namespace, which go with it); and against Brakes, as if the same Claim were on it. A kind that does not answer, which is
not waited for long, holds, unless `cascade.ignoreKinds` waives it. A definition goes only without objects of its kind: every one
holds it (seed 003, story 3).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from contextlib import aclosing
from typing import Final

from skoupa.errors import SkoupaError
from skoupa.facts.rows import Extraction, Row
from skoupa.judge.brakes import BrakeGuard, braked_inside
from skoupa.judge.cascade import called, is_definition, is_namespace, waived, waived_group
from skoupa.judge.protection import Protection, goes_with_its_namespace, goes_with_its_tenant
from skoupa.judge.tenants import NAME as TENANTS
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.lists import pages
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import NAMESPACES, Resource
from skoupa.ledger.trash.patience import Patience
from skoupa.model.reasons import reason, render
from skoupa.model.verdicts import Claim, Hold
from skoupa.sweep.insides import Insides
from skoupa.sweep.shelter import Shelter, sheltered

# What it defined is stored all the same, and goes with it.
_NOT_SERVED: Final = "no version of it is served"
PAGE_SECONDS: Final = 10.0
# With the longest back-off after a failure it is a minute.
_SILENT_SECONDS: Final = 15.0


def patience_of(client: Client) -> Patience:
    """Of who looks around an object that is held until there is an answer, and comes again."""
    return Patience(client, seconds=PAGE_SECONDS, silence=_SILENT_SECONDS, one_finds_out=True)


class FreshLook:
    """`patience` is shared with whoever else looks around: a kind that was silent is so for all.

    `of_tenant` says of something inside whether it keeps what goes with its tenant: there what is the tenant's goes along.
    """

    def __init__(
        self,
        client: Client,
        *,
        protection: Protection,
        brakes: BrakeGuard,
        extraction: Extraction,
        ignore: Collection[str],
        of_tenant: Callable[[Row, Row, Claim], Hold | None] = lambda _row, _inside, _claim: None,
    ) -> None:
        self._of_tenant = of_tenant
        self.patience = patience_of(client)
        self._brakes = brakes
        self._protection = protection
        self._extraction = extraction
        self._ignore = ignore
        self._insides = Insides(self.patience, extraction=extraction)

    async def inside(self, row: Row, claim: Claim, *, discovery: Discovery, now: float) -> tuple[Hold, ...]:
        """Holds for what must not go along, and for what could not be asked; rows that contain nothing give none."""
        if is_namespace(row):
            kinds = [resource for resource in discovery.preferred() if resource.namespaced]
        elif is_definition(row):
            kinds = [resource for resource in discovery.preferred() if resource.qualified == row.name]
        else:
            return ()
        namespace = row.name if is_namespace(row) else ""
        shelter = Shelter()
        of_tenant = claim.mechanism == TENANTS
        if any(resource.namespaced for resource in kinds) and not namespace and not of_tenant:
            shelter = await sheltered(
                self.patience, protection=self._protection, extraction=self._extraction, now=now
            )
        async with asyncio.TaskGroup() as group:
            answers = [
                group.create_task(
                    self._of_kind_in(resource, row, claim, now)
                    if namespace
                    else self._of_kind(resource, row, claim, now=now, shelter=shelter)
                )
                for resource in kinds
                if resource.may("list")
            ]
        gaps = [
            Hold(reason=reason("keeps-unknown", kinds=f"the group {gap.where}", why=gap.why))
            for gap in discovery.gaps
            if not waived_group(gap.group, self._ignore)
            and (is_namespace(row) or row.name.endswith(f".{gap.group}"))
        ]
        if is_definition(row) and not kinds and not gaps and not self._waives(row):
            gaps.append(Hold(reason=reason("keeps-unknown", kinds=row.name, why=_NOT_SERVED)))
        if shelter.unknown and not waived(NAMESPACES, self._ignore):
            gaps.append(Hold(reason=reason("keeps-unknown", kinds=NAMESPACES.qualified, why=shelter.unknown)))
        return (*(hold for answer in answers if (hold := answer.result()) is not None), *gaps)

    def _waives(self, definition: Row) -> bool:
        group = definition.name.partition(".")[2]
        return definition.name in self._ignore or waived_group(group, self._ignore)

    async def _of_kind_in(self, resource: Resource, namespace: Row, claim: Claim, now: float) -> Hold | None:
        def judge(inside: Row) -> Hold | None:
            return self._hold_on(inside, namespace, claim, now)

        lenient = waived(resource, self._ignore)
        try:
            return await self._insides.first(
                resource, namespace.name, judge, lenient=lenient, of_many=claim.mechanism == TENANTS
            )
        except SkoupaError as error:
            if lenient:
                return None
            return Hold(reason=reason("keeps-unknown", kinds=resource.qualified, why=error.message))

    async def _of_kind(
        self, resource: Resource, definition: Row, claim: Claim, *, now: float, shelter: Shelter
    ) -> Hold | None:
        asked = pages(self.patience.client, resource, METADATA)
        listing = self.patience.pages(resource.qualified, asked)
        first: Row | None = None
        try:
            async with aclosing(listing):
                async for page in listing:
                    if page.undecodable and not waived(resource, self._ignore):
                        why = page.undecodable[0].why
                        return Hold(reason=reason("keeps-unknown", kinds=resource.qualified, why=why))
                    for item in page.items:
                        inside = self._extraction.row(resource, item)
                        hold = self._hold_on(inside, definition, claim, now) or shelter.hold(inside)
                        if hold is not None:
                            return hold
                        first = first or inside
        except SkoupaError as error:
            if waived(resource, self._ignore):
                return None
            return Hold(reason=reason("keeps-unknown", kinds=resource.qualified, why=error.message))
        if first is None or claim.mechanism == TENANTS:
            return None
        return Hold(reason=reason("has-instances", object=called(first)))

    def _hold_on(self, inside: Row, container: Row, claim: Claim, now: float) -> Hold | None:
        if claim.mechanism == TENANTS:
            return self._hold_of_tenant(container, inside, claim, now)
        return self._hold(inside, claim, now, judged=container.name if is_namespace(container) else "")

    def _hold_of_tenant(self, container: Row, inside: Row, claim: Claim, now: float) -> Hold | None:
        """What is protected or braked stays, and what is not the tenant's; what the tenant kept goes."""
        for told, until in self._protection.reasons(inside, now):
            if goes_with_its_tenant(told, inside) or (
                told.code == "protected-own" and goes_with_its_namespace(inside)
            ):
                continue
            return Hold(
                reason=reason("protects-inside", object=called(inside), why=render(told)), until=until
            )
        braked = self._brakes.holds(inside, claim, now)
        return (
            braked_inside(braked[0], called(inside)) if braked else self._of_tenant(container, inside, claim)
        )

    def _hold(self, inside: Row, claim: Claim, now: float, *, judged: str) -> Hold | None:
        """`judged` is the Namespace that is to go; empty for a definition."""
        for told, until in self._protection.reasons(inside, now):
            if judged and told.code == "namespace-kept":
                # The judged Namespace has this very label, or had it a moment ago.
                continue
            if judged and told.code == "protected-own" and goes_with_its_namespace(inside):
                continue
            if told.code == "kept":
                return Hold(reason=reason("keeps-inside", object=called(inside)), until=until)
            why = render(told)
            return Hold(reason=reason("protects-inside", object=called(inside), why=why), until=until)
        braked = self._brakes.holds(inside, claim, now)
        return braked_inside(braked[0], called(inside)) if braked else None
