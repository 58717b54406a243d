"""`skoupa alive confirm|delete|wait` as somebody types it, also wrongly: with which code it ends, and what was done by then."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from skoupa.alive import waiting
from skoupa.cli.alive import deleting
from skoupa.cli.alive import looking as alive_looking
from skoupa.errors import KubeconfigError
from skoupa.kinds.alive import ALIVE, ALIVES
from skoupa.kinds.definition import document
from skoupa.kube.client import Client
from skoupa.sim.faults import asking
from tests.unit.alive.test_waiting import freed
from tests.unit.cli.saying import Shell
from tests.unit.cli.worlds import Town, obj

pytestmark = pytest.mark.unit

DNS = "dns.example.com/cleanup"


@pytest.fixture
def town(skoupa: Shell, monkeypatch: pytest.MonkeyPatch) -> Town:
    found = Town(skoupa, monkeypatch)
    monkeypatch.setattr(alive_looking, "in_cluster", found._in_cluster)
    entry = {"finalizer": DNS, "identity": "dns"}
    alive = obj("Alive", "cluster", api="skoupa.dev/v1alpha1", spec={"participants": [entry]})
    alive["metadata"]["finalizers"] = ["skoupa.dev/alive", DNS]
    return found.holding(document(ALIVE), alive)


def there(town: Town) -> dict[str, Any]:
    found = town.find(ALIVES, "cluster")
    assert found is not None
    return found


def untouched(town: Town) -> bool:
    metadata = there(town)["metadata"]
    return not metadata.get("annotations") and "deletionTimestamp" not in metadata


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (["--timeout", "soon"], "--timeout"),
        (["--timeout", "0s"], "--timeout"),
        (["--unreachable-after", "-1m"], "--unreachable-after"),
        (["--report", "/nowhere/at/all.json"], "so nothing was done"),
        (["--report", "/"], "so nothing was done"),
        (["-n", "shop", "--on-timeout", "ForceFinalizers"], "nobody would force"),
    ],
)
def test_what_is_typed_wrongly_ends_with_2_and_nothing_is_done(
    town: Town, wrong: list[str], told: str
) -> None:
    said = town("alive", "delete", "--yes", "--wait", *wrong)
    assert said.code == 2
    assert told in said.sentence
    assert untouched(town)


def test_nothing_is_told_to_anybody_without_a_yes(town: Town) -> None:
    for command in ("confirm", "delete"):
        said = town("alive", command)
        assert said.code != 0
        assert untouched(town)


def test_waiting_for_what_nobody_asked_for_is_refused(town: Town, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    said = town("alive", "wait", "--report", str(file))
    assert said.code == 2
    assert "skoupa alive delete" in said.out
    told = json.loads(file.read_text())
    assert (told["outcome"], told["exitCode"]) == ("not-asked-for", 2)
    assert untouched(town)


@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
def test_a_server_that_is_away_for_a_moment_is_told_all_the_same(
    town: Town, method: str, *, done: bool
) -> None:
    """Whether it had taken the request without an answer or not. The operator is done at once."""
    asyncio.run(freed(Client(town.cluster, town.clock)))
    fault = town.cluster.faults.disconnect(
        when=asking(method=method, path="/apis/skoupa.dev"), times=3, done=done
    )
    said = town("alive", "delete", "--yes", "--wait", "--timeout", "2h", "-o", "json")
    assert (said.code, json.loads(said.out)["outcome"]) == (0, "drained"), said.err
    assert fault.hits > 0
    assert town.find(ALIVES, "cluster") is None


@pytest.mark.parametrize(("command", "outcome"), [("delete", "drained"), ("confirm", "absent")])
def test_who_finds_it_gone_after_a_long_look_at_the_question_has_nothing_to_tell(
    town: Town, monkeypatch: pytest.MonkeyPatch, command: str, outcome: str
) -> None:
    """Another installer was quicker, and everybody is done."""

    def quicker(*_: object, **__: object) -> None:
        client = Client(town.cluster, town.clock)

        async def work() -> None:
            await freed(client)
            uid = str(there(town)["metadata"]["uid"])
            await client.delete(ALIVES, "cluster", uid=uid, propagation="Background")

        asyncio.run(work())

    monkeypatch.setattr(deleting, "confirm", quicker)
    said = town("alive", command, "-o", "json")
    assert (said.code, json.loads(said.out)["outcome"]) == (0, outcome), said.err


def test_where_everything_is_preserved_nobody_is_told_and_that_is_said(town: Town, tmp_path: Path) -> None:
    wanted = {"spec": {"deletionPolicy": "Preserve"}}
    asyncio.run(Client(town.cluster, town.clock).merge_patch(ALIVES, "cluster", wanted))
    file = tmp_path / "report.json"
    for command in (("confirm",), ("delete",), ("delete", "--yes", "--wait")):
        said = town("alive", *command, "--report", str(file))
        assert said.code == 0, said.err
        assert "nobody is told" in said.out
        told = json.loads(file.read_text())
        assert (told["outcome"], told["deletionPolicy"]) == ("preserved", "Preserve")
        assert [one["finalizer"] for one in told["participants"]] == [DNS]
        assert untouched(town)
    assert "outlives the cluster" in town("alive", "status").out
    assert "outlives the cluster" in town("plan", "-A").out
    assert town.document("plan", "-A")["alive"]["deletionPolicy"] == "Preserve"


def test_a_confirmation_of_long_ago_is_shown(town: Town) -> None:
    assert "confirmed" not in town("alive", "status").out
    assert town("alive", "confirm", "--yes").code == 0
    assert "take its annotation skoupa.dev/confirm-deletion off" in town("alive", "status").out


def test_a_login_that_fails_for_good_while_somebody_waits_has_its_report_too(
    town: Town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def failing(*_: object, **__: object) -> None:
        raise KubeconfigError("the plugin aws failed with exit code 255")

    monkeypatch.setattr(waiting, "wait", failing)
    file = tmp_path / "report.json"
    said = town("alive", "delete", "--yes", "--wait", "--report", str(file))
    assert said.code == 6
    told = json.loads(file.read_text())
    assert (told["outcome"], told["exitCode"]) == ("denied", 6)
    assert "the plugin aws failed" in told["why"]
    assert told["uid"] == there(town)["metadata"]["uid"]
    assert [one["finalizer"] for one in told["participants"]] == [DNS]


def test_a_report_that_is_lost_on_the_way_is_told_beside_what_happened(
    town: Town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        alive_looking, "write_file", lambda path, _: f"--report {path} could not be written: disk full"
    )
    said = town("alive", "delete", "--yes", "-o", "json", "--report", str(tmp_path / "report.json"))
    assert json.loads(said.out)["outcome"] == "signalled"
    assert "disk full" in said.err
    assert said.code == 1
    assert "deletionTimestamp" in there(town)["metadata"]


def test_what_the_command_line_wants_is_written_on_alive_for_everybody_and_what_counts_no_more_goes(
    town: Town, tmp_path: Path
) -> None:
    assert town("alive", "confirm", "--yes").code == 0
    assert (
        there(town)["metadata"]["annotations"]["skoupa.dev/confirm-deletion"]
        == there(town)["metadata"]["uid"]
    )
    assert "deletionTimestamp" not in there(town)["metadata"]
    file = tmp_path / "report.json"
    said = town(
        "alive", "delete", "--yes", "--timeout", "2h", "--on-timeout", "Proceed", "--report", str(file)
    )
    assert said.code == 0
    spec = there(town)["spec"]
    assert (spec["timeout"], spec["onTimeout"]) == ("2h", "Proceed")
    assert json.loads(file.read_text())["outcome"] == "signalled"
    again = town("alive", "delete", "--yes", "--timeout", "1m", "-o", "json")
    assert json.loads(again.out)["outcome"] == "signalled"
    assert there(town)["spec"]["timeout"] == "2h", "the deletion has begun: it is the caller's own limit"
