"""Deletes: preconditions, finalizers, grace, and what the answer says."""

from __future__ import annotations

from typing import Any

from skoupa.errors import NotFound
from skoupa.kube.deleted import Deleted
from skoupa.kube.resources import CONFIG_MAPS, PODS
from skoupa.sim.writing.deletion import Options
from tests.contract.arena import Arena, Object
from tests.contract.expecting import causes_of, document, refused, status_of
from tests.contract.kinds import SECRETS, pod, secret
from tests.contract.registry import rule
from tests.contract.rules.listing import names_of
from tests.contract.sabotage import always, but, edit, misspeak, skip, swap, wrap

FINALIZER = "contract.skoupa.dev/wait"


async def deleted(arena: Arena, made: Object, **more: Any) -> Deleted:
    metadata = made["metadata"]
    options = {"uid": metadata["uid"], "propagation": "Background", **more}
    return await arena.client.delete(CONFIG_MAPS, metadata["name"], namespace=arena.namespace, **options)


async def release(arena: Arena, name: str) -> Object:
    return await arena.client.merge_patch(
        CONFIG_MAPS, name, {"metadata": {"finalizers": None}}, namespace=arena.namespace
    )


def without_a_delete(is_last: Any) -> Any:
    def last(served: Any, old: Object, after: Object) -> bool:
        shed = bool(old.get("finalizers")) and not after["metadata"].get("finalizers")
        return shed or bool(is_last(served, old, after))

    return last


def as_if_scheduled(begin: Any) -> Any:
    def grace(plane: Any, body: Object, options: Any) -> Any:
        return begin(plane, body | {"spec": body["spec"] | {"nodeName": "somewhere"}}, options)

    return grace


@rule(broken_by=swap("state.kinds.RETURNED_WHEN_DELETED", {("", "configmaps")}))
async def a_delete_says_what_went(arena: Arena) -> None:
    """The answer to a delete that removed the object is a Status with its name and uid; then it is not found."""
    made = await arena.config_map("one")
    path = CONFIG_MAPS.path(namespace=arena.namespace, name="one")
    answer = document(await arena.ask("DELETE", path))
    uid = made["metadata"]["uid"]
    assert answer == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {"name": "one", "kind": "configmaps", "uid": uid},
    }
    await refused(arena.get(CONFIG_MAPS, "one"), code=404, reason="NotFound")
    again = await arena.config_map("one")
    assert await deleted(arena, again) == Deleted(gone=True)


@rule(broken_by=misspeak("writing.deletion.not_found"))
async def what_is_not_there_can_not_be_deleted(arena: Arena) -> None:
    """Deleting an absent object is a 404, with and without preconditions."""
    made = await arena.config_map("one")
    await deleted(arena, made)
    said = await refused(deleted(arena, made), code=404, reason="NotFound")
    assert said.message == 'configmaps "one" not found'


@rule(broken_by=skip("writing.deletion._check_preconditions"))
async def a_delete_of_another_state_is_refused(arena: Arena) -> None:
    """A delete with the resourceVersion of an older state is a conflict; with the newest it works."""
    made = await arena.config_map("one")
    old = made["metadata"]["resourceVersion"]
    new = await arena.client.merge_patch(CONFIG_MAPS, "one", {"data": {"a": "1"}}, namespace=arena.namespace)
    newest = new["metadata"]["resourceVersion"]
    said = await refused(deleted(arena, made, resource_version=old), code=409, reason="Conflict")
    assert said.message == (
        'Operation cannot be fulfilled on ConfigMap "one": the ResourceVersion in the precondition '
        f"({old}) does not match the ResourceVersion in record ({newest}). The object might have been modified"
    )
    assert await arena.exists(CONFIG_MAPS, "one")
    assert (await deleted(arena, made, resource_version=newest)).gone


@rule(broken_by=skip("writing.deletion._check_preconditions"))
async def a_delete_of_a_recreated_name_is_refused(arena: Arena) -> None:
    """A delete with the uid of an object that went does not touch the new one of the same name."""
    first = await arena.config_map("one")
    await deleted(arena, first)
    second = await arena.config_map("one")
    said = await refused(deleted(arena, first), code=409, reason="Conflict")
    assert said.message == (
        'Operation cannot be fulfilled on ConfigMap "one": the UID in the precondition '
        f"({first['metadata']['uid']}) does not match the UID in record ({second['metadata']['uid']}). "
        "The object might have been deleted and then recreated"
    )
    assert (await arena.get(CONFIG_MAPS, "one"))["metadata"]["uid"] == second["metadata"]["uid"]


@rule(broken_by=skip("writing.deletion._check_preconditions"))
async def both_preconditions_must_hold(arena: Arena) -> None:
    """A delete with uid and resourceVersion needs both to be right."""
    first = await arena.config_map("one")
    version = first["metadata"]["resourceVersion"]
    wrong_uid = {"metadata": {**first["metadata"], "uid": "11111111-2222-3333-4444-555555555555"}}
    await refused(deleted(arena, wrong_uid, resource_version=version), code=409, reason="Conflict")
    await refused(deleted(arena, first, resource_version="1"), code=409, reason="Conflict")
    assert (await deleted(arena, first, resource_version=version)).gone


@rule(broken_by=always("writing.deletion._finalizers", []))
async def a_finalizer_holds_a_deleted_object(arena: Arena) -> None:
    """A deleted object with a finalizer stays, terminating, until the last finalizer is taken away."""
    made = await arena.config_map("one", finalizers=[FINALIZER])
    left = await deleted(arena, made)
    assert not left.gone
    assert left.remaining is not None
    assert left.remaining.metadata.finalizers == [FINALIZER]
    assert left.remaining.metadata.deletion_timestamp is not None
    held = await arena.get(CONFIG_MAPS, "one")
    assert held["metadata"]["deletionGracePeriodSeconds"] == 0
    assert int(held["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])
    last = await release(arena, "one")
    assert last["metadata"]["uid"] == made["metadata"]["uid"]
    assert not await arena.exists(CONFIG_MAPS, "one")


@rule(broken_by=always("writing.writes._is_last_finalizer", False))
async def a_watch_tells_the_stages_of_a_deletion(arena: Arena) -> None:
    """A held deletion is told as MODIFIED, and the end of the last finalizer as DELETED alone."""
    made = await arena.config_map("one", finalizers=[FINALIZER, "contract.skoupa.dev/other"])
    query = {"resourceVersion": made["metadata"]["resourceVersion"], "fieldSelector": "metadata.name=one"}
    async with arena.watching(CONFIG_MAPS, **query) as events:
        await deleted(arena, made)
        told = await events.expect("MODIFIED", "one")
        assert told["metadata"]["deletionTimestamp"]
        await arena.client.merge_patch(
            CONFIG_MAPS, "one", {"metadata": {"finalizers": [FINALIZER]}}, namespace=arena.namespace
        )
        told = await events.expect("MODIFIED", "one")
        assert told["metadata"]["finalizers"] == [FINALIZER]
        await release(arena, "one")
        told = await events.expect("DELETED", "one")
        assert "finalizers" not in told["metadata"] or told["metadata"]["finalizers"] == [FINALIZER]


@rule(
    broken_by=wrap(
        "writing.deletion._marked",
        lambda marked: lambda plane, served, row, **how: marked(plane, served, but(row, meta=b""), **how),
    )
)
async def a_second_delete_of_a_held_object_changes_nothing(arena: Arena) -> None:
    """Deleting an object that is terminating already keeps its deletionTimestamp and resourceVersion."""
    made = await arena.config_map("one", finalizers=[FINALIZER])
    await deleted(arena, made)
    held = await arena.get(CONFIG_MAPS, "one")
    assert not (await deleted(arena, made)).gone
    assert await arena.get(CONFIG_MAPS, "one") == held
    await release(arena, "one")


@rule(broken_by=skip("writing.writes.check_finalizers"))
async def a_held_object_takes_no_new_finalizers(arena: Arena) -> None:
    """An object that is being deleted can lose finalizers and change otherwise, but not get new ones."""
    made = await arena.config_map("one", finalizers=[FINALIZER])
    await deleted(arena, made)
    patch = {"metadata": {"finalizers": [FINALIZER, "contract.skoupa.dev/more"]}}
    change = arena.client.merge_patch(CONFIG_MAPS, "one", patch, namespace=arena.namespace)
    said = await refused(change, code=422, reason="Invalid")
    assert causes_of(said)[0]["field"] == "metadata.finalizers"
    assert "no new finalizers can be added if the object is being deleted" in said.message
    await arena.client.merge_patch(CONFIG_MAPS, "one", {"data": {"a": "1"}}, namespace=arena.namespace)
    await release(arena, "one")
    assert not await arena.exists(CONFIG_MAPS, "one")


@rule(broken_by=always("writing.validation._finalizers", []))
async def a_finalizer_needs_a_qualified_name(arena: Arena) -> None:
    """A finalizer without a domain is refused; the three of Kubernetes itself are not."""
    said = await refused(arena.config_map(finalizers=["mine"]), code=422, reason="Invalid")
    assert causes_of(said)[0]["field"] == "metadata.finalizers[0]"
    assert "name is neither a standard finalizer name nor is it fully qualified" in said.message


@rule(broken_by=misspeak("writing.writes.already_exists"))
async def a_name_is_free_once_its_object_is_gone(arena: Arena) -> None:
    """While a deletion is held the name is taken; afterwards it can be created with another uid."""
    made = await arena.config_map("one", finalizers=[FINALIZER])
    await deleted(arena, made)
    said = await refused(arena.config_map("one"), code=409, reason="AlreadyExists")
    assert said.message == 'object is being deleted: configmaps "one" already exists'
    await release(arena, "one")
    again = await arena.config_map("one")
    assert again["metadata"]["uid"] != made["metadata"]["uid"]


@rule(broken_by=edit("server.endpoints.options_of", lambda options: but(options, dry_run=False)))
async def a_dry_run_deletes_nothing(arena: Arena) -> None:
    """A dry run of a delete checks the preconditions and leaves the object, also one with finalizers."""
    made = await arena.config_map("one", finalizers=[FINALIZER])
    await deleted(arena, made, dry_run=True)
    assert await arena.get(CONFIG_MAPS, "one") == made
    await refused(deleted(arena, made, resource_version="1", dry_run=True), code=409, reason="Conflict")
    await release(arena, "one")
    free = await arena.config_map("two")
    await deleted(arena, free, dry_run=True)
    assert await arena.get(CONFIG_MAPS, "two") == free


@rule(broken_by=wrap("writing.deletion._begin_grace", as_if_scheduled))
async def an_unscheduled_pod_goes_at_once(arena: Arena) -> None:
    """A Pod that has no node is removed by a delete without waiting for its grace period."""
    made = await arena.create_pod(pod("worker"))
    gone = await arena.client.delete(
        PODS, "worker", namespace=arena.namespace, uid=made["metadata"]["uid"], propagation="Background"
    )
    assert gone.gone
    assert not await arena.exists(PODS, "worker")


@rule(broken_by=always("writing.deletion._begin_grace", False))
async def a_pod_on_a_node_has_its_grace_period(arena: Arena) -> None:
    """A Pod on a node terminates for as long as its grace period says, and at once when zero is asked for."""
    made = await arena.create_pod(pod("worker", nodeName="nowhere", terminationGracePeriodSeconds=300))
    left = await arena.client.delete(
        PODS, "worker", namespace=arena.namespace, uid=made["metadata"]["uid"], propagation="Background"
    )
    assert not left.gone
    held = await arena.get(PODS, "worker")
    assert held["metadata"]["deletionGracePeriodSeconds"] == 300
    assert held["metadata"]["deletionTimestamp"] > held["metadata"]["creationTimestamp"]
    path = PODS.path(namespace=arena.namespace, name="worker")
    answer = await arena.ask("DELETE", path, body={"gracePeriodSeconds": 0})
    assert answer.status == 200
    assert not await arena.exists(PODS, "worker")


@rule(broken_by=always("server.selecting.parse_labels", None))
async def a_collection_is_deleted_by_selector(arena: Arena) -> None:
    """A delete of a collection removes what the selector matches and answers with a list of it."""
    for name, labels in {"a": {"go": "yes"}, "b": {"go": "yes"}, "c": {}}.items():
        await arena.create(SECRETS, secret(name, labels=labels))
    path = SECRETS.path(namespace=arena.namespace)
    answer = document(await arena.ask("DELETE", path, query={"labelSelector": "go=yes"}))
    assert answer["kind"] == "SecretList"
    assert sorted(names_of(answer)) == ["a", "b"]
    assert names_of(await arena.listed(SECRETS)) == ["c"]


@rule(broken_by=always("server.endpoints.options_of", Options()))
async def delete_options_must_make_sense(arena: Arena) -> None:
    """An unknown propagation policy, two policies at once and an unknown dry run are invalid."""
    await arena.config_map("one")
    path = CONFIG_MAPS.path(namespace=arena.namespace, name="one")
    for options, field in (
        ({"propagationPolicy": "Nonsense"}, "propagationPolicy"),
        ({"propagationPolicy": "Orphan", "orphanDependents": True}, "propagationPolicy"),
        ({"dryRun": ["Some"]}, "dryRun"),
    ):
        said = status_of(await arena.ask("DELETE", path, body=options), code=422, reason="Invalid")
        assert causes_of(said)[0]["field"] == field
    for body in (b"{", b"[]", b'{"gracePeriodSeconds":"long"}', b'{"preconditions":"none"}'):
        status_of(await arena.ask("DELETE", path, body=body), code=400, reason="BadRequest")
    assert await arena.exists(CONFIG_MAPS, "one")


@rule(broken_by=always("server.endpoints.options_of", Options()))
async def delete_options_may_stand_in_the_query(arena: Arena) -> None:
    """dryRun and propagationPolicy are read from the query where there is no body."""
    await arena.config_map("one")
    path = CONFIG_MAPS.path(namespace=arena.namespace, name="one")
    assert (await arena.ask("DELETE", path, query={"dryRun": "All"})).status == 200
    assert await arena.exists(CONFIG_MAPS, "one")
    answer = await arena.ask("DELETE", path, query={"propagationPolicy": "Nonsense"})
    status_of(answer, code=422, reason="Invalid")
    assert (await arena.ask("DELETE", path, query={"propagationPolicy": "Background"})).status == 200
    assert not await arena.exists(CONFIG_MAPS, "one")


@rule(broken_by=wrap("writing.writes._is_last_finalizer", without_a_delete))
async def removing_the_last_finalizer_deletes_only_what_is_deleted(arena: Arena) -> None:
    """An object that nobody deleted stays when its last finalizer goes."""
    await arena.config_map("one", finalizers=[FINALIZER])
    await release(arena, "one")
    try:
        found = await arena.get(CONFIG_MAPS, "one")
    except NotFound as error:
        raise AssertionError("the object went without a delete") from error
    assert "finalizers" not in found["metadata"]


@rule(broken_by=skip("server.endpoints.evict"))
async def evicting_deletes_a_pod(arena: Arena) -> None:
    """An eviction deletes its Pod, and one of an absent Pod is a 404."""
    await arena.create_pod(pod("worker"))
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "worker"}}
    path = PODS.path(namespace=arena.namespace, name="worker", subresource="eviction")
    answer = await arena.ask("POST", path, body=body)
    assert answer.status == 201
    assert document(answer)["status"] == "Success"
    assert not await arena.exists(PODS, "worker")
    said = status_of(await arena.ask("POST", path, body=body), code=404, reason="NotFound")
    assert said.message == 'pods "worker" not found'
