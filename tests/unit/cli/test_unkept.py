"""What can't come back is said before it goes, by whoever knows the settings that count, and by nobody else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.saying import Shell
from tests.unit.cli.worlds import TTL, Town, config_map, obj

pytestmark = pytest.mark.unit


@pytest.fixture
def town(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Town:
    monkeypatch.delenv("SKOUPA_LEDGER_DSN")
    return Town(Shell(monkeypatch, capsys), monkeypatch).holding(
        obj("Namespace", "shop", labels={TTL: "9h"}),
        config_map("web", "4h"),
        obj("Secret", "login", namespace="shop", labels={TTL: "4h"}, data={"password": "aHVudGVyMg=="}),
        obj("Secret", "other", namespace="shop"),
        obj("Lease", "lock", api="coordination.k8s.io/v1", namespace="shop", labels={TTL: "4h"}),
    )


def notes(found: dict[str, Any]) -> dict[str, list[str]]:
    return {
        item["name"]: [
            note["text"] for note in item["notes"] if note["code"] in {"never-in-trash", "values-go"}
        ]
        for item in found["items"]
    }


def settings(tmp_path: Path, text: str) -> tuple[str, str]:
    file = tmp_path / "settings.yaml"
    file.write_text(text)
    return "--config", str(file)


WITHOUT_A_KEY = "can't come back: without a key (trash.keyFile) the trash keeps no values of Secrets"


def test_values_of_secrets_and_kinds_that_are_off_are_named(town: Town, tmp_path: Path) -> None:
    watching = "watchAlso: [leases.coordination.k8s.io]"
    config = settings(
        tmp_path, f"{watching}\ntrash: {{ignoreKinds: [leases.coordination.k8s.io, configmaps]}}\n"
    )
    assert notes(town.document("plan", "-A", *config)) == {
        "shop": [f"the values of 2 Secrets in it {WITHOUT_A_KEY}"],
        "web": ["it can't come back: configmaps are not put into the trash (trash.ignoreKinds)"],
        "login": [f"its values {WITHOUT_A_KEY}"],
        "lock": [
            "it can't come back: leases.coordination.k8s.io are not put into the trash (trash.ignoreKinds)"
        ],
    }
    assert f"its values {WITHOUT_A_KEY}" in town("plan", "-A", *config).out


def test_with_a_key_everything_comes_back(town: Town, tmp_path: Path) -> None:
    config = settings(tmp_path, "trash: {keyFile: /etc/skoupa-trash/keys}\n")
    assert not any(notes(town.document("plan", "-A", *config)).values())


def test_who_does_not_know_the_settings_says_nothing(town: Town) -> None:
    found = town.document("plan", "-A")
    assert not any(notes(found).values())
    assert not any("come back" in warning for warning in found["warnings"])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("trash: {enabled: false}", "the trash is switched off (trash.enabled)"),
        ("ledger: {dsn: none}", "there is no ledger (ledger.dsn)"),
    ],
)
def test_where_nothing_is_kept_that_is_said_once(town: Town, tmp_path: Path, text: str, why: str) -> None:
    found = town.document("plan", "-A", *settings(tmp_path, text))
    assert f"nothing of it can come back: {why}" in found["warnings"]
    assert not any(notes(found).values())
