"""`skoupa dashboard` as a command: what it prints, serves and refuses, and the commands that its pages show."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
import yaml

from skoupa.cli.dashboard.board import PlanBoard
from skoupa.cli.dashboard.typing_along import TypedHere
from skoupa.cli.options import Connecting
from skoupa.cli.remembering.ledgers import LedgerChoice
from skoupa.cli.worlds import World
from skoupa.kinds import definitions
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.web.dashboard.questions import Filters
from skoupa.web.dashboard.shapes import Brakes
from tests.unit.cli.saying import Shell
from tests.unit.cli.worlds import KEEP, config_map, looking, obj

pytestmark = pytest.mark.unit

NOON = "2026-05-01T12:00:00Z"


def snapshot(directory: Path) -> Path:
    """Made at ten."""
    policy = {
        "apiVersion": "kyverno.io/v2",
        "kind": "ClusterCleanupPolicy",
        "metadata": {"name": "tidy", "creationTimestamp": "2026-05-01T10:00:00Z"},
        "spec": {"schedule": "0 7 * * *", "match": {"any": [{"resources": {"kinds": ["Pod"]}}]}},
        "status": {
            "lastExecutionTime": "2026-05-01T07:00:00Z",
            "lastRun": {"matched": 4, "deleted": 3, "held": 1},
        },
    }
    objects = [
        obj("Namespace", "shop"),
        obj("Namespace", "lab"),
        config_map("a", "1h"),
        config_map("mine", "1h", labels={KEEP: "true"}),
        obj(
            "Secret",
            "login",
            namespace="shop",
            labels={"cleanup.kyverno.io/ttl": "1h"},
            data={"password": "aHVzaA=="},
        ),
        obj("Pod", "web", namespace="shop", spec={"containers": []}),
        policy,
    ]
    path = directory / "shop.yaml"
    path.write_text(yaml.safe_dump_all(objects))
    return path


@contextmanager
def serving(*args: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A dashboard as a process of its own, and the address that it printed."""
    command = [sys.executable, "-m", "skoupa", "dashboard", "-o", "json", *args]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "TZ": "UTC"}
    ) as process:
        try:
            assert process.stdout is not None
            told = ""
            while not told.endswith("}\n"):
                line = process.stdout.readline()
                assert line, process.stderr and process.stderr.read()
                told += line
            yield process, json.loads(told)["address"]
        finally:
            process.kill()


def asked(address: str, page: str) -> dict[str, Any]:
    base, _, secret = address.partition("/#token=")
    request = Request(
        f"{base}/api/v1alpha1/board/{page}", headers={"Skoupa-Authorization": f"Bearer {secret}"}
    )
    with urlopen(request, timeout=30) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


def test_a_snapshot_is_served_on_loopback_until_it_is_told_to_end(tmp_path: Path) -> None:
    source = snapshot(tmp_path)
    with serving("--from", str(source), "--now", NOON) as (process, address):
        assert address.startswith("http://127.0.0.1:")
        page = asked(address, "overview")
        assert page["standing"]["headline"] == "2 objects would go at once"
        assert page["now"] == NOON
        assert page["command"] == f"skoupa plan -A --from {source}"
        assert [hold["code"] for hold in page["holds"]] == ["kept"]
        (policy,) = asked(address, "policies")["items"]
        assert policy["lastRun"] == {
            "at": "2026-05-01T07:00:00Z",
            "matched": 4,
            "deleted": 3,
            "held": 1,
            "failed": 0,
        }
        assert policy["nextRun"] == "2026-05-02T07:00:00Z"
        assert (policy["ahead"], policy["matched"]) == (True, 1)
        matched = asked(address, "objects?policy=ClusterCleanupPolicy/tidy")
        assert [one["name"] for one in matched["items"]] == ["web"]
        # Any other command than plan would act on a live cluster, and not on these files.
        assert {command for one in asked(address, "objects")["items"] for command in one["commands"]} == set()
        stopping = asked(address, "brakes")
        assert (stopping["command"], stopping["pause"]) == ("", "")
        # Whatever is asked for, what a Secret contains is in no answer.
        everything = [asked(address, page) for page in ("overview", "objects", "brakes", "policies")]
        assert "login" in str(everything)
        assert "aHVzaA" not in str(everything)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_one_namespace_is_looked_into_where_that_is_asked_for(tmp_path: Path) -> None:
    with serving("--from", str(snapshot(tmp_path)), "--now", NOON, "-n", "lab") as (_, address):
        page = asked(address, "overview")
        assert (page["namespace"], page["standing"]["headline"]) == ("lab", "Nothing is to go")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--now", NOON), "--now needs --from"),
        (("--from", "-"), "--from - is not for the dashboard"),
        (("--from", "no-such-file.yaml"), "no-such-file.yaml"),
        (("--ledger", "none"), "--ledger none has no history"),
        (("--cluster", "east"), "--cluster goes with --ledger"),
        (("--kubeconfig", "no-such-config"), "no-such-config"),
    ],
)
def test_what_can_not_be_meant_is_refused_in_one_sentence(
    skoupa: Shell, args: tuple[str, ...], said: str
) -> None:
    found = skoupa("dashboard", *args)
    assert found.code == 2
    assert said in found.sentence


def test_a_port_that_is_taken_and_one_that_is_none_are_told(skoupa: Shell, tmp_path: Path) -> None:
    source = str(snapshot(tmp_path))
    with serving("--from", source) as (_, address):
        port = address.split(":")[2].split("/")[0]
        found = skoupa("dashboard", "--from", source, "--port", port)
        assert found.code == 2
        assert f"can't listen on 127.0.0.1:{port}" in found.sentence
        assert "--port" in found.sentence
    assert skoupa("dashboard", "--from", source, "--port", "70000").code == 2


def test_an_address_beyond_this_machine_is_warned_about(skoupa: Shell, tmp_path: Path) -> None:
    with serving("--from", str(snapshot(tmp_path)), "--address", "0.0.0.0") as (process, address):
        assert address.startswith("http://0.0.0.0:")
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        assert process.stderr is not None
        assert "can be reached from other machines" in process.stderr.read()
    assert "is no address" in skoupa("dashboard", "--address", "a/b").sentence


@pytest.mark.parametrize(
    ("words", "typed"),
    [
        (("plan", "-A"), "skoupa plan -A --context prod --as ann --config 'my settings.yaml'"),
        (("keep", "pod/shop/web"), "skoupa keep pod/shop/web --context prod --as ann"),
        (("brakes", "release", "x"), "skoupa brakes release x --context prod --as ann"),
        (
            ("history", "-A"),
            "skoupa history -A --context prod --ledger postgresql://db/skoupa --cluster east",
        ),
    ],
)
def test_commands_lead_to_the_same_cluster_and_show_no_password(words: tuple[str, ...], typed: str) -> None:
    choice = LedgerChoice(ledger="postgresql://me:hush@db/skoupa", cluster="east")
    here = TypedHere(Connecting(None, "prod", None, "ann"), choice, sources=(), config="my settings.yaml")
    assert here(words) == typed


@pytest.mark.parametrize("words", [("keep", "pod/web"), ("pause",), ("restore", "1"), ("history", "-A")])
def test_beside_files_no_command_is_shown_that_would_act_elsewhere(words: tuple[str, ...]) -> None:
    here = TypedHere(Connecting(), LedgerChoice(), sources=("shop.yaml",), config=None)
    assert here(words) == ""
    assert here(("plan", "-A")) == "skoupa plan -A --from shop.yaml"


def board_of(world: World) -> PlanBoard:
    choice, connecting = LedgerChoice(), Connecting()
    return PlanBoard(
        world,
        namespace="",
        choice=choice,
        connecting=connecting,
        config=None,
        typed=TypedHere(connecting, choice, sources=(), config=None),
        place="here",
    )


def test_a_history_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    @asynccontextmanager
    async def silent(*_: object, **__: object) -> AsyncIterator[None]:
        await asyncio.Event().wait()
        yield

    async def work(world: World, _: EmbeddedCluster) -> float:
        began = world.now()
        async with world.client.clock.timeout(600.0):
            with pytest.raises(TimeoutError):
                await board_of(world).history(Filters())
        return world.now() - began

    monkeypatch.setattr("skoupa.cli.dashboard.board.opened", silent)
    assert looking(work) < 60.0


HOLDER = "laptop_1"


def lease(renewed: str, holder: str = HOLDER) -> dict[str, Any]:
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed}
    return obj("Lease", "skoupa", namespace="skoupa", api="coordination.k8s.io/v1", spec=spec)


@pytest.mark.parametrize(
    ("leases", "mode", "said"),
    [
        ((), "absent", "there is no controller of Skoupa in the namespace skoupa"),
        ((lease("2026-05-01T11:59:55.000000Z"),), "unknown", f"{HOLDER} renews the Lease skoupa in skoupa"),
        ((lease("2026-05-01T11:50:00.000000Z"),), "absent", "there is no controller"),
        ((lease("2026-05-01T11:59:55.000000Z", holder=""),), "absent", "there is no controller"),
    ],
)
def test_no_controller_is_said_to_be_there_only_where_nobody_renews_its_lease(
    leases: tuple[dict[str, Any], ...], mode: str, said: str
) -> None:
    async def work(world: World, _: EmbeddedCluster) -> Any:
        board = board_of(world)
        following = [asyncio.create_task(work) for work in board.work()]
        try:
            return await board.overview()
        finally:
            for task in following:
                task.cancel()
            await asyncio.gather(*following, return_exceptions=True)

    page = looking(work, obj("Namespace", "skoupa"), *leases)
    assert page.standing.mode == mode
    assert said in page.standing.sentence
    assert ("Nothing goes by itself" in page.standing.sentence) == (mode == "absent")
    assert page.made == NOON


def brakes_of(*objects: dict[str, Any]) -> Brakes:
    async def work(world: World, _: EmbeddedCluster) -> Brakes:
        board = board_of(world)
        following = [asyncio.create_task(work) for work in board.work()]
        try:
            return await board.brakes()
        finally:
            for task in following:
                task.cancel()
            await asyncio.gather(*following, return_exceptions=True)

    return looking(work, obj("Namespace", "skoupa"), *objects)


def test_without_the_kind_of_brakes_nobody_is_told_that_nothing_stands_still() -> None:
    page = brakes_of()
    assert (page.items, page.all_held) == ((), False)
    assert (
        "this cluster has no kind brakes.skoupa.dev: `skoupa install | kubectl apply -f -` (with the options of your installation) brings it"
        in page.unknown
    )
    assert "what a controller stopped by itself meanwhile it tells in its log" in page.unknown


def test_brakes_that_vanished_with_their_definition_hold_everything_from_outside_too() -> None:
    state = obj("ConfigMap", "skoupa-state", namespace="skoupa", data={"brakesSeen": "1777630000"})
    page = brakes_of(state)
    assert page.all_held
    assert "was here and is gone; bring it back with `skoupa install | kubectl apply -f -`" in page.unknown


def test_with_the_kind_and_without_a_brake_nothing_stands_still() -> None:
    definition = next(one for one in definitions() if one["spec"]["names"]["kind"] == "Brake")
    page = brakes_of(
        {**definition, "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    )
    assert (page.items, page.unknown, page.all_held, page.notes) == ((), "", False, ())
