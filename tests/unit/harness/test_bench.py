"""The benchmarks' own parts: what the table says, how the controller is started, the history that is made up."""

from __future__ import annotations

import itertools
import shlex
import sys
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from harness.bench import __main__ as bench
from harness.bench import past
from harness.bench.course import Figure
from harness.bench.subject import SKOUPA, skoupa, words_of
from harness.bench.table import cells, render
from skoupa.ledger.opening import store_for
from skoupa.ledger.store import Wish

pytestmark = pytest.mark.unit

AT_LEAST = Figure(name="rate", value=0.7, unit="", bar=0.8, at_least=True, counts="10 objects")


def test_a_figure_below_its_bar_is_said_to_be() -> None:
    assert not AT_LEAST.met
    assert cells(AT_LEAST) == ("rate", "0.7", ">= 0.8", "**not met**", "10 objects")
    assert msgspec.structs.replace(AT_LEAST, value=0.8).met
    assert msgspec.structs.replace(AT_LEAST, at_least=False).met


def test_a_figure_without_a_bar_is_shown_and_never_fails() -> None:
    figure = msgspec.structs.replace(AT_LEAST, bar=None)
    assert figure.met
    assert cells(figure) == ("rate", "0.7", "\N{EN DASH}", "", "10 objects")
    table = [line for line in render([("skoupa", figure)]).splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in table}) == 1


def test_the_controller_is_started_with_each_setting_once() -> None:
    subject = skoupa(ledger="/tmp/with space/ledger.db", settings={"trash.enabled": "false"})
    words = shlex.split(subject.command.format(port=8080))
    keys = Counter(word.partition("=")[0] for before, word in itertools.pairwise(words) if before == "--set")
    assert set(keys.values()) == {1}
    assert words[words.index("--ledger") + 1] == "/tmp/with space/ledger.db"
    assert {"trash.enabled=false", "address=127.0.0.1:8080"} <= set(words)
    assert "--ledger none" in SKOUPA.command


@pytest.mark.parametrize("variable", ["$KUBECONFIG", "${KUBECONFIG}"])
def test_a_peer_gets_the_kubeconfig_and_the_port_and_every_other_brace_as_it_is(variable: str) -> None:
    command = f"/bin/peer --kubeconfig {variable} --metrics=:{{port}} --filter '{{.kind}} {{}}' $UNSET"
    words = words_of(command, port=8080, environment={"KUBECONFIG": "/tmp/with space/config"})
    assert words == [
        *("/bin/peer", "--kubeconfig", "/tmp/with space/config", "--metrics=:8080"),
        *("--filter", "{.kind} {}", "$UNSET"),
    ]


@pytest.mark.parametrize("text", ["kyverno", "kyverno=", "kyverno=  ", "=/bin/peer", "kyverno='/bin/peer"])
def test_a_peer_that_can_not_be_started_is_refused_before_anything_is_measured(
    text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["bench", "--peer", text])
    monkeypatch.setattr(bench, "_measure", lambda *_: pytest.fail("it was measured"))
    with pytest.raises(SystemExit) as left:
        bench.main()
    assert left.value.code == 2
    assert f"argument --peer: {text!r}" in capsys.readouterr().err


async def test_the_history_that_is_made_up_is_all_there(tmp_path: Path) -> None:
    place = str(tmp_path / "ledger.db")
    size = 3000 * (await past.fill(place, 3000)).row
    assert size > 3000 * 100
    store = store_for(place, cluster=past.CLUSTER, writable=False)
    try:
        found = await store.find(limit=10_000)
        busy = await store.find(Wish(namespace=past.BUSY), limit=10_000)
        failed = await store.find(Wish(namespace=past.BUSY, outcomes=("failed",)), limit=10_000)
    finally:
        await store.close()
    assert len({entry.uid for entry in found}) == len(found) == 3000
    assert 1000 < len(busy) < 2000
    assert failed
    assert {entry.outcome for entry in found} == {"deleted", "failed"}
    assert all(entry.told for entry in found if entry.outcome == "deleted")
