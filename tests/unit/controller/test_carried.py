"""Controllers of Kubernetes take things along without an owner reference: what of it is kept holds too."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.kube.resources import NAMESPACES, PODS, Resource
from skoupa.sim.faults import asking
from skoupa.sim.state.access import Rule
from tests.unit.controller.stage import HOME, MINUTE, SECRETS, SHOP, Stage, described, story
from tests.unit.controller.test_kinds_and_rights import ENOUGH, OWN

pytestmark = pytest.mark.unit

ACCOUNTS = Resource(version="v1", plural="serviceaccounts", kind="ServiceAccount", namespaced=True)
NODES = Resource(version="v1", plural="nodes", kind="Node", namespaced=False)
CLAIMS = Resource(
    version="v1", plural="persistentvolumeclaims", kind="PersistentVolumeClaim", namespaced=True
)
VOLUMES = Resource(version="v1", plural="persistentvolumes", kind="PersistentVolume", namespaced=False)


async def a_token(stage: Stage, name: str, *, account: str, keep: str | None = None) -> None:
    await stage.make(
        name, resource=SECRETS, keep=keep, annotations={"kubernetes.io/service-account.name": account}
    )


async def a_pod(stage: Stage, name: str, *, node: str, keep: str | None = None) -> None:
    spec = {"nodeName": node, "containers": [{"name": "a", "image": "a"}]}
    await stage.people.create(PODS, {"metadata": described(name, keep=keep), "spec": spec}, namespace=SHOP)


async def a_claim(
    stage: Stage, name: str, *, policy: str, keep: str | None = None, bound: bool = True
) -> dict[str, Any]:
    """A claim and its volume, as the controller of volumes leaves them."""
    spec: dict[str, Any] = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    if bound:
        spec["volumeName"] = f"pv-{name}"
    claim = await stage.people.create(CLAIMS, {"metadata": {"name": name}, "spec": spec}, namespace=SHOP)
    if bound:
        volume = {
            "persistentVolumeReclaimPolicy": policy,
            "claimRef": {"namespace": SHOP, "name": name, "uid": claim["metadata"]["uid"]},
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/data"},
        }
        body = {"metadata": described(f"pv-{name}", keep=keep), "spec": volume}
        await stage.people.create(VOLUMES, body)
    return claim


@story(also=(SECRETS,))
async def test_a_service_account_stays_for_its_kept_token_and_no_other(stage: Stage) -> None:
    play = await stage.play()
    for name in ("robot", "clerk", "guest"):
        await stage.make(name, "1m", resource=ACCOUNTS)
    await a_token(stage, "robot-token", account="robot", keep="true")
    await a_token(stage, "clerk-token", account="clerk")
    await a_token(stage, "guest-token", account="guest", keep="2020-01-01")
    await stage.until(5 * MINUTE)
    assert stage.found(ACCOUNTS) - {"default"} == {"robot"}
    assert play.why_held("robot") == "deleting it would take along Secret shop/robot-token, which is kept"
    await stage.label("robot-token", resource=SECRETS, keep=None)
    await stage.later(6 * MINUTE)
    assert not stage.there("robot", ACCOUNTS)


@story(also=(SECRETS,))
async def test_a_service_account_stays_while_tokens_can_not_be_read(stage: Stage) -> None:
    stage.cluster.deny(user="blind", verbs=("get", "list", "watch"), resources=("secrets",))
    play = await stage.play(user="blind")
    await stage.make("robot", "1m", resource=ACCOUNTS)
    await stage.until(5 * MINUTE)
    assert stage.there("robot", ACCOUNTS)
    assert "kept objects of secrets can't be read" in play.why_held("robot")
    waiving = await stage.play(user="blind", cascade={"ignoreKinds": ["secrets"]})
    await stage.later(MINUTE)
    assert not stage.there("robot", ACCOUNTS)
    assert not waiving.told("held")


@story(also=(NODES,))
async def test_a_node_stays_for_a_kept_pod_on_it_and_no_other(stage: Stage) -> None:
    play = await stage.play()
    for name in ("one", "two"):
        await stage.make(name, "1m", resource=NODES)
    await a_pod(stage, "worker", node="one", keep="true")
    await a_pod(stage, "other", node="two")
    await stage.until(5 * MINUTE)
    assert stage.found(NODES) == {"one"}
    assert play.why_held("one") == "deleting it would take along Pod shop/worker, which is kept"


@pytest.mark.parametrize(
    ("policy", "keep", "stays"),
    [("Delete", "true", True), ("Retain", "true", False), ("Delete", None, False)],
)
@story(also=(CLAIMS, VOLUMES))
async def test_a_claim_stays_for_its_kept_volume_that_would_be_deleted(
    stage: Stage, policy: str, keep: str | None, *, stays: bool
) -> None:
    play = await stage.play()
    await a_claim(stage, "data", policy=policy, keep=keep)
    await stage.label("data", resource=CLAIMS, ttl="1m")
    await stage.until(5 * MINUTE)
    assert stage.there("data", CLAIMS) is stays
    if stays:
        told = "deleting it would take along PersistentVolume pv-data, which is kept"
        assert play.why_held("data") == told


@story(also=(CLAIMS, VOLUMES))
async def test_a_namespace_stays_for_the_kept_volume_of_a_claim_in_it(stage: Stage) -> None:
    play = await stage.play()
    await a_claim(stage, "data", policy="Delete", keep="true")
    await stage.label(SHOP, resource=NAMESPACES, ttl="1m")
    await stage.until(5 * MINUTE)
    assert stage.there(SHOP, NAMESPACES)
    assert "PersistentVolume pv-data" in play.why_held(SHOP)


@story(also=(CLAIMS, VOLUMES), namespaces=[SHOP, HOME])
async def test_without_the_right_to_read_volumes_a_claim_stays_that_has_one(stage: Stage) -> None:
    inside = Rule(verbs=(*ENOUGH, "get"), namespaces=(SHOP, HOME))
    stage.cluster.allow_only("sweeper", [*OWN, inside])
    play = await stage.play(user="sweeper")
    await a_claim(stage, "data", policy="Delete", keep="true")
    await a_claim(stage, "never-used", policy="Delete", bound=False)
    for name in ("data", "never-used"):
        await stage.label(name, resource=CLAIMS, ttl="1m")
    await stage.until(5 * MINUTE)
    assert stage.found(CLAIMS) == {"data"}
    assert "kept objects of persistentvolumes can't be read" in play.why_held("data")


@story(also=(CLAIMS, VOLUMES))
async def test_claims_that_go_together_share_one_reading_of_the_volumes(stage: Stage) -> None:
    play = await stage.play()
    for number in range(30):
        await a_claim(stage, f"data-{number}", policy="Delete")
        await stage.label(f"data-{number}", resource=CLAIMS, ttl="10m")
    await stage.until(10 * MINUTE + 1)
    assert not stage.found(CLAIMS)
    reads = [
        at for at, request in play.sent("GET", path="/persistentvolumes") if at > play.wire.seen[0][0] + 500
    ]
    assert 1 <= len(reads) <= 3


@story(also=(CLAIMS, VOLUMES))
async def test_volumes_that_do_not_answer_hold_a_claim(stage: Stage) -> None:
    play = await stage.play()
    await a_claim(stage, "data", policy="Delete")
    await stage.label("data", resource=CLAIMS, ttl="1m")
    stage.cluster.faults.answer(500, when=asking(verb="list", kind="persistentvolumes"), times=None)
    await stage.until(3 * MINUTE)
    assert stage.there("data", CLAIMS)
    assert "persistentvolumes" in play.why_held("data")
    stage.cluster.faults.clear()
    await stage.later(5 * MINUTE)
    assert not stage.there("data", CLAIMS)
