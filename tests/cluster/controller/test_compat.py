"""Lifetimes that were written for other tools: nothing by themselves, honoured where a switch says so."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from harness.controlplane import ControlPlane
from skoupa import names
from tests.cluster.controller.ageing import grow_old
from tests.cluster.controller.objects import People
from tests.cluster.controller.running import Skoupa, Yard

pytestmark = pytest.mark.cluster

HOUR = 3600


async def nothing_goes(people: People, *wanted: str) -> None:
    """By the process without switches, which has seen them: another one that came later is gone."""
    await people.make("last", "1s")
    await people.gone("last")
    for name in wanted:
        assert await people.there(name)


async def test_kyvernos_readings_of_a_label(sweeping: Skoupa, people: People, yard: Yard) -> None:
    await people.make("web", "2secs")
    refused = await sweeping.says("label problem", name="web", namespace=people.namespace)
    assert "Kyverno would read it as 2s" in refused["why"]
    await nothing_goes(people, "web")
    process = await yard.started(compat__kyvernoTtl="true")
    deleted = await process.says("deleted", name="web", namespace=people.namespace)
    assert deleted["why"].startswith("cleanup.kyverno.io/ttl=2secs, counted from ")
    await people.gone("web")


async def test_kube_janitors_annotations(sweeping: Skoupa, people: People, yard: Yard) -> None:
    await people.make("web", annotations={names.JANITOR_TTL_ANNOTATION: "2s"})
    await people.make("dated", annotations={names.JANITOR_EXPIRES_ANNOTATION: "2020-01-01"})
    await people.make("endless", annotations={names.JANITOR_TTL_ANNOTATION: "forever"})
    await nothing_goes(people, "web", "dated")
    process = await yard.started(compat__janitor="true")
    deleted = await process.says("deleted", name="web", namespace=people.namespace)
    assert deleted["why"].startswith("janitor/ttl=2s, counted from ")
    await people.gone("web")
    await people.gone("dated")
    await nothing_goes(people, "endless")


async def test_k8s_ttl_controllers_annotations(
    plane: ControlPlane, sweeping: Skoupa, people: People, yard: Yard
) -> None:
    wish = {names.TTL_CONTROLLER_TTL_ANNOTATION: "1h"}
    today = datetime.now(UTC).isoformat(timespec="seconds")
    refreshed = {**wish, names.TTL_CONTROLLER_REFRESHED_AT_ANNOTATION: today}
    old = [await people.make("web", annotations=wish), await people.make("used", annotations=refreshed)]
    await grow_old(plane, old, seconds=2 * HOUR)
    await nothing_goes(people, "web")
    process = await yard.started(compat__ttlController="true")
    deleted = await process.says("deleted", name="web", namespace=people.namespace)
    assert deleted["why"].startswith("k8s-ttl-controller.twin.sh/ttl=1h, counted from ")
    await people.gone("web")
    await nothing_goes(people, "used")
