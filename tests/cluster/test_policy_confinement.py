"""Policies of a namespace are kept in it by the API server alone: no Skoupa runs here."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from harness.controlplane import ControlPlane, Options
from skoupa.admission.confinement import policy_admission
from skoupa.install.policies import policy_rights
from skoupa.install.rights import REPORT
from skoupa.kinds.policies import policy_definitions
from skoupa.settings import decode
from tests.cluster.admission_probe import DEFINITIONS, POLICIES, Said, Writer, collection_of, wait_until

pytestmark = pytest.mark.cluster

CLEANUP = "/apis/kyverno.io/v2/namespaces/default/cleanuppolicies"
WIDE = "/apis/kyverno.io/v2/clustercleanuppolicies"
DELETING = "/apis/policies.kyverno.io/v1/namespaces/default/namespaceddeletingpolicies"

OUT = "leads out of the namespace"
SETTINGS = decode({"mode": "enforce", "policies": {"requireDeleteRight": True}}, source="the test")
MERGE = "application/merge-patch+json"
RBAC = "/apis/rbac.authorization.k8s.io/v1"


@pytest.fixture(scope="module")
def server() -> Iterator[Writer]:
    options = Options(controller_manager=False, service_account_admission=False, audit=False)
    with ControlPlane(options) as plane:
        writer = Writer(plane.access)
        wait_until(
            lambda: writer.ask("GET", "/api/v1/namespaces/default").status == 200, "the default Namespace"
        )
        for definition in policy_definitions():
            assert writer.ask("POST", DEFINITIONS, definition).status == 201
        for path in (CLEANUP, DELETING, WIDE):
            wait_until(partial(is_served, writer, path), path)
        before = cleanup(path="/api/v1/nodes")
        before["metadata"]["name"] = "before"
        assert writer.ask("POST", CLEANUP, before).status == 201
        for manifest in policy_admission(SETTINGS):
            assert writer.ask("POST", collection_of(manifest), manifest).status == 201
        wait_until(lambda: bool(cleanup_said(writer, path="/api/v1/nodes").refused), "the policy to count")
        wait_until(lambda: bool(deleting_said(writer, scope="Cluster").refused), "the other policy to count")
        yield writer


def is_served(writer: Writer, path: str) -> bool:
    return writer.ask("GET", path).status == 200


def cleanup(
    *, path: str = "", kinds: tuple[str, ...] = ("ConfigMap",), service: bool = False, **resources: Any
) -> dict[str, Any]:
    context: list[dict[str, Any]] = []
    if path:
        context.append({"name": "asked", "apiCall": {"urlPath": path}})
    if service:
        context.append({"name": "called", "apiCall": {"service": {"url": "https://example.org/x"}}})
    match = {"any": [{"resources": {"kinds": list(kinds), "names": ["web-*"], **resources}}]}
    return {
        "apiVersion": "kyverno.io/v2",
        "kind": "CleanupPolicy",
        "metadata": {"name": "tidy", "namespace": "default"},
        "spec": {"schedule": "0 0 * * *", "match": match, **({"context": context} if context else {})},
    }


def cleanup_said(server: Writer, **written: Any) -> Said:
    return server.ask("POST", f"{CLEANUP}?dryRun=All", cleanup(**written))


def deleting_said(
    server: Writer,
    *,
    scope: str = "*",
    group: str = "",
    resource: str = "configmaps",
    expression: str = "true",
    **more: Any,
) -> Said:
    rule = {
        "apiGroups": [group],
        "apiVersions": ["v1"],
        "resources": [resource],
        "operations": ["*"],
        "scope": scope,
    }
    body = {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "NamespacedDeletingPolicy",
        "metadata": {"name": "cel", "namespace": "default"},
        "spec": {
            "schedule": "0 0 * * *",
            "matchConstraints": {"resourceRules": [rule]},
            "conditions": [{"name": "c", "expression": expression}],
            **more,
        },
    }
    return server.ask("POST", f"{DELETING}?dryRun=All", body)


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/default/pods",
        "/api/v1/namespaces/default/pods?labelSelector=app%3Dweb",
        "/apis/apps/v1/namespaces/default/deployments/web",
        "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles/system%3Areader",
        "/api/v1/namespaces/default",
        "/api/v1/namespaces/{{ request.namespace }}/pods",
        "/api/v1/namespaces/default/pods/{{ target.metadata.name }}",
        "/api/v1/namespaces/default/configmaps/{{ target.metadata.name }}?x=//",
        "/api/v1/namespaces/default/pods?labelSelector=app%3D{{ target.metadata.name }}",
        "/apis/{{ group }}/v1/namespaces/default/widgets",
        "{{ path }}",
    ],
)
def test_paths_that_stay_or_may_stay_are_let_in(server: Writer, path: str) -> None:
    assert not cleanup_said(server, path=path).refused


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/nodes",
        "/api/v1/pods",
        "/api/v1/namespaces",
        "/api/v1/namespaces/other",
        "/api/v1/namespaces/other/pods",
        "/api/v1/namespaces/default-2/pods",
        "/apis/apps/v1/deployments",
        "/apis/apps/v1/namespaces/other/deployments",
        "/api/v1/namespaces/default/../other/pods",
        "/api/v1/namespaces/default/%2e%2e/other/pods",
        "/api/v1/namespaces/default%2F..%2Fother/pods",
        "/api/v1/namespaces/default//pods",
        "/api/v1/namespaces/default/pods/web/proxy/metrics",
        "/api/v1/namespaces/default/services/web/proxy",
        "/metrics",
        "/api/v1/namespaces/other/pods/{{ target.metadata.name }}",
        "/api/v1/pods/{{ x }}",
        "/apis/apps/v1/namespaces/other/deployments?fieldSelector={{ x }}",
        "/api/v1/namespaces/default/../other/{{ x }}",
    ],
)
def test_paths_that_lead_out_are_refused(server: Writer, path: str) -> None:
    assert OUT in cleanup_said(server, path=path).refused


@pytest.mark.parametrize(
    "path", ["secrets", "secrets/token", "secrets/{{ target.metadata.name }}", "secrets?limit=1"]
)
def test_secrets_are_not_for_policies_of_a_namespace(server: Writer, path: str) -> None:
    said = cleanup_said(server, path=f"/api/v1/namespaces/default/{path}").refused
    assert "may not look at Secrets" in said


@pytest.mark.parametrize(
    "path",
    ["%73ecrets", "secret%73", "s%65crets/token", "%73ecrets/{{ x }}", "pods/%7b", "pods/a%", "pods/%33"],
)
def test_characters_are_written_as_they_are(server: Writer, path: str) -> None:
    said = cleanup_said(server, path=f"/api/v1/namespaces/default/{path}").refused
    assert "write the character itself" in said


def test_as_many_kinds_as_may_be_named_are_let_in_and_each_is_looked_at(server: Writer) -> None:
    many = tuple(f"group-{number}.example.org/v1/Kind{number}" for number in range(999))
    assert not cleanup_said(server, kinds=(*many, "ConfigMap")).refused
    assert "names a kind that lies in none" in cleanup_said(server, kinds=(*many, "v1/Node")).refused


def test_services_are_not_for_policies_of_a_namespace(server: Writer) -> None:
    assert "may not call services" in cleanup_said(server, service=True).refused
    for expression in ("http.Get('https://x').ok", "true && http . Post('https://x', {}).ok"):
        assert "may not call services" in deleting_said(server, expression=expression).refused
    said = deleting_said(server, variables=[{"name": "v", "expression": "http.Get('https://x')"}])
    assert "may not call services" in said.refused
    for expression in ("object.http.Get == 'x'", "object.metadata.name == 'http'", "xhttp.Get('x')"):
        assert not deleting_said(server, expression=expression).refused


@pytest.mark.parametrize(
    "kind",
    [
        "Node",
        "v1/Namespace",
        "*/Node",
        "rbac.authorization.k8s.io/v1/ClusterRole",
        "ClusterRole",
        "PersistentVolume",
    ],
)
def test_kinds_that_lie_in_no_namespace_are_refused(server: Writer, kind: str) -> None:
    assert "a kind that lies in none" in cleanup_said(server, kinds=("ConfigMap", kind)).refused


def test_other_kinds_are_let_in(server: Writer) -> None:
    assert not cleanup_said(server, kinds=("Pod", "apps/v1/Deployment", "example.org/v1/Node", "*")).refused
    assert not deleting_said(server, group="example.org", resource="nodes").refused
    assert not deleting_said(server, scope="Namespaced").refused


def test_namespaces_and_the_scope_of_the_cluster_are_refused(server: Writer) -> None:
    # The definition says it as well, where it is ours.
    assert "is about its own namespace" in cleanup_said(server, namespaces=["other"]).refused
    assert "write scope Namespaced" in deleting_said(server, scope="Cluster").refused
    assert "a kind that lies in none" in deleting_said(server, resource="nodes").refused
    roles = deleting_said(server, group="rbac.authorization.k8s.io", resource="clusterroles")
    assert "a kind that lies in none" in roles.refused


def test_policies_of_the_whole_cluster_are_not_concerned(server: Writer) -> None:
    body = cleanup(path="/api/v1/nodes", kinds=("Node",), service=True, namespaces=["other"])
    body["kind"], body["metadata"] = "ClusterCleanupPolicy", {"name": "wide"}
    assert not server.ask("POST", f"{WIDE}?dryRun=All", body).refused


def test_what_was_there_before_is_left_alone_until_its_spec_changes(server: Writer) -> None:
    patch = {"metadata": {"labels": {"team": "x"}}}
    media = "application/merge-patch+json"
    assert not server.ask("PATCH", f"{CLEANUP}/before", patch, media_type=media).refused
    changed = {"spec": {"schedule": "1 0 * * *"}}
    assert OUT in server.ask("PATCH", f"{CLEANUP}/before", changed, media_type=media).refused


@pytest.fixture(scope="module")
def controller(server: Writer) -> Writer:
    """With the rights on policies that an installation has; it may delete what `owned` matches, not what `marked` does."""
    name, group = "system:serviceaccount:skoupa:skoupa", "rbac.authorization.k8s.io"
    rules = [right.rule() for right in policy_rights(SETTINGS) if right.role == REPORT]
    rules.append({"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["delete"]})
    binding = {
        "metadata": {"name": "marks"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "marks"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": name}],
    }
    role = {"metadata": {"name": "marks"}, "rules": rules}
    assert server.ask("POST", f"{RBAC}/clusterroles", role).status == 201
    assert server.ask("POST", f"{RBAC}/clusterrolebindings", binding).status == 201
    for named, kind in (("marked", "Node"), ("owned", "ConfigMap")):
        body = cleanup(kinds=(kind,))
        body["kind"] = "ClusterCleanupPolicy"
        body["metadata"] = {"name": named, "annotations": {"skoupa.dev/observe": "1h"}, "labels": {"a": "b"}}
        assert server.ask("POST", WIDE, body).status == 201
    found = server.as_user(name)
    wait_until(lambda: found.ask("PATCH", MARKED, {}, media_type=MERGE).status == 200, "its rights")
    other = {"spec": {"schedule": "5 5 * * *"}}
    wait_until(
        lambda: MARKS_ALONE in found.ask("PATCH", f"{OWNED}?dryRun=All", other, media_type=MERGE).refused,
        "the policy on its marks to count",
    )
    return found


MARKS_ALONE = "changes nothing on a policy but the annotation"
MARKED, OWNED = f"{WIDE}/marked", f"{WIDE}/owned"
MARK = {"skoupa.dev/next-execution-time": "2026-01-01T01:00:00Z"}


def test_the_controller_may_say_when_a_policy_runs_next_and_its_policy_stays_what_it_is(
    server: Writer, controller: Writer
) -> None:
    for written in (MARK, dict.fromkeys(MARK)):
        said = controller.ask("PATCH", MARKED, {"metadata": {"annotations": written}}, media_type=MERGE)
        assert (said.status, said.warnings) == (200, ())
        assert said.body["metadata"]["generation"] == 1
    told = controller.ask("PATCH", f"{MARKED}/status", {"status": {"lastRun": {}}}, media_type=MERGE)
    assert told.status == 200
    assert server.ask("GET", MARKED).body["metadata"]["annotations"] == {"skoupa.dev/observe": "1h"}


@pytest.mark.parametrize(
    "patch",
    [
        {"spec": {"schedule": "* * * * *"}},
        {
            "spec": {"match": {"any": [{"resources": {"kinds": ["Secret"]}}]}},
            "metadata": {"annotations": MARK},
        },
        {"metadata": {"annotations": {"skoupa.dev/observe": None}}},
        {"metadata": {"annotations": {"skoupa.dev/observe": "1m"}}},
        {"metadata": {"annotations": {**MARK, "skoupa.dev/max-deletions": "9"}}},
        {"metadata": {"annotations": None}},
        {"metadata": {"labels": {"a": None}}},
        {"metadata": {"labels": {"c": "d"}}},
        {"metadata": {"finalizers": ["example.org/stays"]}},
    ],
)
def test_whoever_has_the_controllers_token_changes_nothing_else_on_a_policy(
    server: Writer, controller: Writer, patch: dict[str, Any]
) -> None:
    said = controller.ask("PATCH", OWNED, patch, media_type=MERGE)
    assert MARKS_ALONE in said.refused
    # Who is not the controller may.
    assert not server.ask("PATCH", f"{OWNED}?dryRun=All", patch, media_type=MERGE).refused


def test_the_server_finds_nothing_wrong_with_the_expressions(server: Writer) -> None:
    def checked() -> dict[str, Any]:
        found = server.ask("GET", f"{POLICIES}/v1/validatingadmissionpolicies").body["items"]
        return {one["metadata"]["name"]: one.get("status", {}) for one in found}

    for status in checked().values():
        assert not status.get("typeChecking", {}).get("expressionWarnings")
