"""Only observing, on a real server: what would have gone is in the log, the metrics and the ledger, once, and can't be restored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from harness.controlplane import ControlPlane
from tests.cluster.commands import Said, skoupa
from tests.cluster.controller.objects import People
from tests.cluster.controller.running import Skoupa, Yard
from tests.cluster.reaching import eventually

pytestmark = pytest.mark.cluster

NAME = "observed"
WOULD = "skoupa_would_delete_total"


async def observing(yard: Yard, **settings: str) -> Skoupa:
    return await yard.started(enforce=False, clusterName=NAME, **settings)


async def history(plane: ControlPlane, yard: Yard, *words: str | Path) -> list[dict[str, Any]]:
    said = await skoupa("history", *words, "-o", "json", "--ledger", yard.ledger, kubeconfig=plane.kubeconfig)
    assert said.code == 0, said.err
    items: list[dict[str, Any]] = msgspec.json.decode(said.out)["items"]
    return items


async def restore(plane: ControlPlane, yard: Yard, *words: str) -> Said:
    return await skoupa("restore", *words, "--yes", "--ledger", yard.ledger, kubeconfig=plane.kubeconfig)


async def test_what_would_have_gone_is_told_once_for_each_object_and_verdict_in_log_metric_and_ledger(
    plane: ControlPlane, people: People, yard: Yard
) -> None:
    process = await observing(yard)
    before = await process.metric(f'{WOULD}{{kind="configmaps",mechanism="ttl"}}')
    await people.make("web", "1s")
    await people.make("other", "1s")
    await process.says("would delete", name="web", namespace=people.namespace)
    await process.says("would delete", name="other", namespace=people.namespace)
    # Looked at again and again: each change of the surroundings or of the object itself asks for a look.
    for turn in range(3):
        await people.make(f"kept-{turn}", "1s", labels={"skoupa.dev/keep": "true"})
        await people.label("web", turn=str(turn))
        await process.says("held", name=f"kept-{turn}", namespace=people.namespace)
    assert len(process.said("would delete", name="web", namespace=people.namespace)) == 1
    assert await process.metric(f'{WOULD}{{kind="configmaps",mechanism="ttl"}}') == before + 2
    assert len(await history(plane, yard, "-n", people.namespace)) == 2

    # Another verdict is another decision about the same object: it is told, and the row says the newest.
    await people.label("web", ttl="2s")

    async def told_anew() -> bool:
        return len(process.said("would delete", name="web", namespace=people.namespace)) == 2

    await eventually(told_anew, what="the other verdict to be told")

    async def written() -> list[dict[str, Any]]:
        found = await history(plane, yard, "configmap/web", "-n", people.namespace)
        return [item for item in found if item["rule"] == "cleanup.kyverno.io/ttl=2s"]

    (item,) = await eventually(written, what="the newest verdict in the ledger")
    assert item["outcome"]["what"] == "would-delete"
    assert item["attempts"] == 0
    assert item["trash"]["state"] == "none"
    process.end()

    again = await observing(yard)
    await again.says("would delete", name="web", namespace=people.namespace)
    again.end()
    assert len(await history(plane, yard, "-n", people.namespace)) == 2, "a restart adds no rows"
    assert await people.there("web")


async def test_history_shows_it_as_such_and_restore_refuses_it_with_words(
    plane: ControlPlane, people: People, yard: Yard
) -> None:
    process = await observing(yard)
    await people.make("web", "1s")
    await process.says("would delete", name="web", namespace=people.namespace)
    process.end()
    (item,) = await history(plane, yard, "-n", people.namespace)
    shown = await skoupa(
        "history", "-n", people.namespace, "--ledger", yard.ledger, kubeconfig=plane.kubeconfig
    )
    assert "would-delete" in shown.out
    one = await skoupa("history", "show", item["id"], "--ledger", yard.ledger, kubeconfig=plane.kubeconfig)
    assert "Would have been deleted, had Skoupa not only observed" in one.out

    by_id = await restore(plane, yard, item["id"])
    assert by_id.code == 4, by_id
    assert "it did not go: Skoupa only observed" in by_id.out
    by_name = await restore(plane, yard, "configmap/web", "-n", people.namespace)
    assert by_name.code == 4, by_name
    assert by_name.out.startswith("Nothing.")
    assert by_name.sentence.startswith("the history has nothing that went and fits")
    assert await people.there("web")
