"""`ttl.maximumLifetime` on a real server: it counts from creation, and no refresh goes beyond it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from harness.controlplane import ControlPlane
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CONFIG_MAPS
from tests.cluster.commands import skoupa
from tests.cluster.controller.ageing import grow_old
from tests.cluster.controller.objects import AuditLog, People
from tests.cluster.controller.running import Skoupa, Yard
from tests.cluster.reaching import until

pytestmark = pytest.mark.cluster

MINUTE = 60
LIMIT = "30m"
OVER = f"nothing with a TTL lives longer than {LIMIT} (ttl.maximumLifetime), whatever refreshed it"


async def refreshed(plane: ControlPlane, people: People, name: str, ttl: str, *, age: int) -> datetime:
    """An object of that age in seconds which somebody has refreshed just now; its creation."""
    made = await people.make(name, ttl)
    said = await skoupa("refresh", f"cm/{name}", "-n", people.namespace, kubeconfig=plane.kubeconfig)
    assert said.code == 0, said.err
    await grow_old(plane, [made], seconds=age)
    found = await people.client.get(CONFIG_MAPS, name, namespace=people.namespace, view=METADATA)
    assert found.metadata.creation_timestamp is not None
    return found.metadata.creation_timestamp


async def nothing_goes(people: People, *wanted: str) -> None:
    """By whoever runs, for what came later is gone."""
    await people.make("last", "1s")
    await people.gone("last")
    for name in wanted:
        assert await people.there(name)


async def test_a_refresh_keeps_alive_within_the_maximum_lifetime_and_not_beyond(
    plane: ControlPlane, sweeping: Skoupa, people: People, yard: Yard
) -> None:
    await refreshed(plane, people, "worn", "10m", age=31 * MINUTE)
    await refreshed(plane, people, "used", "10m", age=20 * MINUTE)
    # A time that lies beyond the limit by itself ends there, too.
    long = await people.make("long", "1d")
    dated = await people.make("dated", "2999-01-01")
    await grow_old(plane, [long, dated], seconds=31 * MINUTE)
    await nothing_goes(people, "worn", "used", "long", "dated")

    process = await yard.started(ttl__maximumLifetime=LIMIT)
    for name in ("worn", "long", "dated"):
        deleted = await process.says("deleted", name=name, namespace=people.namespace)
        assert deleted["why"] == OVER
        await people.gone(name)
    event = await people.event("worn", "SkoupaDeleted")
    assert OVER in event["message"]
    await nothing_goes(people, "used")


async def test_what_is_refreshed_goes_at_its_creation_plus_the_maximum_lifetime(
    plane: ControlPlane, people: People, yard: Yard, audit: AuditLog
) -> None:
    born = await refreshed(plane, people, "worn", "10m", age=30 * MINUTE - 8)
    process = await yard.started(ttl__maximumLifetime=LIMIT)
    await people.gone("worn")
    deleted = await process.says("deleted", name="worn", namespace=people.namespace)
    assert deleted["why"] == OVER
    (entry,) = await until(lambda: audit.deletes(people.namespace), what="the delete in the audit log")
    assert entry["userAgent"].endswith("(ttl; ttl.maximumLifetime)")
    went = datetime.fromisoformat(entry["requestReceivedTimestamp"])
    assert (went - born).total_seconds() >= 30 * MINUTE


async def test_explain_and_plan_tell_the_end_that_a_refresh_does_not_put_off(
    plane: ControlPlane, people: People, tmp_path: Path
) -> None:
    await refreshed(plane, people, "worn", "20m", age=25 * MINUTE)
    config = tmp_path / "config.yaml"
    config.write_text(f"ttl: {{maximumLifetime: {LIMIT}}}\n")
    here = ("-n", people.namespace, "--config", str(config))
    explained = await skoupa("explain", "cm/worn", *here, kubeconfig=plane.kubeconfig)
    assert f"  why: {OVER}" in explained.out.splitlines()
    soon, later = [
        (await skoupa("plan", *here, "--within", within, "-o", "name", kubeconfig=plane.kubeconfig)).out
        for within in ("1m", "10m")
    ]
    assert (soon, later) == ("", "configmap/worn\n")
