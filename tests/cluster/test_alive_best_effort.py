"""Alive through the life of an installation: an upgrade, one that vanishes, a controller that is down, a server that is gone."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest

from harness.controlplane import Access, ControlPlane
from tests.cluster.admission_probe import Writer
from tests.cluster.installing import Said, asked, controller, eventually, outcomes, requests_of, skoupa
from tests.cluster.test_alive_story import (
    ALIVES,
    CLUSTER,
    MERGE,
    anew,
    deleted,
    found,
    grant,
    grant_all,
    operator,
    protected,
)

pytestmark = pytest.mark.cluster

SKOUPA = "system:serviceaccount:skoupa:skoupa"
SLOW = "slow.example.com/cleanup"
STATE = "/api/v1/namespaces/skoupa/configmaps/skoupa-state"
EVENTS = "/apis/events.k8s.io/v1/events"
# Where the API server keeps it.
KEY = "/registry/skoupa.dev/alives/cluster"


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    alive: dict[str, Any] = {}
    made: Sequence[Any] = ()
    signalled: Sequence[Any] = ()
    deletes: Sequence[Any] = ()
    code: int = -1


class Installation:
    """A control plane with an installed Skoupa, whose controller is started and stopped."""

    def __init__(self, plane: ControlPlane, directory: Path) -> None:
        self.plane = plane
        self.access: Access = plane.access
        self._directory = directory
        self._running = ExitStack()
        # What an upgrade made of it, before anybody did anything.
        self.begun = Begun()

    def install(self, *, alive: bool) -> None:
        config = self._directory / "config.yaml"
        lines = (
            "mode: enforce",
            f"features: {{alive: {str(alive).lower()}}}",
            "lease: {retrySeconds: 0.5, seconds: 5}",
        )
        config.write_text("\n".join(lines))
        outcomes(skoupa(self.access, "install", "--apply", "--config", str(config)))

    def start(self) -> None:
        running = self._running.enter_context(controller(self.access, self._directory, home="skoupa"))
        running.says("leading")

    def stop(self) -> None:
        self._running.close()


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """It ran without Alive, and was upgraded. Each test finds its controller running, and leaves it so, in whichever order."""
    with ControlPlane() as plane:
        installation = Installation(plane, tmp_path_factory.mktemp("installed"))
        try:
            installation.install(alive=False)
            installation.start()
            assert found(plane.access) is None
            installation.stop()
            grant(plane.access, "slow", more=("list", "watch"))
            installation.install(alive=True)
            installation.start()
            installation.begun = begun(plane.access)
            yield installation
        finally:
            installation.stop()


def begun(access: Access) -> Begun:
    eventually(lambda: protected(access) == "True", "Alive is there, and guarded", seconds=120)
    eventually(lambda: told(access, "SkoupaAliveMade"), "that is told")
    return Begun(
        alive=found(access) or {},
        made=told(access, "SkoupaAliveMade"),
        signalled=told(access, "SkoupaSignalled"),
        deletes=[one for one in requests_of(access, SKOUPA) if one["verb"].startswith("delete")],
        code=skoupa(access, "alive", "status").returncode,
    )


def uid(access: Access) -> str:
    return str((found(access) or {"metadata": {}})["metadata"].get("uid", ""))


def told(access: Access, reason: str) -> list[dict[str, Any]]:
    events = asked(access.probe(), "GET", EVENTS)["items"]
    return [one for one in events if one["reason"] == reason]


def tombstone(access: Access) -> dict[str, Any]:
    return dict(json.loads(asked(access.probe(), "GET", STATE)["data"]["alive"])["tombstone"] or {})


def looks(access: Access) -> int:
    """How often the controller has looked for Alive and found none."""
    return sum(
        one["requestURI"].startswith(CLUSTER) and one.get("responseStatus", {}).get("code") == 404
        for one in requests_of(access, SKOUPA)
    )


def made(access: Access) -> int:
    """How often Skoupa has made an Alive."""
    return sum(
        one["verb"] == "create" and one["requestURI"].startswith(ALIVES)
        for one in requests_of(access, SKOUPA)
    )


def test_a_cluster_without_one_gets_one_when_it_is_upgraded_and_nothing_is_signalled(
    installed: Installation,
) -> None:
    alive = installed.begun.alive
    assert "deletionTimestamp" not in alive["metadata"]
    assert (alive["status"]["phase"], alive["metadata"]["finalizers"]) == ("Active", ["skoupa.dev/alive"])
    assert installed.begun.made
    assert not installed.begun.signalled
    assert not installed.begun.deletes
    assert installed.begun.code == 0


def test_one_that_vanished_is_made_anew_as_it_was_and_its_participants_join_again(
    installed: Installation, tmp_path: Path
) -> None:
    access = installed.access
    anew(access)
    wanted = {"timeout": "2h", "preserve": [{"kind": "Service", "names": ["web"], "reason": "sold"}]}
    assert Writer(access).ask("PATCH", CLUSTER, {"spec": wanted}, media_type=MERGE).status == 200
    eventually(lambda: "sold" in asked(access.probe(), "GET", STATE)["data"]["aliveSpec"], "it is remembered")
    before = uid(access)
    with operator(access, tmp_path, "slow", things=1):
        key = base64.b64encode(KEY.encode()).decode()
        gone = access.etcd_probe().ask("POST", "/v3/kv/deleterange", {"key": key})
        assert gone.json().get("deleted") == "1", gone.body
        eventually(lambda: uid(access) not in {"", before}, "it is made anew", seconds=60)
        eventually(
            lambda: SLOW in (found(access) or {"metadata": {}})["metadata"].get("finalizers", ()),
            "its participant joins again",
            seconds=60,
        )
        assert len(list((tmp_path / "slow").iterdir())) == 2, "nobody cleaned up"
        alive = found(access)
        assert alive is not None
        assert {key: alive["spec"][key] for key in wanted} == wanted
        [event] = eventually(lambda: told(access, "SkoupaAliveVanished"), "that is told loudly")
        assert event["type"] == "Warning"
        assert "with the spec that it had" in event["note"]
        leave(access)


def leave(access: Access) -> None:
    """By the hand of the participant."""
    body = {"metadata": {"finalizers": ["skoupa.dev/alive"]}, "spec": {"participants": []}}
    writer = Writer(access).as_user("system:serviceaccount:slow:operator")
    assert writer.ask("PATCH", CLUSTER, body, media_type=MERGE).status == 200


def test_while_skoupa_is_down_a_deletion_ends_with_0_and_is_over_for_good_when_it_is_back(
    installed: Installation, tmp_path: Path
) -> None:
    access = installed.access
    anew(access)
    installed.stop()
    with operator(access, tmp_path, "slow", things=2):
        before = uid(access)
        code, ended = deleted(access)
    assert (code, ended["outcome"]) == (0, "drained")
    assert any("is it running?" in one for one in ended["warnings"])
    assert [one.name for one in (tmp_path / "slow").iterdir()] == ["keep-me"]
    assert uid(access) == before, "Skoupa's own note is left"
    installed.start()
    eventually(lambda: found(access) is None, "Skoupa sees it to its end")
    assert (tombstone(access)["uid"], tombstone(access)["outcome"]) == (before, "Drained")
    installed.stop()
    seen, ever = looks(access), made(access)
    installed.start()
    eventually(lambda: looks(access) > seen, "it has looked after its restart")
    assert found(access) is None
    assert made(access) == ever


def test_a_server_that_goes_away_ends_the_waiting_as_was_decided_and_participants_go_on_when_it_is_back(
    installed: Installation, tmp_path: Path
) -> None:
    access = installed.access
    anew(access)
    command = [sys.executable, "-m", "skoupa", "alive", "wait", "--unreachable-after", "2s", "-o", "json"]
    command += ["--kubeconfig", str(access.kubeconfig)]
    with operator(access, tmp_path, "slow", things=3, pause=0.5):
        for user in ("one", "other"):
            grant_all(access, user, verbs=["get", "list"])
        assert skoupa(access, "alive", "delete", "--yes").returncode == 0
        waiting = [
            subprocess.Popen(
                [*command, "--as", user, *options],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for user, options in (("one", []), ("other", ["--on-unreachable", "Proceed"]))
        ]

        def both_wait() -> bool:
            # It has something left when the server is gone, however long the two take: without one it goes on with nothing.
            for number in range(3):
                (tmp_path / "slow" / f"record-{number}").touch()
            return looking(access) >= {"one", "other"}

        try:
            eventually(both_wait, "both wait", seconds=120)
            installed.plane.stop_apiserver()
            ends = [finished(one) for one in waiting]
        finally:
            for one in waiting:
                one.kill()
            installed.plane.start_apiserver()
        assert [end.returncode for end in ends] == [6, 4]
        reports = [json.loads(end.stdout) for end in ends]
        assert [one["outcome"] for one in reports] == ["unreachable", "proceeded-unreachable"]
        assert {one["waiting"] for one in reports} == {1}, "what was seen last is in the report"
        said = skoupa(access, "alive", "wait", "-o", "json")
        assert (said.returncode, json.loads(said.stdout)["outcome"]) in {(0, "drained"), (0, "absent")}
    assert [one.name for one in (tmp_path / "slow").iterdir()] == ["keep-me"]
    eventually(lambda: found(access) is None, "it is over")


def looking(access: Access) -> set[str]:
    """Who has read signs of life as somebody else."""
    found = set()
    for line in access.audit_log.read_text().splitlines():
        if "/leases?" in line and "impersonatedUser" in line:
            found.add(json.loads(line)["impersonatedUser"]["username"])
    return found


def finished(process: subprocess.Popen[str]) -> Said:
    out, error = process.communicate(timeout=60)
    return Said(process.args, process.returncode, out, error)
