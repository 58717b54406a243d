"""By which settings `skoupa run` judges: those of its file, else of the installation, so that what `plan` shows as protected stays."""

from __future__ import annotations

import json
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from skoupa.cli.running import run, unnamed_settings
from skoupa.controller.backlogs.started import Started as Began
from skoupa.errors import Unreachable
from skoupa.kube.transport import Request, Response, Transport
from skoupa.settings import Settings
from skoupa.sim.state.access import Rule
from tests.unit.cli.processes import ended, started
from tests.unit.cli.saying import Said, Shell
from tests.unit.cli.worlds import Town, granting, installed, obj

pytestmark = pytest.mark.unit

PROTECTS = "mode: enforce\nprotect: {names: [ConfigMap/shop/a]}\n"
REFUSED = 5


def kubeconfig(folder: Path, *, server: str = "http://127.0.0.1:9") -> str:
    path = folder / "kubeconfig"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "shop", "cluster": {"server": server}}],
        "users": [{"name": "jane", "user": {}}],
        "contexts": [{"name": "shop", "context": {"cluster": "shop", "user": "jane"}}],
        "current-context": "shop",
    }
    path.write_text(yaml.safe_dump(content))
    return str(path)


class Started:
    """`skoupa run` up to where it begins to judge, with the settings that it then has."""

    def __init__(self, town: Town, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.town = town
        self.judged_by: Settings | None = None
        self.began: Began | None = None
        self._kubeconfig = kubeconfig(folder)
        self.wrap: Callable[[Transport], Transport] = lambda transport: transport

        @asynccontextmanager
        async def reaching(*_: object) -> AsyncIterator[Transport]:
            yield self.wrap(town.cluster.as_user(town.user) if town.user else town.cluster)

        async def judging(
            _: object, __: object, settings: Settings, *, started: Began, **___: object
        ) -> None:
            self.judged_by, self.began = settings, started

        monkeypatch.setattr(unnamed_settings, "HttpTransport", reaching)
        monkeypatch.setattr(run, "run_process", judging)
        monkeypatch.setattr(run, "SystemClock", lambda: town.clock)
        monkeypatch.delenv("SKOUPA_LEDGER_DSN", raising=False)

    def __call__(self, *args: str) -> Said:
        self.judged_by = None
        return self.town("run", "--kubeconfig", self._kubeconfig, "--set", "address=127.0.0.1:0", *args)

    def settings(self, *args: str) -> Settings:
        said = self(*args)
        assert said.code == 0, said.err
        assert self.judged_by is not None
        return self.judged_by


@pytest.fixture
def started_with(skoupa: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Started:
    town = Town(skoupa, monkeypatch).holding(obj("Namespace", "skoupa"), obj("Namespace", "tools"))
    return Started(town, tmp_path, monkeypatch)


def lines(said: Said) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (said.out + said.err).splitlines() if line.startswith("{")]


@pytest.mark.parametrize("home", ["skoupa", "tools"])
def test_what_the_installation_protects_is_protected_by_a_run_from_outside_too(
    started_with: Started, home: str
) -> None:
    text = f"{PROTECTS}lease: {{namespace: {home}}}\n"
    started_with.town.holding(installed(text, namespace=home))
    settings = started_with.settings("--enforce")
    assert settings.mode == "enforce"
    assert settings.protect.names == ("ConfigMap/shop/a",)
    assert settings.lease.namespace == home, "one of the two acts, the other stands by"


def test_variables_and_flags_count_before_those_of_the_installation(
    started_with: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    started_with.town.holding(installed("rate: {deletionsPerSecond: 7, inFlight: 7}\n"))
    monkeypatch.setenv("SKOUPA_RATE_IN_FLIGHT", "9")
    rate = started_with.settings("--set", "rate.deletionsPerSecond=8").rate
    assert (rate.deletions_per_second, rate.in_flight) == (8, 9)


def test_what_belongs_to_the_pod_of_the_installation_is_not_taken_over(started_with: Started) -> None:
    pod = """
mode: enforce
acceptBacklog: true
address: 0.0.0.0:8080
api: {address: "0.0.0.0:8443"}
webhook: {address: "0.0.0.0:9443"}
ledger: {dsn: /var/lib/skoupa/ledger.db, keepDays: 7}
trash: {keyFile: /var/run/keys}
notices: {default: team, routes: [{name: team, type: slack, urlFrom: {file: /var/run/slack}}]}
"""
    started_with.town.holding(installed(pod))
    said = started_with()
    settings = started_with.judged_by
    assert settings is not None, said.err
    assert settings.mode == "observe", "`skoupa run` observes unless it is told to enforce"
    assert not settings.accept_backlog
    assert settings.address == "127.0.0.1:0"
    assert (settings.api.address, settings.webhook.address) == ("", "")
    assert (settings.ledger.dsn, settings.ledger.keep_days) == (Settings().ledger.dsn, 7)
    assert settings.trash.key_file == ""
    assert settings.notices == Settings().notices
    (why,) = (line["why"] for line in lines(said) if line["event"] == "degraded")
    assert why.startswith("no notices are sent from here")


@pytest.mark.parametrize(
    ("there", "args", "borrowed"),
    [
        ("acceptBacklog: true\n", (), True),
        ("acceptBacklog: true\n", ("--config", "/dev/null"), False),
        (None, (), False),
    ],
)
def test_a_run_by_the_settings_of_the_installation_takes_nothing_out_of_them(
    started_with: Started, there: str | None, args: tuple[str, ...], *, borrowed: bool
) -> None:
    """That it was started without acceptBacklog does not make the installation's count anew."""
    if there is not None:
        started_with.town.holding(installed(there))
    settings = started_with.settings("--enforce", *args)
    assert not settings.accept_backlog
    assert started_with.began is not None
    assert started_with.began.borrowed is borrowed


def test_it_counts_as_started_when_its_flags_were_read_however_long_the_server_was_away(
    started_with: Started,
) -> None:
    clock = started_with.town.clock
    began = clock.now()

    class Late(AwayAtFirst):
        async def send(self, request: Request) -> Response:
            clock.moment += 60.0
            return await super().send(request)

    started_with.wrap = lambda inner: Late(inner, times=3)  # type: ignore[assignment,return-value]
    started_with.settings("--enforce", "--accept-backlog")
    assert clock.now() > began + 60.0
    assert started_with.began is not None
    assert (started_with.began.now, started_with.began.monotonic) == (began, began)


def test_a_file_that_is_named_is_all_that_counts(started_with: Started, tmp_path: Path) -> None:
    started_with.town.holding(installed(PROTECTS))
    file = tmp_path / "settings.yaml"
    file.write_text("mode: enforce\nacceptBacklog: true\n")
    settings = started_with.settings("--config", str(file))
    assert settings.mode == "enforce"
    assert settings.accept_backlog
    assert settings.protect.names == ()
    assert started_with.settings("--enforce", "--config", "/dev/null").protect.names == ()


def test_without_an_installation_they_are_as_shipped(started_with: Started) -> None:
    settings = started_with.settings("--enforce")
    assert settings.protect == Settings().protect
    assert settings.mode == "enforce"


def test_a_home_that_is_named_and_has_no_installation_is_a_controller_of_its_own(
    started_with: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    started_with.town.holding(installed(PROTECTS, namespace="tools"))
    assert started_with.settings("--enforce").protect.names
    assert not started_with.settings("--enforce", "--set", "lease.namespace=skoupa").protect.names
    monkeypatch.setenv("SKOUPA_LEASE_NAMESPACE", "skoupa")
    assert not started_with.settings("--enforce").protect.names
    assert started_with.settings("--enforce", "--set", "lease.namespace=tools").protect.names


def test_who_may_not_read_them_does_not_enforce_and_is_told_what_to_do(started_with: Started) -> None:
    started_with.town.holding(installed(PROTECTS))
    granting(Rule(verbs=("list", "watch", "delete"), resources=("secrets",)))(started_with.town.cluster)
    started_with.town.user = "bob"
    said = started_with("--enforce")
    assert said.code == REFUSED
    assert started_with.judged_by is None
    assert "nothing is deleted: whether an installation has settings of its own can't be seen" in said.err
    assert "name a file with --config (--config /dev/null: as shipped)" in said.err
    assert "kubectl create clusterrolebinding" in said.err
    observing = started_with()
    assert started_with.judged_by is not None
    (why,) = (line["why"] for line in lines(observing) if line["event"] == "degraded")
    assert "what it protects or counts otherwise is not known here" in why
    assert started_with.settings("--enforce", "--config", "/dev/null").mode == "enforce"


def test_settings_without_their_key_are_none_that_could_be_read(started_with: Started) -> None:
    started_with.town.holding({**installed(), "data": {"settings.yml": PROTECTS}})
    said = started_with("--enforce")
    assert said.code == REFUSED
    assert "has no settings.yaml" in said.err
    assert started_with.judged_by is None


def test_settings_of_the_installation_that_are_not_understood_end_it(started_with: Started) -> None:
    started_with.town.holding(installed("protekt: {}\n"))
    said = started_with("--enforce")
    assert said.code == 2
    assert "there is no setting protekt" in said.err
    assert "--config" in said.err
    assert started_with.judged_by is None


class AwayAtFirst:
    def __init__(self, inner: Transport, *, times: int) -> None:
        self._inner = inner
        self.left = times

    async def send(self, request: Request) -> Response:
        if self.left:
            self.left -= 1
            raise Unreachable("nobody is there")
        return await self._inner.send(request)


def test_a_server_that_is_not_there_yet_is_waited_for_before_anything_is_judged(
    started_with: Started,
) -> None:
    started_with.town.holding(installed(PROTECTS))
    started_with.wrap = lambda inner: AwayAtFirst(inner, times=3)  # type: ignore[assignment,return-value]
    said = started_with("--enforce")
    settings = started_with.judged_by
    assert settings is not None, said.err
    assert settings.protect.names == ("ConfigMap/shop/a",)
    told = lines(said)
    assert [line["event"] for line in told].count("waiting for the server") == 3
    (first,) = (line for line in told if line["event"] == "started")
    assert settings.address == first["address"] != "127.0.0.1:0", "who asks is answered at one place"


def test_a_signal_ends_the_wait_for_the_server(tmp_path: Path) -> None:
    process = started("run", "--kubeconfig", kubeconfig(tmp_path), "--set", "address=127.0.0.1:0")
    heard = []
    assert process.stderr is not None
    for line in process.stderr:
        heard.append(line)
        if "waiting for the server" in line:
            break
    process.send_signal(signal.SIGTERM)
    assert ended(process).code == 0, heard
