"""What operators find by a label or a name of their own, in a running controller: it stays as long as what it was made for."""

from __future__ import annotations

import pytest
import yaml

from skoupa.kube.resources import Resource
from skoupa.sim.content import manifests
from tests.unit.controller.retaining.scene import KINDS, ON, after, mark_of, said
from tests.unit.controller.stage import MINUTE, SECRETS, SHOP, Play, Stage, definition, story

pytestmark = pytest.mark.unit

KAFKAS = Resource(group="kafka.strimzi.io", version="v1", plural="kafkas", kind="Kafka", namespaced=True)


@story(also=KINDS, features=ON)
async def test_a_secret_with_the_label_of_an_operator_is_used_while_the_object_lives_that_it_names(
    stage: Stage,
) -> None:
    play = await _play(stage, {"strimzi.io/cluster": "orders"})
    assert "Kafka shop/orders" in said(play, "own")
    assert mark_of(stage, "own", resource=SECRETS) is None
    await _goes_without_kafka(stage)


@story(also=KINDS, features=ON)
async def test_what_is_called_as_a_custom_object_is_taken_for_its_own(stage: Stage) -> None:
    play = await _play(stage, {}, name="orders")
    assert "Kafka shop/orders" in said(play, "orders")
    await _goes_without_kafka(stage, name="orders")


@story(also=KINDS, features=ON)
async def test_what_comes_later_takes_the_mark_off(stage: Stage) -> None:
    await _play(stage, {"strimzi.io/cluster": "later"})
    assert mark_of(stage, "own", resource=SECRETS)
    await stage.make("later", resource=KAFKAS)
    await stage.later(MINUTE)
    assert mark_of(stage, "own", resource=SECRETS) is None
    await stage.later(20 * MINUTE)
    assert stage.there("own", SECRETS)


async def _play(stage: Stage, labels: dict[str, str], *, name: str = "own") -> Play:
    kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", **definition(KAFKAS)}
    orders = {"apiVersion": "kafka.strimzi.io/v1", "kind": "Kafka", "metadata": {"name": "orders", "namespace": SHOP}}  # fmt: skip
    stage.cluster.load(manifests.parse(yaml.safe_dump_all([kind, orders]), file="the test"))
    await stage.make(name, resource=SECRETS, labels={**after("unused-5m"), **labels})
    play = await stage.play()
    await stage.later(MINUTE)
    return play


async def _goes_without_kafka(stage: Stage, *, name: str = "own") -> None:
    await stage.later(10 * MINUTE)
    assert stage.there(name, SECRETS)
    await stage.remove("orders", resource=KAFKAS)
    await stage.later(4 * MINUTE)
    assert stage.there(name, SECRETS)
    await stage.later(2 * MINUTE)
    assert not stage.there(name, SECRETS)
