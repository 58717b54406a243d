"""What hung on an object of a kind that seldom owns anything is not looked for, and nobody says that it went by others."""

from __future__ import annotations

import pytest

from skoupa.errors import UsageError
from skoupa.kube.resources import CONFIG_MAPS
from skoupa.ledger.trash.keeper import Keeping
from tests.unit.cli.worlds import config_map, obj
from tests.unit.trash.remembering import Memory
from tests.unit.trash.test_commands import DONE, LEFTOVERS, asked, restored, take_along

pytestmark = pytest.mark.unit

NOT_LOOKED_FOR = "not known: what hung on it and went along; that is not looked for with objects of this kind"


def with_its_owner(memory: Memory, *, mechanism: str = "policies") -> str:
    """A ConfigMap `x` that hangs on another one, `owner`, which a rule lets go; the id of its row."""
    hangs = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "c-1"}
    memory.holding(obj("Namespace", "shop"), config_map("owner", uid="c-1"), config_map("x", owners=[hangs]))
    entry_id = memory.delete("configmaps", "owner", mechanism=mechanism)
    memory.remove(CONFIG_MAPS, "x")
    return entry_id


def test_explain_says_that_what_went_along_with_such_an_owner_is_not_recorded(memory: Memory) -> None:
    entry_id = with_its_owner(memory)
    with pytest.raises(UsageError) as raised:
        asked(memory, "x")
    said = str(raised.value)
    assert "not by Skoupa, as far as is known here; what went along with ConfigMap shop/owner is not " in said
    assert f"is not recorded; `skoupa history show {entry_id}` tells about that" in said
    history = memory("history", "cm/x", "-n", "shop")
    assert history.code == DONE
    assert "what went along with ConfigMap shop/owner is not recorded" in history.err


def test_history_show_of_the_owner_says_that_it_was_not_looked_for(memory: Memory) -> None:
    entry_id = with_its_owner(memory)
    assert NOT_LOOKED_FOR in memory("history", "show", entry_id).out


def test_several_of_them_are_counted_and_the_newest_is_named(memory: Memory) -> None:
    memory.holding(obj("Namespace", "shop"), *(config_map(f"web-{number}", "1h") for number in range(3)))
    for number in range(3):
        memory.delete("configmaps", f"web-{number}")
    with pytest.raises(UsageError, match="ConfigMap shop/web-2 and 2 other deletions here is not recorded"):
        asked(memory, "never")


def test_where_nothing_is_kept_nobody_knows_what_went_along(memory: Memory) -> None:
    memory.keeping = Keeping(off=frozenset({"deployments.apps"}))
    entry_id = take_along(memory, "owner")
    with pytest.raises(UsageError, match="what went along with Deployment shop/web is not recorded"):
        asked(memory, "x")
    shown = memory("history", "show", entry_id).out
    assert "not known: what went along with it, of which nothing is kept either" in shown


def test_of_an_owner_that_was_looked_at_nothing_of_that_is_said(memory: Memory) -> None:
    entry_id = take_along(memory, "owner")
    assert "looked for" not in memory("history", "show", entry_id).out
    with pytest.raises(UsageError) as raised:
        asked(memory, "never")
    assert "not by Skoupa, as far as is known here" in str(raised.value)
    assert "recorded" not in str(raised.value)


def test_restore_of_what_hung_on_it_says_the_same_and_leaves_it_undone(memory: Memory) -> None:
    with_its_owner(memory)
    assert restored(memory, "cm/x", "-n", "shop", code=LEFTOVERS) == []
    said = memory("restore", "cm/x", "-n", "shop", "--yes")
    assert "what went along with ConfigMap shop/owner is not recorded" in said.err
