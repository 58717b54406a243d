"""Policies against the real server: wildcards expand to its kinds, and its lists hold whatever matches."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from typing import Any

import pytest

from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.kinds import Discovery
from skoupa.kube.lists import everything
from skoupa.kube.objects import METADATA, Metadata
from skoupa.kube.resources import BUILT_IN_GROUPS, NAMESPACES, Resource
from skoupa.policy.expansion import expand
from skoupa.policy.match import answer
from skoupa.policy.policies import Policy
from skoupa.policy.queries import queries
from skoupa.policy.reading import read_policy
from tests.cluster.reaching import new_namespace

pytestmark = pytest.mark.cluster

# What the test makes in each of two namespaces: kind, name, labels.
MADE: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("configmaps", "web-1", {"app": "web", "tier": "a"}),
    ("configmaps", "web-2", {"app": "web", "tier": "b"}),
    ("configmaps", "db", {"app": ""}),
    ("secrets", "web-1", {"app": "web"}),
    ("serviceaccounts", "robot", {}),
    ("leases.coordination.k8s.io", "web-1", {"app": "web"}),
)
Found = set[tuple[str, str, str]]


@pytest.fixture
async def shops(admin: Client) -> AsyncIterator[tuple[str, str]]:
    async with new_namespace(admin) as first, new_namespace(admin) as second:
        discovery = await discover(admin)
        for namespace in (first, second):
            for text, name, labels in MADE:
                resource = discovery.resolve(text)
                body = {
                    "apiVersion": resource.api_version,
                    "kind": resource.kind,
                    "metadata": {"name": name, "labels": labels, "annotations": {"team": namespace[-1]}},
                }
                await admin.create(resource, body, namespace=namespace)
        label = f"shop-{secrets.token_hex(4)}"
        await admin.merge_patch(NAMESPACES, first, {"metadata": {"labels": {"place": label}}})
        yield first, second


def policy(*filters: dict[str, Any], discovery: Discovery, namespace: str = "", **spec: Any) -> Policy:
    reading = read_policy(
        {
            "apiVersion": "kyverno.io/v2",
            "kind": "CleanupPolicy" if namespace else "ClusterCleanupPolicy",
            "metadata": {"name": "old", "namespace": namespace},
            "spec": {
                "schedule": "@daily",
                "match": {"any": [{"resources": one} for one in filters]},
                **spec,
            },
        },
        discovery=discovery,
    )
    assert reading.policy is not None, reading.problems
    return reading.policy


async def run(
    client: Client, about: Policy, discovery: Discovery, places: dict[str, dict[str, str]]
) -> Found:
    """What a run would find: lists as asked for, matched one by one; only in namespaces of this test."""
    found: Found = set()
    # Definitions of other tests come and go on the shared server.
    kinds = [kind for kind in expand(about.subject, discovery).resources if kind.group in BUILT_IN_GROUPS]
    for query in queries(about.subject, kinds):
        page = await everything(client, query.resource, METADATA, scope=query.scope)
        found |= {
            (query.resource.plural, item.metadata.namespace, item.metadata.name)
            for item in page.items
            if item.metadata.namespace in places
            and _matches(about, query.resource, item.metadata, places[item.metadata.namespace])
        }
    return found


def _matches(about: Policy, resource: Resource, metadata: Metadata, labels: dict[str, str]) -> bool:
    return answer(about.subject, resource, metadata, namespace_labels=labels).matches


async def labels_of(client: Client, places: tuple[str, str]) -> dict[str, dict[str, str]]:
    page = await everything(client, NAMESPACES, METADATA)
    return {
        item.metadata.name: item.metadata.labels or {} for item in page.items if item.metadata.name in places
    }


async def test_a_wildcard_finds_everything_in_a_namespace_but_what_is_only_made_again(
    admin: Client, shops: tuple[str, str]
) -> None:
    discovery = await discover(admin)
    everywhere = policy({"kinds": ["*"], "namespaces": [shops[0]]}, discovery=discovery)
    found = await run(admin, everywhere, discovery, await labels_of(admin, shops))
    assert found == {
        ("configmaps", shops[0], "web-1"),
        ("configmaps", shops[0], "web-2"),
        ("configmaps", shops[0], "db"),
        ("secrets", shops[0], "web-1"),
        ("serviceaccounts", shops[0], "robot"),
    }
    inside = policy({"kinds": ["*"]}, discovery=discovery, namespace=shops[0])
    assert await run(admin, inside, discovery, await labels_of(admin, shops)) == found


@pytest.mark.parametrize(
    ("filters", "exclude", "names"),
    [
        ({"names": ["web-1"]}, None, {"web-1"}),
        ({"names": ["web-*"]}, None, {"web-1", "web-2"}),
        ({"selector": {"matchLabels": {"app": "web", "tier": "?*"}}}, None, {"web-1", "web-2"}),
        ({"selector": {"matchLabels": {"app": "*"}}}, None, {"web-1", "web-2", "db"}),
        ({"selector": {"matchLabels": {"app": "?*"}}}, None, {"web-1", "web-2"}),
        (
            {"selector": {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["a", ""]}]}},
            {"names": ["kube-root-ca.crt"]},
            {"web-2", "db"},
        ),
        (
            {"selector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["", "web"]}]}},
            {"selector": {"matchLabels": {"tier": "a"}}},
            {"web-2", "db"},
        ),
        ({"names": ["web-?", "db"]}, {"selector": {"matchLabels": {"tier": "*"}}}, {"db"}),
    ],
)
async def test_what_the_server_is_asked_for_holds_what_matches(
    admin: Client,
    shops: tuple[str, str],
    filters: dict[str, Any],
    exclude: dict[str, Any] | None,
    names: set[str],
) -> None:
    discovery = await discover(admin)
    spec: dict[str, Any] = {"exclude": {"any": [{"resources": exclude}]}} if exclude else {}
    about = policy({"kinds": ["ConfigMap"], **filters}, discovery=discovery, **spec)
    found = await run(admin, about, discovery, await labels_of(admin, shops))
    assert found == {("configmaps", place, name) for place in shops for name in names}


async def test_excluded_namespaces_are_left_out_by_the_server_itself(
    admin: Client, shops: tuple[str, str]
) -> None:
    discovery = await discover(admin)
    spec: dict[str, Any] = {"exclude": {"any": [{"resources": {"namespaces": [shops[1], "kube-system"]}}]}}
    about = policy({"kinds": ["ConfigMap"], "names": ["web-*"]}, discovery=discovery, **spec)
    (query,) = queries(about.subject, expand(about.subject, discovery).resources)
    page = await everything(admin, query.resource, METADATA, scope=query.scope)
    assert shops[1] not in {item.metadata.namespace for item in page.items}
    found = await run(admin, about, discovery, await labels_of(admin, shops))
    assert found == {("configmaps", shops[0], "web-1"), ("configmaps", shops[0], "web-2")}


async def test_known_namespaces_make_a_selector_a_list_of_namespaces(
    admin: Client, shops: tuple[str, str]
) -> None:
    discovery = await discover(admin)
    places = await labels_of(admin, shops)
    selector = {"matchLabels": {"place": "shop-*"}}
    about = policy(
        {"kinds": ["Secret"], "names": ["web-1"], "namespaceSelector": selector}, discovery=discovery
    )
    asked = queries(about.subject, expand(about.subject, discovery).resources, namespaces=places)
    assert [query.scope.namespace for query in asked] == [shops[0]]
    assert await run(admin, about, discovery, places) == {("secrets", shops[0], "web-1")}


async def test_a_namespace_selector_asks_the_server_for_namespaces_by_their_own_labels(
    admin: Client, shops: tuple[str, str]
) -> None:
    discovery = await discover(admin)
    places = await labels_of(admin, shops)
    selector = {"matchLabels": {"place": places[shops[0]]["place"]}}
    about = policy({"kinds": ["Namespace"], "namespaceSelector": selector}, discovery=discovery)
    (query,) = queries(about.subject, expand(about.subject, discovery).resources, namespaces=places)
    page = await everything(admin, query.resource, METADATA, scope=query.scope)
    assert {item.metadata.name for item in page.items} == {shops[0]}


async def test_a_name_that_no_object_can_have_is_asked_for_without_harm(
    admin: Client, shops: tuple[str, str]
) -> None:
    discovery = await discover(admin)
    about = policy({"kinds": ["ConfigMap"], "names": ["a,metadata.name!=b=\\"]}, discovery=discovery)
    assert await run(admin, about, discovery, await labels_of(admin, shops)) == set()
