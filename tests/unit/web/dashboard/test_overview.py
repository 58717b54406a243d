"""The first page: how much would go, by what, what holds the rest, in the words of `plan`, and never too long."""

from __future__ import annotations

import msgspec
import pytest

from skoupa.controller.survey import Finding, Gap
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Hold
from skoupa.web.dashboard.overview import objects, overview
from skoupa.web.dashboard.questions import MOST_OBJECTS, Which, filters_of, nothing_of, which_of
from skoupa.web.dashboard.shapes import Counts, Mode
from tests.unit.cli.worlds import KEEP, TTL, config_map, obj
from tests.unit.web.dashboard.findings import look_at, planned

pytestmark = pytest.mark.unit

# They are two hours old at noon.
SHOP = (
    config_map("a", "1h"),
    config_map("b", "1h"),
    config_map("c", "90m"),
    config_map("far", "3d"),
    config_map("soon", "3h"),
    config_map("mine", "1h", labels={KEEP: "true"}),
    config_map("also-mine", "1h", labels={KEEP: "true"}),
    config_map("elsewhere", "1h", namespace="lab"),
    obj("Namespace", "preview", labels={TTL: "1h"}),
    config_map("wrong", "1 day"),
)


def test_it_counts_what_is_due_to_come_and_held_and_groups_by_namespace_and_rule() -> None:
    page = overview(look_at(*SHOP))
    assert page.counts == Counts(due=5, soon=1, later=2, held=2)
    assert [(lot.namespace, lot.rule, lot.count) for lot in page.due] == [
        ("shop", f"{TTL}=1h", 2),
        ("", f"{TTL}=1h", 1),
        ("lab", f"{TTL}=1h", 1),
        ("shop", f"{TTL}=90m", 1),
    ]
    assert [one.name for one in page.next] == ["soon", "far"]
    assert [one.name for one in page.remarks] == ["wrong"]


def test_reasons_are_in_the_words_of_plan() -> None:
    plan = planned(*SHOP)
    told = {
        found.row.name: [claim.reason.text for claim in plan.item(found).claims] for found in plan.findings
    }
    page = overview(look_at(*SHOP))
    for lot in page.due:
        for one in lot.first:
            assert list(one.why) == told[one.name]
    (kept,) = page.holds
    assert (kept.code, kept.count) == ("kept", 2)
    assert [(said.text, said.count) for said in kept.texts] == [(f"kept by its label {KEEP}=true", 2)]
    assert "write 1d" in page.remarks[0].notes[0]


def test_time_alone_makes_what_was_to_come_due() -> None:
    assert overview(look_at(*SHOP, ahead=3600.0)).counts == Counts(due=6, soon=0, later=1, held=2)


@pytest.mark.parametrize(
    ("mode", "headline", "sentence"),
    [
        ("observes", "5 objects would have gone by now", "Skoupa only observes"),
        ("acts", "5 objects go now", "Skoupa enforces"),
        ("files", "5 objects would go at once", "nothing here is deleted"),
        ("absent", "5 objects are due", "no controller here."),
        ("unknown", "5 objects are due", "is not known: no controller here."),
        ("starts", "5 objects are due", "only begun"),
        ("stands-by", "5 objects are due", "another one leads"),
    ],
)
def test_what_the_controller_does_is_said_first(mode: Mode, headline: str, sentence: str) -> None:
    standing = overview(look_at(*SHOP, mode=mode, why="no controller here")).standing
    assert standing.headline == headline
    assert sentence in standing.sentence


def test_one_is_said_as_one_and_nothing_as_nothing() -> None:
    assert overview(look_at(config_map("a", "1h"))).standing.headline == "1 object would have gone by now"
    assert overview(look_at(config_map("a", "1h"), mode="acts")).standing.headline == "1 object goes now"
    assert overview(look_at(config_map("a", "1d"))).standing.headline == "Nothing would have gone yet"
    assert overview(look_at(config_map("a"))).standing.headline == "Nothing is to go"


@pytest.mark.parametrize("mode", ["acts", "observes", "absent"])
def test_what_is_overdue_and_held_is_said_so(mode: Mode) -> None:
    look = look_at(config_map("a", "1h"), config_map("b", "1h"), config_map("later", "1d"), mode=mode)
    brake = Hold(reason=reason("brake", name="freeze", why="an audit"))
    findings = [
        Finding(found.row, msgspec.structs.replace(found.verdict, holds=(brake,))) for found in look.findings
    ]
    page = overview(msgspec.structs.replace(look, findings=findings))
    assert page.standing.headline == "2 objects are overdue and held"


def test_what_could_not_be_read_is_not_taken_for_nothing() -> None:
    look = look_at(config_map("a"))
    assert overview(look).complete
    page = overview(msgspec.structs.replace(look, gaps=[Gap(what="secrets", why="no permission")]))
    assert (page.complete, page.standing.headline) == (False, "Nothing of what is shown is to go")


def test_much_is_a_page_as_short_as_little_with_the_numbers_of_the_rest() -> None:
    look = look_at(*(config_map(f"c{number}", "1h") for number in range(300)))
    look = msgspec.structs.replace(look, findings=list(look.findings) * 35)
    page = overview(look)
    assert page.counts.due == 10_500
    assert len(msgspec.json.encode(page)) < 10_000
    listed = objects(look, Which(state="due", offset=10_450))
    assert (len(listed.items), listed.total, listed.offset) == (50, 10_500, 10_450)
    assert len(objects(look, Which()).items) == MOST_OBJECTS
    assert objects(look, Which(offset=20_000)).items == ()


@pytest.mark.parametrize(
    ("which", "names"),
    [
        (Which(state="held"), ["also-mine", "mine"]),
        (Which(state="due", namespace="shop"), ["c", "a", "b"]),
        (Which(state="due", namespace=""), ["preview"]),
        (Which(rule=f"{TTL}=3d"), ["far"]),
        (Which(reason="kept"), ["also-mine", "mine"]),
        (Which(reason="brake"), []),
    ],
)
def test_lists_are_narrowed_down(which: Which, names: list[str]) -> None:
    found = objects(look_at(*SHOP), which)
    assert sorted(one.name for one in found.items) == sorted(names)
    assert found.total == len(names)


def test_each_object_says_what_to_type_about_it() -> None:
    (item,) = objects(look_at(*SHOP), Which(namespace="lab")).items
    assert item.commands == (
        "skoupa explain configmap/lab/elsewhere",
        "skoupa keep configmap/lab/elsewhere",
    )
    assert overview(look_at(*SHOP)).command == "skoupa plan -A"


def test_a_question_that_can_not_be_meant_is_refused() -> None:
    for read, pairs in (
        (which_of, [("state", "gone")]),
        (which_of, [("offset", "x")]),
        (which_of, [("nonsense", "1")]),
        (filters_of, [("outcome", "exploded")]),
        (filters_of, [("limit", "many")]),
        (nothing_of, [("a", "b")]),
    ):
        with pytest.raises(msgspec.ValidationError):
            read(pairs)
    assert which_of([("offset", "-5")]).offset == 0
    assert filters_of([("object", " "), ("limit", "999999")]).limit == 1000
