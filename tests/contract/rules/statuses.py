"""The status subresource: two halves of an object that are written apart."""

from __future__ import annotations

from skoupa.kube.resources import CONFIG_MAPS, PODS
from tests.contract.arena import Arena
from tests.contract.kinds import DEPLOYMENTS, deployment, owner, pod
from tests.contract.registry import rule
from tests.contract.sabotage import misspeak, swap, wrap


@rule(broken_by=swap("writing.writes._through", lambda _, *, after, **__: after))
async def status_is_written_through_its_subresource_only(arena: Arena) -> None:
    """A write of the object leaves the status, a write of the status leaves the rest and the generation."""
    custom = await arena.custom_kind()
    made = await arena.create(
        custom, {"metadata": {"name": "one"}, "spec": {"size": 1}, "status": {"phase": "X"}}
    )
    assert "status" not in made
    body = {**made, "spec": {"size": 2}, "status": {"phase": "Done"}}
    shown = await arena.client.replace(custom, body, namespace=arena.namespace, subresource="status")
    assert shown["status"] == {"phase": "Done"}
    assert shown["spec"] == {"size": 1}
    assert shown["metadata"]["generation"] == 1
    body = {**shown, "spec": {"size": 3}, "status": {"phase": "Other"}}
    shown = await arena.client.replace(custom, body, namespace=arena.namespace)
    assert shown["status"] == {"phase": "Done"}
    assert shown["spec"] == {"size": 3}
    assert shown["metadata"]["generation"] == 2


@rule(
    broken_by=wrap(
        "writing.writes._through",
        lambda through: lambda served, **how: through(served, **how | {"subresource": ""}),
    )
)
async def status_can_be_patched(arena: Arena) -> None:
    """A merge patch of the status subresource changes the status alone."""
    await arena.create(DEPLOYMENTS, deployment("web"))
    patch = {"status": {"observedGeneration": 41}, "spec": {"minReadySeconds": 9}}
    new = await arena.client.merge_patch(
        DEPLOYMENTS, "web", patch, namespace=arena.namespace, subresource="status"
    )
    assert new["status"].get("observedGeneration") == 41
    assert not new["spec"].get("minReadySeconds")
    assert new["metadata"]["generation"] == 1


@rule(
    broken_by=wrap(
        "writing.writes._through",
        lambda through: lambda served, **how: through(served, **how | {"subresource": ""}),
    )
)
async def a_status_write_may_annotate_and_label_pods(arena: Arena) -> None:
    """A Pod can be made to look finished through its status."""
    await arena.create_pod(pod("worker"))
    patch = {"status": {"phase": "Succeeded"}}
    new = await arena.client.merge_patch(
        PODS, "worker", patch, namespace=arena.namespace, subresource="status"
    )
    assert new["status"]["phase"] == "Succeeded"
    assert (await arena.get(PODS, "worker"))["status"]["phase"] == "Succeeded"


@rule(broken_by=misspeak("server.calls.no_such_path"))
async def kinds_without_status_have_no_such_subresource(arena: Arena) -> None:
    """The status path of a kind without status is a 404."""
    await arena.config_map("one")
    path = CONFIG_MAPS.path(namespace=arena.namespace, name="one", subresource="status")
    assert (await arena.ask("GET", path)).status == 404
    custom = await arena.own_custom_kind(status=False)
    await arena.create(custom, {"metadata": {"name": "one"}, "status": {"phase": "Kept"}})
    assert (await arena.get(custom, "one"))["status"] == {"phase": "Kept"}
    path = custom.path(namespace=arena.namespace, name="one", subresource="status")
    assert (await arena.ask("GET", path)).status == 404


@rule(broken_by=swap("writing.writes._KEPT_BY_STATUS", {}))
async def a_status_write_may_change_some_metadata(arena: Arena) -> None:
    """Through its status a Pod takes labels but no owners, and a Deployment annotations but no labels."""
    parent = await arena.config_map("parent")
    await arena.create_pod(pod("worker"))
    metadata = {"labels": {"a": "b"}, "annotations": {"c": "d"}, "ownerReferences": [owner(parent)]}
    patch = {"metadata": metadata, "status": {}}
    new = await arena.client.merge_patch(
        PODS, "worker", patch, namespace=arena.namespace, subresource="status"
    )
    assert new["metadata"].get("labels") == {"a": "b"}
    assert not new["metadata"].get("ownerReferences")
    await arena.create(DEPLOYMENTS, deployment("web"))
    new = await arena.client.merge_patch(
        DEPLOYMENTS, "web", patch, namespace=arena.namespace, subresource="status"
    )
    assert not new["metadata"].get("labels")
    assert new["metadata"].get("annotations") == {"c": "d"}
    assert new["metadata"].get("ownerReferences") == [owner(parent)]
