"""`policies.requireDeleteRight` is kept by the API server alone: no Skoupa runs here, and no webhook answers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from harness.controlplane import ControlPlane, Options
from skoupa import names
from skoupa.admission.policy_right import delete_right, retention_right
from skoupa.kinds import definitions
from skoupa.kinds.policies import policy_definitions
from tests.cluster.admission_probe import DEFINITIONS, Said, Writer, collection_of, wait_until

pytestmark = pytest.mark.cluster

RBAC = "/apis/rbac.authorization.k8s.io/v1"
CLEANUP = "/apis/kyverno.io/v2/namespaces/default/cleanuppolicies"
WIDE = "/apis/kyverno.io/v2/clustercleanuppolicies"
DELETING = "/apis/policies.kyverno.io/v1/deletingpolicies"
NAMESPACED = "/apis/policies.kyverno.io/v1/namespaces/default/namespaceddeletingpolicies"
RETENTION = "/apis/skoupa.dev/v1alpha1/namespaces/default/retentionpolicies"
KINDS = {
    RETENTION: "RetentionPolicy",
    CLEANUP: "CleanupPolicy",
    WIDE: "ClusterCleanupPolicy",
    DELETING: "DeletingPolicy",
    NAMESPACED: "NamespacedDeletingPolicy",
}
WRITES = {
    "apiGroups": ["kyverno.io", "policies.kyverno.io", "skoupa.dev"],
    "resources": ["*"],
    "verbs": ["*"],
}
TWENTY = tuple(f"jobs{index}" for index in range(20))
JOBS = {"any": [{"resources": {"kinds": ["Job"]}}]}
MERGE = "application/merge-patch+json"


@pytest.fixture(scope="module")
def server() -> Iterator[Writer]:
    options = Options(controller_manager=False, service_account_admission=False, audit=False)
    with ControlPlane(options) as plane:
        writer = Writer(plane.access)
        wait_until(lambda: writer.ask("GET", "/api/v1/namespaces/default").status == 200, "the Namespace")
        for definition in (*policy_definitions(), *definitions()):
            assert writer.ask("POST", DEFINITIONS, definition).status == 201
        for path in KINDS:
            wait_until(lambda path=path: writer.ask("GET", path).status == 200, path)  # type: ignore[misc]
        for manifest in (*delete_right(denies=True), *retention_right(denies=True)):
            assert writer.ask("POST", collection_of(manifest), manifest).status == 201
        grant(writer, "poor")
        grant(writer, "jobs", {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["delete"]})
        grant(writer, "shop", {"apiGroups": ["shop.io"], "resources": ["*"], "verbs": ["delete"]})
        grant(writer, "many", {"apiGroups": ["batch"], "resources": list(TWENTY), "verbs": ["delete"]})
        grant(writer, "rich", {"apiGroups": ["*"], "resources": ["*"], "verbs": ["delete"]})
        for user, kind in (("jobs", "Job"), ("shop", "shop.io/v1/Order"), ("rich", "*")):
            grown = partial(cleanup, writer.as_user(user), kind)
            wait_until(lambda grown=grown: grown().status == 201, f"the rights of {user}")  # type: ignore[misc]
        poor = writer.as_user("poor")
        wait_until(lambda: "may not delete" in cleanup(poor, "Job").refused, "the policy to count")
        wait_until(lambda: "may not delete" in deleting(poor, "batch", "jobs").refused, "the other to count")
        wait_until(lambda: "may not delete" in retaining(poor, JOBS).refused, "the third to count")
        yield writer


def grant(server: Writer, user: str, *rules: dict[str, Any]) -> None:
    role = {"metadata": {"name": user}, "rules": [WRITES, *rules]}
    group = "rbac.authorization.k8s.io"
    binding = {
        "metadata": {"name": user},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": user},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    }
    assert server.ask("POST", f"{RBAC}/clusterroles", role).status == 201
    assert server.ask("POST", f"{RBAC}/clusterrolebindings", binding).status == 201


def body(place: str, spec: dict[str, Any], **annotations: str) -> dict[str, Any]:
    return {
        "apiVersion": "/".join(place.split("/")[2:4]),
        "kind": KINDS[place],
        "metadata": {"name": "tidy", "annotations": annotations},
        "spec": {"schedule": "0 0 * * *", **spec},
    }


def cleanup(server: Writer, *kinds: str, place: str = WIDE) -> Said:
    spec = {"match": {"any": [{"resources": {"kinds": [kind]}} for kind in kinds]}}
    return server.ask("POST", f"{place}?dryRun=All", body(place, spec))


def deleting(server: Writer, group: str, *plurals: str, place: str = DELETING) -> Said:
    rule = {"apiGroups": [group], "apiVersions": ["*"], "resources": list(plurals), "operations": ["*"]}
    return server.ask(
        "POST", f"{place}?dryRun=All", body(place, {"matchConstraints": {"resourceRules": [rule]}})
    )


def retaining(server: Writer, match: dict[str, Any] | None, *, suspend: bool = False) -> Said:
    spec = {"after": {"unused": "1h"}, "suspend": suspend, **({"match": match} if match else {})}
    manifest = {**body(RETENTION, {}), "spec": spec}
    return server.ask("POST", f"{RETENTION}?dryRun=All", manifest)


def test_a_retention_policy_asks_for_what_it_names_and_without_kinds_for_all(server: Writer) -> None:
    poor, jobs, rich = map(server.as_user, ("poor", "jobs", "rich"))
    assert "poor may not delete jobs.batch in default" in retaining(poor, JOBS).refused
    assert retaining(jobs, JOBS).status == 201
    named = {"resources": {"names": ["old-*"]}}
    for open_to_all in (None, {"any": [named]}, {"any": [*JOBS["any"], named]}, {"all": [named]}):
        assert "jobs may not delete every kind" in retaining(jobs, open_to_all).refused
        assert retaining(rich, open_to_all).status == 201
    assert retaining(jobs, {"all": [*JOBS["any"], named]}).status == 201


def test_a_retention_policy_may_be_suspended_by_whoever_may_write_it(server: Writer) -> None:
    poor = server.as_user("poor")
    assert retaining(poor, None, suspend=True).status == 201
    spec = {"after": {"unused": "1h"}}
    assert server.ask("POST", RETENTION, {**body(RETENTION, {}), "spec": spec}).status == 201
    path = f"{RETENTION}/tidy"
    assert poor.ask("PATCH", path, {"spec": {"suspend": True}}, media_type=MERGE).status == 200
    assert poor.ask("PATCH", path, {"spec": {"suspend": False}}, media_type=MERGE).status == 403
    assert server.ask("PATCH", path, {"spec": {"suspend": False}}, media_type=MERGE).status == 200
    for value, status in (("true", 200), (None, 403)):
        mark = {"metadata": {"annotations": {names.SUSPEND_ANNOTATION: value}}}
        assert poor.ask("PATCH", path, mark, media_type=MERGE).status == status
    assert server.ask("DELETE", path).status == 200


@pytest.mark.parametrize("place", [WIDE, CLEANUP])
@pytest.mark.parametrize("kind", ["Job", "v1/Job", "batch/v1/Job", "batch/*/Job", "batch/v1.Job"])
def test_a_built_in_kind_is_asked_about_by_itself(server: Writer, kind: str, place: str) -> None:
    refused = cleanup(server.as_user("poor"), kind, place=place)
    where = "in default" if place == CLEANUP else "in all namespaces"
    assert refused.status == 403
    assert f"poor may not delete jobs.batch {where}" in refused.refused
    assert cleanup(server.as_user("jobs"), kind, place=place).status == 201
    assert cleanup(server.as_user("jobs"), kind, "Pod", place=place).status == 403
    assert cleanup(server, kind, "Pod", place=place).status == 201


@pytest.mark.parametrize("place", [DELETING, NAMESPACED])
def test_a_deleting_policy_names_what_is_asked_about(server: Writer, place: str) -> None:
    assert "jobs.batch" in deleting(server.as_user("poor"), "batch", "jobs", place=place).refused
    assert deleting(server.as_user("jobs"), "batch", "jobs", place=place).status == 201
    assert deleting(server.as_user("jobs"), "batch", "jobs", "cronjobs", place=place).status == 403
    assert deleting(server.as_user("shop"), "shop.io", "orders", place=place).status == 201
    assert deleting(server.as_user("shop"), "shop.io", "*", place=place).status == 201
    assert deleting(server.as_user("shop"), "*", "orders", place=place).status == 403
    assert deleting(server.as_user("rich"), "*", "*", place=place).status == 201


@pytest.mark.parametrize("kind", ["*", "J*", "Wigdet", "*/*/Job", "v3/Job", "batch/v1/J?b"])
def test_what_can_not_be_looked_up_asks_for_every_kind(server: Writer, kind: str) -> None:
    refused = cleanup(server.as_user("jobs"), kind)
    assert refused.status == 403
    assert "jobs may not delete every kind" in refused.refused
    assert cleanup(server.as_user("rich"), kind).status == 201


def test_a_custom_kind_with_its_group_asks_for_every_kind_of_the_group(server: Writer) -> None:
    assert cleanup(server.as_user("shop"), "shop.io/v1/Order").status == 201
    assert "every kind of shop.io" in cleanup(server.as_user("jobs"), "shop.io/v1/Order").refused
    assert cleanup(server.as_user("shop"), "Order").status == 403


def test_many_kinds_are_asked_about_and_too_many_ask_for_all(server: Writer) -> None:
    assert "jobs0.batch" in deleting(server.as_user("jobs"), "batch", *TWENTY).refused
    assert deleting(server.as_user("many"), "batch", *TWENTY).status == 201
    assert "jobs.batch" in deleting(server.as_user("many"), "batch", *TWENTY[:19], "jobs").refused
    for_the_last = deleting(server.as_user("jobs"), "batch", *("jobs",) * 90, "cronjobs")
    assert "cronjobs.batch" in for_the_last.refused
    assert "every kind" in deleting(server.as_user("jobs"), "batch", *TWENTY, "more").refused
    assert deleting(server.as_user("rich"), "batch", *(f"jobs{index}" for index in range(300))).status == 201
    assert cleanup(server.as_user("jobs"), *("Job",) * 100).status == 201
    assert cleanup(server.as_user("jobs"), *("Job",) * 101).status == 403


def test_whoever_may_write_a_policy_may_stop_it_but_not_let_it_go_on(server: Writer) -> None:
    poor = server.as_user("poor")
    spec = {"match": {"any": [{"resources": {"kinds": ["Job"]}}]}}
    held = {"skoupa.dev/observe": "1d", "skoupa.dev/max-deletions": "5"}
    assert server.ask("POST", WIDE, body(WIDE, spec, **held)).status == 201

    def patched(**annotations: str | None) -> int:
        patch = {
            "metadata": {"annotations": {f"skoupa.dev/{key}": value for key, value in annotations.items()}}
        }
        return poor.ask("PATCH", f"{WIDE}/tidy", patch, media_type=MERGE).status

    try:
        assert patched(notify="team") == 200
        assert patched(observe=None) == 403
        assert patched(**{"max-deletions": "500"}) == 403
        assert patched(suspend="true") == 200
        assert patched(suspend=None) == 403
        assert patched(suspend="false") == 403
        changed = poor.ask("PATCH", f"{WIDE}/tidy", {"spec": {"schedule": "1 * * * *"}}, media_type=MERGE)
        assert changed.status == 403
    finally:
        assert server.ask("DELETE", f"{WIDE}/tidy").status == 200
