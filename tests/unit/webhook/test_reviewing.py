"""Who writes a policy is asked for the right to delete what it means, all of it; nothing can be slipped past the question."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from skoupa.errors import TimedOut, Unreachable
from skoupa.kube.kinds import Discovery
from skoupa.kube.reviews import Ask, Caller
from skoupa.policy.policies import Clauses
from skoupa.policy.problems import Problem
from skoupa.settings import PolicySettings, Settings
from skoupa.sim.state.kinds import BUILT_IN
from skoupa.webhook.reviewing import Reviewer

pytestmark = pytest.mark.unit

JOBS = {"any": [{"resources": {"kinds": ["Job"], "names": ["old-*"]}}]}


class Desk:
    """A reviewer to whom the writer may delete `allowed`; Skoupa itself may do everything."""

    def __init__(
        self,
        *allowed: str,
        strict: bool = True,
        kinds: bool = True,
        answers: bool = True,
        compiles: bool = True,
        **policies: Any,
    ) -> None:
        self.asked: list[str] = []
        self._allowed = allowed
        self._kinds = kinds
        self._answers = answers
        self._compiles = compiles
        settings = Settings(policies=PolicySettings(require_delete_right=strict, **policies))
        self._reviewer = Reviewer(
            settings=settings, discovery=self._discovery, check=self._check, may=self._may
        )

    async def _discovery(self) -> Discovery:
        if not self._kinds:
            raise Unreachable("no kinds today", advice="wait")
        return Discovery(resources=BUILT_IN)

    async def _check(self, _: Clauses) -> tuple[Problem, ...]:
        if not self._compiles:
            raise TimedOut("no processes today", advice="wait")
        return ()

    async def _may(self, caller: Caller | None, ask: Ask) -> bool:
        if not self._answers:
            raise Unreachable("no reviews today", advice="wait")
        if caller is None:
            return True
        self.asked.append(ask.resource)
        return ask.verb == "delete" and ask.resource in self._allowed

    async def says(
        self,
        match: Any,
        *,
        old: Any = None,
        kind: str = "ClusterCleanupPolicy",
        context: Any = (),
        labels: Any = None,
        **annotations: str,
    ) -> tuple[str, tuple[str, ...]]:
        """The refusal and the warnings."""
        body = {
            "apiVersion": "kyverno.io/v2",
            "kind": kind,
            "metadata": {"name": "tidy", "annotations": annotations, "labels": labels or {}},
            "spec": {"schedule": "0 1 * * *", "match": match, "context": list(context)},
        }
        request = {
            "uid": "1",
            "operation": "CREATE",
            "namespace": "shop" if kind == "CleanupPolicy" else "",
            "object": body,
            "userInfo": {"username": "bob"},
            "oldObject": old and {**body, "metadata": {"name": "tidy", **old}},
        }
        answer = msgspec.json.decode(await self._reviewer.answer(msgspec.json.encode({"request": request})))
        response = answer["response"]
        return response.get("status", {}).get("message", ""), tuple(response.get("warnings", ()))


def kinds(*names: str, **more: Any) -> dict[str, Any]:
    return {"any": [{"resources": {"kinds": list(names), **more}}]}


async def test_every_kind_of_a_wildcard_is_asked_about_not_the_first_few() -> None:
    deletable = [one for one in BUILT_IN if one.may("list", "delete")]
    allowed = {one.qualified for one in deletable} - {"roles.rbac.authorization.k8s.io"}
    refusal, _ = await Desk(*allowed).says(kinds("*", names=["zz-*"]))
    assert "you may not delete roles.rbac.authorization.k8s.io in all namespaces" in refusal
    _, warnings = await Desk(*allowed, strict=False).says(kinds("*", names=["zz-*"]))
    assert any("roles.rbac.authorization.k8s.io" in one for one in warnings)


async def test_a_wildcard_means_kinds_to_come_too() -> None:
    allowed = {one.qualified for one in BUILT_IN}
    refusal, _ = await Desk(*allowed).says(kinds("*"))
    assert "you may not delete every kind in all namespaces" in refusal
    assert (await Desk(*allowed, "*.*").says(kinds("*")))[0] == ""


async def test_a_kind_that_does_not_exist_yet_is_asked_about() -> None:
    assert "every kind" in (await Desk("jobs.batch").says(kinds("Wigdet")))[0]
    assert "every kind of shop.io" in (await Desk("jobs.batch").says(kinds("shop.io/v1/Order")))[0]
    assert (await Desk("*.shop.io").says(kinds("shop.io/v1/Order")))[0] == ""


async def test_what_could_not_be_asked_is_refused_where_the_right_is_required() -> None:
    silent = Desk("jobs.batch", answers=False)
    assert "rights could not be asked for" in (await silent.says(JOBS))[0]
    lenient = Desk("jobs.batch", answers=False, strict=False)
    refusal, warnings = await lenient.says(JOBS)
    assert (refusal, len(warnings)) == ("", 1)
    blind = Desk("jobs.batch", kinds=False)
    assert "you may not delete every kind" in (await blind.says(JOBS))[0]
    assert (await Desk("*.*", kinds=False).says(JOBS))[0] == ""


async def test_a_missing_right_is_a_warning_where_it_is_not_required() -> None:
    refusal, (warning,) = await Desk(strict=False).says(JOBS)
    assert refusal == ""
    assert warning == "you may not delete jobs.batch in all namespaces, and this policy would for you"
    assert (await Desk("jobs.batch").says(JOBS)) == ("", ())


async def test_whoever_writes_a_policy_of_whole_kinds_is_warned() -> None:
    refusal, (warning,) = await Desk("secrets", "deployments.apps").says(kinds("Secret", "Deployment"))
    assert refusal == ""
    assert "nothing narrows it, so that every Secret and Deployment in the cluster goes" in warning


async def test_many_missing_rights_are_named_briefly() -> None:
    refusal, _ = await Desk().says(kinds("*"))
    assert refusal.count("delete ") < 8
    assert " more, and this policy would for you" in refusal


async def test_whoever_may_write_a_policy_may_stop_it_but_not_let_it_go_on() -> None:
    running: dict[str, Any] = {"annotations": {}}
    stopped = {"annotations": {"skoupa.dev/suspend": "true"}}
    assert (await Desk().says(JOBS, old=running, **{"skoupa.dev/suspend": "true"}))[0] == ""
    assert "may not delete jobs.batch" in (await Desk().says(JOBS, old=stopped))[0]


async def test_what_skoupa_itself_notes_on_a_policy_is_not_looked_at() -> None:
    desk, noted = Desk(), {"skoupa.dev/next-execution-time": "2026-01-01T01:00:00Z"}
    assert await desk.says(JOBS, old={"annotations": {}}, **noted) == ("", ())
    assert await desk.says(JOBS, old={"annotations": noted}) == ("", ())
    assert desk.asked == []
    await desk.says(JOBS, old={"annotations": {"skoupa.dev/suspend": "true"}}, **noted)
    assert desk.asked == ["jobs.batch"]


@pytest.mark.parametrize("open_to", [False, True])
async def test_secrets_that_a_policy_of_a_namespace_asks_for_are_warned_of_once_and_not_where_they_are_open(
    *, open_to: bool
) -> None:
    call = {"name": "login", "apiCall": {"urlPath": "/api/v1/namespaces/shop/secrets/login"}}
    desk = Desk("jobs.batch", allow_secrets_in_namespaced_policies=open_to)
    refusal, warnings = await desk.says(JOBS, kind="CleanupPolicy", context=[call])
    assert refusal == ""
    assert [one for one in warnings if "Secrets" in one] == ([] if open_to else list(warnings))
    assert len(warnings) == (not open_to)


async def test_who_suspends_a_policy_by_a_label_is_told_that_nobody_looks_at_it() -> None:
    desk = Desk("jobs.batch")
    refusal, (warning,) = await desk.says(JOBS, old={"labels": {}}, labels={"skoupa.dev/suspend": "true"})
    assert refusal == ""
    assert warning.startswith("metadata.labels[skoupa.dev/suspend]: nobody looks at that label")
    assert "write it under annotations" in warning
    assert await desk.says(JOBS, old={"labels": {}}, labels={"team": "a"}) == ("", ())


async def test_a_write_that_suspends_is_not_refused_for_another_annotation_and_one_that_does_not_is() -> None:
    before: dict[str, Any] = {"annotations": {}}
    observe, suspend = {"skoupa.dev/observe": "soon"}, {"skoupa.dev/suspend": "true"}
    refusal, (warning, *_) = await Desk("jobs.batch").says(JOBS, old=before, **observe, **suspend)
    assert refusal == ""
    assert "skoupa.dev/observe" in warning
    assert "skoupa.dev/observe" in (await Desk("jobs.batch").says(JOBS, old=before, **observe))[0]


@pytest.mark.parametrize("strict", [False, True])
async def test_a_policy_whose_expressions_nobody_can_compile_now_is_let_in_with_a_word_about_it(
    *, strict: bool
) -> None:
    refusal, (warning,) = await Desk("jobs.batch", strict=strict, compiles=False).says(JOBS)
    assert refusal == ""
    assert warning == "whether its expressions can be meant could not be asked: no processes today"
    assert "may not delete" in (await Desk(compiles=False).says(JOBS))[0]
