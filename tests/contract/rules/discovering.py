"""Discovery: which kinds there are."""

from __future__ import annotations

from skoupa.errors import UnknownKind
from skoupa.kube.discovery import discover
from tests.contract.arena import Arena
from tests.contract.expecting import document
from tests.contract.registry import rule
from tests.contract.sabotage import edit, swap

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@rule(
    broken_by=swap(
        "server.discovery.Discovery._aggregated", lambda self, *, core, **_: self._roots(core=core, accept="")
    )
)
async def kinds_are_discovered_with_two_requests(arena: Arena) -> None:
    """Aggregated discovery brings every kind with scope, verbs, short names and subresources."""
    for path in ("/api", "/apis"):
        answer = await arena.ask("GET", path, accept=AGGREGATED)
        assert document(answer)["kind"] == "APIGroupDiscoveryList"
        assert "as=APIGroupDiscoveryList" in answer.headers["content-type"]
    found = await discover(arena.client)
    assert found.gaps == ()
    pods = found.find("", "Pod")
    assert pods is not None
    assert (pods.plural, pods.singular, pods.version, pods.namespaced) == ("pods", "pod", "v1", True)
    assert pods.short_names == ("po",)
    assert "all" in pods.categories
    assert set(pods.verbs) == {
        "create",
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "update",
        "watch",
    }
    assert {"status", "eviction", "log"} <= set(pods.subresources)
    namespaces = found.find("", "Namespace")
    assert namespaces is not None
    assert not namespaces.namespaced
    assert "deletecollection" not in namespaces.verbs


@rule(broken_by=edit("server.discovery._aggregated_kind", lambda row: {**row, "shortNames": []}))
async def people_name_kinds_in_many_ways(arena: Arena) -> None:
    """Plural, singular, kind, short name, with group and version: all find the kind."""
    found = await discover(arena.client)
    for text, plural, group, version in (
        ("pods", "pods", "", "v1"),
        ("Pod", "pods", "", "v1"),
        ("po", "pods", "", "v1"),
        ("cm", "configmaps", "", "v1"),
        ("deploy", "deployments", "apps", "v1"),
        ("deployment.apps", "deployments", "apps", "v1"),
        ("deployments.v1.apps", "deployments", "apps", "v1"),
        ("apps/v1/Deployment", "deployments", "apps", "v1"),
        ("v1/ConfigMap", "configmaps", "", "v1"),
        ("events", "events", "", "v1"),
        ("events.events.k8s.io", "events", "events.k8s.io", "v1"),
        ("cronjob", "cronjobs", "batch", "v1"),
        ("crd", "customresourcedefinitions", "apiextensions.k8s.io", "v1"),
        ("netpol", "networkpolicies", "networking.k8s.io", "v1"),
    ):
        kind = found.resolve(text)
        assert (kind.plural, kind.group, kind.version) == (plural, group, version), text
    try:
        found.resolve("nonsense")
    except UnknownKind:
        return
    raise AssertionError("a kind that does not exist was found")


@rule(broken_by=edit("server.discovery._listed_kind", lambda rows: rows[:1]))
async def kinds_can_be_discovered_group_by_group(arena: Arena) -> None:
    """The older form of discovery lists groups, versions and the kinds of each."""
    core = document(await arena.ask("GET", "/api"))
    assert (core["kind"], core["versions"]) == ("APIVersions", ["v1"])
    groups = document(await arena.ask("GET", "/apis"))
    assert groups["kind"] == "APIGroupList"
    apps = next(group for group in groups["groups"] if group["name"] == "apps")
    assert apps["preferredVersion"] == {"groupVersion": "apps/v1", "version": "v1"}
    assert apps["versions"] == [{"groupVersion": "apps/v1", "version": "v1"}]
    kinds = document(await arena.ask("GET", "/apis/apps/v1"))
    assert (kinds["kind"], kinds["groupVersion"]) == ("APIResourceList", "apps/v1")
    rows = {row["name"]: row for row in kinds["resources"]}
    assert rows["deployments"]["kind"] == "Deployment"
    assert rows["deployments"]["namespaced"]
    assert rows["deployments"]["shortNames"] == ["deploy"]
    assert "deployments/status" in rows
    assert (await arena.ask("GET", "/apis/apps/v1beta9")).status == 404


@rule(broken_by=edit("server.discovery._listed_kind", lambda rows: rows[1:]))
async def both_forms_of_discovery_agree(arena: Arena) -> None:
    """The kinds of the core group are the same in both forms, in the same order."""
    aggregated = document(await arena.ask("GET", "/api", accept=AGGREGATED))
    (version,) = aggregated["items"][0]["versions"]
    plain = document(await arena.ask("GET", "/api/v1"))
    first = [row["resource"] for row in version["resources"]]
    assert [row["name"] for row in plain["resources"] if "/" not in row["name"]] == first
    assert "pods" in first


@rule(broken_by=edit("server.discovery._aggregated_kind", lambda row: {**row, "singularResource": ""}))
async def a_defined_kind_is_discovered_as_it_was_defined(arena: Arena) -> None:
    """A custom kind appears in discovery with its names, scope and subresources."""
    custom = await arena.own_custom_kind()

    async def known() -> bool:
        return (await discover(arena.client)).find(custom.group, custom.kind) is not None

    await arena.eventually(known, what="the kind is discovered")
    row = (await discover(arena.client)).resolve(f"{custom.plural}.{custom.group}")
    word = custom.plural[:-1]
    assert (row.kind, row.singular, row.short_names) == (custom.kind, word, (f"{word}x",))
    assert row.namespaced
    assert row.subresources == ("status",)
    assert row.may("list", "watch", "delete", "deletecollection")


@rule(broken_by=swap("server.discovery.VERSION", {"major": "1", "minor": "0"}))
async def the_server_says_its_version(arena: Arena) -> None:
    """The version of the server can be asked for."""
    version = document(await arena.ask("GET", "/version"))
    assert (version["major"], version["minor"]) == ("1", "35")
    assert version["gitVersion"].startswith("v1.35.")
