"""`skoupa sweep` on a slow server, while people write keep labels: what they keep stays from that moment on."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path

import pytest

from harness.controlplane import ControlPlane
from harness.faultproxy import Rule, Slow
from skoupa.errors import NotFound
from skoupa.kube.resources import NAMESPACES
from tests.cluster.commands import Said, ended, started
from tests.cluster.controller.objects import SECRETS, AuditLog, People
from tests.cluster.reaching import eventually, faulty
from tests.unit.controller.stage import owned_by

pytestmark = pytest.mark.cluster

OWNERS = [f"o{number}" for number in range(30)]
# What was on its way when the label was written; reads take 0.3 s here, and two deletes leave in a second.
ON_ITS_WAY_SECONDS = 1.0


class Sweep:
    """One that takes a quarter of a minute; `keep` is done when four are gone. Afterwards: when the last delete came."""

    def __init__(self, people: People, plane: ControlPlane, audit: AuditLog, tmp_path: Path) -> None:
        self._people, self._plane, self._audit, self._dir = people, plane, audit, tmp_path

    def deletes(self) -> list[float]:
        found = (one for one in self._audit.deletes(self._people.namespace))
        return [
            datetime.fromisoformat(one["requestReceivedTimestamp"]).timestamp()
            for one in found
            if one["objectRef"]["name"] in OWNERS
        ]

    async def until_kept(self, keep: People, *, secrets: bool) -> tuple[float, Said]:
        settings = self._dir / "settings.yaml"
        settings.write_text("rate: {deletionsPerSecond: 2}\n")
        async with faulty(self._plane) as proxy:
            proxy.script(Rule(Slow(delay=0.3), method="GET", times=None))
            config = proxy.write_kubeconfig(self._dir / "slow")
            here = ("-n", self._people.namespace, "--config", settings)
            process = await started("sweep", "--yes", *here, kubeconfig=config)

            async def under_way() -> bool:
                return len(self.deletes()) >= 4

            await eventually(under_way, what="four are gone", seconds=60)
            if secrets:
                await _keep_secrets(keep)
            else:
                await keep.label(keep.namespace, resource=NAMESPACES, keep="true")
            written = time.time()
            return written, await ended(process)


async def _keep_secrets(people: People) -> None:
    for name in OWNERS:
        try:
            await people.label(name, resource=SECRETS, keep="true")
        except NotFound:
            continue


async def test_what_hangs_on_others_is_kept_while_they_are_swept(
    people: People, plane: ControlPlane, audit: AuditLog, tmp_path: Path
) -> None:
    for name in OWNERS:
        owner = await people.make(name, "0")
        await people.make(name, resource=SECRETS, ownerReferences=[owned_by(owner)])
    sweep = Sweep(people, plane, audit, tmp_path)
    written, said = await sweep.until_kept(people, secrets=True)
    assert max(sweep.deletes()) < written + ON_ITS_WAY_SECONDS
    assert said.out.count("deleting it would take along Secret") >= len(OWNERS) - 10
    assert await people.there(OWNERS[-1], resource=SECRETS)


async def test_a_namespace_is_kept_while_what_is_in_it_is_swept(
    people: People, plane: ControlPlane, audit: AuditLog, tmp_path: Path
) -> None:
    for name in OWNERS:
        await people.make(name, "0")
    sweep = Sweep(people, plane, audit, tmp_path)
    written, said = await sweep.until_kept(people, secrets=False)
    assert max(sweep.deletes()) < written + ON_ITS_WAY_SECONDS
    assert said.out.count("kept: its Namespace has the label") >= len(OWNERS) - 10
