"""Where no controller can be asked about the past, the ledger that was written from here is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from skoupa.cli.remembering.misunderstandings import explained
from skoupa.errors import NoController, Status
from tests.unit.cli.saying import Shell
from tests.unit.cli.test_sweep_looks_again import WIDGETS
from tests.unit.cli.worlds import Town, config_map

pytestmark = pytest.mark.unit

NO_SUCH_SERVICE = Status(code=404, reason="NotFound", message='services "skoupa" not found')
LEDGER = "SKOUPA_LEDGER_DSN"


def advice() -> str:
    error = explained(NO_SUCH_SERVICE, namespace="skoupa")
    assert isinstance(error, NoController)
    return error.advice


def test_the_ledger_that_a_sweep_wrote_from_here_is_named(
    skoupa: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ledger = tmp_path / "my ledger.db"
    monkeypatch.setenv(LEDGER, str(ledger))
    assert str(ledger) not in advice(), "there is nothing yet"
    town = Town(skoupa, monkeypatch).holding(config_map("old", "1h"))
    assert town("sweep", "-A", "--yes").code == 0
    assert f"what `skoupa sweep` deleted from here: --ledger '{ledger}'" in advice()
    said = town("explain", "cm/old", "-n", "shop")
    assert f"--ledger '{ledger}' is what was written down here" in said.sentence


def test_the_usual_file_is_named_where_nothing_else_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv(LEDGER, raising=False)
    ledger = tmp_path / ".local/state/skoupa/ledger.db"
    ledger.parent.mkdir(parents=True)
    ledger.touch()
    assert f"--ledger {ledger}" in advice()


@pytest.mark.parametrize(
    "elsewhere", ["none", "postgresql://skoupa:hunter2@db.example.org/skoupa", "mysql://me:hunter2@db"]
)
def test_no_file_is_named_where_nothing_is_written_to_one(
    elsewhere: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(LEDGER, elsewhere)
    assert advice().endswith("is looked back at with --ledger")
    assert "hunter2" not in advice()


def test_of_a_custom_kind_the_history_is_asked_by_whatever_name_the_cluster_knows_it(
    skoupa: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    town = Town(skoupa, monkeypatch).holding(config_map("old", "1h"))
    town.cluster.install(WIDGETS)
    for word in (WIDGETS.kind.lower(), WIDGETS.plural, WIDGETS.qualified):
        said = town("explain", f"{word}/gone", "-n", "shop")
        assert f"there is no {WIDGETS.kind} gone in shop" in said.sentence
        assert "no Skoupa answers here, so its history could not be asked" in said.sentence
