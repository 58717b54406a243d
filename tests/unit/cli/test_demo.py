"""`skoupa demo`: on a terminal it goes on until Ctrl-C and can be read; elsewhere it ends by itself, always the same."""

from __future__ import annotations

import os
import re
import signal
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from skoupa.cli.demo.journal import Journal
from skoupa.cli.demo.screen import Screen, short_due
from skoupa.controller.knowledge import Knowledge
from skoupa.facts.rows import Row
from skoupa.judge.cascade import called
from skoupa.kube.objects import Metadata, Partial
from skoupa.kube.resources import CONFIG_MAPS
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Hold, Verdict
from skoupa.settings import Settings
from tests.unit.cli.processes import Ended, OnTerminal, ended, started
from tests.unit.cli.saying import Shell
from tests.unit.cli.worlds import KEEP, NOON, TTL, Standing, config_map

pytestmark = pytest.mark.unit

TERMINAL = {"TERM": "xterm-256color", "COLUMNS": "", "LINES": ""}


def played(*args: str) -> Ended:
    return ended(started("demo", "--hours", "4", *args))


@cache
def a_day() -> Ended:
    """As it is shown to whoever says nothing else."""
    return ended(started("demo"))


def test_without_a_terminal_it_ends_by_itself_with_a_summary() -> None:
    said = a_day()
    assert (said.code, said.err) == (0, "")
    assert "24.0 hours of the cluster's time have passed." in said.out
    assert re.search(r"^deleted [1-9]\d* \(.*Job.*\)$", said.out, re.MULTILINE)
    assert re.search(r"^left in the cluster [1-9]\d*$", said.out, re.MULTILINE)
    assert "\x1b" not in said.out


def test_it_shows_a_policy_at_work_and_a_wrong_one_that_a_brake_stops_before_its_first_delete() -> None:
    told = a_day().out
    assert re.search(r"deleted ConfigMap ci/build-\d+-artifacts: CleanupPolicy/ci/forgotten-artifacts", told)
    assert told.count("braked policy/ClusterCleanupPolicy/old-configmaps") == 1
    assert not re.search(r"deleted .*old-configmaps", told)
    assert "took old-configmaps back" in told


def test_it_shows_retention_that_waits_for_the_history_of_a_rollout() -> None:
    told = a_day().out.splitlines()
    configs = [found[1] for line in told if (found := re.search(r"rolled out cart with (\S+)$", line))]
    gone = [
        found[1] for line in told if (found := re.search(r"deleted ConfigMap shop/(cart-config-\S+):", line))
    ]
    # The one that runs and the two that one may roll back to stay, and perhaps one whose time is not over yet.
    assert gone == configs[: len(gone)]
    assert 3 <= len(configs) - len(gone) <= 4
    for name in gone:
        went = next(number for number, line in enumerate(told) if f"deleted ConfigMap shop/{name}" in line)
        assert sum("nobody can roll back" in line for line in told[:went]) > configs.index(name)


def test_it_shows_a_cluster_that_is_given_up_and_who_cleans_up_what_it_owns_elsewhere() -> None:
    told = a_day().out
    order = [
        "the cluster has an Alive now",
        "the operator of buckets takes part",
        "confirms it, and deletes Alive",
        "dns.example.com/cleanup: 3 things removed",
        "buckets.example.com/cleanup is Failed, 1 left: backups may not be emptied",
        "volumes.example.com/cleanup is Silent",
        "gave the operator the right",
        "started the operator of volumes again",
        "buckets.example.com/cleanup: 3 things removed",
        "volumes.example.com/cleanup: 2 things removed",
        "leaves nothing behind",
    ]
    places = [told.find(words) for words in order]
    assert -1 not in places, order[places.index(-1)]
    assert places == sorted(places)


def test_it_shows_a_customer_who_leaves_and_the_neighbour_whose_id_begins_alike() -> None:
    told = a_day().out
    gone = set(re.findall(r"deleted (\S+ \S+): its Tenant 424242 was deleted", told))
    assert gone == {
        "Namespace 424242-data",
        "Namespace 424242-web",
        "StorageClass 424242-fast",
        "ClusterRole 424242-admin",
    }
    assert "customer 424242 is gone: 0 of its objects are left, and 4242421 still has its 4" in told
    assert (
        "StorageClass 424242-fast: its Tenant 424242 was deleted, and its name begins with 424242-; waiting for what it owns"
        in told
    )


def test_the_same_seed_tells_the_same_story() -> None:
    first = played("--seed", "3")
    assert first == played("--seed", "3")
    assert first.out != played("--seed", "4").out


def test_what_holds_an_object_is_told_once() -> None:
    told = [line.partition("  ")[2] for line in a_day().out.splitlines() if "  held " in line]
    assert told
    assert len(told) == len(set(told))


def test_what_people_are_said_to_do_is_true_of_what_comes_after() -> None:
    told = a_day().out
    extended = re.findall(r"somebody extended \S+ from (\S+) to (\S+)", told)
    assert extended
    assert all(before != after for before, after in extended)
    unlabelled = re.findall(r"took the label off (\S+): (.+)", told)
    assert unlabelled
    assert {said for _, said in unlabelled} == {"no ttl any more"}, "a policy may take it all the same"


def test_it_plays_a_snapshot(tmp_path: Path) -> None:
    items = [config_map("goes", "1h", created="2026-01-01T00:00:00Z"), config_map("stays")]
    snapshot = tmp_path / "shop.yaml"
    snapshot.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items}))
    said = played("--from", str(snapshot))
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("A cluster in memory with 2 objects;")
    assert "deleted ConfigMap shop/goes" in said.out
    assert "deleted 1 (1 ConfigMap)" in said.out


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "can't be read"),
        ("- nonsense", "is not an object"),
        ("a: [", "line"),
        ("kind: Pod", "apiVersion"),
    ],
)
def test_nonsense_to_play_is_a_sentence(
    skoupa: Shell, tmp_path: Path, content: str | None, told: str
) -> None:
    source = tmp_path / "a.yaml"
    if content is not None:
        source.write_text(content)
    said = skoupa("demo", "--from", str(source))
    assert said.code == 2
    assert told in said.sentence
    assert str(source) in said.sentence


def test_nothing_to_play_is_a_sentence(skoupa: Shell, tmp_path: Path) -> None:
    said = skoupa("demo", "--from", str(tmp_path))
    assert said.code == 2
    assert f"there are no objects in {tmp_path}: check --from" in said.sentence


def test_on_a_terminal_it_goes_on_until_ctrl_c() -> None:
    demo = OnTerminal("demo", "--speed", "36000", env=TERMINAL)
    # Longer than it would last without a terminal.
    demo.until(lambda seen: "Fri 2026-01-02 " in seen and "What happened" in seen)
    assert demo.process.poll() is None
    demo.type("\x03")
    demo.until(lambda seen: "left in the cluster" in seen)
    assert demo.end() == 0
    assert "Traceback" not in demo.seen
    assert "interrupted" not in demo.seen
    assert re.search(r"[0-9.]+ hours of the cluster's time have passed\.", demo.seen)


def test_on_a_terminal_it_can_be_terminated() -> None:
    demo = OnTerminal("demo", env=TERMINAL)
    demo.until(lambda seen: "What happened" in seen)
    demo.process.send_signal(signal.SIGTERM)
    demo.until(lambda seen: "interrupted" in seen)
    assert demo.end() == 7
    assert "Traceback" not in demo.seen


def row(knowledge: Knowledge, name: str, ttl: str, **labels: str) -> Row:
    metadata = Metadata(
        name=name,
        namespace="shop",
        uid=f"aaaaaaaa-0000-0000-0000-{abs(hash(name)) % 10**12:012}",
        resource_version="1",
        creation_timestamp=datetime(2026, 5, 1, 10, tzinfo=UTC),
        labels={TTL: ttl, **labels},
    )
    return knowledge.extraction.row(CONFIG_MAPS, Partial(metadata=metadata))


def picture(width: int, height: int, *objects: tuple[str, str, dict[str, str]]) -> list[str]:
    knowledge = Knowledge(Settings())
    feed = knowledge.store.add_feed(CONFIG_MAPS)
    for name, ttl, labels in objects:
        knowledge.store.changed(feed, row(knowledge, name, ttl, **labels))
    journal = Journal(Standing())
    for number in range(60):
        journal.tell(f"somebody did something of which there is quite a lot to tell, number {number}")
    screen = Screen(knowledge, journal, now=lambda: NOON, speed=600)
    screen.width, screen.height = width, height
    with Path(os.devnull).open("w") as nowhere:
        console = Console(file=nowhere, width=width, height=height, record=True)
        console.print(screen)
    return console.export_text().splitlines()


@pytest.mark.parametrize(("width", "height"), [(120, 40), (80, 24)])
def test_times_and_names_can_be_read_at_the_usual_sizes(width: int, height: int) -> None:
    many: list[tuple[str, str, dict[str, str]]] = [
        (f"build-{number}-artifacts", f"{number}h", {}) for number in range(3, 60)
    ]
    held = [(f"kept-{number}", "1h", {KEEP: "true"}) for number in range(20)]
    lines = picture(width, height, *many, *held)
    assert len(lines) <= height
    assert all(len(line) <= width for line in lines)
    assert next(line for line in lines if "VERDICT" in line).split() == [
        "DUE",
        "IN",
        "VERDICT",
        "OBJECT",
        "WHY",
    ]
    first = next(line for line in lines if "build-3-artifacts" in line)
    assert first.split()[:5] == ["13:00", "1h", "goes", "ConfigMap", "shop/build-3-artifacts"]
    assert "ttl=3h" in first
    kept = [line for line in lines if "shop/kept-" in line]
    assert kept, "what is held is shown too, although there is more than enough that goes"
    assert kept[0].split()[:3] == ["11:00", "-1h", "held"]
    assert lines[0].startswith("Skoupa demo  Fri 2026-05-01 12:00 UTC")


def test_names_and_labels_are_text_and_nothing_that_a_terminal_would_obey() -> None:
    told = "\n".join(picture(120, 40, ("[/red]\x1b[2J", "3h", {})))
    assert "[/red]\N{REPLACEMENT CHARACTER}[2J" in told


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (3600, "13:00"),
        (-3600, "11:00"),
        (86400, "Sat 12:00"),
        (-86400, "Thu 12:00"),
        (86400 * 20, "21 May"),
        (86400 * 300, "Feb 2027"),
    ],
)
def test_the_day_is_named_where_it_is_another(seconds: float, told: str) -> None:
    assert short_due(NOON + seconds, NOON) == told


def test_the_journal_tells_a_hold_again_when_its_reason_is_another() -> None:
    journal = Journal(Standing())
    held = row(Knowledge(Settings()), "a", "1h")
    for object_ in ("Secret shop/x", "Secret shop/x", "Secret shop/y"):
        hold = Hold(reason=reason("keeps-inside", object=object_))
        journal.held(held, Verdict(holds=(hold,)), at=NOON, holds=(hold,))
    assert journal.counts["held"] == 2
    assert all(called(held) in line.text for line in journal.lines)
