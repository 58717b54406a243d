"""Getting one object, whole or its metadata."""

from __future__ import annotations

import json

from skoupa.errors import NotFound
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CONFIG_MAPS
from tests.contract.arena import Arena
from tests.contract.expecting import document, refused, status_of
from tests.contract.kinds import DEPLOYMENTS
from tests.contract.registry import rule
from tests.contract.sabotage import always, misspeak, swap


@rule(broken_by=misspeak("server.endpoints.not_found"))
async def what_is_not_there_is_not_found(arena: Arena) -> None:
    """Getting an absent object is a 404 that names it, with its group."""
    said = await refused(arena.get(CONFIG_MAPS, "absent"), code=404, reason="NotFound")
    assert said.message == 'configmaps "absent" not found'
    assert said.details == {"name": "absent", "kind": "configmaps"}
    said = await refused(arena.get(DEPLOYMENTS, "absent"), code=404, reason="NotFound")
    assert said.message == 'deployments.apps "absent" not found'
    assert said.details == {"name": "absent", "group": "apps", "kind": "deployments"}


@rule(broken_by=always("server.calls._partial", False))
async def metadata_alone_can_be_asked_for(arena: Arena) -> None:
    """Asked for PartialObjectMetadata the server sends the metadata and nothing else of the object."""
    made = await arena.config_map("big", data={"much": "text"}, labels={"a": "b"})
    path = CONFIG_MAPS.path(namespace=arena.namespace, name="big")
    answer = document(await arena.ask("GET", path, accept=METADATA.accept(many=False)))
    assert answer == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": made["metadata"],
    }


@rule(
    broken_by=swap(
        "server.calls._partial", lambda accept, **_: accept.startswith("application/json;as=Partial")
    )
)
async def a_client_may_name_several_forms(arena: Arena) -> None:
    """Of several forms in Accept the first that the server has is sent."""
    await arena.config_map("any", data={"a": "b"})
    path = CONFIG_MAPS.path(namespace=arena.namespace, name="any")
    both = f"application/json;as=Nonsense;g=meta.k8s.io;v=v1,{METADATA.accept(many=False)},application/json"
    assert document(await arena.ask("GET", path, accept=both))["kind"] == "PartialObjectMetadata"
    assert document(await arena.ask("GET", path, accept="*/*"))["kind"] == "ConfigMap"


@rule(broken_by=misspeak("server.calls.not_acceptable"))
async def a_form_that_the_server_does_not_have_is_not_acceptable(arena: Arena) -> None:
    """An Accept header without any form that the server has is a 406."""
    await arena.config_map("any")
    path = CONFIG_MAPS.path(namespace=arena.namespace, name="any")
    said = status_of(await arena.ask("GET", path, accept="text/html"), code=406, reason="NotAcceptable")
    assert "application/json" in said.message


@rule(broken_by=misspeak("server.calls.no_such_path"))
async def a_kind_that_is_not_served_is_not_found(arena: Arena) -> None:
    """Paths of unknown kinds, versions and groups are a 404 without the name of an object."""
    for path in (
        f"/api/v1/namespaces/{arena.namespace}/nonsenses",
        f"/api/v1/namespaces/{arena.namespace}/nonsenses/one",
        f"/apis/apps/v1beta9/namespaces/{arena.namespace}/deployments",
        f"/apis/nowhere.example.org/v1/namespaces/{arena.namespace}/things",
    ):
        answer = await arena.ask("GET", path)
        assert answer.status == 404, path
        assert b'"configmaps' not in answer.body
    said = json.loads((await arena.ask("GET", "/api/v1/nonsenses")).body)
    assert said["message"] == "the server could not find the requested resource"
    assert said["reason"] == "NotFound"


@rule(broken_by=always("server.selection.FieldSelector.matches", True))
async def one_object_can_be_found_by_listing(arena: Arena) -> None:
    """A list with a field selector on the name finds one object or none."""
    made = await arena.config_map("here")
    await arena.config_map("there")
    found = await arena.client.find(CONFIG_MAPS, "here", view=METADATA, namespace=arena.namespace)
    assert found.metadata.uid == made["metadata"]["uid"]
    try:
        await arena.client.find(CONFIG_MAPS, "nowhere", view=METADATA, namespace=arena.namespace)
    except NotFound:
        return
    raise AssertionError("an absent object was found")


@rule(broken_by=misspeak("server.endpoints.too_large_version"))
async def the_future_can_not_be_read(arena: Arena) -> None:
    """Getting an object of a resourceVersion that the server has not reached is a timeout."""
    made = await arena.config_map("one")
    path = CONFIG_MAPS.path(namespace=arena.namespace, name="one")
    # "0" is whatever the server's cache has, which may be behind the write; it waits for a version that is named.
    for version in (made["metadata"]["resourceVersion"], "0"):
        assert (await arena.ask("GET", path, query={"resourceVersion": version})).status == 200
    future = str(int(made["metadata"]["resourceVersion"]) + 1_000_000)
    answer = await arena.ask("GET", path, query={"resourceVersion": future})
    said = status_of(answer, code=504, reason="Timeout")
    assert said.message.startswith("Timeout: Too large resource version: ")
