"""skoupa_finished and skoupa_unused of kinds that a KindProfile teaches: what it says counts before what is shipped, and doubt keeps."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from skoupa.clock import SystemClock
from skoupa.expr.cel.pool import Pool
from skoupa.kube.discovery import discover
from skoupa.runs.using.looks import UsageLooks
from skoupa.sim.faults import asking
from tests.unit.runs.using.town import Language, Town, obj, pod_spec

pytestmark = [pytest.mark.unit, pytest.mark.asyncio(loop_scope="module")]

LANGUAGES: tuple[Language, ...] = ("JMESPath", "CEL")
both = pytest.mark.parametrize("language", LANGUAGES)
FINISHED = "skoupa_finished(object)"
COMPLETE = {"type": "Complete", "status": "True", "lastTransitionTime": "2026-01-01T01:00:00Z"}
JOB_SPEC = {"template": {"spec": pod_spec()}}
SHOP = obj("Namespace", "shop", "")
JOBS = (
    obj("batch/v1/Job", "done", spec=JOB_SPEC, status={"conditions": [COMPLETE]}),
    obj(
        "batch/v1/Job",
        "uploading",
        annotations={"example.com/uploading": "true"},
        spec=JOB_SPEC,
        status={"conditions": [COMPLETE]},
    ),
    obj("batch/v1/Job", "running", spec=JOB_SPEC, status={"active": 1}),
)
# Its controller goes on with a Job that is complete, for as long as it uploads what came of it.
UPLOADING = (
    "has(object.status.conditions) && object.status.conditions.exists(c, c.type == 'Complete' && c.status == 'True')"
    " && !(has(object.metadata.annotations) && 'example.com/uploading' in object.metadata.annotations)"
)


def profile(name: str, kind: str, **spec: Any) -> dict[str, Any]:
    return obj("skoupa.dev/v1alpha1/KindProfile", name, "", spec={"kind": kind, **spec})


def training(name: str, *, version: str = "v1", **status: Any) -> dict[str, Any]:
    return obj(f"example.com/{version}/Training", name, status=status)


TRAININGS = (training("done", phase="Done"), training("at-work", phase="Epoch"), training("odd", phase=7))
TAUGHT = profile("training", "example.com/Training", finished="object.status.phase.startsWith('Done')")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool() -> AsyncIterator[Pool]:
    async with Pool(clock=SystemClock()) as shared:
        yield shared


@both
async def test_what_the_profile_says_still_runs_has_not_finished_whatever_is_shipped(
    pool: Pool, language: Language
) -> None:
    town = Town((SHOP, *JOBS, profile("jobs", "batch/Job", finished=UPLOADING)), pool=pool)
    found = await town.found(FINISHED, "Job", language=language)
    assert {name: one.outcome for name, one in found.items()} == {
        "done": "claimed",
        "uploading": "left",
        "running": "left",
    }


@both
async def test_a_kind_that_only_a_profile_knows_ends_as_that_says(pool: Pool, language: Language) -> None:
    town = Town((SHOP, *TRAININGS, TAUGHT), pool=pool)
    found = await town.found(FINISHED, "Training", language=language)
    outcomes = {name: one.outcome for name, one in found.items()}
    assert outcomes == {"done": "claimed", "at-work": "left", "odd": "unclear"}
    assert "KindProfile/training: finished (object.status.phase.startsWith('Done'))" in str(found["odd"].why)


@both
async def test_what_has_to_stay_by_what_is_shipped_stays_also_where_a_profile_says_that_it_has_ended(
    pool: Pool, language: Language
) -> None:
    backup = obj("velero.io/v1/Backup", "nightly", status={"phase": "Completed"})
    taught = profile("backups", "velero.io/Backup", finished="object.status.phase == 'Completed'")
    for objects in ((SHOP, backup), (SHOP, backup, taught)):
        found = await Town(objects, pool=pool).found(FINISHED, "Backup", language=language)
        assert found["nightly"].outcome == "unclear"
        assert "has to stay" in str(found["nightly"].why)


@both
@pytest.mark.parametrize(
    ("profiles", "why"),
    [
        (
            [TAUGHT, profile("other", "example.com/Training", finished="false")],
            "are both about it",
        ),
        ([profile("training", "example.com/Training", finished="object.status.")], "KindProfile/training: "),
        ([profile("training", "example.com/Training", finished="false", until="x")], "is not understood"),
        ([profile("training", "v1/Training", finished="false")], "nobody knows"),
    ],
)
async def test_of_a_kind_that_is_taught_wrongly_nobody_knows_whether_it_has_ended(
    pool: Pool, language: Language, profiles: list[dict[str, Any]], why: str
) -> None:
    ended = training("ended")
    ended["status"] = {
        "conditions": [{"type": "Succeeded", "status": "True"}],
        "finishedAt": "2026-01-02T00:00:00Z",
    }
    # It has the shape of what has ended, so that without a profile it had.
    town = Town((SHOP, ended), pool=pool)
    assert (await town.found(FINISHED, "Training", language=language))["ended"].outcome == "claimed"
    town = Town((SHOP, ended, *profiles), pool=pool)
    found = await town.found(FINISHED, "Training", language=language)
    assert found["ended"].outcome == "unclear"
    assert why in str(found["ended"].why)


@both
async def test_while_profiles_cannot_be_read_nothing_has_ended_unless_they_are_waived(
    pool: Pool, language: Language
) -> None:
    town = Town((SHOP, *JOBS, TAUGHT), pool=pool)
    refused = asking(verb="list", kind="kindprofiles.skoupa.dev")
    town.cluster.faults.answer(403, when=refused, times=None)
    run = await town.evaluation(FINISHED, ["Job"], language=language)
    found = await town.asked(run, "Job")
    assert {one.outcome for one in found.values()} == {"unclear"}
    assert "what kindprofiles.skoupa.dev teach of it is not known" in str(found["done"].why)
    # A right that is not there does not come by itself.
    assert not run.unanswered
    town.looks = UsageLooks(town.client, pool=pool, ignored=("kindprofiles.skoupa.dev",), still=True)
    found = await town.found(FINISHED, "Job", language=language)
    assert (found["done"].outcome, found["running"].outcome) == ("claimed", "left")


@both
async def test_profiles_that_a_weak_server_refuses_are_worth_another_try(
    pool: Pool, language: Language
) -> None:
    town = Town((SHOP, *JOBS, TAUGHT), pool=pool)
    town.cluster.faults.answer(500, when=asking(verb="list", kind="kindprofiles.skoupa.dev"), times=None)
    nobody = {
        "JMESPath": "length(skoupa_used_by(object)) == `0`",
        "CEL": "skoupa_used_by(object).size() == 0",
    }
    for expression in (FINISHED, nobody[language]):
        run = await town.evaluation(expression, ["Job"], language=language)
        assert (await town.asked(run, "Job"))["done"].outcome == "unclear"
        assert run.unanswered
    town.cluster.faults.clear()
    run = await town.evaluation(FINISHED, ["Job"], language=language, anew=True)
    assert (await town.asked(run, "Job"))["done"].outcome == "claimed"


@both
async def test_who_asks_anew_is_not_answered_by_what_profiles_taught_before(
    pool: Pool, language: Language
) -> None:
    town = Town((SHOP, *JOBS, TAUGHT), pool=pool)
    assert (await town.found(FINISHED, "Job", language=language))["uploading"].outcome == "claimed"
    taught = profile("jobs", "batch/Job", finished=UPLOADING)
    kind = (await discover(town.client)).resolve("KindProfile")
    await town.client.create(kind, taught)
    run = await town.evaluation(FINISHED, ["Job"], language=language, anew=True)
    assert (await town.asked(run, "Job"))["uploading"].outcome == "left"


@both
async def test_a_profile_is_asked_for_a_whole_page_at_once(pool: Pool, language: Language) -> None:
    many = [training(f"t-{number:03}", phase="Done") for number in range(200)]
    town = Town((SHOP, *many, TAUGHT), pool=pool)
    run = await town.evaluation(FINISHED, ["Training"], language=language)
    before = pool.statistics.batches
    found = await town.asked(run, "Training")
    assert {one.outcome for one in found.values()} == {"claimed"}
    assert pool.statistics.batches - before <= 2


@both
async def test_in_another_version_than_the_server_prefers_nobody_knows_what_the_profile_means(
    pool: Pool, language: Language
) -> None:
    town = Town(
        (SHOP, training("new", phase="Done"), training("old", version="v1beta1", phase="Done"), TAUGHT),
        pool=pool,
    )
    discovery = await discover(town.client)
    preferred = discovery.resolve("Training")
    other = next(one for one in discovery.resources if one.kind == "Training" and one != preferred)
    run = await town.evaluation(FINISHED, ["Training"], language=language)
    found = await run.page(other, town.raw(other))
    assert [one.outcome for one in found] == ["unclear"] * len(found) != []
    assert f"match it as example.com/{preferred.version}" in str(found[0].why)


@both
async def test_whether_a_kind_is_used_that_only_a_profile_points_at_can_be_asked(
    pool: Pool, language: Language
) -> None:
    datasets = [obj("example.com/v1/Dataset", name) for name in ("read", "left-over")]
    user = obj("example.com/v1/Training", "night", spec={"dataset": "read"}, status={"phase": "Epoch"})
    pointer = {"path": "spec.dataset", "kind": "example.com/Dataset"}
    town = Town(
        (SHOP, *datasets, user, profile("training", "example.com/Training", uses=[pointer])), pool=pool
    )
    found = await town.found("skoupa_unused(object)", "Dataset", language=language)
    assert {name: one.outcome for name, one in found.items()} == {"read": "left", "left-over": "claimed"}


@both
@pytest.mark.parametrize(
    "profiles",
    [[], [profile("jobs", "batch/Job", finished="object.status.conditions[0].status")]],
    ids=["shipped", "taught"],
)
async def test_errors_of_a_policy_of_a_namespace_quote_no_value_of_the_object(
    pool: Pool, language: Language, profiles: list[dict[str, Any]]
) -> None:
    odd = obj("batch/v1/Job", "odd", spec=JOB_SPEC, status={"conditions": [{"type": 5, "status": "hunter2"}]})
    town = Town((SHOP, odd, *profiles), pool=pool)
    for namespace in ("", "shop"):
        found = (await town.found(FINISHED, "Job", language=language, namespace=namespace))["odd"]
        assert found.outcome == "unclear"
        if profiles:
            assert ("hunter2" in str(found.why)) is not bool(namespace)
        if namespace:
            assert "what it says of its end can't be understood" in str(found.why)
