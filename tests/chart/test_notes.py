"""What Helm says after an installation: commands that are right for this very release."""

from __future__ import annotations

from typing import Any

import pytest

from harness.chart import CHART
from tests.charting import helm

pytestmark = pytest.mark.chart


def notes(namespace: str, **settings: Any) -> list[str]:
    said = helm(
        *("install", "skoupa", str(CHART), "--namespace", namespace, "--dry-run=client"),
        values={"settings": settings},
    )
    assert said.returncode == 0, said.stderr
    told = said.stdout.partition("NOTES:\n")[2]
    assert told
    return [line.strip().partition("   (")[0] for line in told.splitlines()]


def test_at_home_no_command_needs_to_say_where() -> None:
    told = notes("skoupa")
    assert "skoupa history" in told
    assert "skoupa uninstall --check -n skoupa" in told


def test_elsewhere_the_controller_is_found_by_its_namespace() -> None:
    assert "skoupa history --skoupa-namespace ops" in notes("ops")


def test_of_some_namespaces_only_those_are_looked_into() -> None:
    told = notes("ops", namespaces=["shop", "ops", "lab"])
    assert "skoupa uninstall --check -n ops --namespaces ops,shop,lab" in told


@pytest.mark.parametrize("mode", ["observe", "enforce"])
def test_an_upgrade_takes_what_is_new_from_the_chart(mode: str) -> None:
    (upgrade,) = [line for line in notes("ops", mode=mode) if line.startswith("helm upgrade")]
    other = {"observe": "enforce", "enforce": "observe"}[mode]
    assert (
        upgrade == f"helm upgrade skoupa CHART -n ops --reset-then-reuse-values --set settings.mode={other}"
    )
