"""What `history` and `restore` are asked and can't answer as it was meant is refused, with what to write instead."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from skoupa.kube.resources import CONFIG_MAPS
from skoupa.ledger.rows import Result
from skoupa.ledger.sqlite import SqliteStore
from skoupa.ledger.store import Note
from tests.unit.cli.worlds import config_map
from tests.unit.trash.remembering import CLUSTER, Memory
from tests.unit.trash.test_commands import DONE, LEFTOVERS, REFUSED, USAGE, outcomes, restored

pytestmark = pytest.mark.unit


def gone(memory: Memory, *, mechanism: str = "ttl") -> str:
    memory.holding(config_map("a", "1h" if mechanism == "ttl" else None))
    return memory.delete("configmaps", "a", mechanism=mechanism)


def decided(memory: Memory, like: str, outcome: Result) -> str:
    """A row of another object by the same rule, which did not go."""
    entry = msgspec.structs.replace(
        memory.row(like), id="1m7frqes02n2xkh", uid="u-held", name="held", outcome=outcome, kept=0
    )

    async def write() -> str:
        store = SqliteStore(memory.path, cluster=CLUSTER)
        try:
            return (await store.write([Note(entry=entry)]))["u-held"]
        finally:
            await store.close()

    return asyncio.run(write())


FILTERS = [
    ("--since", "1h"),
    ("--until", "2026-01-01"),
    ("--by-policy", "nightly"),
    ("--run", "r1"),
    ("--outcome", "braked"),
    ("--limit", "0"),
]


@pytest.mark.parametrize("option", FILTERS, ids=lambda option: option[0])
@pytest.mark.parametrize("command", [("restore", "--yes"), ("history",), ("history", "show")])
def test_a_filter_beside_an_id_is_refused_and_not_passed_over(
    memory: Memory, command: tuple[str, ...], option: tuple[str, str]
) -> None:
    entry_id = gone(memory)
    said = memory(*command, entry_id, *option)
    assert said.code == USAGE
    assert f"ids and {option[0]} can't go together: give ids, or filters" in said.sentence
    assert memory.find(CONFIG_MAPS, "a") is None
    if command[0] == "history":
        assert memory(*command, entry_id).code == DONE


def test_what_can_not_come_back_needs_no_time_to_be_kept_for(memory: Memory) -> None:
    entry_id = gone(memory, mechanism="policies")
    held = decided(memory, entry_id, "braked")
    said = memory("restore", held, "--yes")
    assert said.code == LEFTOVERS
    assert "a Brake held it" in " ".join(said.out.split())
    assert "--keep-for" not in said.err
    nowhere = memory("restore", entry_id, "--into", "nowhere", "--yes")
    assert nowhere.code == LEFTOVERS
    assert "--keep-for" not in nowhere.err
    both = memory("restore", entry_id, held, "--yes")
    assert both.code == REFUSED, "one of them can come back, and would go again"
    assert "policies nightly may take it again at once; give --keep-for" in both.err


def test_what_can_not_come_back_does_not_hold_up_what_can(memory: Memory) -> None:
    memory.holding(config_map("b", "1h"))
    by_label = memory.delete("configmaps", "b")
    held = decided(memory, gone(memory, mechanism="policies"), "braked")
    found = restored(memory, by_label, held, code=LEFTOVERS)
    assert outcomes(found) == {"b": "restored", "held": "not-kept"}


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("banana", "give how long, such as 7d, or until when: write 17:00"),
        ("7 days", "write 7d"),
        ("7", "7m, 7h or 7d"),
    ],
)
def test_a_time_to_keep_it_for_is_explained_with_durations(memory: Memory, text: str, advice: str) -> None:
    said = memory("restore", gone(memory), "--yes", "--keep-for", text)
    assert said.code == USAGE
    assert advice in said.sentence


@pytest.mark.parametrize("command", ["restore", "history"])
def test_a_slip_in_an_id_is_not_only_taken_for_a_kind(memory: Memory, command: str) -> None:
    said = memory(command, f"{gone(memory)[:-1]}X", "-n", "shop")
    assert said.code == USAGE
    assert "or an id that `skoupa history` shows" in said.sentence
    named = memory(command, "widgt/a", "-n", "shop")
    assert "an id" not in named.sentence


@pytest.mark.parametrize("command", [("history", "show"), ("trash", "purge")])
@pytest.mark.parametrize("word", ["", " "])
def test_an_id_of_nothing_is_said_to_be_none(memory: Memory, command: tuple[str, str], word: str) -> None:
    gone(memory)
    said = memory(*command, word)
    assert said.code == USAGE
    assert said.sentence == f"{word!r} is no id: `skoupa history` shows the ids"


@pytest.mark.parametrize("option", ["--by-policy", "--run"])
@pytest.mark.parametrize("command", [("history", "-A"), ("restore", "-A", "--since", "1h", "--yes")])
def test_a_filter_of_nothing_is_refused_and_not_taken_for_what_has_none(
    memory: Memory, command: tuple[str, ...], option: str
) -> None:
    gone(memory)
    said = memory(*command, option, "")
    assert said.code == USAGE
    assert said.sentence == f"{option} is empty: name one, or leave it out"
    assert not said.out
