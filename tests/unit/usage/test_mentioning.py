"""Who says the names of followed objects, in whatever order objects come, change, are followed and go."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skoupa.facts.rows import Extraction, Row
from skoupa.kube.objects import Metadata, Partial
from skoupa.kube.resources import CONFIG_MAPS
from skoupa.usage.mentioning import Mentions

pytestmark = pytest.mark.unit

_PLACES = ("", "shop", "prod")
_NAMES = ("web", "db", "shop", "prod")
_EXTRACTION = Extraction(annotations=())


def _row(number: int, namespace: str, name: str) -> Row:
    metadata = Metadata(name=name, namespace=namespace, uid=f"uid-{number}", resource_version="1")
    return _EXTRACTION.row(CONFIG_MAPS, Partial(metadata=metadata))


_ROWS = [
    _row(number, place, name)
    for number, (place, name) in enumerate((place, name) for place in _PLACES for name in _NAMES)
]
_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["say", "hush", "follow", "leave"]),
        st.sampled_from(_ROWS),
        st.sets(st.sampled_from(_NAMES)),
    ),
    max_size=30,
)


@settings(max_examples=200, deadline=None)
@given(_STEPS)
def test_whatever_happens_it_is_known_who_says_the_name_of_a_followed_object(
    steps: list[tuple[str, Row, set[str]]],
) -> None:
    mentions = Mentions()
    said: dict[Row, set[str]] = {}
    followed: set[Row] = set()
    for what, row, words in steps:
        before = _meant(said, followed)
        told: set[bytes | str] = set()
        if what == "say":
            said[row] = words
            told = mentions.say(row, [("spec", array("q", map(hash, words)))] if words else [])
        elif what == "hush":
            said.pop(row, None)
            told = mentions.hush(row.uid)
        elif what == "follow":
            followed.add(row)
            mentions.follow([row])
        else:
            followed.discard(row)
            mentions.leave(row.uid)
        now = _meant(said, followed)
        if what in {"say", "hush"}:
            assert told == {one.uid for one in followed if (row.uid in before[one]) != (row.uid in now[one])}
        for one in followed:
            assert {uid for uid, _ in mentions.of(one.uid)} == now[one]


def _meant(said: dict[Row, set[str]], followed: set[Row]) -> dict[Row, set[bytes | str]]:
    return {
        one: {
            row.uid
            for row, words in said.items()
            if row != one
            and one.name in words
            and (not row.namespace or one.namespace in ("", row.namespace) or one.namespace in words)
        }
        for one in followed
    }


def test_words_that_are_said_no_more_make_room() -> None:
    mentions = Mentions(most=3)
    three = [("spec", array("q", [1, 2, 3]))]
    assert mentions.has_room(_ROWS[0].uid, three)
    mentions.say(_ROWS[0], three)
    assert mentions.has_room(_ROWS[0].uid, three)
    assert not mentions.has_room(_ROWS[1].uid, three)
    mentions.hush(_ROWS[0].uid)
    assert mentions.has_room(_ROWS[1].uid, three)
