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
from harness.bench.course import Figure, in_a_name
from harness.bench.subject import SKOUPA, skoupa, words_of
from harness.bench.table import cells, render
from harness.bench.tenants import going
from harness.bench.usage import growing, templates, turning
from harness.bench.usage.figures import told_in
from skoupa.ledger.opening import store_for
from skoupa.ledger.store import Wish
from skoupa.sim.clock import VirtualClock, run
from skoupa.usage.reading import shipped

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
    table = [
        line for line in render([("skoupa", figure)], day="2026-11-18").splitlines() if line.startswith("|")
    ]
    assert len({line.count("|") for line in table}) == 1


def test_a_run_of_some_figures_writes_their_rows_and_leaves_the_others_at_their_places() -> None:
    other = msgspec.structs.replace(AT_LEAST, name="memory", value=3.0)
    first = render([("skoupa", AT_LEAST), ("skoupa", other), ("peer", AT_LEAST)], day="2026-11-17")
    better = msgspec.structs.replace(AT_LEAST, value=0.9)
    new = msgspec.structs.replace(AT_LEAST, name="growth")
    second = render([("skoupa", better), ("skoupa", new)], day="2026-11-18", before=first)
    rows = [
        [cell.strip() for cell in line.split("|")[1:6]]
        for line in second.splitlines()
        if line.startswith("| ")
    ]
    assert rows[1:] == [
        ["skoupa", "rate", "0.9", ">= 0.8", "met"],
        ["peer", "rate", "0.7", ">= 0.8", "**not met**"],
        ["skoupa", "memory", "3", ">= 0.8", "met"],
        ["skoupa", "growth", "0.7", ">= 0.8", "**not met**"],
    ]
    days = [line.split("|")[6].strip() for line in second.splitlines() if line.startswith("| ")]
    assert days == ["day", "2026-11-18", "2026-11-17", "2026-11-17", "2026-11-18"]


def test_a_run_of_everything_forgets_old_figures_and_keeps_the_rows_of_a_peer_that_it_did_not_measure() -> (
    None
):
    gone = msgspec.structs.replace(AT_LEAST, name="gone")
    memory = msgspec.structs.replace(AT_LEAST, name="memory")
    rows = [("skoupa", gone), ("skoupa", AT_LEAST), ("skoupa", memory), ("kor 0.6.8", AT_LEAST)]
    before = render(rows, day="2026-11-17")
    after = render(
        [("skoupa", AT_LEAST), ("skoupa", memory)], day="2026-11-18", before=before, everything=True
    )
    rows_now = [
        [cell.strip() for cell in line.split("|")]
        for line in after.splitlines()
        if line.startswith(("| skoupa", "| kor"))
    ]
    assert [(row[1], row[2], row[6]) for row in rows_now] == [
        ("skoupa", "rate", "2026-11-18"),
        ("kor 0.6.8", "rate", "2026-11-17"),
        ("skoupa", "memory", "2026-11-18"),
    ]


@pytest.mark.parametrize(
    "out",
    [
        "configmap/team-00000/settings-000\nconfigmap/team-00001/settings-017\n",
        (
            '+---+------+\nUnused resources in namespace: "team-00000"\n| 1 | ConfigMap | settings-000 |\n'
            "| 2 | ConfigMap | settings-017  |\n| 3 | ConfigMap | app-settings-018 |\n"
        ),
        '{"team-00000": {"ConfigMap": ["settings-000", "settings-1017"]}}',
    ],
)
def test_what_a_command_tells_is_counted_however_it_writes_it(out: str) -> None:
    assert told_in(out.encode()) == 2


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


def test_each_template_names_as_much_as_the_rows_say() -> None:
    made = list(templates.objects(1))
    kinds = Counter(body["kind"] for body in made)
    assert set(kinds) == set(templates.KINDS)
    assert (
        len({(body["kind"], body["metadata"]["uid"]) for body in made}) == templates.OBJECTS_EACH == len(made)
    )
    for kind in templates.KINDS:
        assert sum(1 for _ in templates.of_kind(kind, templates.namespace_name(0))) == kinds[kind]
    workload = next(body for body in made if body["kind"] == "ReplicaSet")
    found = shipped().from_manifest("apps/ReplicaSet", workload).uses
    named = {use.target for use in found if use.target.kind in ("ConfigMap", "Secret")}
    assert len(named) == templates.REFERENCES


@pytest.mark.parametrize("count_calls", [False, True])
def test_a_graph_whose_growth_is_measured_knows_who_is_named(*, count_calls: bool) -> None:
    found = growing.grown(2, count_calls=count_calls)
    assert found.objects == 2 * templates.OBJECTS_EACH
    assert found.edges >= 2 * templates.TEMPLATES_EACH * templates.REFERENCES
    assert bool(found.calls) is count_calls


async def test_a_build_is_compared_with_a_list_of_the_very_same_objects() -> None:
    found = await turning.embedded(1, times=1, plain=False)
    assert found.objects == found.listed > templates.OBJECTS_EACH
    assert found.ratio > 0


@pytest.mark.parametrize(("label", "trash"), [(False, False), (True, False), (False, True)])
def test_what_a_deleted_tenant_costs_is_counted_until_all_of_it_is_gone(*, label: bool, trash: bool) -> None:
    async def gone(clock: VirtualClock) -> going.Gone:
        return await going.gone(clock, tenants=2, deleted=1, label=label, trash=trash)

    found = run(gone)
    assert found.left == 0
    deletes = sum(number for what, number in found.others.items() if what.startswith("delete "))
    assert deletes == found.objects == 100
    assert found.list_bytes > found.once_bytes > 0
    assert found.requests_each <= 1.1
    assert (found.labelling is not None) is label


def test_a_peer_may_be_called_as_its_people_call_it() -> None:
    assert in_a_name("Kyverno 1.19.1") == "kyverno-1-19-1"
    assert in_a_name("skoupa") == "skoupa"


def test_only_where_it_is_named_is_a_peer_taken_for_a_command_that_answers_once() -> None:
    assert bench.for_peers(["store", "backlog", "unused"], named=True) == ["backlog", "unused"]
    assert bench.for_peers(list(bench.FIGURES), named=False) == list(bench.FOR_PEERS)
