"""Skoupa's own functions in runs: what is read and how often, what a policy of a namespace hears, and what has no answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from skoupa.clock import SystemClock
from skoupa.errors import BadExpression
from skoupa.expr.cel.pool import Pool
from skoupa.kube.discovery import discover
from skoupa.kube.resources import CONFIG_MAPS
from skoupa.sim.faults import asking
from tests.unit.runs.using.town import Language, Town, obj, pod_spec, workload

pytestmark = [pytest.mark.unit, pytest.mark.asyncio(loop_scope="module")]

LANGUAGES: tuple[Language, ...] = ("JMESPath", "CEL")
UNUSED = "skoupa_unused(object)"
ELSEWHERE = "something outside of the namespace"
DRIVER = {"driver": "disk.example", "nodeStageSecretRef": {"name": "driver", "namespace": "shop"}}
OBJECTS = (
    obj("Namespace", "shop", ""),
    obj("Namespace", "lab", ""),
    workload("apps/v1/Deployment", "web", config_map="settings"),
    obj("ConfigMap", "settings"),
    obj("ConfigMap", "left-over"),
    obj("ConfigMap", "of-the-lab", "lab"),
    obj("Secret", "driver"),
    obj("Secret", "forgotten"),
    obj("PersistentVolume", "disk", "", spec={"csi": DRIVER}, status={"phase": "Bound"}),
)
both = pytest.mark.parametrize("language", LANGUAGES)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool() -> AsyncIterator[Pool]:
    async with Pool(clock=SystemClock()) as shared:
        yield shared


async def test_nothing_is_looked_for_where_no_condition_asks(pool: Pool) -> None:
    town = Town(OBJECTS, pool=pool)
    await town.found("object.metadata.name == 'settings'", "ConfigMap", language="CEL")
    await town.found("object.metadata.name == 'settings'", "ConfigMap", language="JMESPath")
    evaluation = await town.evaluation(
        "true", ["ConfigMap"], language="JMESPath", conditions={"all": _all("nobody")}
    )
    assert {one.outcome for one in (await town.asked(evaluation, "ConfigMap")).values()} == {"left"}
    assert town.looks.made == 0


def _all(name: str) -> list[dict[str, Any]]:
    return [
        {"key": "{{ target.metadata.name }}", "operator": "Equals", "value": name},
        {"key": "{{ skoupa_unused(target) }}", "operator": "Equals", "value": True},
    ]


@both
async def test_a_run_looks_once_for_all_its_kinds_and_one_that_is_due_with_it_shares_that(
    pool: Pool, language: Language
) -> None:
    town = Town(OBJECTS, pool=pool)
    kinds = [(await discover(town.client)).resolve(kind) for kind in ("ConfigMap", "Secret")]
    runs = [await town.evaluation(UNUSED, ["ConfigMap", "Secret"], language=language) for _ in range(2)]
    for run in runs:
        run.expect(kinds)
        for kind in ("ConfigMap", "Secret"):
            assert "claimed" in {one.outcome for one in (await town.asked(run, kind)).values()}
    assert town.looks.made == 1


@both
async def test_who_asks_anew_is_not_answered_by_an_older_look(pool: Pool, language: Language) -> None:
    town = Town(OBJECTS, pool=pool)
    first = await town.evaluation(UNUSED, ["ConfigMap"], language=language)
    assert (await town.asked(first, "ConfigMap"))["left-over"].outcome == "claimed"
    await town.client.create(
        (await discover(town.client)).resolve("Deployment"),
        workload("apps/v1/Deployment", "late", config_map="left-over"),
        namespace="shop",
    )
    again = await town.evaluation(UNUSED, ["ConfigMap"], language=language, anew=True)
    assert (await town.asked(again, "ConfigMap"))["left-over"].outcome == "left"
    assert town.looks.made == 2


@both
async def test_metadata_is_enough_for_all_but_whether_it_has_finished(pool: Pool, language: Language) -> None:
    town = Town(OBJECTS, pool=pool)
    for function in ("skoupa_unused", "skoupa_unmounted", "skoupa_behind_service"):
        assert not (
            await town.evaluation(f"{function}(object)", ["ConfigMap"], language=language)
        ).needs_bodies
    assert (await town.evaluation("skoupa_finished(object)", ["Pod"], language=language)).needs_bodies


@both
async def test_an_object_that_changed_or_came_meanwhile_has_no_answer_until_it_is_asked_again(
    pool: Pool, language: Language
) -> None:
    town = Town(OBJECTS, pool=pool, still=False)
    run = await town.evaluation(UNUSED, ["ConfigMap"], language=language)
    assert (await town.asked(run, "ConfigMap"))["left-over"].outcome == "claimed"
    patch = {"metadata": {"labels": {"a": "b"}}}
    await town.client.merge_patch(CONFIG_MAPS, "left-over", patch, namespace="shop")
    await town.client.create(CONFIG_MAPS, {"metadata": {"name": "new"}}, namespace="shop")
    found = await town.asked(run, "ConfigMap")
    assert "it changed while it was looked for who uses it" in str(found["left-over"].why)
    assert "it was not there" in str(found["new"].why)
    assert run.unanswered
    again = await town.evaluation(UNUSED, ["ConfigMap"], language=language, anew=True)
    found = await town.asked(again, "ConfigMap")
    assert found["left-over"].outcome == "claimed"
    # Who needs it may have come after its list was read.
    assert "it was made while it was looked for who uses it" in str(found["new"].why)


@both
async def test_a_look_that_fails_leaves_all_unclear_and_is_tried_again(
    pool: Pool, language: Language
) -> None:
    town = Town(OBJECTS, pool=pool)
    town.cluster.faults.unreachable(when=asking(verb="list", kind="deployments.apps"))
    run = await town.evaluation(UNUSED, ["ConfigMap"], language=language)
    found = await town.asked(run, "ConfigMap")
    assert {one.outcome for one in found.values()} == {"unclear"}
    assert run.unanswered
    again = await town.evaluation(UNUSED, ["ConfigMap"], language=language)
    assert (await town.asked(again, "ConfigMap"))["left-over"].outcome == "claimed"


async def test_a_list_that_a_weak_server_refuses_is_worth_another_try(pool: Pool) -> None:
    town = Town(OBJECTS, pool=pool)
    town.cluster.faults.answer(500, when=asking(verb="list", kind="deployments.apps"), times=None)
    run = await town.evaluation(UNUSED, ["ConfigMap"], language="JMESPath")
    found = await town.asked(run, "ConfigMap")
    assert found["left-over"].outcome == "unclear"
    assert run.unanswered
    town.cluster.faults.clear()
    town.cluster.faults.answer(403, when=asking(verb="list", kind="deployments.apps"), times=None)
    run = await town.evaluation(UNUSED, ["ConfigMap"], language="JMESPath", anew=True)
    assert (await town.asked(run, "ConfigMap"))["left-over"].outcome == "unclear"
    # A right that is not there does not come by itself.
    assert not run.unanswered


async def test_no_default_stands_in_for_an_answer(pool: Pool) -> None:
    town = Town(OBJECTS, pool=pool)
    town.cluster.faults.answer(403, when=asking(verb="list", kind="deployments.apps"), times=None)
    entry = {"name": "free", "variable": {"jmesPath": "skoupa_unused(target)", "default": True}}
    found = await town.found("free", "ConfigMap", language="JMESPath", context=[entry])
    assert found["left-over"].outcome == "unclear"
    assert "deployments.apps" in str(found["left-over"].why)
    found = await town.found("skoupa_unused(object) || `true`", "ConfigMap", language="JMESPath")
    assert found["left-over"].outcome == "unclear"


async def test_a_variable_of_the_context_may_ask(pool: Pool) -> None:
    town = Town(OBJECTS, pool=pool)
    entry = {"name": "users", "variable": {"jmesPath": "skoupa_used_by(target)"}}
    found = await town.found("length(users) == `1`", "ConfigMap", language="JMESPath", context=[entry])
    assert (found["settings"].outcome, found["left-over"].outcome) == ("claimed", "left")


@both
@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
async def test_a_policy_of_a_namespace_hears_the_whole_truth_as_true_or_false(
    pool: Pool, language: Language, kind: str
) -> None:
    town = Town(OBJECTS, pool=pool)
    found = await town.found(UNUSED, kind, language=language, namespace="shop")
    expected = {"ConfigMap": {"left-over"}, "Secret": {"forgotten"}}[kind]
    assert {name for name, one in found.items() if one.outcome == "claimed"} == expected
    assert {one.outcome for one in found.values()} == {"claimed", "left"}


async def test_a_policy_of_a_namespace_is_told_no_names_of_users_elsewhere(pool: Pool) -> None:
    town = Town(OBJECTS, pool=pool)
    whole = await town.found("skoupa_used_by(object) == ['PersistentVolume disk']", "Secret", language="CEL")
    assert whole["driver"].outcome == "claimed"
    own = await town.found(
        f"skoupa_used_by(object) == ['{ELSEWHERE}']", "Secret", language="CEL", namespace="shop"
    )
    assert own["driver"].outcome == "claimed"


async def test_errors_of_a_policy_of_a_namespace_name_kinds_and_no_objects(pool: Pool) -> None:
    town = Town(OBJECTS, pool=pool)
    refused = "pods is forbidden: User me cannot list it"
    town.cluster.faults.answer(403, when=asking(verb="list", kind="pods"), times=None, message=refused)
    for language in LANGUAGES:
        for kind, name in (("ConfigMap", "left-over"), ("Secret", "forgotten")):
            found = await town.found(UNUSED, kind, language=language, namespace="shop")
            assert "pods (no permission to list them)" in str(found[name].why), language


@both
async def test_they_are_about_the_object_that_is_judged_and_no_other(pool: Pool, language: Language) -> None:
    town = Town(OBJECTS, pool=pool)
    other = town.cluster.objects(CONFIG_MAPS)[0]["metadata"]["uid"]
    written = {
        "CEL": f"{{'metadata': {{'uid': '{other}x'}}}}",
        "JMESPath": f"{{metadata: {{uid: '{other}x'}}}}",
    }
    found = await town.found(f"skoupa_unused({written[language]})", "ConfigMap", language=language)
    assert {one.outcome for one in found.values()} == {"unclear"}
    assert "about the object that is judged, and no other" in str(found["settings"].why)
    found = await town.found("skoupa_unused(object.metadata)", "ConfigMap", language=language)
    assert "hand over the one that is judged" in str(found["settings"].why)


async def test_a_pod_that_is_there_but_not_readable_leaves_claims_unclear(pool: Pool) -> None:
    claim = obj("PersistentVolumeClaim", "data", status={"phase": "Bound"})
    town = Town((*OBJECTS, claim, obj("Pod", "web", spec=pod_spec(claim="data"))), pool=pool)
    town.cluster.faults.answer(403, when=asking(verb="list", kind="pods"), times=None)
    found = await town.found("skoupa_unmounted(object)", "PersistentVolumeClaim", language="JMESPath")
    assert found["data"].outcome == "unclear"


async def test_a_name_that_is_almost_right_is_told_the_nearest(pool: Pool) -> None:
    town = Town(OBJECTS, pool=pool)
    for language in LANGUAGES:
        with pytest.raises(BadExpression, match="skoupa_unused"):
            await town.evaluation("skoupa_unsed(object)", ["ConfigMap"], language=language)


@both
async def test_what_only_a_profile_says_is_used_stays_and_one_that_is_not_understood_leaves_no_answer(
    pool: Pool, language: Language
) -> None:
    pointer = {"path": "spec.dataset", "kind": "ConfigMap", "namespace": "shop"}
    training = obj("example.com/v1/Training", "night", "lab", spec={"dataset": "left-over"})
    for kind, outcomes in (("ConfigMap", {"left"}), ("v1/ConfigMap", {"unclear"})):
        spec = {"kind": "example.com/Training", "uses": [{**pointer, "kind": kind}]}
        profile = obj("skoupa.dev/v1alpha1/KindProfile", "training", "", spec=spec)
        town = Town((*OBJECTS, training, profile), pool=pool)
        found = await town.found(UNUSED, "ConfigMap", language=language)
        assert {found["left-over"].outcome} == outcomes


SCOPE = {"apiVersion": "v1", "kind": "ConfigMap", "name": "left-over", "namespace": "shop"}


@both
@pytest.mark.parametrize(
    "report",
    [
        obj("wgpolicyk8s.io/v1alpha2/PolicyReport", "one", scope=SCOPE),
        obj("wgpolicyk8s.io/v1alpha2/PolicyReport", "left-over", results=[{"resources": [SCOPE]}]),
        obj("wgpolicyk8s.io/v1alpha2/ClusterPolicyReport", "one", "", results=[{"resources": [SCOPE]}]),
        obj("reports.kyverno.io/v1/EphemeralReport", "one", spec={"owner": SCOPE}),
        obj("openreports.io/v1alpha1/Report", "one", scope=SCOPE),
        obj(
            "aquasecurity.github.io/v1alpha1/ConfigAuditReport",
            "one",
            report={"checks": [{"messages": ["ConfigMap 'left-over' in 'shop' namespace stores secrets"]}]},
        ),
    ],
    ids=lambda report: str(report["kind"]),
)
async def test_a_report_uses_nothing_of_what_it_names(
    pool: Pool, language: Language, report: dict[str, Any]
) -> None:
    found = await Town((*OBJECTS, report), pool=pool).found(UNUSED, "ConfigMap", language=language)
    assert {name for name, one in found.items() if one.outcome == "claimed"} == {"left-over"}


@both
async def test_reports_that_may_not_be_read_hold_nothing(pool: Pool, language: Language) -> None:
    report = obj("wgpolicyk8s.io/v1alpha2/PolicyReport", "one", scope=SCOPE)
    town = Town((*OBJECTS, report), pool=pool)
    town.cluster.faults.answer(403, when=asking(verb="list", kind="policyreports.wgpolicyk8s.io"), times=None)
    found = await town.found(UNUSED, "ConfigMap", language=language)
    assert found["left-over"].outcome == "claimed"
