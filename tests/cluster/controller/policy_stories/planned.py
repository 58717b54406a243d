"""What `plan` shows of policies is what the controller then deletes, and what stops one stops the other."""

from __future__ import annotations

import asyncio
import json
import secrets
from pathlib import Path
from typing import Any

import yaml

from harness.controlplane import ControlPlane
from skoupa.kinds.policies.cleanup import CLEANUP_POLICIES, CLUSTER_CLEANUP_POLICIES
from skoupa.kinds.policies.deleting import DELETING_POLICIES, NAMESPACED_DELETING_POLICIES
from skoupa.kinds.policies.exception import POLICY_EXCEPTIONS
from skoupa.kube.resources import Resource
from tests.cluster.commands import Said, skoupa
from tests.cluster.controller.policy_stories.braked import braked
from tests.cluster.controller.shop import MINUTELY, Shop
from tests.cluster.granting import grant

DONE, USAGE, LEFTOVERS, REFUSED, UNREADABLE = 0, 2, 4, 5, 6
META, CEL = "planned-meta", "planned-cel"


class Planning:
    """Policies that stand in a file and, once applied, in the cluster too."""

    def __init__(self, shop: Shop, plane: ControlPlane, folder: Path) -> None:
        self.shop = shop
        self.plane = plane
        self.file = folder / f"policies-{shop.namespace}.yaml"
        self._written: list[tuple[Resource, str, dict[str, Any]]] = []

    def add(self, kind: Resource, name: str, spec: dict[str, Any]) -> None:
        self._written.append((kind, name, {**spec, **MINUTELY}))
        bodies = [
            {
                "apiVersion": kind.api_version,
                "kind": kind.kind,
                "metadata": {"name": name, **({"namespace": self.shop.namespace} if kind.namespaced else {})},
                "spec": spec,
            }
            for kind, name, spec in self._written
        ]
        self.file.write_text(yaml.safe_dump_all(bodies), encoding="utf-8")

    async def apply(self) -> None:
        for kind, name, spec in self._written:
            await self.shop.write(kind, name, spec)

    async def plan(self, *args: str, kubeconfig: Path | None = None) -> Said:
        return await skoupa("plan", *args, kubeconfig=kubeconfig or self.plane.kubeconfig, env={"TZ": "UTC"})

    async def of_files(self, *args: str) -> Said:
        return await self.plan("-f", str(self.file), *args)

    def going(self, said: Said) -> set[str]:
        assert said.code in {DONE, LEFTOVERS}, said.err
        items = json.loads(said.out)["items"]
        return {
            item["name"]
            for item in items
            if item["namespace"] == self.shop.namespace and item["goesAt"] is not None and not item["holds"]
        }


class Planned:
    """Begins before a process runs, so that nobody has to hurry."""

    def __init__(self, planning: Planning) -> None:
        self._planning = planning
        self._before: set[str] = set()
        self._planned: set[str] = set()

    async def _set_up(self) -> None:
        planning, shop, people = self._planning, self._planning.shop, self._planning.shop.people
        for name in ("meta-1", "meta-2", "own-1", "cel-1", "cel-own", "exempt-1", "stays-1"):
            data = {"state": "old" if name.startswith(("cel", "exempt")) else "new"}
            await people.make(name, body={"data": data})
        await people.make("own-unclear")
        await people.make("meta-kept", labels={"skoupa.dev/keep": "true"})
        await people.make("meta-later", "7d")
        here = {"where": {"namespaces": [shop.namespace]}}
        planning.add(CLUSTER_CLEANUP_POLICIES, META, shop.cleaning("meta-*", **here))
        state = {"all": [{"key": "{{ target.data.state }}", "operator": "Equals", "value": "new"}]}
        planning.add(CLEANUP_POLICIES, "own", shop.cleaning("own-*", conditions=state))
        old = "object.?data.state.orValue('') == 'old' && !object.metadata.name.endsWith('own')"
        planning.add(DELETING_POLICIES, CEL, shop.deleting(old))
        own = shop.deleting("object.metadata.name == 'cel-own'")
        planning.add(NAMESPACED_DELETING_POLICIES, "cel-own", own)
        exempt = {"name": "named", "expression": "object.metadata.name.startsWith('exempt')"}
        references = [{"kind": "DeletingPolicy", "name": CEL}]
        await shop.write(POLICY_EXCEPTIONS, "spare", {"policyRefs": references, "matchConditions": [exempt]})

    async def what_will_go_is_planned(self) -> None:
        planning, shop = self._planning, self._planning.shop
        await self._set_up()
        self._before = await shop.names()
        snapshot = planning.file.with_suffix(".snapshot")
        supposed, taken = await asyncio.gather(
            planning.of_files("-o", "json"),
            skoupa("snapshot", "-A", "-o", snapshot, kubeconfig=planning.plane.kubeconfig),
        )
        self._planned = planning.going(supposed)
        assert self._planned == {"meta-1", "meta-2", "own-1", "cel-1", "cel-own"}
        assert await shop.names() == self._before, "a plan deletes nothing"
        counts = {
            one["name"]: (one["matched"], one["wouldGo"], one["held"], one["unclear"])
            for one in json.loads(supposed.out)["policies"]
        }
        assert counts == {META: (4, 2, 2, 0), "own": (2, 1, 0, 1), CEL: (2, 1, 1, 0), "cel-own": (1, 1, 0, 0)}

        assert taken.code in {DONE, LEFTOVERS}, taken.err
        dumped = await planning.of_files("--from", str(snapshot), "-o", "json")
        assert planning.going(dumped) == self._planned

        await planning.apply()
        everywhere, inside = await asyncio.gather(
            planning.plan("-A", "--within", "10m", "-o", "json"),
            planning.plan("-n", shop.namespace, "--within", "10m", "-o", "json"),
        )
        assert planning.going(everywhere) == self._planned
        assert planning.going(inside) == self._planned

    async def what_was_planned_goes(self) -> None:
        planning, shop = self._planning, self._planning.shop
        await shop.left(*(self._before - self._planned))
        await shop.ran(CLUSTER_CLEANUP_POLICIES, META, matched=4, deleted=2, held=2)
        assert await shop.names() == self._before - self._planned
        again, supposed = await asyncio.gather(
            planning.plan("-n", shop.namespace, "-o", "json"), planning.of_files("-o", "json")
        )
        assert planning.going(supposed) == set()
        assert {item["name"] for item in json.loads(again.out)["items"]} == {
            "meta-kept",
            "meta-later",
            "own-unclear",
            "exempt-1",
        }


async def a_run_that_a_brake_would_stop_is_stopped_by_one(planning: Planning) -> None:
    """Of a process whose `brakes.maxPerRun` is 5."""
    shop = planning.shop
    names = {f"many-{number}" for number in range(6)}
    for name in names:
        await shop.people.make(name)
    planning.add(CLEANUP_POLICIES, "much", shop.cleaning("many-*"))
    config = planning.file.with_suffix(".config")
    config.write_text("brakes: {maxPerRun: 5}\n", encoding="utf-8")
    said = await planning.of_files("--config", str(config), "-o", "json")
    (policy,) = json.loads(said.out)["policies"]
    assert planning.going(said) == set()
    assert policy["wouldGo"] == 0
    (why,) = policy["wouldBrake"]
    assert "claims 6 objects in one run: more than the 5 of brakes.maxPerRun" in why
    refused = await planning.of_files("--config", str(config), "--fail-over", "5")
    assert refused.code == REFUSED

    await planning.apply()
    rule = f"CleanupPolicy/{shop.namespace}/much"
    await braked(shop.people, rule, by="brakes.maxPerRun", number=len(names))
    assert await shop.names() == names


async def rights_of_one_namespace_are_enough_for_its_policies(planning: Planning) -> None:
    shop, people = planning.shop, planning.shop.people
    for name in ("web-1", "web-2"):
        await people.make(name)
    planning.add(CLEANUP_POLICIES, "own", shop.cleaning("web-*"))
    user = f"alice-{secrets.token_hex(4)}"
    config = planning.plane.kubeconfig_for(user=user)
    refused = await planning.plan("-f", str(planning.file), kubeconfig=config)
    assert refused.code == UNREADABLE, "nothing readable is no empty plan"
    await grant(
        people.client, user, namespace=shop.namespace, verbs=["list", "delete"], resources=["configmaps"]
    )
    said = await planning.plan("-f", str(planning.file), "-o", "json", kubeconfig=config)
    assert planning.going(said) == {"web-1", "web-2"}
    await planning.apply()
    said = await planning.plan("cm", "-n", shop.namespace, kubeconfig=config)
    assert said.code == DONE, said.err
    assert any(line.startswith("policies that are not read, and so not shown: ") for line in said.lines)


async def an_invalid_policy_is_refused_with_the_kinds_of_the_server(planning: Planning) -> None:
    planning.add(CLEANUP_POLICIES, "wide", planning.shop.cleaning("*", where={"kinds": ["ClusterRole"]}))
    said = await planning.of_files()
    assert (said.code, said.out) == (USAGE, "")
    assert "ClusterRole" in said.lines[0]
