"""A cluster for `skoupa migrate`."""

from __future__ import annotations

import pytest

from tests.unit.cli.migrating.clusters import Migrating
from tests.unit.cli.saying import Shell


@pytest.fixture
def town(skoupa: Shell, monkeypatch: pytest.MonkeyPatch) -> Migrating:
    return Migrating(skoupa, monkeypatch)
