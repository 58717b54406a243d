"""Settings of which a part would be lost without a word are refused: a key that is written twice, a file without a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from skoupa.errors import UsageError
from skoupa.settings import load

pytestmark = pytest.mark.unit

ONCE = "only one of the two would count: write it once, with all that both say"


def refusal(text: str) -> str:
    with pytest.raises(UsageError) as caught:
        load("skoupa.yaml", text=text, environ={})
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "protect: {namespaces: [shop]}\nmode: enforce\nprotect: {kinds: [Pod]}\n",
            'the key "protect" is there twice, in lines 1 and 3',
        ),
        ('mode: observe\n"mode": enforce\n', 'the key "mode" is there twice, in lines 1 and 2'),
        (
            "mode: enforce\nprotect:\n  names: [Pod/a]\n  kinds: [Pod]\n  names: [Pod/b]\n",
            'the key "names" is there twice, in lines 3 and 5',
        ),
        ("protect: {kinds: [Pod], kinds: []}\n", 'the key "kinds" is there twice, in line 1'),
        ('{"mode": "observe",\n "mode": "enforce"}', 'the key "mode" is there twice, in lines 1 and 2'),
        (
            "notices:\n  routes:\n  - name: a\n    type: webhook\n    url: https://a/\n    name: b\n",
            'the key "name" is there twice, in lines 3 and 6',
        ),
        ("protect:\nprotect: {kinds: [Pod]}\n", 'the key "protect" is there twice, in lines 1 and 2'),
    ],
)
def test_a_key_that_is_written_twice_is_an_error_that_names_its_lines(text: str, said: str) -> None:
    assert refusal(text) == f"skoupa.yaml: {said}: {ONCE}"


def test_two_merges_into_one_group_are_one_key_twice() -> None:
    text = "protect: &a {kinds: [Pod]}\nttl: {<<: *a, <<: *a}\n"
    assert 'the key "<<" is there twice, in line 2' in refusal(text)


def test_the_same_key_in_two_groups_and_one_that_overrides_a_merged_one_are_no_mistake() -> None:
    text = (
        "ledger: &kept {keepDays: 40}\n"
        "trash: &own\n  <<: *kept\n  keepDays: 20\n"
        "notices: {every: 5s}\n"
        "protect: {kinds: [Pod], names: [Pod/a]}\n"
    )
    found = load("skoupa.yaml", text=text, environ={})
    assert (found.ledger.keep_days, found.trash.keep_days) == (40, 20)
    assert found.protect.kinds == ("Pod",)


def test_a_merge_of_what_overrides_another_deeper_in_the_text_is_no_mistake() -> None:
    header = "{name: X-A, value: a}"
    text = (
        "notices:\n"
        "  routes:\n"
        f"  - &a {{name: a, type: webhook, url: 'https://a/', headers: [{header}]}}\n"
        "  - &b {<<: *a, name: b}\n"
        "  - {<<: *b, name: c}\n"
    )
    found = load("skoupa.yaml", text=text, environ={})
    assert [route.name for route in found.notices.routes] == ["a", "b", "c"]


def test_an_empty_name_is_no_file_and_not_none_at_all() -> None:
    with pytest.raises(UsageError) as caught:
        load("", environ={})
    said = str(caught.value)
    assert "--config names no file: it is empty" in said
    assert "leave --config out" in said
    assert "--config /dev/null" in said


def test_a_text_that_was_read_and_is_empty_is_not_looked_for_in_a_file(tmp_path: Path) -> None:
    assert load(str(tmp_path / "nowhere.yaml"), text="", environ={}) == load(environ={})


@pytest.mark.parametrize(
    "variables",
    [
        {"SKOUPA_LEDGER_DSN": "postgresql://db/skoupa"},
        {"SKOUPA_LEASE_RETRY_SECONDS": "20"},
        {"SKOUPA_NOTICES_DEFAULT": "team"},
    ],
    ids=lambda variables: next(iter(variables)),
)
def test_what_needs_another_setting_is_refused_only_where_that_could_have_been_given(
    variables: dict[str, str],
) -> None:
    load(environ=variables, whole=False)
    with pytest.raises(UsageError):
        load(environ=variables)
    text = (
        "clusterName: prod-eu\nlease: {seconds: 60}\n"
        "notices: {routes: [{name: team, type: webhook, url: 'https://a/'}]}\n"
    )
    load("skoupa.yaml", text=text, environ=variables)
