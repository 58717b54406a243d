"""Claims of volumes, in a running controller: what ends their use without a word of anything that names them."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from skoupa.kube.resources import Resource
from skoupa.sim.content import manifests
from skoupa.sim.state.kinds import BUILT_IN
from tests.unit.controller.retaining.scene import KINDS, ON, after, mark_of, said
from tests.unit.controller.stage import DAY, MINUTE, SHOP, Play, Stage, story
from tests.unit.usage.pitfalls.making import custom, old
from tests.unit.usage.pitfalls.table import bound, volume

pytestmark = pytest.mark.unit

CLAIMS, VOLUMES, ATTACHMENTS = (
    next(one for one in BUILT_IN if one.kind == kind)
    for kind in ("PersistentVolumeClaim", "PersistentVolume", "VolumeAttachment")
)


def attached(claim: str) -> dict[str, Any]:
    spec = {"attacher": "disks", "nodeName": "node-1", "source": {"persistentVolumeName": f"of-{claim}"}}
    return old("VolumeAttachment", f"csi-{claim}", api="storage.k8s.io/v1", namespace="", spec=spec)


def kafka(name: str) -> dict[str, Any]:
    return custom("kafka.strimzi.io/v1beta2", "Kafka", name)


@story(also=(*KINDS, CLAIMS, VOLUMES, ATTACHMENTS), features=ON)
async def test_a_claim_is_used_as_long_as_a_machine_has_its_volume_attached(stage: Stage) -> None:
    play = await _with_claim(stage, attached("data"), attached("other"))
    assert "VolumeAttachment csi-data uses it" in said(play, "data")
    assert mark_of(stage, "data", resource=CLAIMS) is None
    await _gone(stage, ATTACHMENTS, "csi-data")
    await _goes_in_five_minutes(stage)


@story(also=(*KINDS, CLAIMS, VOLUMES, ATTACHMENTS), features=ON)
async def test_a_claim_of_an_operator_stays_as_long_as_what_it_was_made_for(stage: Stage) -> None:
    play = await _with_claim(stage, kafka("orders"), kafka("other"), labels={"strimzi.io/cluster": "orders"})
    assert "Kafka shop/orders" in said(play, "data")
    assert mark_of(stage, "data", resource=CLAIMS) is None
    kafkas = stage.cluster.plane.catalogue.of_kind(api_version="kafka.strimzi.io/v1beta2", kind="Kafka")
    assert kafkas is not None
    await _gone(stage, kafkas.resource, "orders", namespace=SHOP)
    await _goes_in_five_minutes(stage)


async def _with_claim(stage: Stage, *by: dict[str, Any], **rest: Any) -> Play:
    claim = bound("data", **rest)
    claim["metadata"]["labels"] |= after("unused-5m")
    claim["metadata"]["creationTimestamp"] = stage.time(-DAY)
    stage.cluster.load(manifests.parse(yaml.safe_dump_all([claim, volume("data"), *by]), file="the test"))
    play = await stage.play()
    await stage.later(10 * MINUTE)
    return play


async def _gone(stage: Stage, resource: Resource, name: str, *, namespace: str = "") -> None:
    found = next(
        one for one in stage.cluster.objects(resource, namespace=namespace) if one["metadata"]["name"] == name
    )
    await stage.people.delete(
        resource, name, namespace=namespace, uid=found["metadata"]["uid"], propagation="Background"
    )
    await stage.later(1)


async def _goes_in_five_minutes(stage: Stage) -> None:
    assert mark_of(stage, "data", resource=CLAIMS) is not None
    await stage.later(4 * MINUTE)
    assert stage.cluster.objects(CLAIMS, namespace=SHOP)
    await stage.later(2 * MINUTE)
    assert not stage.cluster.objects(CLAIMS, namespace=SHOP)
