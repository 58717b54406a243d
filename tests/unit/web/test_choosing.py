"""Which source of history the options mean, and what they can't mean."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from skoupa.cli.options import Connecting
from skoupa.cli.remembering.asking import ControllerSource
from skoupa.cli.remembering.ledgers import LedgerChoice, LedgerSource, opened
from skoupa.cli.worlds import World
from skoupa.errors import UsageError
from skoupa.kube.client import Client
from skoupa.ledger.sqlite import SqliteStore
from skoupa.sim.cluster import EmbeddedCluster
from tests.unit.web.desks import Ticking

pytestmark = pytest.mark.unit


def world() -> World:
    clock = Ticking()
    return World(client=Client(EmbeddedCluster(clock=clock), clock), namespace="shop")


async def source_of(choice: LedgerChoice) -> object:
    async with opened(choice, connecting=Connecting(), world=world()) as source:
        return source


async def test_with_a_ledger_it_is_read_and_without_one_the_controller_is_asked(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "ledger.db", cluster="east")
    await store.open()
    await store.close()
    assert isinstance(await source_of(LedgerChoice(ledger=str(store.path))), LedgerSource)
    asked = await source_of(LedgerChoice())
    assert isinstance(asked, ControllerSource)
    assert asked.where == "the history of the controller in skoupa"
    asked = await source_of(LedgerChoice(home="ops"))
    assert isinstance(asked, ControllerSource)
    assert asked.where == "the history of the controller in ops"


@pytest.mark.parametrize(
    ("choice", "part"),
    [
        (LedgerChoice(ledger="none"), "has no history"),
        (LedgerChoice(key_file="keys"), "--key-file goes with --ledger"),
        (LedgerChoice(key_env="KEYS"), "--key-env goes with --ledger"),
        (LedgerChoice(cluster="east"), "--cluster goes with --ledger"),
        (LedgerChoice(ledger="ledger.db", home="ops"), "--skoupa-namespace is for asking the controller"),
        (LedgerChoice(ledger="ledger.db", token_file="t"), "--token-file is for asking the controller"),
        (LedgerChoice(token_file="/nowhere/token"), "can't be read"),
    ],
)
async def test_options_that_do_not_go_together_are_refused(choice: LedgerChoice, part: str) -> None:
    with pytest.raises(UsageError, match=part):
        await source_of(choice)


@pytest.mark.parametrize("text", ["", "\n", "two words", "a\nb"])
async def test_a_token_file_has_one_token_in_it(tmp_path: Path, text: str) -> None:
    file = tmp_path / "token"
    file.write_text(text)
    with pytest.raises(UsageError, match="has no token in it"):
        await source_of(LedgerChoice(token_file=str(file)))


async def test_a_token_may_come_from_a_pipe_though_a_command_asks_twice() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"token-of-anna\n")
    os.close(writing)
    try:
        choice = LedgerChoice(token_file=f"/dev/fd/{reading}")
        for _ in range(2):
            asked = await source_of(choice)
            assert isinstance(asked, ControllerSource)
            assert (await asked._token()).reveal() == "token-of-anna"
    finally:
        os.close(reading)
