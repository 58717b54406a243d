"""A `skoupa sweep` says where it has written down what went; what a killed one left open there is closed by the next one."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from skoupa.kube.transport import Request
from tests.unit.cli.saying import Shell
from tests.unit.cli.worlds import Town, config_map, installed, obj

pytestmark = pytest.mark.unit


@pytest.fixture
def town(skoupa: Shell, monkeypatch: pytest.MonkeyPatch) -> Town:
    return Town(skoupa, monkeypatch)


def outcomes(ledger: Path) -> dict[str, str]:
    with sqlite3.connect(ledger) as database:
        return dict(database.execute("SELECT name, outcome FROM skoupa_entries"))


def looks_for_one(request: Request) -> bool:
    return "configmaps" in request.path and "metadata.name" in str(request.query)


def killed_after_its_deletes(town: Town, ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends before it writes what came of them."""
    with monkeypatch.context() as killed:
        killed.setattr("skoupa.ledger.journal.Journal.finish", lambda *_, **__: None)
        town("sweep", "-A", "--yes", "--ledger", str(ledger))


def test_the_next_sweep_closes_what_a_killed_one_left_open_and_tells(
    town: Town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = tmp_path / "l.db"
    town.holding(*(config_map(f"old-{number}", "1h") for number in range(3)))
    killed_after_its_deletes(town, ledger, monkeypatch)
    assert set(outcomes(ledger).values()) == {"intended"}
    town.holding(config_map("new", "1h"))
    said = town("sweep", "-A", "--yes", "--ledger", str(ledger))
    assert said.code == 0
    assert "the ledger had as open, left by an earlier run: 3 gone-by-unknown" in said.err
    assert outcomes(ledger) == {
        **{f"old-{number}": "gone-by-unknown" for number in range(3)},
        "new": "deleted",
    }


def test_a_sweep_with_nothing_to_delete_closes_them_too(
    town: Town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = tmp_path / "l.db"
    town.holding(config_map("old", "1h"))
    killed_after_its_deletes(town, ledger, monkeypatch)
    said = town("sweep", "-A", "--yes", "--ledger", str(ledger))
    assert said.code == 0
    assert outcomes(ledger) == {"old": "gone-by-unknown"}
    again = town("sweep", "-A", "--yes", "--ledger", str(ledger))
    assert "earlier run" not in again.err, "there is nothing more to tell"


def test_a_dry_run_writes_nothing(town: Town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = tmp_path / "l.db"
    town.holding(config_map("old", "1h"))
    killed_after_its_deletes(town, ledger, monkeypatch)
    assert town("sweep", "-A", "--dry-run", "--ledger", str(ledger)).code == 0
    assert outcomes(ledger) == {"old": "intended"}


def test_a_sweep_with_nothing_to_delete_makes_no_ledger(town: Town, tmp_path: Path) -> None:
    ledger = tmp_path / "l.db"
    assert town("sweep", "-A", "--yes", "--ledger", str(ledger)).code == 0
    assert not ledger.exists()


def test_what_cannot_be_looked_at_stays_open_and_is_told(
    town: Town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = tmp_path / "l.db"
    town.holding(config_map("old", "1h"))
    town.holding(obj("Namespace", "skoupa"), installed())
    killed_after_its_deletes(town, ledger, monkeypatch)
    town.cluster.faults.answer(500, when=looks_for_one, times=None)
    said = town("sweep", "-A", "--yes", "--ledger", str(ledger))
    assert said.code == 0
    assert "what became of 1 earlier deletion is not known, they stay open" in said.err
    assert outcomes(ledger) == {"old": "intended"}


def test_where_what_went_is_written_down_is_said_with_how_to_look_there(town: Town, tmp_path: Path) -> None:
    ledger = tmp_path / "l.db"
    town.holding(config_map("old", "1h"))
    said = town("sweep", "-A", "--yes", "--ledger", str(ledger))
    assert said.code == 0
    assert (
        f"written to {ledger}: `skoupa history` and `skoupa restore` find it there with --ledger" in said.err
    )
    town.holding(config_map("new", "1h"))
    assert town.document("sweep", "-A", "--yes", "--ledger", str(ledger))["ledger"] == str(ledger)


@pytest.mark.parametrize(
    "nothing_to_tell", [("--dry-run", "due"), ("--yes", "none"), ("--yes", "nothing due")]
)
def test_a_sweep_that_has_written_nothing_names_no_ledger(
    town: Town, tmp_path: Path, nothing_to_tell: tuple[str, str]
) -> None:
    option, case = nothing_to_tell
    if case != "nothing due":
        town.holding(config_map("old", "1h"))
    ledger = "none" if case == "none" else str(tmp_path / "l.db")
    said = town("sweep", "-A", option, "--ledger", ledger, "-o", "json")
    assert said.code == 0
    assert "written to" not in said.err
    assert "ledger" not in json.loads(said.out)
