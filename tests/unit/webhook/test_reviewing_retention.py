"""Retention policies and profiles are refused with what to write, and who writes one hears what it means and who lacks a right."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from skoupa import names
from skoupa.errors import Unreachable
from skoupa.kube.kinds import Discovery
from skoupa.kube.reviews import Ask, Caller
from skoupa.policy.policies import Clauses
from skoupa.policy.problems import Problem
from skoupa.policy.retention.profiles import Profile
from skoupa.settings import Features, PolicySettings, Settings
from skoupa.sim.state.kinds import BUILT_IN
from skoupa.webhook.reviewing import Reviewer

pytestmark = pytest.mark.unit

OFF = "features.retention is off here, so that this does nothing until it is switched on"


def kinds(*written: str, **more: Any) -> dict[str, Any]:
    return {"any": [{"resources": {"kinds": list(written), **more}}]}


JOBS = {"match": kinds("Job"), "after": {"finished": "1h"}}


class Desk:
    """A reviewer to whom the writer may delete `allowed`; Skoupa itself may do all but `denied`."""

    def __init__(
        self,
        *allowed: str,
        denied: tuple[str, ...] = (),
        strict: bool = False,
        features: Features | None = None,
        wrong: str = "",
        reachable: bool = True,
    ) -> None:
        self._allowed = allowed
        self._denied = denied
        self._wrong = wrong
        self._reachable = reachable
        self._reviewer = Reviewer(
            settings=Settings(
                policies=PolicySettings(require_delete_right=strict),
                features=features or Features(retention=True),
            ),
            discovery=self._discovery,
            check=self._check,
            may=self._may,
            check_profile=self._check_profile,
        )

    async def _discovery(self) -> Discovery:
        if not self._reachable:
            raise Unreachable("no kinds today", advice="wait")
        return Discovery(resources=BUILT_IN)

    async def _check(self, _: Clauses) -> tuple[Problem, ...]:
        return ()

    async def _check_profile(self, _: Profile) -> tuple[Problem, ...]:
        found = Problem(path="spec.finished", what=self._wrong, instead="mend it")
        return (found,) if self._wrong else ()

    async def _may(self, caller: Caller | None, ask: Ask) -> bool:
        if caller is None:
            return f"{ask.verb} {ask.resource}" not in self._denied and ask.verb != "*"
        return ask.verb == "delete" and ask.resource in self._allowed

    async def says(
        self,
        spec: Any,
        *,
        kind: str = "RetentionPolicy",
        old: Any = None,
        marks: dict[str, str] | None = None,
        old_marks: dict[str, str] | None = None,
    ) -> tuple[str, tuple[str, ...]]:
        """The refusal and the warnings. `marks` are its annotations."""
        namespace = "ci" if kind == "RetentionPolicy" else ""
        head = {"apiVersion": "skoupa.dev/v1alpha1", "kind": kind}
        metadata = {"name": "tidy", **({"namespace": namespace} if namespace else {})}
        request = {
            "uid": "1",
            "namespace": namespace,
            "object": {**head, "metadata": {**metadata, "annotations": marks or {}}, "spec": spec},
            "oldObject": old
            and {**head, "metadata": {**metadata, "annotations": old_marks or {}}, "spec": old},
            "userInfo": {"username": "bob"},
        }
        answer = msgspec.json.decode(await self._reviewer.answer(msgspec.json.encode({"request": request})))
        response = answer["response"]
        return response.get("status", {}).get("message", ""), tuple(response.get("warnings", ()))


async def test_what_can_not_be_meant_is_refused_with_what_to_write() -> None:
    desk = Desk("jobs.batch")
    refusal, _ = await desk.says({"after": {"finished": "1.5h"}})
    assert refusal.startswith("spec.after.finished:")
    refusal, _ = await desk.says({"after": {"unused": "1h"}, "match": kinds("Namespace")})
    assert "is in no namespace" in refusal
    assert "write a ClusterRetentionPolicy" in refusal
    assert await desk.says(JOBS) == ("", ())


async def test_who_writes_a_policy_hears_what_it_may_not_mean() -> None:
    _, (unknown,) = await Desk("jobs.batch").says({**JOBS, "match": kinds("Job", "Wigdet")})
    assert '"Wigdet"' in unknown
    _, (endless,) = await Desk("configmaps").says({**JOBS, "match": kinds("ConfigMap")})
    assert "no ConfigMap ever finishes" in endless
    _, (working,) = await Desk("deployments.apps").says({**JOBS, "match": kinds("Deployment")})
    assert "deployments.apps are there for themselves" in working
    _, (unnamed,) = await Desk("*.*").says({"after": {"unused": "1h"}})
    assert unnamed.startswith("spec.match: it names no kinds, so that it takes all that have rules")
    _, (blind,) = await Desk("jobs.batch", reachable=False).says(JOBS)
    assert "which kinds there are could not be asked" in blind


async def test_rights_that_skoupa_lacks_are_told() -> None:
    desk = Desk("jobs.batch", denied=("patch jobs.batch", "watch jobs.batch"))
    _, (said,) = await desk.says(JOBS)
    assert said == (
        "Skoupa may not watch jobs.batch in ci, patch jobs.batch in ci: those stay until a role of it says so"
    )


async def test_who_may_not_delete_what_it_means_is_warned_or_refused_where_that_is_required() -> None:
    _, (said,) = await Desk().says(JOBS)
    assert said == "you may not delete jobs.batch in ci, and this policy would for you"
    refusal, _ = await Desk(strict=True).says(JOBS)
    assert refusal.startswith(said)
    assert (await Desk("jobs.batch", strict=True).says(JOBS))[0] == ""
    refusal, _ = await Desk("jobs.batch", strict=True).says({**JOBS, "match": kinds("Job", "Wigdet")})
    assert "every kind in ci" in refusal


@pytest.mark.parametrize(
    "match",
    [
        None,
        {"any": [{"resources": {"names": ["old-*"]}}]},
        {"any": [{"resources": {"kinds": ["Job"]}}, {"resources": {"names": ["old-*"]}}]},
    ],
)
async def test_who_names_no_kinds_must_be_allowed_to_delete_every_kind(match: Any) -> None:
    spec = {"after": {"unused": "1h"}, **({"match": match} if match else {})}
    refusal, _ = await Desk("jobs.batch", strict=True).says(spec)
    assert "you may not delete every kind in ci" in refusal
    assert (await Desk("*.*", strict=True).says(spec))[0] == ""


async def test_filters_that_must_all_fit_are_about_the_kinds_that_one_of_them_names() -> None:
    match = {"all": [{"resources": {"kinds": ["Job"]}}, {"resources": {"names": ["old-*"]}}]}
    assert (await Desk("jobs.batch", strict=True).says({**JOBS, "match": match})) == ("", ())


async def test_stopping_one_is_never_refused() -> None:
    wrong = {"after": {"finished": "soon"}}
    desk = Desk(strict=True)
    refusal, warnings = await desk.says({**wrong, "suspend": True}, old=wrong)
    assert refusal == ""
    assert any("spec.after.finished" in one for one in warnings)
    assert (await desk.says({**JOBS, "suspend": True}, old=JOBS))[0] == ""
    assert (await desk.says({**JOBS, "suspend": False}, old={**JOBS, "suspend": True}))[0] != ""
    # New and suspended, it is still something that nobody understands.
    assert (await desk.says({**wrong, "suspend": True}))[0] != ""


async def test_a_write_that_leaves_the_spec_alone_is_not_looked_at() -> None:
    wrong = {"after": {"finished": "soon"}}
    assert await Desk(strict=True).says(wrong, old=wrong) == ("", ())


async def test_an_annotation_that_holds_policies_back_is_looked_at() -> None:
    suspended, observed = {names.SUSPEND_ANNOTATION: "true"}, {names.OBSERVE_ANNOTATION: "24h"}
    desk = Desk(strict=True)
    refusal, _ = await desk.says(JOBS, old=JOBS, marks=observed)
    assert "write spec.suspend: true" in refusal
    assert (await desk.says(JOBS, old=JOBS, marks=suspended))[0] == ""
    wrong = {"after": {"finished": "soon"}}
    assert (await desk.says(wrong, old=wrong, marks=suspended))[0] == ""
    refusal, _ = await desk.says(JOBS, old=JOBS, old_marks=suspended)
    assert refusal.startswith("you may not delete jobs.batch in ci"), "who lets it go on lets things go"
    assert await desk.says(JOBS, old=JOBS, marks=suspended, old_marks=suspended) == ("", ())
    assert await desk.says(JOBS, old=JOBS, marks={names.NOTIFY_ANNOTATION: "team"}) == ("", ())


async def test_a_profile_is_refused_for_its_paths_and_for_its_expressions() -> None:
    spec = {"kind": "batch/Job", "uses": [{"path": "spec..x", "kind": "Secret"}]}
    refusal, _ = await Desk().says(spec, kind="KindProfile")
    assert refusal.startswith("spec.uses[0].path:")
    refusal, _ = await Desk(wrong="it does not compile").says(
        {"kind": "batch/Job", "finished": "obj"}, kind="KindProfile"
    )
    assert refusal == "spec.finished: it does not compile; mend it"
    refusal, (replaced,) = await Desk(strict=True).says(
        {"kind": "batch/Job", "finished": "true"}, kind="KindProfile"
    )
    assert refusal == ""
    assert "takes the place of what it knows" in replaced
    refusal, (unknown,) = await Desk().says({"kind": "x.io/No", "finished": "true"}, kind="KindProfile")
    assert refusal == ""
    assert 'the server has no kind "x.io/No"' in unknown


async def test_where_retention_is_off_its_writers_are_told() -> None:
    desk = Desk("jobs.batch", features=Features(retention=False))
    assert await desk.says(JOBS) == ("", (OFF,))
    refusal, _ = await desk.says({"after": {"finished": "1.5h"}})
    assert refusal


async def test_a_profile_teaches_functions_of_policies_also_where_retention_is_off() -> None:
    desk = Desk(features=Features(retention=False))
    _, (warning, *_) = await desk.says({"kind": "batch/Job", "finished": "true"}, kind="KindProfile")
    assert "no label and no retention policy goes by this" in warning
    assert "skoupa_finished and skoupa_unused in policies do" in warning


async def test_where_other_policies_do_not_run_they_are_not_looked_at() -> None:
    desk = Desk(strict=True, features=Features(retention=True, policies=False))
    spec = {"schedule": "never", "match": {}}
    body = {
        "apiVersion": "kyverno.io/v2",
        "kind": "ClusterCleanupPolicy",
        "metadata": {"name": "a"},
        "spec": spec,
    }
    request = {"request": {"uid": "1", "object": body}}
    answer = msgspec.json.decode(await desk._reviewer.answer(msgspec.json.encode(request)))
    assert answer["response"] == {"uid": "1", "allowed": True}
