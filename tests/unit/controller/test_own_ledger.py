"""A ledger serves the cluster that used it first, and no other that has the same name."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from skoupa.controller.records.own_ledger import ClusterIdentity, own_ledger
from skoupa.errors import LedgerUnavailable, LedgerUnusable
from skoupa.kube.client import Client
from skoupa.kube.transport import Transport
from skoupa.ledger.opening import store_for
from skoupa.report.log import Log
from skoupa.settings import decode
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.sim.state.access import Rule
from tests.unit.controller.stage import HOME, Stage, story
from tests.unit.ledger.entries import intent

pytestmark = pytest.mark.unit


class Start:
    """`skoupa run` up to the moment in which the ledger is open."""

    def __init__(self, stage: Stage, path: Path, *, name: str = "prod") -> None:
        self._stage = stage
        self._settings = decode(
            {"clusterName": name, "ledger": {"dsn": str(path)}, "address": ""}, source="the test"
        )
        self._text = io.StringIO()

    async def on(self, transport: Transport) -> list[str]:
        client = Client(transport, self._stage.clock)
        log = Log(self._stage.clock, stream=self._text)
        async with own_ledger(client, self._settings, server="https://kube", log=log) as store:
            await store.write([intent("a")])
            return [row.uid for row in await store.find()]

    @property
    def lines(self) -> list[dict[str, str]]:
        return [msgspec.json.decode(line) for line in self._text.getvalue().splitlines()]


async def known(stage: Stage, user: str) -> Mapping[str, str]:
    return await ClusterIdentity(Client(stage.cluster.as_user(user), stage.clock), home=HOME)()


@story()
async def test_a_copied_settings_file_opens_no_ledger_of_another_cluster(
    stage: Stage, tmp_path: Path
) -> None:
    start = Start(stage, tmp_path / "l.db")
    assert await start.on(stage.cluster) == ["a"]
    assert await start.on(stage.cluster) == ["a"]
    other = EmbeddedCluster(clock=stage.clock, seed=7)
    with pytest.raises(LedgerUnusable, match=r'another cluster with the name "prod".*give this cluster a cl'):
        await start.on(other)
    # What is there can be looked at by whoever has the file.
    reading = store_for(str(tmp_path / "l.db"), cluster="prod", writable=False)
    assert [row.uid for row in await reading.find()] == ["a"]
    await reading.close()


@story()
async def test_a_server_that_does_not_answer_yet_leaves_the_ledger_away_and_ends_nothing(
    stage: Stage, tmp_path: Path
) -> None:
    start = Start(stage, tmp_path / "l.db")
    stage.cluster.restart(seconds=120)
    with pytest.raises(LedgerUnavailable, match="whose rows the ledger has"):
        await start.on(stage.cluster)
    # The start itself went on, up to the first question.
    assert [line["event"] for line in start.lines] == ["trouble"]
    await stage.later(121)
    assert await start.on(stage.cluster) == ["a"]


async def clusters(path: Path) -> Mapping[str, str]:
    store = store_for(str(path), cluster="", writable=False)
    try:
        return await store.clusters()
    finally:
        await store.close()


@story()
async def test_without_a_name_it_is_written_down_whose_rows_they_are_and_nobody_is_refused(
    stage: Stage, tmp_path: Path
) -> None:
    """An address is nobody's choice: a cluster that was built anew at the same one starts all the same."""
    path = tmp_path / "l.db"
    start = Start(stage, path, name="")
    assert await start.on(stage.cluster) == ["a"]
    uid = (await ClusterIdentity(Client(stage.cluster, stage.clock), home=HOME)())["kube-system"]
    assert await clusters(path) == {"https://kube": f"kube-system={uid}"}
    assert await start.on(EmbeddedCluster(clock=stage.clock, seed=7)) == ["a"]
    assert await clusters(path) == {"https://kube": "*"}, "whose each of them is, nobody knows any more"
    assert await start.on(stage.cluster) == ["a"]
    assert await clusters(path) == {"https://kube": "*"}


@story()
async def test_without_a_name_and_rights_nothing_is_written_down(stage: Stage, tmp_path: Path) -> None:
    stage.cluster.allow_only("nothing", [])
    start = Start(stage, tmp_path / "l.db", name="")
    assert await start.on(stage.cluster.as_user("nothing")) == ["a"]
    assert await clusters(tmp_path / "l.db") == {"https://kube": ""}


@story()
async def test_what_tells_clusters_apart_is_as_good_as_the_rights_allow(stage: Stage) -> None:
    stage.cluster.allow_only("broad", [Rule(verbs=("list",), resources=("namespaces",))])
    stage.cluster.allow_only(
        "narrow", [Rule(verbs=("get",), resources=("namespaces",), namespaces=(HOME,), names=(HOME,))]
    )
    stage.cluster.allow_only("nothing", [])
    broad = await known(stage, "broad")
    assert list(broad) == ["kube-system", HOME]
    assert await known(stage, "narrow") == {HOME: broad[HOME]}
    assert await known(stage, "nothing") == {}
