"""Findings as a plan of a cluster in memory makes them, for the pages that are made of findings alone."""

from __future__ import annotations

from typing import Any

from skoupa.cli.looking.planning import Plan, Wishes, make_plan
from skoupa.cli.worlds import World
from skoupa.settings import Settings
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.web.dashboard.look import Look
from skoupa.web.dashboard.shapes import Mode
from tests.unit.cli.worlds import looking


def planned(*objects: dict[str, Any]) -> Plan:
    async def work(world: World, _: EmbeddedCluster) -> Plan:
        return await make_plan(
            world, settings=Settings(), wishes=Wishes(), window=lambda _: None, progress=lambda _: None
        )

    return looking(work, *objects)


def look_at(*objects: dict[str, Any], mode: Mode = "observes", ahead: float = 0.0, why: str = "") -> Look:
    plan = planned(*objects)
    return Look(
        now=plan.now + ahead,
        mode=mode,
        mode_why=why,
        findings=plan.findings,
        remarks=plan.remarks,
        gaps=plan.gaps,
        warnings=plan.warnings,
    )
