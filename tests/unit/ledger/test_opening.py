"""Which store a setting means, and the one that keeps nothing."""

from __future__ import annotations

import asyncio
import builtins
import sys
from pathlib import Path
from typing import Any

import pytest

from skoupa.errors import LedgerUnusable, UsageError
from skoupa.ledger.nowhere import NoStore
from skoupa.ledger.opening import is_shared, store_for
from skoupa.ledger.sqlite import SqliteStore
from tests.unit.ledger.entries import intent

pytestmark = pytest.mark.unit


def test_a_path_is_sqlite_and_nothing_is_made_before_it_is_opened(tmp_path: Path) -> None:
    store = store_for(str(tmp_path / "x" / "ledger.db"), cluster="east")
    assert isinstance(store, SqliteStore)
    asyncio.run(store.close())
    assert list(tmp_path.iterdir()) == []


async def test_none_takes_everything_and_keeps_nothing() -> None:
    store = store_for("none", cluster="east")
    assert isinstance(store, NoStore)
    assert await store.write([intent("a", id="mine")]) == {"a": "mine"}
    assert await store.find() == await store.open_entries() == []


def test_only_postgresql_is_for_several_replicas() -> None:
    assert is_shared("postgresql://ledger/skoupa")
    assert is_shared("postgres://ledger/skoupa")
    assert not is_shared("/data/ledger.db")


def test_another_database_is_refused_without_repeating_a_password() -> None:
    with pytest.raises(UsageError, match=r"mysql://…: write a path") as caught:
        store_for("mysql://root:hunter2@db/x", cluster="east")
    assert "hunter2" not in str(caught.value)
    with pytest.raises(UsageError, match="has no place"):
        store_for("", cluster="east")


async def test_without_its_driver_postgresql_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] == "asyncpg":
            raise ModuleNotFoundError("No module named 'asyncpg'")
        return whole(name, *args, **kwargs)

    for name in [name for name in sys.modules if name.partition(".")[0] == "asyncpg"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    store = store_for("postgresql://me:hunter2@127.0.0.1:1/skoupa", cluster="east")
    with pytest.raises(LedgerUnusable, match=r"pip install 'skoupa\[postgres\]'"):
        await store.open()
