"""A notice ahead of a deletion, and what its reader does about it."""

from __future__ import annotations

import shlex

import pytest

from harness.controlplane import ControlPlane
from tests.cluster.commands import skoupa
from tests.cluster.ttl.objects import People
from tests.cluster.ttl.running import Yard

pytestmark = pytest.mark.cluster


async def test_a_notice_says_how_to_keep_the_object_and_that_keeps_it(
    plane: ControlPlane, people: People, yard: Yard
) -> None:
    process = await yard.started(ttl__noticeBefore="2h")
    made = await people.make("web", "1h")
    await people.make("other", "1h")
    event = await people.event("web", "SkoupaNotice")
    assert event["type"] == "Warning"
    assert event["involvedObject"]["uid"] == made["metadata"]["uid"]
    told, _, command = event["message"].partition(" To keep it: ")
    assert told.startswith("will be deleted at ")
    assert "cleanup.kyverno.io/ttl=1h, counted from " in told
    await people.event("other", "SkoupaNotice")
    assert await process.metric('skoupa_notices_total{kind="configmaps"}') == 2

    program, *words = shlex.split(command)
    assert program == "skoupa"
    answer = await skoupa(*words, kubeconfig=plane.kubeconfig)
    assert answer.code == 0, answer.err

    for name in ("web", "other"):
        await people.label(name, ttl="1s")
    held = await process.says("held", name="web", namespace=people.namespace)
    assert held["why"] == "kept by its label skoupa.dev/keep=true"
    await people.gone("other")
    assert await people.there("web")
