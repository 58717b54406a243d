"""Expressions of a profile are about the object alone, and give a truth or a time."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa import names
from skoupa.clock import SystemClock
from skoupa.expr.cel.pool import Pool
from skoupa.policy.retention.profile_expressions import expression_problems, source_of
from skoupa.policy.retention.profiles import Profile, read_profile

pytestmark = pytest.mark.unit


def profile(**spec: Any) -> Profile:
    found = read_profile(
        {
            "apiVersion": f"{names.SKOUPA_GROUP}/v1alpha1",
            "kind": names.KIND_PROFILE_KIND,
            "metadata": {"name": "training"},
            "spec": {"kind": "example.com/Training", **spec},
        }
    ).profile
    assert found is not None
    return found


async def test_expressions_that_can_work_are_let_be_and_others_told_at_their_place() -> None:
    good = [
        {"finished": "has(object.status.endTime)"},
        {"succeeded": "object.status.phase == 'Done'", "failed": "object.status.phase == 'Broken'"},
        {"finished": "true", "finishedAt": "timestamp(object.status.endTime)"},
        {"finished": "true", "finishedAt": "object.status.start + duration('1h')"},
        {"finished": "true", "finishedAt": "has(object.a) ? object.a : object.b"},
    ]
    bad = [
        ({"finished": "object.status.phase"}, ""),
        ({"finished": "'Done'"}, "spec.finished: it answers string"),
        ({"succeeded": "true", "failed": "object.status.phase =="}, "spec.failed: line 1"),
        ({"failed": "objekt.status.phase == 'x'"}, "spec.failed"),
        ({"finished": "true", "finishedAt": "status.runs[0].end"}, "spec.finishedAt"),
        ({"finished": "true", "finishedAt": "has(object.status.endTime)"}, "spec.finishedAt: it gives no time"),
        ({"finished": "true", "finishedAt": "duration('1h')"}, "spec.finishedAt: it gives no time"),
        ({"finished": "namespaceObject.metadata.name == 'x'"}, "spec: namespaceObject is outside"),
        ({"finished": "resource.Get('v1', 'configmaps', 'a', 'b').data != null"}, "spec: resource.Get looks outside"),
        ({"finished": "time.now() > timestamp(object.status.deadline)"}, "spec.finished: time.now answers"),
        ({"finished": "true", "finishedAt": "time.now()"}, "spec.finishedAt: time.now answers"),
    ]  # fmt: skip
    async with Pool(clock=SystemClock()) as pool:

        async def problems(spec: dict[str, Any]) -> list[str]:
            found = profile(**spec)
            source = source_of(found)
            assert source is not None
            return [str(one) for one in expression_problems(found, await pool.compile(source))]

        for spec in good:
            assert await problems(spec) == []
        for spec, said in bad:
            told = await problems(spec)
            assert len(told) == bool(said), told
            assert not said or said in told[0]


def test_a_profile_of_paths_alone_has_nothing_to_compile() -> None:
    assert source_of(profile(uses=[{"path": "spec.a", "kind": "Secret"}])) is None
