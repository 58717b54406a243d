"""The real server takes the definitions of policies, every version of them, and refuses what can't run with what to write."""

from __future__ import annotations

import asyncio
import copy
import secrets
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import msgspec
import pytest

from harness.controlplane import Access
from skoupa.errors import ApiError, Invalid
from skoupa.kinds.definition import Definition, document, resource
from skoupa.kinds.policies import DEFINITIONS
from skoupa.kube.client import Client
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource
from skoupa.kube.transport import Request
from skoupa.policy.headings import POLICY_KINDS
from skoupa.policy.reading import read_policy
from tests.cluster.reaching import connected, eventually

pytestmark = pytest.mark.cluster

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"

PODS = {"any": [{"resources": {"kinds": ["Pod"]}}]}
CLEANUP: dict[str, Any] = {
    "match": {
        "any": [
            {
                "resources": {
                    "kinds": ["Pod", "apps/v1/Deployment", "*"],
                    "names": ["web-*"],
                    "annotations": {"team/*": "?*"},
                    "selector": {
                        "matchLabels": {"app*": "?*"},
                        "matchExpressions": [
                            {"key": "tier", "operator": "In", "values": ["a", "b"]},
                            {"key": "keep", "operator": "DoesNotExist"},
                        ],
                    },
                    "namespaceSelector": {"matchLabels": {"kind": "test"}},
                    "operations": ["CREATE"],
                }
            },
            {"resources": {"name": "old"}},
        ]
    },
    "exclude": {"all": [{"resources": {"selector": {"matchLabels": {"application": "?*"}}}, "roles": []}]},
    "schedule": "CRON_TZ=Europe/Athens 0 0 */5 * *",
    "conditions": {
        "all": [{"key": "{{ target.spec.replicas }}", "operator": "LessThan", "value": 2, "message": "few"}],
        "any": [
            {"key": ["a", 1], "operator": "AnyIn", "value": {"a": None}},
            # Operators are read in any case, so they have to be taken in any.
            {"key": "a", "operator": "equals", "value": "a"},
            {"key": "1h", "operator": "DURATIONGREATERTHANOREQUALS", "value": "1m"},
        ],
    },
    "context": [
        {
            "name": "maps",
            "apiCall": {
                "urlPath": "/api/v1/namespaces/{{ request.namespace }}/configmaps",
                "jmesPath": "items",
            },
        },
        {
            "name": "out",
            "apiCall": {
                "method": "POST",
                "data": [{"key": "a", "value": [1, "b"]}],
                "service": {
                    "url": "https://x.y/z",
                    "caBundle": "pem",
                    "headers": [{"key": "a", "value": "b"}],
                },
                "default": {},
            },
        },
        {"name": "one", "variable": {"value": 1, "default": "x"}},
        {"name": "shared", "globalReference": {"name": "entry", "jmesPath": "@"}},
    ],
    "deletionPropagationPolicy": "Orphan",
}
CLUSTER_CLEANUP = {
    **CLEANUP,
    "match": {"all": [{"resources": {"kinds": ["*"], "namespaces": ["foo", "team-*"]}}]},
}
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
DELETING: dict[str, Any] = {
    "schedule": "@daily",
    "matchConstraints": {
        "resourceRules": [{**RULE, "operations": ["*"], "scope": "Namespaced", "resourceNames": ["a"]}],
        "excludeResourceRules": [RULE],
        "objectSelector": {"matchLabels": {"app": "web"}},
        "namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]},
        "matchPolicy": "Equivalent",
    },
    "conditions": [{"name": "old", "expression": "variables.age > 1"}],
    "variables": [{"name": "age", "expression": "2"}],
    "deletionPropagationPolicy": "Foreground",
}
ENTRY: dict[str, Any] = {
    "apiCall": {"urlPath": "/apis/apps/v1/namespaces/shop/deployments", "refreshInterval": "1h"},
    "projections": [{"name": "names", "jmesPath": "items[].metadata.name"}],
}
LISTED: dict[str, Any] = {"kubernetesResource": {"group": "apps", "version": "v1", "resource": "deployments"}}
EXCEPTION: dict[str, Any] = {
    "policyRefs": [{"kind": "DeletingPolicy", "name": "old"}],
    "matchConditions": [{"name": "mine", "expression": "object.metadata.name == 'mine'"}],
    "expiresAt": "2026-12-01T00:00:00Z",
    "images": ["a"],
    "allowedValues": ["b"],
    "evaluationMode": "x",
    "properties": {"a": "b"},
}
GOOD: dict[str, tuple[dict[str, Any], ...]] = {
    "CleanupPolicy": (CLEANUP, {"match": PODS, "schedule": "* * * * *", "conditions": {}, "exclude": {}}),
    "ClusterCleanupPolicy": (
        CLUSTER_CLEANUP,
        {"match": PODS, "schedule": "@hourly"},
        {"match": PODS, "schedule": "tz=UTC 0 3 L * mon#2"},
        {"match": PODS, "schedule": " 0 3 ? * SUN "},
    ),
    "DeletingPolicy": (DELETING, {"schedule": "*/1 * * * *", "matchConstraints": {"resourceRules": [RULE]}}),
    "NamespacedDeletingPolicy": (DELETING,),
    "GlobalContextEntry": (
        ENTRY,
        LISTED,
        {"kubernetesResource": {"version": "v1", "resource": "pods", "namespace": "shop"}},
        {
            "apiCall": {
                "service": {"url": "https://a.b"},
                "method": "POST",
                "data": [{"key": "a", "value": 1}],
            }
        },
    ),
    "PolicyException": (EXCEPTION, {"policyRefs": [{"kind": "DeletingPolicy", "name": "old"}]}),
}


def cleanup(**changes: Any) -> dict[str, Any]:
    return {"match": PODS, "schedule": "@daily", **changes}


def filtered(**resources: Any) -> dict[str, Any]:
    return cleanup(match={"any": [{"resources": {"kinds": ["Pod"], **resources}}]})


def deleting(**changes: Any) -> dict[str, Any]:
    return {"schedule": "@daily", "matchConstraints": {"resourceRules": [RULE]}, **changes}


def selecting(**expression: Any) -> dict[str, Any]:
    return filtered(namespaceSelector={"matchExpressions": [expression]})


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("ClusterCleanupPolicy", {"schedule": "@daily"}, "spec.match: Required value"),
    ("ClusterCleanupPolicy", {"match": PODS}, "spec.schedule: Required value"),
    ("ClusterCleanupPolicy", cleanup(match={}), "it matches nothing: write any or all"),
    ("ClusterCleanupPolicy", cleanup(match={"any": [{"resources": {"names": ["a"]}}]}), "it matches nothing"),
    ("ClusterCleanupPolicy", cleanup(match={**PODS, "all": []}), "any and all can't stand together"),
    ("ClusterCleanupPolicy", cleanup(exclude={"any": [], "all": []}), "any and all can't stand together"),
    ("ClusterCleanupPolicy", filtered(name="a", names=["b"]), "name and names can't stand together"),
    ("ClusterCleanupPolicy", filtered(kinds=[""]), "should be at least 1 chars long"),
    ("ClusterCleanupPolicy", filtered(selector={}), "selector is empty: write matchLabels"),
    ("ClusterCleanupPolicy", filtered(operations=["GET"]), "Unsupported value"),
    ("ClusterCleanupPolicy", selecting(key="a", operator="in"), "Unsupported value"),
    ("ClusterCleanupPolicy", selecting(key="a", operator="In"), "In and NotIn need values"),
    ("ClusterCleanupPolicy", selecting(key="a", operator="Exists", values=["b"]), "take no values"),
    (
        "ClusterCleanupPolicy",
        cleanup(match={"any": [{**PODS["any"][0], "subjects": [{"kind": "User", "name": "a"}]}]}),
        "leave out subjects: an object that lies in the cluster has no user",
    ),
    ("ClusterCleanupPolicy", cleanup(exclude={"all": [{"roles": ["a"]}]}), "leave out roles"),
    ("ClusterCleanupPolicy", cleanup(exclude={"any": [{"clusterRoles": ["a"]}]}), "leave out clusterRoles"),
    ("CleanupPolicy", filtered(namespaces=["a"]), "leave out namespaces: a CleanupPolicy is about its own"),
    (
        "CleanupPolicy",
        cleanup(exclude={"all": [{"resources": {"namespaces": ["a"]}}]}),
        "leave out namespaces",
    ),
    ("ClusterCleanupPolicy", cleanup(schedule=""), "should be at least 1 chars long"),
    ("ClusterCleanupPolicy", cleanup(schedule="0 0 * *"), "write five fields"),
    ("ClusterCleanupPolicy", cleanup(schedule="0 0 0 * * *"), "write five fields"),
    ("DeletingPolicy", deleting(schedule="0 0 0 * * * 2027"), "write five fields"),
    ("DeletingPolicy", deleting(schedule="@every 1h"), "@every counts from a start that nobody knows"),
    (
        "ClusterCleanupPolicy",
        cleanup(conditions={"all": [{"key": 1, "operator": "Is", "value": 1}]}),
        "should match '(?i)^(Equals|NotEquals|",
    ),
    ("ClusterCleanupPolicy", cleanup(deletionPropagationPolicy="background"), "Unsupported value"),
    ("ClusterCleanupPolicy", cleanup(context=[{"name": "a"}]), "write exactly one of apiCall, variable"),
    (
        "ClusterCleanupPolicy",
        cleanup(context=[{"name": "a", "variable": {"value": 1}, "globalReference": {"name": "b"}}]),
        "write exactly one of apiCall, variable",
    ),
    ("ClusterCleanupPolicy", cleanup(context=[{"variable": {"value": 1}}]), "name: Required value"),
    (
        "ClusterCleanupPolicy",
        cleanup(context=[{"name": "a", "configMap": {"name": "b"}}]),
        "configMap can't be used here: write an apiCall",
    ),
    (
        "ClusterCleanupPolicy",
        cleanup(context=[{"name": "a", "imageRegistry": {"reference": "b"}}]),
        "imageRegistry can't be used here",
    ),
    ("ClusterCleanupPolicy", cleanup(context=[{"name": "a", "apiCall": {}}]), "write where to: urlPath"),
    (
        "ClusterCleanupPolicy",
        cleanup(context=[{"name": "a", "apiCall": {"urlPath": "/", "method": "PUT"}}]),
        "Unsupported value",
    ),
    ("DeletingPolicy", {"schedule": "@daily"}, "matchConstraints is missing"),
    ("DeletingPolicy", deleting(matchConstraints={"resourceRules": []}), "write resourceRules with at least"),
    (
        "NamespacedDeletingPolicy",
        deleting(conditions=[{"name": "a", "expression": "true"}] * 2),
        "Duplicate value",
    ),
    ("DeletingPolicy", deleting(conditions=[{"name": "a"}]), "expression: Required value"),
    (
        "DeletingPolicy",
        deleting(matchConstraints={"resourceRules": [{**RULE, "scope": "Namespace"}]}),
        "Unsupported value",
    ),
    ("GlobalContextEntry", {}, "write exactly one of kubernetesResource and apiCall"),
    ("GlobalContextEntry", {**ENTRY, **LISTED}, "write exactly one of kubernetesResource and apiCall"),
    ("GlobalContextEntry", {"apiCall": {}}, "write exactly one of urlPath"),
    ("GlobalContextEntry", {"apiCall": {"urlPath": "/", "refreshInterval": "0s"}}, "longer than nothing"),
    ("GlobalContextEntry", {"apiCall": {"urlPath": "/", "refreshInterval": "soon"}}, "duration"),
    ("GlobalContextEntry", {"apiCall": {"urlPath": "/", "retryLimit": 0}}, "greater than or equal to 1"),
    (
        "GlobalContextEntry",
        {"apiCall": {"urlPath": "/", "data": [{"key": "a", "value": 1}]}},
        "data is sent with POST only",
    ),
    (
        "GlobalContextEntry",
        {"kubernetesResource": {"version": "v1beta1", "resource": "pods"}},
        "write the group",
    ),
    ("PolicyException", {"policyRefs": []}, "should have at least 1 items"),
    ("PolicyException", {"policyRefs": [{"kind": "", "name": "a"}]}, "should be at least 1 chars long"),
]


def named(definition: Definition, suffix: str) -> Definition:
    """Under groups of their own: the control plane is shared, and an install may come and go on it."""
    return msgspec.structs.replace(definition, group=f"{suffix}.{definition.group}")


def _with_admin(plane: Access, work: Callable[[Client], Awaitable[None]]) -> None:
    async def connect() -> None:
        async with connected(plane.kubeconfig) as client:
            await work(client)

    asyncio.run(connect())


@pytest.fixture(scope="module")
def kinds(control_plane: Access) -> Iterator[dict[str, Definition]]:
    suffix = f"policies-{secrets.token_hex(4)}"
    definitions = {each.kind: named(each, suffix) for each in DEFINITIONS}

    async def install(client: Client) -> None:
        for definition in definitions.values():
            await client.create(CUSTOM_RESOURCE_DEFINITIONS, document(definition))
        for definition in definitions.values():

            async def established(name: str = definition.name) -> bool:
                found = await client.get(CUSTOM_RESOURCE_DEFINITIONS, name, view=WHOLE)
                conditions = {
                    one["type"]: one["status"] for one in (found.get("status") or {}).get("conditions") or []
                }
                assert conditions.get("NonStructuralSchema", "False") == "False"
                return conditions.get("Established") == "True"

            await eventually(established, what=f"{definition.name} is established")

    async def remove(client: Client) -> None:
        for definition in definitions.values():
            found = await client.get(CUSTOM_RESOURCE_DEFINITIONS, definition.name, view=METADATA)
            await client.delete(
                CUSTOM_RESOURCE_DEFINITIONS, definition.name, uid=found.metadata.uid, propagation="Background"
            )

    _with_admin(control_plane, install)
    try:
        yield definitions
    finally:
        _with_admin(control_plane, remove)


def body(kind: Resource, spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": f"one-{secrets.token_hex(4)}"},
        "spec": copy.deepcopy(spec),
    }


async def write(client: Client, kind: Resource, spec: Any, *, inside: str) -> dict[str, Any]:
    return await client.create(kind, body(kind, spec), namespace=inside if kind.namespaced else "")


VERSIONS = [(each.kind, version.name) for each in DEFINITIONS for version in each.versions]


@pytest.mark.parametrize(("kind", "version"), VERSIONS)
async def test_a_good_manifest_is_taken_in_every_version_and_nothing_of_it_is_lost(
    admin: Client, kinds: dict[str, Definition], namespace: str, kind: str, version: str
) -> None:
    definition = kinds[kind]
    for spec in GOOD[kind]:
        made = await write(admin, resource(definition, version), spec, inside=namespace)
        stored = await admin.get(
            resource(definition),
            made["metadata"]["name"],
            namespace=namespace if definition.namespaced else "",
            view=WHOLE,
        )
        assert contains(stored["spec"], spec), stored["spec"]


def contains(found: Any, wanted: Any) -> bool:
    """All that was written; what the server fills in may come on top."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(
            name in found and contains(found[name], value) for name, value in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(contains, found, wanted))
    return bool(found == wanted)


@pytest.mark.parametrize(("kind", "spec", "says"), BAD)
async def test_what_can_not_run_is_refused_with_what_to_write(
    admin: Client, kinds: dict[str, Definition], kind: str, spec: dict[str, Any], says: str
) -> None:
    wanted = resource(kinds[kind])
    namespace = "default" if wanted.namespaced else ""
    with pytest.raises(Invalid) as caught:
        await admin.create(wanted, body(wanted, spec), namespace=namespace, dry_run=True)
    assert says in caught.value.status.message
    if kind in POLICY_KINDS:
        assert read_policy(as_shipped(kind, spec)).problems


def as_shipped(kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    """The same policy under its own group, as its reader meets it."""
    return body(resource(POLICY_KINDS[kind]), spec)


@pytest.mark.parametrize("kind", sorted(POLICY_KINDS))
def test_what_the_server_takes_is_understood(kind: str) -> None:
    for spec in GOOD[kind]:
        assert read_policy(as_shipped(kind, spec)).problems == ()


async def test_a_projection_that_is_called_as_its_entry_is_refused(
    admin: Client, kinds: dict[str, Definition]
) -> None:
    wanted = resource(kinds["GlobalContextEntry"])
    entry = {**body(wanted, ENTRY), "metadata": {"name": "names"}}
    with pytest.raises(ApiError, match="choose another name"):
        await admin.create(wanted, entry, dry_run=True)


async def test_ten_thousand_names_are_taken(
    admin: Client, kinds: dict[str, Definition], namespace: str
) -> None:
    spec = filtered(names=[f"web-{number}" for number in range(10_000)])
    made = await write(admin, resource(kinds["CleanupPolicy"]), spec, inside=namespace)
    assert len(made["spec"]["match"]["any"][0]["resources"]["names"]) == 10_000


async def test_the_server_fills_in_what_kyverno_fills_in(
    admin: Client, kinds: dict[str, Definition], namespace: str
) -> None:
    cleanup_made = await write(admin, resource(kinds["CleanupPolicy"]), CLEANUP, inside=namespace)
    assert cleanup_made["spec"]["context"][0]["apiCall"]["method"] == "GET"
    entry = await write(
        admin, resource(kinds["GlobalContextEntry"]), {"apiCall": {"urlPath": "/"}}, inside=""
    )
    assert entry["spec"]["apiCall"] == {
        "urlPath": "/",
        "method": "GET",
        "refreshInterval": "10m",
        "retryLimit": 3,
    }
    exception = await write(admin, resource(kinds["PolicyException"]), EXCEPTION, inside=namespace)
    assert exception["spec"]["reportResult"] == "skip"


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("CleanupPolicy", {"conditions": [{"type": "Ready", "status": "True"}]}),
        ("DeletingPolicy", {"conditionStatus": {"ready": True, "message": "It runs."}}),
    ],
)
async def test_the_table_shows_when_a_policy_runs_and_whether_it_is_ready(
    admin: Client, kinds: dict[str, Definition], namespace: str, kind: str, status: dict[str, Any]
) -> None:
    wanted = resource(kinds[kind])
    made = await write(admin, wanted, GOOD[kind][-1], inside=namespace)
    name, inside = made["metadata"]["name"], namespace if wanted.namespaced else ""
    for condition in status.get("conditions", ()):
        condition |= {"reason": "Runs", "message": "", "lastTransitionTime": "2026-11-01T00:00:00Z"}
    told = {
        **status,
        "nextExecutionTime": "2026-11-02T00:00:00Z",
        "observedGeneration": 1,
        "lastRun": {"matched": 3, "deleted": 2, "held": 1},
    }
    kept = await admin.merge_patch(wanted, name, {"status": told}, namespace=inside, subresource="status")
    assert contains(kept["status"], told)
    request = Request(path=wanted.path(namespace=inside, name=name), headers=admin.headers(("Accept", TABLE)))
    table = msgspec.json.decode((await admin.ask(request, doing="show")).body)
    columns = [column["name"] for column in table["columnDefinitions"]]
    assert columns == ["Name", "Schedule", "Ready", "Last Run", "Next Run", "Deleted", "Held", "Age"]
    cells = table["rows"][0]["cells"]
    assert cells[1] == GOOD[kind][-1]["schedule"]
    assert str(cells[2]).lower() == "true"
    assert cells[4] == "2026-11-02T00:00:00Z"
    assert cells[5:7] == [2, 1]
