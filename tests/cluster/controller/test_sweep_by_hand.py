"""`skoupa sweep` on a slow server, while people write keep labels: what they keep stays from that moment on.

And with rights in one namespace: what has to be granted besides is said, and is enough.
"""

from __future__ import annotations

import secrets
import time
from datetime import datetime
from pathlib import Path

import pytest

from harness.controlplane import ControlPlane
from harness.faultproxy import Rule, Slow
from skoupa.errors import NotFound
from skoupa.install.roles import sweep_role
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES
from tests.cluster.commands import Said, ended, skoupa, started
from tests.cluster.controller.objects import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    RBAC,
    SECRETS,
    AuditLog,
    People,
)
from tests.cluster.granting import grant
from tests.cluster.reaching import eventually, faulty
from tests.unit.controller.stage import owned_by

pytestmark = pytest.mark.cluster

OWNERS = [f"o{number}" for number in range(30)]
# What was on its way when the label was written; reads take 0.3 s here, and two deletes leave in a second.
ON_ITS_WAY_SECONDS = 1.0


class Sweep:
    """One that takes a quarter of a minute; `keep` is done when four are gone. Afterwards: when that was."""

    def __init__(self, people: People, plane: ControlPlane, audit: AuditLog, tmp_path: Path) -> None:
        self._people, self._plane, self._audit, self._dir = people, plane, audit, tmp_path

    def deletes(self) -> list[float]:
        found = (one for one in self._audit.deletes(self._people.namespace))
        return [
            datetime.fromisoformat(one["requestReceivedTimestamp"]).timestamp()
            for one in found
            if one["objectRef"]["name"] in OWNERS
        ]

    async def until_kept(self, keep: People, *, children: bool) -> tuple[float, Said]:
        settings = self._dir / "settings.yaml"
        settings.write_text("rate: {deletionsPerSecond: 2}\n")
        async with faulty(self._plane) as proxy:
            config = proxy.write_kubeconfig(self._dir / "slow")
            here = ("-n", self._people.namespace, "--config", settings)
            process = await started("sweep", "--yes", *here, kubeconfig=config)
            # What it reads before may be quick.
            await proxy.wait_for(lambda seen: seen.method == "DELETE", within=60)
            proxy.script(Rule(Slow(delay=0.3), method="GET", times=None))

            async def under_way() -> bool:
                return len(self.deletes()) >= 4

            await eventually(under_way, what="four are gone", patiently=False)
            if children:
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
    written, said = await sweep.until_kept(people, children=True)
    assert max(sweep.deletes()) < written + ON_ITS_WAY_SECONDS
    assert said.out.count("deleting it would take along Secret") >= len(OWNERS) - 10
    assert await people.there(OWNERS[-1], resource=SECRETS)


async def test_a_namespace_is_kept_while_what_is_in_it_is_swept(
    people: People, plane: ControlPlane, audit: AuditLog, tmp_path: Path
) -> None:
    for name in OWNERS:
        await people.make(name, "0")
    sweep = Sweep(people, plane, audit, tmp_path)
    written, said = await sweep.until_kept(people, children=False)
    assert max(sweep.deletes()) < written + ON_ITS_WAY_SECONDS
    assert said.out.count("kept: its Namespace has the label") >= len(OWNERS) - 10


async def test_with_rights_in_one_namespace_the_role_that_install_brings_is_enough(
    kind: None, people: People, plane: ControlPlane
) -> None:
    """Without any right to watch what is in the namespace."""
    names = [f"x{number}" for number in range(20)]
    for name in names:
        await people.make(name, "0")
    user = f"dev-{secrets.token_hex(4)}"
    config = plane.access.kubeconfig_for(user=user)
    verbs = ["list", "delete"]
    await grant(people.client, user, namespace=people.namespace, verbs=verbs, resources=[CONFIG_MAPS.plural])
    asked = ("sweep", "cm", "-n", people.namespace, "--yes")
    said = await skoupa(*asked, kubeconfig=config)
    assert said.code == 5
    assert "nothing was deleted: whether an installation has settings of its own can't be seen" in said.err
    assert "let somebody grant you that: kubectl create" in said.err
    said = await skoupa(*asked, "--config", "/dev/null", kubeconfig=config)
    assert said.code == 5
    assert "no permission: list brakes.skoupa.dev; let somebody grant you that: kubectl create" in said.err
    role = await people.client.create(CLUSTER_ROLES, sweep_role())
    binding = {
        "metadata": {"name": user},
        "subjects": [{"kind": "User", "name": user, "apiGroup": RBAC}],
        "roleRef": {"kind": "ClusterRole", "name": role["metadata"]["name"], "apiGroup": RBAC},
    }
    bound = await people.client.create(CLUSTER_ROLE_BINDINGS, binding)

    async def swept() -> bool:
        return (await skoupa(*asked, kubeconfig=config)).code == 0

    await eventually(swept, what="the ClusterRole to count")
    assert not [name for name in names if await people.there(name)]
    for resource, made in ((CLUSTER_ROLE_BINDINGS, bound), (CLUSTER_ROLES, role)):
        meta = made["metadata"]
        await people.client.delete(resource, meta["name"], uid=meta["uid"], propagation="Background")
