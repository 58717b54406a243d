"""Creating an object: what the server adds, and what it does not take."""

from __future__ import annotations

import json
import re
from typing import Any

from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CONFIG_MAPS, PODS
from tests.contract.arena import Arena
from tests.contract.expecting import causes_of, refused
from tests.contract.kinds import DEPLOYMENTS, deployment, pod
from tests.contract.registry import rule
from tests.contract.sabotage import always, but, misspeak, skip, swap, wrap


def of_any_kind(decoded: Any) -> Any:
    """Takes every body for one of the kind that its path names."""

    def lenient(call: Any) -> Any:
        resource = call.served.resource
        head = {"apiVersion": resource.api_version, "kind": resource.kind}
        return decoded(but(call, body=json.dumps({**json.loads(call.body), **head}).encode()))

    return lenient


@rule(broken_by=always("state.plane.Plane.now", "2026-01-01T00:00:00.5Z"))
async def a_created_object_has_an_identity(arena: Arena) -> None:
    """A created object has a uid, a resourceVersion, a creation time in whole seconds and its namespace."""
    before = arena.clock.now()
    made = await arena.config_map("first", data={"a": "1"})
    metadata = made["metadata"]
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", metadata["uid"])
    assert metadata["resourceVersion"].isdigit()
    assert metadata["namespace"] == arena.namespace
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", metadata["creationTimestamp"])
    assert (made["kind"], made["apiVersion"], made["data"]) == ("ConfigMap", "v1", {"a": "1"})
    read = await arena.get(CONFIG_MAPS, "first")
    assert read == made
    # The server's clock is another than ours, but on this machine it is not minutes away.
    from_server = await arena.client.get(CONFIG_MAPS, "first", view=METADATA, namespace=arena.namespace)
    assert from_server.metadata.creation_timestamp is not None
    assert abs(from_server.metadata.creation_timestamp.timestamp() - before) < 60


@rule(broken_by=swap("writing.writes._KEPT", ()))
async def what_a_creator_says_about_identity_is_ignored(arena: Arena) -> None:
    """The uid, creation time and deletion time in a body that is created are not taken over."""
    made = await arena.config_map(
        uid="11111111-2222-3333-4444-555555555555",
        creationTimestamp="2001-01-01T00:00:00Z",
        deletionTimestamp="2001-01-01T00:00:00Z",
        deletionGracePeriodSeconds=7,
        selfLink="/somewhere",
    )
    metadata = made["metadata"]
    assert metadata["uid"] != "11111111-2222-3333-4444-555555555555"
    assert metadata["creationTimestamp"] > "2020"
    assert not {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"} & set(metadata)


@rule(broken_by=misspeak("writing.writes.already_exists"))
async def an_existing_name_can_not_be_created_again(arena: Arena) -> None:
    """A second object of the same name is refused as AlreadyExists."""
    await arena.config_map("twin")
    said = await refused(arena.config_map("twin"), code=409, reason="AlreadyExists")
    assert said.message == 'configmaps "twin" already exists'
    assert said.details == {"name": "twin", "kind": "configmaps"}


@rule(broken_by=swap("state.plane.Plane.generated_name", lambda _, prefix: f"{prefix}1"))
async def a_name_is_made_from_generate_name(arena: Arena) -> None:
    """With generateName the server adds five letters, other ones each time."""
    body = {"metadata": {"generateName": "made-"}}
    made = [await arena.create(CONFIG_MAPS, body) for _ in range(3)]
    names = {each["metadata"]["name"] for each in made}
    assert len(names) == 3
    assert all(re.fullmatch(r"made-[bcdfghjklmnpqrstvwxz2456789]{5}", name) for name in names), names
    assert all(each["metadata"]["generateName"] == "made-" for each in made)


@rule(broken_by=swap("writing.writes._named", lambda _, obj: obj["metadata"].setdefault("name", "x")))
async def an_object_needs_a_name(arena: Arena) -> None:
    """A body with neither name nor generateName is invalid."""
    said = await refused(arena.create(CONFIG_MAPS, {"metadata": {}}), code=422, reason="Invalid")
    assert "name or generateName is required" in said.message


@rule(broken_by=always("writing.validation._name", []))
async def an_invalid_name_is_refused(arena: Arena) -> None:
    """A name that is no DNS name is refused with the field that is wrong."""
    said = await refused(arena.config_map("Not_A_Name"), code=422, reason="Invalid")
    assert said.message.startswith(
        'ConfigMap "Not_A_Name" is invalid: metadata.name: Invalid value: "Not_A_Name"'
    )
    assert (said.details or {})["kind"] == "ConfigMap"
    assert [(cause["field"], cause["reason"]) for cause in causes_of(said)] == [
        ("metadata.name", "FieldValueInvalid")
    ]


@rule(broken_by=always("writing.validation._labels", []))
async def an_invalid_label_is_refused(arena: Arena) -> None:
    """Label keys and values have a form; what has not is refused with the field that is wrong."""
    said = await refused(arena.config_map(labels={"a": "no spaces"}), code=422, reason="Invalid")
    assert {cause["field"] for cause in causes_of(said)} == {"metadata.labels"}
    said = await refused(arena.config_map(labels={"no key!": "a"}), code=422, reason="Invalid")
    assert {cause["field"] for cause in causes_of(said)} == {"metadata.labels"}
    await arena.config_map(labels={"example.org/key": "", "A_b.c": "x-Y_z.1"})


@rule(broken_by=always("writing.validation._annotations", []))
async def annotations_have_a_largest_size(arena: Arena) -> None:
    """Annotations may have 262144 bytes together, and not one more."""
    most = 256 * 1024
    await arena.config_map(annotations={"k": "x" * (most - 1)})
    said = await refused(arena.config_map(annotations={"k": "x" * most}), code=422, reason="Invalid")
    assert causes_of(said)[0]["field"] == "metadata.annotations"


@rule(
    broken_by=swap(
        "writing.writes.settle_namespace", lambda _, metadata, namespace: metadata.update(namespace=namespace)
    )
)
async def the_namespace_of_the_body_must_be_that_of_the_path(arena: Arena) -> None:
    """A body that names another namespace than the path is a bad request."""
    said = await refused(arena.config_map(namespace="elsewhere"), code=400, reason="BadRequest")
    assert said.message == (
        "the namespace of the provided object does not match the namespace sent on the request"
    )
    made = await arena.config_map(namespace=arena.namespace)
    assert made["metadata"]["namespace"] == arena.namespace


@rule(broken_by=misspeak("writing.writes.Refusal"))
async def a_new_object_must_not_have_a_resource_version(arena: Arena) -> None:
    """A resourceVersion in a body that is created is refused, by this server with a 500 without a reason."""
    said = await refused(arena.config_map(resourceVersion="1"), code=500, reason="")
    assert said.message == "resourceVersion should not be set on objects to be created"


@rule(broken_by=wrap("server.endpoints.decoded", of_any_kind))
async def the_kind_of_the_body_must_be_that_of_the_path(arena: Arena) -> None:
    """A body of another kind or apiVersion than the path's is a bad request."""
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}
    await refused(arena.create(CONFIG_MAPS, body), code=400, reason="BadRequest")
    body = {"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "a"}}
    await refused(arena.create(CONFIG_MAPS, body), code=400, reason="BadRequest")


@rule(broken_by=skip("writing.writes.namespace_is_open"))
async def nothing_is_created_in_a_namespace_that_does_not_exist(arena: Arena) -> None:
    """Creating in an absent namespace is answered with the namespace that is not found."""
    nowhere = arena.unique("nowhere")
    said = await refused(
        arena.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, namespace=nowhere), code=404, reason="NotFound"
    )
    assert said.message == f'namespaces "{nowhere}" not found'
    assert said.details == {"name": nowhere, "kind": "namespaces"}


@rule(broken_by=swap("server.calls.Call.dry_run", False))
async def a_dry_run_creates_nothing(arena: Arena) -> None:
    """A dry run is answered like a creation, and leaves nothing."""
    made = await arena.client.create(
        CONFIG_MAPS, {"metadata": {"name": "maybe"}}, namespace=arena.namespace, dry_run=True
    )
    assert made["metadata"]["uid"]
    assert "resourceVersion" not in made["metadata"]
    assert not await arena.exists(CONFIG_MAPS, "maybe")
    await refused(arena.config_map("Not_A_Name"), code=422, reason="Invalid")


@rule(broken_by=swap("state.kinds.WITH_GENERATION", frozenset()))
async def a_new_object_starts_with_generation_one(arena: Arena) -> None:
    """Kinds with a desired state start with generation 1; a ConfigMap has none."""
    made = await arena.create(DEPLOYMENTS, deployment("web"))
    assert made["metadata"].get("generation") == 1
    assert "generation" not in (await arena.config_map())["metadata"]


@rule(broken_by=swap("state.kinds.STATUS_ON_CREATE", {("apps", "deployments")}))
async def the_status_of_a_new_object_is_not_the_creators(arena: Arena) -> None:
    """Status in a body that is created is dropped."""
    body = {**deployment("web"), "status": {"replicas": 7, "observedGeneration": 3}}
    made = await arena.create(DEPLOYMENTS, body)
    assert not made["status"].get("replicas")
    assert not made["status"].get("observedGeneration")


@rule(broken_by=swap("writing.defaults._FIRST_STATUS", {}))
async def a_new_pod_is_pending(arena: Arena) -> None:
    """A Pod without a node is Pending, and says when nobody told otherwise that it always restarts."""
    made = await arena.create_pod(pod("worker"))
    assert made["status"].get("phase") == "Pending"
    read = await arena.get(PODS, "worker")
    assert read["spec"]["containers"][0]["name"] == "main"
    assert "nodeName" not in read["spec"]
