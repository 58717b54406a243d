"""`skoupa tenant delete --force-finalizers`: what is shown comes off one by one, written down before, and nothing else changes."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from skoupa.cli.tenants import delete, forcing
from skoupa.kinds.brake import BRAKE, BRAKES
from skoupa.kinds.definition import document
from skoupa.kinds.tenant import TENANT, TENANTS
from skoupa.kube.client import Client
from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, Resource
from skoupa.kube.transport import Request, Response, Stream, Transport
from skoupa.sim.state.access import Rule
from tests.unit.cli.saying import Said, Shell
from tests.unit.cli.test_sweep_looks_again import WIDGETS
from tests.unit.cli.worlds import Town, config_map, granting, installed, obj

pytestmark = pytest.mark.unit

FOREIGN = "controller.cattle.io/namespace-auth"
EARLIER = "2026-05-01T10:00:00Z"
JUST_NOW = "2026-05-01T11:59:30Z"
ENFORCING = "mode: enforce\nfeatures: {tenants: true}\n"
PRIORITIES = Resource(
    group="scheduling.k8s.io", version="v1", plural="priorityclasses", kind="PriorityClass", namespaced=False
)

PERSISTENT_VOLUMES = Resource(
    version="v1", plural="persistentvolumes", kind="PersistentVolume", namespaced=False
)


def hung(found: dict[str, Any], *finalizers: str, since: str = EARLIER) -> dict[str, Any]:
    written = {"manager": "x", "operation": "Update", "fieldsV1": {"f:metadata": {}}, "time": EARLIER}
    found["metadata"] |= {"deletionTimestamp": since, "finalizers": list(finalizers or (FOREIGN,))}
    found["metadata"]["managedFields"] = [
        {**written, "apiVersion": found["apiVersion"], "fieldsType": "FieldsV1"}
    ]
    return found


def tenant(name: str = "111111", **metadata: Any) -> dict[str, Any]:
    found = obj("Tenant", name, api="tenant.kubezoo.io/v1alpha1", uid=f"uid-{name}", spec={})
    found["metadata"] |= {"finalizers": ["kubezoo.io/tenant", "skoupa.dev/tenant"]}
    found["metadata"] |= {"deletionTimestamp": EARLIER, **metadata}
    return found


def priority(name: str, **rest: Any) -> dict[str, Any]:
    return obj("PriorityClass", name, api="scheduling.k8s.io/v1", value=1, **rest)


def namespace(name: str, **rest: Any) -> dict[str, Any]:
    return hung(obj("Namespace", name, spec={"finalizers": ["kubernetes"]}, **rest))


@pytest.fixture
def town(skoupa: Shell, monkeypatch: pytest.MonkeyPatch) -> Town:
    town = Town(skoupa, monkeypatch)
    for module in (delete, forcing):
        monkeypatch.setattr(module, "in_cluster", town._in_cluster)

    async def bring() -> None:
        async with town.cluster:
            client = Client(town.cluster, town.clock)
            for body in (document(TENANT), document(BRAKE)):
                await client.create(CUSTOM_RESOURCE_DEFINITIONS, body)
            for _ in range(200):
                await asyncio.sleep(0)

    asyncio.run(bring())
    return town.holding(installed(ENFORCING))


@pytest.fixture
def force(town: Town, tmp_path: Path) -> Callable[..., Said]:
    def run(*words: str) -> Said:
        ledger = ("--ledger", str(tmp_path / "l.db"))
        return town("tenant", "delete", "111111", "--force-finalizers", *ledger, *words)

    return run


def finalizers(town: Town, resource: Resource, name: str, place: str = "") -> list[str] | None:
    """None: it is gone."""
    found = [
        one for one in town.cluster.objects(resource, namespace=place) if one["metadata"]["name"] == name
    ]
    return list(found[0]["metadata"].get("finalizers") or ()) if found else None


def rows(tmp_path: Path) -> list[tuple[str, str, str]]:
    with sqlite3.connect(tmp_path / "l.db") as database:
        return sorted(database.execute("SELECT kind, name, outcome FROM skoupa_entries"))


class Before:
    """Calls with every patch that is about to be sent."""

    def __init__(self, inner: Transport, seen: Callable[[Request], None]) -> None:
        self._inner = inner
        self._seen = seen

    async def send(self, request: Request) -> Response:
        if request.method == "PATCH":
            self._seen(request)
        return await self._inner.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


def test_foreign_finalizers_of_what_is_on_its_way_out_come_off_and_each_is_written_down_before(
    town: Town, force: Callable[..., Said], tmp_path: Path
) -> None:
    town.holding(
        tenant(),
        namespace("111111-default"),
        hung(config_map("app", namespace="111111-default"), "shop.example/app", "shop.example/two"),
        hung(priority("111111-high")),
    )
    sent: list[tuple[str, Any]] = []
    open_rows: list[int] = []

    def seen(request: Request) -> None:
        sent.append((request.path, json.loads(request.body)))
        open_rows.append(sum(outcome == "intended" for _, _, outcome in rows(tmp_path)))

    town.wrap = lambda inner: Before(inner, seen)
    said = force("--yes")
    assert said.code == 0, said.out + said.err
    assert f"took {FOREIGN} off Namespace 111111-default" in said.out
    assert "4 taken off, 0 off or gone already, 0 left." in said.out
    assert finalizers(town, PRIORITIES, "111111-high") is None
    assert finalizers(town, CONFIG_MAPS, "app", "111111-default") is None
    found = [one for one in town.cluster.objects(NAMESPACES) if one["metadata"]["name"] == "111111-default"]
    assert all(one["spec"]["finalizers"] == ["kubernetes"] for one in found), "that is nobody's to touch"
    assert rows(tmp_path) == [
        ("ConfigMap", "app", "deleted"),
        ("ConfigMap", "app", "deleted"),
        ("Namespace", "111111-default", "deleted"),
        ("PriorityClass", "111111-high", "deleted"),
    ]
    assert min(open_rows) >= 1, "none left before its intent was on record"
    for path, operations in sent:
        assert [(one["op"], one["path"]) for one in operations] == [
            ("test", "/metadata/uid"),
            ("test", "/metadata/resourceVersion"),
            ("test", "/metadata/finalizers/0"),
            ("remove", "/metadata/finalizers/0"),
        ], path


def test_each_is_shown_with_its_age_and_asked_for_and_a_dry_run_changes_nothing(
    town: Town, force: Callable[..., Said], tmp_path: Path
) -> None:
    town.holding(tenant(), hung(priority("111111-high")))
    for words, code in (((), 5), (("--dry-run",), 0)):
        said = force(*words)
        assert said.code == code, said.err
        (line,) = [line for line in said.out.splitlines() if "111111-high" in line]
        assert line.split()[:4] == ["PriorityClass", "111111-high", FOREIGN, "2h"]
        assert "its name begins with 111111-" in line
    assert "this is a dry run" in said.out
    assert finalizers(town, PRIORITIES, "111111-high") == [FOREIGN]
    assert not (tmp_path / "l.db").exists() or not rows(tmp_path)


def test_what_is_not_the_tenants_or_not_on_its_way_out_is_not_even_shown(
    town: Town, force: Callable[..., Said]
) -> None:
    living = priority("111111-living")
    living["metadata"]["finalizers"] = [FOREIGN]
    town.holding(
        tenant(),
        tenant("222222"),
        living,
        hung(priority("1111112-high")),
        hung(priority("222222-high")),
        namespace("222222-default"),
        hung(config_map("app", namespace="222222-default")),
        obj("Namespace", "111111-alive"),
        hung(config_map("in-a-living-one", namespace="111111-alive")),
    )
    said = force("--yes")
    assert said.code == 0, said.err
    assert "waits for a finalizer that may be taken off" in said.out
    for name in ("living", "1111112", "222222", "in-a-living-one"):
        assert name not in said.out
    assert finalizers(town, PRIORITIES, "222222-high") == [FOREIGN]


def test_what_is_kept_protected_shared_or_young_stays_and_says_why(
    town: Town, force: Callable[..., Said]
) -> None:
    town.holding(
        tenant(),
        installed(f"{ENFORCING}protect: {{names: [PriorityClass/*vault]}}\n"),
        hung(priority("111111-kept", labels={"skoupa.dev/keep": "true"})),
        hung(priority("111111-vault")),
        hung(priority("111111-young"), since=JUST_NOW),
        hung(priority("111111-shared", labels={"skoupa.dev/shared": "true"})),
        hung(priority("111111-orphaning"), "orphan", "skoupa.dev/other"),
        namespace("111111-kept", labels={"skoupa.dev/keep": "true"}),
        hung(config_map("inside", namespace="111111-kept")),
        namespace("111111-default"),
        hung(config_map("lent", namespace="111111-default", labels={"skoupa.dev/shared": ""})),
    )
    said = force("--yes")
    assert said.code == 4, said.out + said.err
    assert "1 taken off" in said.out, "the finalizer of 111111-default alone"
    for name, why in (
        ("PriorityClass 111111-kept", "kept by its label"),
        ("PriorityClass 111111-vault", "PriorityClass/*vault"),
        ("PriorityClass 111111-shared", "skoupa.dev/shared"),
        ("PriorityClass 111111-young", "less than 10m (--stuck-for)"),
        ("PriorityClass 111111-orphaning", "Kubernetes takes it off itself"),
        ("Namespace 111111-kept", "kept by its label"),
        ("ConfigMap 111111-kept/inside", "its Namespace"),
        ("ConfigMap 111111-default/lent", "skoupa.dev/shared"),
    ):
        assert any(line.startswith(name) and why in line for line in said.out.splitlines()), (name, said.out)
    for name in ("kept", "vault", "young", "shared"):
        assert finalizers(town, PRIORITIES, f"111111-{name}") == [FOREIGN]
    assert finalizers(town, PRIORITIES, "111111-orphaning") == ["orphan", "skoupa.dev/other"]
    assert finalizers(town, CONFIG_MAPS, "lent", "111111-default") == [FOREIGN]


def test_what_somebody_else_uses_stays(town: Town, force: Callable[..., Said]) -> None:
    pod = obj("Pod", "web", namespace="222222-x", spec={"priorityClassName": "111111-high", "containers": []})
    town.holding(tenant(), obj("Namespace", "222222-x"), pod, hung(priority("111111-high")))
    said = force("--yes")
    assert said.code == 4, "somebody has to decide about it"
    assert "Pod 222222-x/web uses it" in said.out
    assert finalizers(town, PRIORITIES, "111111-high") == [FOREIGN]


@pytest.mark.parametrize(
    ("settings", "changes", "why"),
    [
        ("mode: observe\nfeatures: {tenants: true}\n", {}, "mode: observe"),
        ("mode: enforce\n", {}, "features.tenants is off"),
        (ENFORCING, {"finalizers": ["other.example/x"]}, "no finalizer of Skoupa any more"),
        (ENFORCING, {"deletionTimestamp": None}, "is not being deleted"),
        (f"{ENFORCING}tenants: {{guard: true}}\n", {}, "has to be confirmed"),
        (f"{ENFORCING}tenants: {{grace: 3h}}\n", {}, "tenants.grace"),
        (f"{ENFORCING}tenants: {{shortestId: 7}}\n", {}, "shorter than tenants.shortestId"),
    ],
)
def test_it_is_refused_where_the_deletion_itself_would_not_go_on(
    town: Town, force: Callable[..., Said], settings: str, changes: dict[str, Any], why: str
) -> None:
    found = tenant(**changes)
    if found["metadata"]["deletionTimestamp"] is None:
        del found["metadata"]["deletionTimestamp"]
    town.holding(installed(settings), found, hung(priority("111111-high")))
    for words in (("--yes",), ("--dry-run",)):
        said = force(*words)
        assert said.code == 5, said.out
        assert why in said.err
    assert finalizers(town, PRIORITIES, "111111-high") == [FOREIGN]


def test_a_brake_holds_also_one_that_comes_after_the_answer(town: Town, force: Callable[..., Said]) -> None:
    town.holding(tenant(), hung(priority("111111-high")), hung(priority("111111-low")))
    scope = {"policy": {"kind": "Tenant", "name": "111111"}}
    brake = obj("Brake", "stop", api=BRAKES.api_version, spec={"scope": scope, "reason": "wait"})

    def seen(_: Request) -> None:
        town.holding(brake)

    town.wrap = lambda inner: Before(inner, seen)
    said = force("--yes")
    assert said.code == 4, said.out
    assert "1 taken off, 0 off or gone already, 1 left." in said.out
    said = force("--yes")
    assert said.code == 4
    assert "brake stop: wait" in said.out


def test_what_changes_meanwhile_is_asked_about_anew(
    town: Town, force: Callable[..., Said], tmp_path: Path
) -> None:
    town.holding(tenant(), hung(priority("111111-high"), "a.example/x", FOREIGN))
    times: list[str] = []

    def seen(_: Request) -> None:
        times.append("")
        if len(times) == 1:
            kept = hung(priority("111111-high", labels={"skoupa.dev/keep": "true"}), "a.example/x", FOREIGN)
            (found,) = [
                one for one in town.cluster.objects(PRIORITIES) if one["metadata"]["name"] == "111111-high"
            ]
            kept["metadata"]["uid"] = found["metadata"]["uid"]
            town.holding(kept)

    town.wrap = lambda inner: Before(inner, seen)
    said = force("--yes")
    assert said.code == 4, said.out
    assert said.out.count("kept by its label") == 2
    assert finalizers(town, PRIORITIES, "111111-high") == ["a.example/x", FOREIGN]
    assert {outcome for _, _, outcome in rows(tmp_path)} == {"failed"}


def test_without_the_right_it_is_denied_and_without_a_ledger_it_is_refused(
    town: Town, force: Callable[..., Said]
) -> None:
    town.holding(tenant(), hung(priority("111111-high")))
    assert force("--yes", "--ledger", "none").code == 2
    granting(Rule(verbs=("get", "list", "watch"), resources=("*",)))(town.cluster)
    town.user = "bob"
    said = force("--yes")
    assert said.code == 6, said.out + said.err
    assert finalizers(town, PRIORITIES, "111111-high") == [FOREIGN]


def test_a_dry_run_of_a_deletion_shows_and_deletes_nothing(town: Town) -> None:
    found = tenant()
    del found["metadata"]["deletionTimestamp"]
    said = town.holding(found, priority("111111-high"))("tenant", "delete", "111111", "--dry-run")
    assert said.code == 0, said.err
    assert "PriorityClass 111111-high" in said.out
    (there,) = town.cluster.objects(TENANTS)
    assert "deletionTimestamp" not in there["metadata"]


def test_while_the_server_does_not_tell_all_its_kinds_none_comes_off_but_for_what_the_tenant_brought(
    town: Town, force: Callable[..., Said]
) -> None:
    town.cluster.install(WIDGETS)
    town.holding(tenant(), hung(priority("111111-high")))
    town.cluster.discovery.stale.add(WIDGETS.group)
    said = force("--yes")
    assert said.code == 5, said.out
    assert "shop.example" in said.err
    assert finalizers(town, PRIORITIES, "111111-high") == [FOREIGN]
    town.cluster.discovery.stale.clear()
    assert force("--yes").code == 0
    assert finalizers(town, PRIORITIES, "111111-high") is None


def test_one_that_was_killed_before_its_patch_took_nothing_off_and_the_next_goes_on(
    town: Town, force: Callable[..., Said], tmp_path: Path
) -> None:
    town.holding(tenant(), hung(priority("111111-high")), hung(priority("111111-low")))

    def killed(_: Request) -> None:
        raise KeyboardInterrupt

    town.wrap = lambda inner: Before(inner, killed)
    force("--yes")
    assert finalizers(town, PRIORITIES, "111111-high") == [FOREIGN]
    assert ("PriorityClass", "111111-high", "intended") in rows(tmp_path)
    town.wrap = lambda inner: inner
    assert force("--yes").code == 0
    assert finalizers(town, PRIORITIES, "111111-high") is None
    assert [outcome for _, _, outcome in rows(tmp_path)] == ["deleted", "deleted"]


def test_with_the_labels_of_another_convention_the_rule_is_the_label_as_it_is_now(
    town: Town, force: Callable[..., Said]
) -> None:
    label = {"team.example/tenant": "111111"}
    settings = f"{ENFORCING}tenants: {{objectLabel: team.example/tenant}}\n"
    town.holding(installed(settings), tenant(), hung(priority("a-high", labels=label)))
    town.holding(hung(priority("b-high", labels=label)))

    def seen(_: Request) -> None:
        (found,) = [one for one in town.cluster.objects(PRIORITIES) if one["metadata"]["name"] == "b-high"]
        found["metadata"]["labels"] = {}
        town.holding(found)

    town.wrap = lambda inner: Before(inner, seen)
    said = force("--yes")
    assert said.code == 4, said.out
    assert "1 taken off, 0 off or gone already, 1 left." in said.out
    assert "nothing says any more that it is the tenant's alone" in said.out
    assert finalizers(town, PRIORITIES, "b-high") == [FOREIGN]


def test_a_volume_that_is_bound_to_a_claim_of_the_tenant_is_its_own_and_its_foreign_finalizer_comes_off(
    town: Town, force: Callable[..., Said]
) -> None:
    spec = {
        "claimRef": {"namespace": "111111-default", "name": "data", "uid": "u"},
        "hostPath": {"path": "/x"},
    }
    volume = hung(obj("PersistentVolume", "pv-1", spec=spec), "kubernetes.io/pv-protection", FOREIGN)
    town.holding(tenant(), namespace("111111-default"), volume)
    said = force("--yes")
    assert said.code == 0, said.out + said.err
    assert f"took {FOREIGN} off PersistentVolume pv-1" in said.out
    assert finalizers(town, PERSISTENT_VOLUMES, "pv-1") == ["kubernetes.io/pv-protection"]
