"""Objects go at their time on a real server: every scope and kind, relabelled, cancelled, kept, refused."""

from __future__ import annotations

import asyncio
import statistics
from typing import Any

import msgspec
import pytest

from skoupa import names
from skoupa.errors import SkoupaError
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, Resource
from skoupa.kube.transport import Request
from tests.cluster.controller.objects import CLUSTER_ROLES, PRIORITY_CLASSES, AuditLog, People
from tests.cluster.controller.running import Skoupa
from tests.cluster.reaching import eventually, until

pytestmark = pytest.mark.cluster

ADMISSION = "admissionregistration.k8s.io"
POLICIES = Resource(
    group=ADMISSION,
    version="v1",
    plural="validatingadmissionpolicies",
    kind="ValidatingAdmissionPolicy",
    namespaced=False,
)
BINDINGS = Resource(
    group=ADMISSION,
    version="v1",
    plural="validatingadmissionpolicybindings",
    kind="ValidatingAdmissionPolicyBinding",
    namespaced=False,
)


async def test_an_object_goes_at_its_time(sweeping: Skoupa, people: People) -> None:
    places = {f"web-{number}": f"{number}s" for number in (2, 3, 4)}
    for name, ttl in places.items():
        await people.make(name, ttl)
    lags = []
    for name in places:
        deleted = await sweeping.says("deleted", name=name, namespace=people.namespace)
        lags.append(float(deleted["lag"]))
        assert not await people.there(name)
    assert min(lags) >= 0
    # Any one may have met a machine that had something else to do.
    assert statistics.median(lags) < 2


async def test_a_new_label_brings_the_time_forward_or_puts_it_off_and_none_cancels(
    sweeping: Skoupa, people: People
) -> None:
    await people.make("sooner", "1h")
    # One after the other, so that there is time for each.
    for name, ttl in (("later", "1h"), ("cancelled", None)):
        await people.make(name, "6s")
        await people.label(name, ttl=ttl)
    await people.make("last", "7s")
    await people.label("sooner", ttl="2s")
    await people.gone("sooner")
    await people.gone("last")
    assert await people.there("later")
    assert await people.there("cancelled")


async def test_objects_that_live_in_no_namespace_go(sweeping: Skoupa, people: People) -> None:
    role, priority = f"role-{people.namespace}", f"priority-{people.namespace}"
    await people.make(role, "2s", resource=CLUSTER_ROLES, body={"rules": []})
    await people.make(priority, "2s", resource=PRIORITY_CLASSES, body={"value": 7})
    await people.gone(role, resource=CLUSTER_ROLES)
    await people.gone(priority, resource=PRIORITY_CLASSES)
    event = await people.event(role, "SkoupaDeleted", kind="ClusterRole", namespace="default")
    assert "cleanup.kyverno.io/ttl=2s" in event["message"]


def definition(kind: Resource) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": kind.version, "served": True, "storage": True, "schema": schema}
    return {
        "metadata": {"name": kind.qualified},
        "spec": {
            "group": kind.group,
            "names": {"plural": kind.plural, "kind": kind.kind, "singular": kind.kind.lower()},
            "scope": "Namespaced",
            "versions": [version],
        },
    }


async def test_kinds_that_are_defined_after_the_start_go_too_and_may_go_themselves(
    sweeping: Skoupa, people: People
) -> None:
    group = f"{people.namespace}.example"
    widgets = Resource(group=group, version="v1", plural="widgets", kind="Widget", namespaced=True)
    made = await people.client.create(CUSTOM_RESOURCE_DEFINITIONS, definition(widgets))

    async def served() -> bool:
        try:
            await people.make("gear", "3s", resource=widgets)
        except SkoupaError:
            return False
        return True

    await eventually(served, what="the new kind to be served")
    await people.gone("gear", resource=widgets)
    await people.make("kept", resource=widgets, labels={names.KEEP_LABEL: "true"})
    await people.label(widgets.qualified, resource=CUSTOM_RESOURCE_DEFINITIONS, ttl="1s")
    held = await sweeping.says("held", name=widgets.qualified)
    assert f"Widget {people.namespace}/kept" in held["why"]
    await people.remove(made, resource=CUSTOM_RESOURCE_DEFINITIONS)
    await people.gone(widgets.qualified, resource=CUSTOM_RESOURCE_DEFINITIONS)
    await people.make("last", "2s")
    await people.gone("last")


async def test_a_kept_object_holds_the_namespace_whose_time_is_over(sweeping: Skoupa, people: People) -> None:
    await people.make("deed", labels={names.KEEP_LABEL: "true"})
    await people.label(people.namespace, resource=NAMESPACES, ttl="1s")
    held = await sweeping.says("held", name=people.namespace)
    assert held["why"] == f"deleting it would take along ConfigMap {people.namespace}/deed, which is kept"
    assert await people.there("deed")
    assert await sweeping.metric('skoupa_holds{reason="keeps-inside"}') == 1
    await people.label("deed", keep=None)
    await people.gone(people.namespace, resource=NAMESPACES)


async def test_propagation_is_what_the_annotation_says(sweeping: Skoupa, people: People) -> None:
    owners = {}
    for wish in ("Orphan", "Background"):
        annotations = {names.PROPAGATION_POLICY_ANNOTATION: wish}
        owners[wish] = await people.make(f"parent-{wish.lower()}", annotations=annotations)
        reference = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": owners[wish]["metadata"]["name"],
            "uid": owners[wish]["metadata"]["uid"],
        }
        await people.make(f"child-{wish.lower()}", ownerReferences=[reference])
    for wish in owners:
        await people.label(f"parent-{wish.lower()}", ttl="1s")
    await people.gone("parent-orphan")
    await people.gone("child-background")
    orphan = await people.client.get(CONFIG_MAPS, "child-orphan", namespace=people.namespace, view=METADATA)
    assert not orphan.metadata.owner_references


async def test_the_audit_log_tells_mechanism_rule_and_the_state_that_was_judged(
    sweeping: Skoupa, people: People, audit: AuditLog
) -> None:
    made = await people.make("web", "2s")
    await people.gone("web")
    (entry,) = await until(lambda: audit.deletes(people.namespace), what="the delete in the audit log")
    assert entry["userAgent"].startswith("skoupa/")
    assert entry["userAgent"].endswith("(ttl; cleanup.kyverno.io/ttl=2s)")
    assert entry["requestObject"]["preconditions"] == {
        "uid": made["metadata"]["uid"],
        "resourceVersion": made["metadata"]["resourceVersion"],
    }
    assert entry["requestObject"]["propagationPolicy"] == "Background"


async def test_the_event_of_a_deletion_is_found_when_the_object_is_gone(
    sweeping: Skoupa, people: People
) -> None:
    made = await people.make("web", "2s")
    await people.gone("web")
    event = await people.event("web", "SkoupaDeleted")
    assert event["involvedObject"]["uid"] == made["metadata"]["uid"]
    assert event["message"].startswith("deleted: cleanup.kyverno.io/ttl=2s, counted from ")
    assert event["type"] == "Normal"


async def test_the_events_of_many_deletions_carry_every_name(sweeping: Skoupa, people: People) -> None:
    # However long it takes to make them, all of them wait for the same moment.
    await people.label(people.namespace, resource=NAMESPACES, keep="true")
    wanted = {f"one-of-very-many-objects-{number:03}" for number in range(120)}
    await asyncio.gather(*(people.make(name, "1s") for name in wanted))
    await people.label(people.namespace, resource=NAMESPACES, keep=None)

    async def told() -> bool:
        events = await _deletions(people)
        listed = {name for event in events for name in event["message"].partition(": ")[2].split(", ")}
        # The few that went a moment after the others have an Event each.
        single = {event["involvedObject"]["name"] for event in events}
        return wanted <= listed | single and len(events) < 60

    await eventually(told, what="every name in some Event")


async def _deletions(people: People) -> list[dict[str, Any]]:
    request = Request(
        path=f"/api/v1/namespaces/{people.namespace}/events",
        query=(("fieldSelector", "reason=SkoupaDeleted"),),
        headers=people.client.headers(),
    )
    response = await people.client.ask(request, doing="list events")
    items: list[dict[str, Any]] = msgspec.json.decode(response.body)["items"]
    return items


async def test_the_event_of_an_object_in_a_namespace_that_is_going_is_in_default(
    sweeping: Skoupa, people: People
) -> None:
    """The namespace controller waits a few seconds before it empties a namespace: the label comes first."""
    await people.make("web", finalizers=["skoupa.example/test"])
    found = await people.client.get(NAMESPACES, people.namespace, view=METADATA)
    await people.client.delete(NAMESPACES, people.namespace, uid=found.metadata.uid, propagation="Background")
    await people.label("web", ttl="0")
    await sweeping.says("deleted", name="web", namespace=people.namespace)
    event = await people.event("web", "SkoupaDeleted", namespace="default")
    assert event["involvedObject"]["namespace"] == people.namespace


async def test_a_label_that_is_not_understood_deletes_nothing_and_is_told_on_the_object(
    sweeping: Skoupa, people: People
) -> None:
    await people.make("web", "2days")
    event = await people.event("web", "SkoupaLabelProblem")
    assert event["type"] == "Warning"
    assert event["message"].startswith("cleanup.kyverno.io/ttl=2days is not understood and deletes nothing")
    assert event["message"].endswith("write 2d")
    assert await sweeping.metric('skoupa_invalid_labels_total{kind="configmaps",reason="ttl-invalid"}') >= 1
    assert await people.there("web")


async def test_an_object_that_is_written_to_all_the_time_goes_nevertheless(
    sweeping: Skoupa, people: People
) -> None:
    await people.make("web", "3s")
    writers = [asyncio.create_task(_write(people, number)) for number in range(4)]
    try:
        await people.gone("web")
    finally:
        for writer in writers:
            writer.cancel()
        await asyncio.gather(*writers, return_exceptions=True)


async def _write(people: People, number: int) -> None:
    beat = 0
    while True:
        beat += 1
        patch = {"metadata": {"annotations": {f"beat-{number}": str(beat)}}}
        await people.client.merge_patch(CONFIG_MAPS, "web", patch, namespace=people.namespace)


async def test_a_refusal_of_the_servers_admission_is_tried_until_it_is_taken_back(
    sweeping: Skoupa, people: People
) -> None:
    name = f"no-deletes-{people.namespace}"
    here = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": people.namespace}}}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["DELETE"]}
    policy = {
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [rule], **here},
            "validations": [{"expression": "false", "message": "not on a Friday"}],
        },
    }
    binding = {"metadata": {"name": name}, "spec": {"policyName": name, "validationActions": ["Deny"]}}
    await people.client.create(POLICIES, policy)
    made = await people.client.create(BINDINGS, binding)
    probe = await people.make("probe")

    async def refuses() -> bool:
        try:
            await people.client.delete(
                CONFIG_MAPS,
                "probe",
                namespace=people.namespace,
                uid=probe["metadata"]["uid"],
                propagation="Background",
                dry_run=True,
            )
        except SkoupaError:
            return True
        return False

    await eventually(refuses, what="the policy to refuse deletes")
    await people.make("web", "1s")
    failed = await sweeping.says("delete failed", name="web", namespace=people.namespace)
    assert "not on a Friday" in failed["error"]
    await people.remove(made, resource=BINDINGS)
    await people.gone("web", seconds=60)


async def test_a_terminating_object_is_not_deleted_again(
    sweeping: Skoupa, people: People, audit: AuditLog
) -> None:
    await people.make("web", "1s", finalizers=["skoupa.example/test"])
    deleted = await sweeping.says("deleted", name="web", namespace=people.namespace)
    assert deleted["terminating"] == "True"
    await people.label("web", team="b")
    await people.make("last", "2s")
    await people.gone("last")
    await people.client.merge_patch(
        CONFIG_MAPS, "web", {"metadata": {"finalizers": None}}, namespace=people.namespace
    )
    await people.gone("web")
    assert [entry["objectRef"]["name"] for entry in audit.deletes(people.namespace)].count("web") == 1


async def test_the_endpoints_tell_how_it_is(sweeping: Skoupa, people: People) -> None:
    assert await sweeping.get("/healthz") == (200, "ok\n")
    assert await sweeping.get("/readyz") == (200, "ok\n")
    await people.make("web", "1s")
    await people.gone("web")
    status, text = await sweeping.get("/metrics")
    assert status == 200
    assert await sweeping.metric('skoupa_deletions_total{kind="configmaps",mechanism="ttl"}') >= 1
    assert await sweeping.metric("skoupa_leading") == 1
    assert await sweeping.metric('skoupa_watches{state="following"}') > 60
    assert 'skoupa_build_info{mode="enforce"' in text
