"""What skoupa_unused and the others answer, row by row, in JMESPath and in CEL; and when there is no answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from skoupa.clock import SystemClock
from skoupa.expr.cel.pool import Pool
from skoupa.sim.faults import asking
from tests.unit.runs.using.town import Language, Town, obj, pod_spec, workload

pytestmark = [pytest.mark.unit, pytest.mark.asyncio(loop_scope="module")]

LANGUAGES: tuple[Language, ...] = ("JMESPath", "CEL")
COMPLETE = {"type": "Complete", "status": "True", "lastTransitionTime": "2026-01-01T01:00:00Z"}

OBJECTS = (
    obj("Namespace", "shop", ""),
    obj("Namespace", "lab", ""),
    workload("apps/v1/Deployment", "parked", claim="parked", config_map="settings"),
    obj("Service", "web", spec={"selector": {"app": "web"}}),
    obj("Pod", "web", labels={"app": "web"}, spec=pod_spec(claim="data")),
    obj("Pod", "worker", labels={"app": "worker"}, spec=pod_spec()),
    obj("Pod", "listed", labels={"app": "hand"}, spec=pod_spec()),
    obj("Pod", "ended", spec=pod_spec(claim="old"), status={"phase": "Succeeded"}),
    obj(
        "discovery.k8s.io/v1/EndpointSlice",
        "by-hand",
        addressType="IPv4",
        endpoints=[{"addresses": ["192.0.2.1"], "targetRef": {"kind": "Pod", "name": "listed"}}],
    ),
    obj("ConfigMap", "settings"),
    obj("ConfigMap", "left-over"),
    obj("ConfigMap", "kube-root-ca.crt"),
    obj("Secret", "certificate", type="kubernetes.io/tls"),
    obj("Secret", "forgotten"),
    obj(
        "networking.k8s.io/v1/Ingress",
        "web",
        spec={"tls": [{"secretName": "certificate"}], "defaultBackend": {"service": {"name": "web"}}},
    ),
    *(obj("PersistentVolumeClaim", name, status={"phase": "Bound"}) for name in ("data", "parked", "old")),
    obj("PersistentVolume", "waiting", "", status={"phase": "Available"}),
    *(
        obj(
            "PersistentVolume",
            name,
            "",
            spec={"claimRef": {"namespace": "shop", "name": claim}},
            status={"phase": phase},
        )
        for name, claim, phase in (
            ("reserved", "data-db-1", "Available"),
            ("reserved-for-nobody", "data-gone-1", "Available"),
            ("released", "data-db-0", "Released"),
        )
    ),
    obj(
        "apps/v1/StatefulSet",
        "db",
        spec={
            "replicas": 0,
            "selector": {"matchLabels": {"app": "db"}},
            "template": {"metadata": {"labels": {"app": "db"}}, "spec": pod_spec()},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {}}],
        },
    ),
    obj("PersistentVolume", "attached", "", status={"phase": "Released"}),
    obj("PersistentVolume", "bound", "", status={"phase": "Bound"}),
    obj("PersistentVolume", "odd", "", status={}),
    obj(
        "storage.k8s.io/v1/VolumeAttachment",
        "one",
        "",
        spec={"attacher": "x", "nodeName": "n", "source": {"persistentVolumeName": "attached"}},
    ),
    obj("batch/v1/Job", "done", spec={"template": {"spec": pod_spec()}}, status={"conditions": [COMPLETE]}),
    obj("batch/v1/Job", "running", spec={"template": {"spec": pod_spec()}}, status={"active": 1}),
)

# Kind, the expression with `object`, and of each object what comes of it: true, false, or why it has no answer.
ROWS: list[tuple[str, str, dict[str, bool | str]]] = [
    ("ConfigMap", "skoupa_unused(object)", {"settings": False, "left-over": True, "kube-root-ca.crt": False}),
    ("Secret", "skoupa_unused(object)", {"certificate": False, "forgotten": True}),
    ("PersistentVolumeClaim", "skoupa_unused(object)", {"data": False, "parked": False, "old": True}),
    ("PersistentVolumeClaim", "skoupa_unmounted(object)", {"data": False, "parked": True, "old": True}),
    (
        "PersistentVolume",
        "skoupa_unmounted(object)",
        {
            "waiting": True,
            "reserved": False,
            "reserved-for-nobody": True,
            "released": True,
            "attached": False,
            "bound": False,
            "odd": "can't be understood",
        },
    ),
    (
        "PersistentVolume",
        "skoupa_unused(object)",
        {"waiting": True, "reserved": False, "reserved-for-nobody": True, "released": True, "bound": False},
    ),
    (
        "Pod",
        "skoupa_behind_service(object)",
        {"web": True, "worker": False, "listed": True, "ended": False},
    ),
    ("Job", "skoupa_finished(object)", {"done": True, "running": False}),
    ("Pod", "skoupa_finished(object)", {"web": False, "ended": True}),
    ("ConfigMap", "skoupa_finished(object)", {"settings": "configmaps do not end"}),
    (
        "ConfigMap",
        "skoupa_unmounted(object)",
        {"settings": "configmaps are not mounted: match PersistentVolume"},
    ),
    ("ConfigMap", "skoupa_behind_service(object)", {"settings": "configmaps are behind no Service"}),
    ("Pod", "skoupa_unused(object)", {"web": "ask skoupa_behind_service"}),
    ("Deployment", "skoupa_unused(object)", {"parked": "are there for themselves"}),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool() -> AsyncIterator[Pool]:
    async with Pool(clock=SystemClock()) as shared:
        yield shared


def answers(found: Any) -> bool | str:
    if found.outcome == "unclear":
        return str(found.why)
    return bool(found.outcome == "claimed")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("kind", "expression", "expected"), ROWS)
async def test_every_row_has_the_same_answer_in_both_languages(
    pool: Pool, language: Language, kind: str, expression: str, expected: dict[str, bool | str]
) -> None:
    town = Town(OBJECTS, pool=pool)
    found = await town.found(expression, kind, language=language)
    for name, wanted in expected.items():
        said = answers(found[name])
        assert said == wanted if isinstance(wanted, bool) else wanted in str(said), (name, said)


@pytest.mark.parametrize(
    ("kind", "name", "users"),
    [
        ("ConfigMap", "settings", ["Deployment shop/parked"]),
        ("ConfigMap", "left-over", []),
        ("Secret", "certificate", ["Ingress shop/web"]),
        ("PersistentVolumeClaim", "data", ["Pod shop/web"]),
    ],
)
async def test_users_are_told_by_kind_namespace_and_name(
    pool: Pool, kind: str, name: str, users: list[str]
) -> None:
    town = Town(OBJECTS, pool=pool)
    listed = ", ".join(f"'{user}'" for user in users)
    in_cel = await town.found(f"skoupa_used_by(object) == [{listed}]", kind, language="CEL")
    assert in_cel[name].outcome == "claimed"
    count = f"length(skoupa_used_by(object)) == `{len(users)}`"
    first = f" && skoupa_used_by(object)[0] == '{users[0]}'" if users else ""
    in_jmespath = await town.found(count + first, kind, language="JMESPath")
    assert in_jmespath[name].outcome == "claimed"


async def test_what_is_never_garbage_has_a_reason_among_its_users_so_that_no_empty_list_lies(
    pool: Pool,
) -> None:
    town = Town(OBJECTS, pool=pool)
    found = await town.found("skoupa_used_by(object).size() == 0", "ConfigMap", language="CEL")
    assert {name for name, one in found.items() if one.outcome == "claimed"} == {"left-over"}


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_kind_that_could_use_it_and_was_not_read_leaves_the_unused_unclear(
    pool: Pool, language: Language
) -> None:
    town = Town(OBJECTS, pool=pool)
    town.cluster.faults.answer(403, when=asking(verb="list", kind="deployments.apps"), times=None)
    found = await town.found("skoupa_unused(object)", "ConfigMap", language=language)
    assert found["left-over"].outcome == "unclear"
    assert "deployments.apps" in str(found["left-over"].why)
    # What is known to be used is known, whatever was not read.
    assert found["kube-root-ca.crt"].outcome == "left"
