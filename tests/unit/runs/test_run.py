"""One run: what is asked of the server, what is found, and what a list that fails costs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from skoupa.expr.cel.pool import Pool
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.flow import Flow
from skoupa.policy.policies import Policy
from skoupa.policy.reading import read_policy
from skoupa.runs.calls.protocol import NoCalls
from skoupa.runs.evaluation import Evaluation
from skoupa.runs.lists import Lists
from skoupa.runs.run import Findings, find
from skoupa.sim.clock import VirtualClock, run
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.sim.faults import asking

pytestmark = pytest.mark.unit

NAMESPACES: Mapping[str, Mapping[str, str]] = {"shop": {"team": "a"}, "office": {"team": "b"}}


def policy(match: dict[str, Any], **spec: Any) -> Policy:
    obj = {
        "apiVersion": "kyverno.io/v2",
        "kind": "ClusterCleanupPolicy",
        "metadata": {"name": "tidy", "uid": "u"},
        "spec": {"schedule": "0 * * * *", "match": {"any": [{"resources": match}]}, **spec},
    }
    read = read_policy(obj)
    assert read.policy is not None, read.problems
    return read.policy


class Stage:
    def __init__(self, clock: VirtualClock, cluster: EmbeddedCluster) -> None:
        self.clock = clock
        self.cluster = cluster
        self.client = Client(Flow(cluster, clock), clock)

    async def find(self, wanted: Policy, *, only: tuple[str, ...] = ()) -> Findings:
        evaluation = Evaluation(
            wanted, pool=Pool(clock=self.clock), calls=NoCalls(), clock=self.clock, namespaces=NAMESPACES
        )
        return await find(
            wanted,
            evaluation,
            lists=Lists(self.client),
            discovery=await discover(self.client),
            namespaces=NAMESPACES,
            only=only,
        )


def staged(told: Callable[[Stage], Awaitable[None]]) -> Callable[[], None]:
    def test() -> None:
        async def main(clock: VirtualClock) -> None:
            async with EmbeddedCluster(clock=clock) as cluster:
                cluster.load(
                    {
                        "apiVersion": "v1",
                        "kind": "Namespace",
                        "metadata": {"name": name, "labels": dict(labels)},
                    }
                    for name, labels in NAMESPACES.items()
                )
                cluster.load(
                    {
                        "apiVersion": "v1",
                        "kind": kind,
                        "metadata": {
                            "name": f"web-{number}",
                            "namespace": place,
                            "labels": {"n": str(number)},
                        },
                    }
                    for place in NAMESPACES
                    for kind in ("ConfigMap", "Secret")
                    for number in range(3)
                )
                await told(Stage(clock, cluster))

        run(main)

    test.__name__, test.__doc__ = told.__name__, told.__doc__
    return test


def places(findings: Findings) -> set[str]:
    return {f"{one.resource.kind}/{one.metadata.namespace}/{one.metadata.name}" for one in findings.claimed}


@staged
async def test_what_matches_is_found_in_all_kinds_and_places(stage: Stage) -> None:
    wanted = policy({"kinds": ["ConfigMap", "Secret"], "names": ["web-1"]})
    found = await stage.find(wanted)
    assert places(found) == {
        f"{kind}/{place}/web-1" for kind in ("ConfigMap", "Secret") for place in NAMESPACES
    }
    assert found.complete


@staged
async def test_a_list_that_fails_costs_its_own_objects_alone(stage: Stage) -> None:
    stage.cluster.faults.answer(500, when=asking(kind="secrets"), times=None)
    found = await stage.find(policy({"kinds": ["ConfigMap", "Secret"], "namespaces": ["shop"]}))
    assert {place.partition("/")[0] for place in places(found)} == {"ConfigMap"}
    assert [gap.query.resource.kind for gap in found.gaps] == ["Secret"]
    assert not found.complete


@staged
async def test_only_the_namespaces_that_are_looked_after_are_asked_for(stage: Stage) -> None:
    found = await stage.find(
        policy({"kinds": ["ConfigMap", "Namespace"], "names": ["web-*", "shop"]}), only=("shop",)
    )
    assert places(found) == {f"ConfigMap/shop/web-{number}" for number in range(3)}


@staged
async def test_a_kind_that_is_not_there_is_told(stage: Stage) -> None:
    found = await stage.find(policy({"kinds": ["ConfigMapp"]}))
    assert not found.claimed
    assert "ConfigMap" in found.missing[0].instead


@staged
async def test_what_goes_with_its_owner_is_left_to_the_collector_under_a_wildcard(stage: Stage) -> None:
    found = await stage.find(policy({"kinds": ["ConfigMap"], "names": ["web-0"], "namespaces": ["shop"]}))
    uid = found.claimed[0].metadata.uid
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "web-0", "uid": uid}
    stage.cluster.load(
        [
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": "owned", "namespace": "shop", "ownerReferences": [owner]},
            }
        ]
    )
    named = await stage.find(policy({"kinds": ["ConfigMap", "Secret"], "namespaces": ["shop"]}))
    assert "Secret/shop/owned" in places(named)
    wild = await stage.find(policy({"kinds": ["*"], "namespaces": ["shop"]}))
    assert "ConfigMap/shop/web-0" in places(wild)
    assert "Secret/shop/owned" not in places(wild)
    assert [one.metadata.name for one in wild.spared] == ["owned"]
