"""Kinds that can't be read: told when it lasts, once for all that share it, with what follows from it."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa import names
from skoupa.kube.resources import NAMESPACES
from skoupa.kube.transport import Request
from skoupa.sim.state.access import Rule
from tests.unit.controller.replicas import Replica, replicas
from tests.unit.controller.stage import HOUR, MINUTE, PRIORITIES, SHOP, Stage, story
from tests.unit.controller.test_kinds_and_rights import ENOUGH, OWN
from tests.unit.controller.test_process import LEADING

pytestmark = pytest.mark.unit

CANT = ("can't be read", "can't be followed", "can't be understood", "can't be read any more")


def said(replica: Replica, *events: str) -> list[dict[str, str]]:
    return [line for line in replica.lines if line["event"] in events]


def reading(plural: str, *, label: str = "") -> Any:
    def asks(request: Request) -> bool:
        selector = dict(request.query).get("labelSelector", "")
        return request.method == "GET" and request.path.endswith(f"/{plural}") and label in selector

    return asks


@story()
async def test_a_kind_that_fails_from_the_start_is_told_with_the_servers_words_and_what_follows(
    stage: Stage,
) -> None:
    stage.cluster.faults.answer(
        500, when=reading("configmaps", label=names.TTL_LABEL), times=None, message="etcd is unwell"
    )
    async with replicas(stage, 1) as (replica,):
        await stage.make("web", "1m")
        (ready,) = said(replica, "ready")
        assert ready["unreadable"] == "configmaps"
        await stage.until(30 * MINUTE)
        assert stage.there("web")
        (line,) = said(replica, *CANT)
        assert (line["event"], line["level"], line["kinds"]) == ("can't be read", "warning", "configmaps")
        assert "etcd is unwell" in line["why"]
        assert line["so"] == "what is due there is not seen, and stays"
        stage.cluster.faults.clear()
        await stage.later(2 * MINUTE)
        assert not stage.there("web")
        (line,) = said(replica, "can be read again")
        assert line["kinds"] == "configmaps"


@story()
async def test_kept_objects_that_can_not_be_read_are_told_with_what_is_held_for_them(stage: Stage) -> None:
    stage.cluster.faults.answer(500, when=reading("configmaps", label=names.KEEP_LABEL), times=None)
    async with replicas(stage, 1) as (replica,):
        await stage.later(MINUTE)
        (line,) = said(replica, *CANT)
        assert line["so"] == (
            "everything that is due is held, because it could own a kept one of them "
            "(configmaps in cascade.ignoreKinds waives that)"
        )


@story(also=(PRIORITIES,))
async def test_a_kind_of_no_namespace_is_told_to_hold_what_lives_in_none(stage: Stage) -> None:
    stage.cluster.faults.answer(500, when=reading("priorityclasses", label=names.KEEP_LABEL), times=None)
    async with replicas(stage, 1) as (replica,):
        await stage.later(MINUTE)
        (line,) = said(replica, *CANT)
        assert line["so"].startswith("everything due that lives in no namespace is held, because")


@story()
async def test_a_kind_that_is_waived_is_not_told_to_hold_anything(stage: Stage) -> None:
    stage.cluster.faults.answer(500, when=reading("configmaps"), times=None)
    async with replicas(stage, 1, cascade={"ignoreKinds": ["configmaps"]}) as (replica,):
        await stage.later(MINUTE)
        (line,) = said(replica, *CANT)
        assert line["so"] == "what is due there is not seen, and stays"


@story()
async def test_a_server_that_restarts_is_one_line_and_one_more_when_it_is_back(stage: Stage) -> None:
    async with replicas(stage, 1) as (replica,):
        stage.cluster.restart(seconds=40)
        await stage.later(5 * MINUTE)
        (line,) = said(replica, *CANT)
        assert line["event"] == "can't be followed"
        assert {"configmaps", "namespaces", "pods"} <= set(line["kinds"].split(", "))
        assert "everything due in namespaces is held" in line["so"]
        (back,) = said(replica, "can be read again")
        assert back["kinds"] == line["kinds"]


@story()
async def test_a_break_of_a_few_seconds_is_not_told(stage: Stage) -> None:
    async with replicas(stage, 1) as (replica,):
        for _ in range(5):
            stage.cluster.restart(seconds=2)
            await stage.later(2 * MINUTE)
        assert not said(replica, *CANT, "can be read again")


@story()
async def test_another_error_is_told_when_it_lasts_and_other_words_are_not(stage: Stage) -> None:
    async with replicas(stage, 1) as (replica,):
        faults = stage.cluster.faults
        fault = faults.answer(500, when=reading("configmaps"), times=None, message="one thing")
        stage.cluster.restart()
        await stage.later(2 * MINUTE)
        faults.remove(fault)
        fault = faults.answer(500, when=reading("configmaps"), times=None, message="another thing")
        await stage.later(5 * MINUTE)
        assert len(said(replica, *CANT)) == 1
        faults.remove(fault)
        faults.answer(503, when=reading("configmaps"), times=None, message="yet another")
        await stage.later(5 * MINUTE)
        assert [line["why"] for line in said(replica, *CANT)][1:] == ["yet another"]
        assert not said(replica, "can be read again")


@story()
async def test_a_lasting_break_of_the_namespaces_is_told_once_and_not_for_each_object(stage: Stage) -> None:
    async with replicas(stage, 1) as (replica,):
        for number in range(50):
            await stage.make(f"web-{number}", "1m")
        stage.cluster.faults.answer(500, when=reading("namespaces"), seconds=HOUR)
        stage.cluster.restart()
        await stage.later(10 * MINUTE)
        assert len(stage.found()) == 50
        assert not said(replica, "held")
        (line,) = said(replica, *CANT)
        assert line["kinds"] == "namespaces"
        assert "everything due in namespaces is held" in line["so"]
        await stage.later(HOUR)
        assert not stage.found()


@story()
async def test_objects_that_can_not_be_understood_are_told_with_their_names(stage: Stage) -> None:
    odd = {"name": "odd", "labels": {"team": 7}}
    stage.cluster.load([{"apiVersion": "v1", "kind": "Namespace", "metadata": odd}])
    async with replicas(stage, 1) as (replica,):
        await stage.later(10 * MINUTE)
        (line,) = said(replica, *CANT)
        assert (line["event"], line["kinds"]) == ("can't be understood", "namespaces")
        assert line["why"].startswith("1 of them can't be understood (odd): ")


@story()
async def test_a_lost_right_is_told_as_such_and_not_as_a_trouble_of_the_server_too(stage: Stage) -> None:
    stage.cluster.allow_only("sweeper", [*OWN, LEADING, Rule(verbs=ENOUGH)])
    async with replicas(stage, 1, user="sweeper") as (replica,):
        await stage.later(5 * MINUTE)
        stage.cluster.allow_only("sweeper", [*OWN, LEADING])
        await stage.later(10 * MINUTE)
        assert [line["event"] for line in said(replica, *CANT)] == ["can't be read any more"]


@story()
async def test_a_kept_namespace_goes_on_keeping_while_the_namespaces_fail(stage: Stage) -> None:
    await stage.label(SHOP, resource=NAMESPACES, keep="true")
    async with replicas(stage, 1) as (replica,):
        await stage.make("web", "1m")
        await stage.until(3 * MINUTE)
        assert len(said(replica, "held")) == 1
        stage.cluster.faults.answer(500, when=reading("namespaces"), seconds=MINUTE)
        stage.cluster.restart()
        await stage.later(10 * MINUTE)
        assert stage.there("web")
        assert len(said(replica, "held")) == 1
