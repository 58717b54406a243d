"""A notice ahead of a deletion and what its reader does about it; and what routes outside of the cluster hear."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.controlplane import ControlPlane
from skoupa.kube.resources import CONFIG_MAPS
from tests.cluster.commands import skoupa
from tests.cluster.controller.braking import all_gone, make_all
from tests.cluster.controller.objects import People
from tests.cluster.controller.running import Yard
from tests.cluster.reaching import until
from tests.unit.report.notices.receiver import Receiver, receiving

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


def routes(receiver: Receiver, tmp_path: Path, *, timeout: str = "10s", **more: Any) -> list[str]:
    """Flags for a process whose one route is that receiver."""
    route = {"name": "ops", "type": "webhook", "url": f"{receiver.url}/ops", **more}
    config = tmp_path / "notices.yaml"
    notices = {"default": "ops", "every": "1s", "timeout": timeout, "routes": [route]}
    config.write_text(yaml.safe_dump({"clusterName": "prod", "notices": notices}), encoding="utf-8")
    return ["--config", str(config)]


async def told(receiver: Receiver, what: str, namespace: str) -> list[dict[str, Any]]:
    """Items of that kind about that namespace, once there is one."""

    def found() -> list[dict[str, Any]]:
        return [
            item
            for received in receiver.requests
            for group in received.json()["namespaces"]
            if group["namespace"] == namespace
            for item in group["items"]
            if item["what"] == what
        ]

    return await until(found, what=f"a notice: {what}")


async def test_a_full_ceiling_what_went_and_what_is_stuck_are_told_to_the_route(
    people: People, running: Yard, tmp_path: Path
) -> None:
    async with receiving() as receiver:
        await running.started(
            flags=routes(receiver, tmp_path), brakes__namespacePerMinute="5", stuckAfter="2s"
        )
        await people.make("slow", "1s", finalizers=["example.com/slow"])
        (stuck,) = await told(receiver, "stuck", people.namespace)
        assert (stuck["kind"], stuck["name"]) == ("configmaps", "slow")
        assert "example.com/slow" in stuck["why"]
        await make_all(people, 10, "1s")
        (braked,) = await told(receiver, "braked", people.namespace)
        assert braked["kind"] == "brakes.skoupa.dev"
        assert braked["name"] == f"ceiling-namespace-{people.namespace}-per-minute"
        assert "5 deletions in the namespace" in braked["why"]
        assert braked["release"] == f"skoupa brakes release {braked['name']}"
        deleted = await told(receiver, "deleted", people.namespace)
        assert all(item["uid"] and "cleanup.kyverno.io/ttl=1s" in item["why"] for item in deleted)
        await people.client.merge_patch(
            CONFIG_MAPS, "slow", {"metadata": {"finalizers": None}}, namespace=people.namespace
        )


async def test_a_backlog_of_a_first_start_is_told_with_its_number(
    people: People, running: Yard, tmp_path: Path
) -> None:
    await make_all(people, 101, "2020-01-01")
    async with receiving() as receiver:
        await running.started(flags=routes(receiver, tmp_path))
        (braked,) = await told(receiver, "braked", "")
        assert (braked["name"], braked["count"]) == ("first-start", 101)
        assert braked["release"] == "skoupa brakes release first-start"


async def test_a_route_that_hangs_keeps_no_object_and_not_the_end_of_the_process(
    people: People, yard: Yard, tmp_path: Path
) -> None:
    async with receiving() as receiver:
        receiver.always["/ops"] = receiver.hang
        # Whoever waited for it would do so for longer than all this takes.
        process = await yard.started(flags=routes(receiver, tmp_path, timeout="5m"))
        await people.make("first", "1s")
        await people.gone("first")
        await receiver.until(1)
        await make_all(people, 50, "1s")
        await all_gone(people)

        # The server shows that an object is gone a moment before its answer arrives.
        def said() -> list[dict[str, Any]]:
            return process.said("deleted", namespace=people.namespace)

        await until(lambda: len(said()) >= 51, what="51 deletions in the log")
        assert len(said()) == 51
        began = time.monotonic()
        process.end()
        assert time.monotonic() - began < 15
        assert process.said("some notices could not be delivered")


async def test_an_observer_tells_what_would_go_where_a_route_wants_to_hear_it(
    people: People, yard: Yard, tmp_path: Path
) -> None:
    async with receiving() as receiver:
        await yard.started(enforce=False, flags=routes(receiver, tmp_path, events=["would-delete"]))
        await people.make("web", "1s")
        (would,) = await told(receiver, "would-delete", people.namespace)
        assert would["keep"] == f"skoupa keep configmaps/web -n {people.namespace}"
        assert await people.there("web")
