"""What is good for something stays although nothing points at it: the controller says of an object what `skoupa unused` says."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, PODS, Resource
from tests.unit.controller.retaining.scene import KINDS, ON, after, remove, said
from tests.unit.controller.stage import (
    DEPLOYMENTS,
    MINUTE,
    PRIORITIES,
    SHOP,
    WIDGETS,
    Stage,
    definition,
    story,
)

pytestmark = pytest.mark.unit

SERVICES = Resource(version="v1", plural="services", kind="Service", namespaced=True)
SLICES = Resource(
    group="discovery.k8s.io", version="v1", plural="endpointslices", kind="EndpointSlice", namespaced=True
)
VOLUMES = Resource(version="v1", plural="persistentvolumes", kind="PersistentVolume", namespaced=False)
ALSO = (*KINDS, SERVICES, SLICES, VOLUMES, PRIORITIES, PODS)
LABEL = after("unused-5m")


def _pod(name: str, **labels: str) -> dict[str, Any]:
    spec = {"serviceAccountName": "default", "containers": [{"name": "main", "image": "main:1"}]}
    return {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": {"phase": "Running"}}


def _there(stage: Stage, resource: Resource, name: str) -> bool:
    return name in {one["metadata"]["name"] for one in stage.cluster.objects(resource)}


@story(also=ALSO, features=ON)
async def test_a_service_with_a_pod_behind_it_stays_and_goes_a_while_after_the_last_one(stage: Stage) -> None:
    play = await stage.play()
    await stage.people.create(PODS, _pod("web-1", app="web"), namespace=SHOP)
    spec = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
    await stage.people.create(
        SERVICES, {"metadata": {"name": "web", "labels": LABEL}, "spec": spec}, namespace=SHOP
    )
    await stage.later(10 * MINUTE)
    assert _there(stage, SERVICES, "web")
    assert "something is behind it" in said(play, "web")
    await remove(stage, "web-1", resource=PODS)
    await stage.later(4 * MINUTE)
    assert _there(stage, SERVICES, "web")
    await stage.people.create(PODS, _pod("web-2", app="web"), namespace=SHOP)
    await stage.later(10 * MINUTE)
    assert _there(stage, SERVICES, "web"), "the time starts anew"
    await remove(stage, "web-2", resource=PODS)
    await stage.later(6 * MINUTE)
    assert not _there(stage, SERVICES, "web")


@story(also=ALSO, features=ON)
async def test_a_definition_goes_only_without_objects_of_its_kind(stage: Stage) -> None:
    defined = definition(WIDGETS)
    defined["metadata"]["labels"] = LABEL
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, defined)
    await stage.people.create(
        WIDGETS,
        {"apiVersion": WIDGETS.api_version, "kind": WIDGETS.kind, "metadata": {"name": "gadget"}},
        namespace=SHOP,
    )
    play = await stage.play()
    await stage.later(20 * MINUTE)
    assert _there(stage, CUSTOM_RESOURCE_DEFINITIONS, WIDGETS.qualified)
    assert "there are objects of the kind that it defines" in said(play, WIDGETS.qualified)
    await remove(stage, "gadget", resource=WIDGETS)
    await stage.later(4 * MINUTE)
    assert _there(stage, CUSTOM_RESOURCE_DEFINITIONS, WIDGETS.qualified)
    await stage.later(3 * MINUTE)
    assert not _there(stage, CUSTOM_RESOURCE_DEFINITIONS, WIDGETS.qualified)


@story(also=ALSO, features=ON)
async def test_a_namespace_goes_only_when_it_is_empty(stage: Stage) -> None:
    await stage.people.create(NAMESPACES, {"metadata": {"name": "preview", "labels": LABEL}})
    await stage.people.create(CONFIG_MAPS, {"metadata": {"name": "config"}}, namespace="preview")
    play = await stage.play()
    await stage.later(10 * MINUTE)
    assert _there(stage, NAMESPACES, "preview")
    assert "there is something in it" in said(play, "preview")
    (found,) = [
        one
        for one in stage.cluster.objects(CONFIG_MAPS, namespace="preview")
        if one["metadata"]["name"] == "config"
    ]
    await stage.people.delete(
        CONFIG_MAPS, "config", namespace="preview", uid=found["metadata"]["uid"], propagation="Background"
    )
    await stage.later(7 * MINUTE)
    assert not _there(stage, NAMESPACES, "preview")


@pytest.mark.parametrize(
    ("resource", "body", "why"),
    [
        (DEPLOYMENTS, {"spec": {"replicas": 1, "template": {}}}, "there for themselves"),
        (PRIORITIES, {"globalDefault": True, "value": 1}, "counts where none is named"),
        (VOLUMES, {"spec": {}, "status": {"phase": "Bound"}}, "a claim has it"),
    ],
    ids=["deployment", "default-priority", "bound-volume"],
)
def test_what_works_by_itself_stays(resource: Resource, body: dict[str, Any], why: str) -> None:
    @story(also=ALSO, features=ON)
    async def told(stage: Stage) -> None:
        play = await stage.play()
        manifest = {"metadata": {"name": "it", "labels": LABEL}, **body}
        await stage.people.create(resource, manifest, namespace=SHOP if resource.namespaced else "")
        await stage.later(20 * MINUTE)
        assert _there(stage, resource, "it")
        assert why in said(play, "it")

    told()


@story(also=ALSO, features=ON)
async def test_a_released_volume_goes_and_one_that_is_bound_meanwhile_stays(stage: Stage) -> None:
    await stage.play()
    for name in ("left", "taken"):
        body = {"metadata": {"name": name, "labels": LABEL}, "spec": {}, "status": {"phase": "Available"}}
        await stage.people.create(VOLUMES, body)
    await stage.later(4 * MINUTE)
    await stage.people.merge_patch(VOLUMES, "taken", {"status": {"phase": "Bound"}}, subresource="status")
    await stage.later(2 * MINUTE)
    assert not _there(stage, VOLUMES, "left")
    await stage.later(20 * MINUTE)
    assert _there(stage, VOLUMES, "taken")


def _container(**fields: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "main:1", **fields}
    return {"spec": {"template": {"spec": {"containers": [container]}}}}


@pytest.mark.parametrize(
    ("resource", "body"),
    [
        (DEPLOYMENTS, _container(args=["--config=config"])),
        (DEPLOYMENTS, _container(env=[{"name": "CONFIG", "value": "config"}])),
        (DEPLOYMENTS, {"metadata": {"annotations": {"example.com/reads": "config"}}}),
        (WIDGETS, {"spec": {"reads": ["config"]}}),
    ],
    ids=["arguments", "environment", "annotation", "value-of-a-custom-object"],
)
def test_who_says_its_name_keeps_it(resource: Resource, body: dict[str, Any]) -> None:
    @story(also=ALSO, features=ON)
    async def told(stage: Stage) -> None:
        await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
        play = await stage.play()
        await stage.make("config", labels=LABEL)
        await stage.make("other", labels=LABEL)
        metadata = {"name": "sayer", **body.get("metadata", {})}
        manifest = {"apiVersion": resource.api_version, "kind": resource.kind, **body, "metadata": metadata}
        await stage.people.create(resource, manifest, namespace=SHOP)
        await stage.later(20 * MINUTE)
        assert stage.found() == {"config"}
        assert "shop/sayer" in said(play, "config")
        await remove(stage, "sayer", resource=resource)
        await stage.later(4 * MINUTE)
        assert stage.found() == {"config"}
        await stage.later(2 * MINUTE)
        assert not stage.found()

    told()
