"""What fits into one message: exact counts, the first names, and never more than a message may be."""

from __future__ import annotations

import msgspec
import pytest

from skoupa.kube.resources import NAMESPACES as NAMESPACE_KIND
from skoupa.report.notices import wording
from skoupa.report.notices.digest import NAMES, NAMESPACES, REMARKS
from skoupa.report.notices.notice import about, keep_command, plain
from tests.unit.judge.rows import row
from tests.unit.report.notices.telling import AT, digest, notice

pytestmark = pytest.mark.unit


def test_many_deletions_are_counted_and_the_first_are_named() -> None:
    found = digest(*(notice(f"web-{number}") for number in range(130)))
    (group,) = found.groups
    assert group.counts == (("deleted", 130),)
    assert [item.name for item in group.items] == [f"web-{number}" for number in range(NAMES)]
    assert group.more == 120
    said = wording.text(found, limit=10_000)
    assert said.startswith("Skoupa on prod: 130 deleted\n")
    assert said.endswith("\n- and 120 more")


def test_what_needs_somebody_is_told_before_what_went_as_planned() -> None:
    gone = [notice(f"gone-{number}") for number in range(1000)]
    found = digest(*gone, notice("stays", what="failed"), notice("soon", what="notice"))
    (group,) = found.groups
    assert [item.name for item in group.items][:3] == ["stays", "soon", "gone-0"]
    assert wording.summary(found) == (
        "Skoupa on prod: 1 could not be deleted, 1 will be deleted, 1000 deleted"
    )


def test_namespaces_are_grouped_and_beyond_a_number_only_counted() -> None:
    many = NAMESPACES + 7
    found = digest(*(notice(f"web-{n}", namespace=f"team-{n:03}") for n in range(many) for _ in range(2)))
    assert len(found.groups) == NAMESPACES
    assert [group.namespace for group in found.groups] == [f"team-{n:03}" for n in range(NAMESPACES)]
    assert found.elsewhere_namespaces == 7
    assert found.total == 2 * many
    assert "and in 7 more namespaces: 14 deleted" in wording.text(found, limit=100_000)


def test_a_brake_counts_for_all_that_it_holds() -> None:
    braked = notice(
        "surge",
        what="braked",
        kind="brakes.skoupa.dev",
        namespace="",
        count=1234,
        why="too many",
        release="skoupa brakes release surge",
    )
    found = digest(braked)
    assert found.total == 1234
    assert found.groups[0].more == 0
    assert wording.sentence(braked) == (
        "Brake surge was pulled (1234 objects): too many. To let go: skoupa brakes release surge"
    )
    assert "the cluster itself: 1234 stopped by a brake" in wording.text(found, limit=1000)


def test_a_notice_says_when_why_and_how_to_keep() -> None:
    told = about(row("web"), "notice", why="ttl=1h", at=AT, due=AT + 60, notify="ops")
    assert wording.sentence(told) == (
        "configmaps/web will be deleted at 2026-01-01T00:01:00Z: ttl=1h. "
        "To keep it: skoupa keep configmaps/web -n shop"
    )
    assert told.notify == "ops"


def test_what_is_gone_is_not_told_how_to_be_kept() -> None:
    assert about(row("web"), "deleted", why="ttl=1h", at=AT).keep == ""


def test_the_command_to_keep_can_be_pasted_whatever_the_name() -> None:
    assert keep_command(row("system:node")) == "skoupa keep configmaps/system:node -n shop"
    assert keep_command(row("a; rm -rf b")) == "skoupa keep 'configmaps/a; rm -rf b' -n shop"
    assert keep_command(row("old", resource=NAMESPACE_KIND)) == "skoupa keep namespaces/old"


def test_texts_of_objects_become_one_bounded_printable_line() -> None:
    assert plain("a\nb\x1b[31m\ud800 c") == "a b�[31m� c"
    assert plain("x" * 1000, limit=10) == "xxxxxxxxx…"
    (group,) = digest(notice("web", why="one\ntwo " + "z" * 5000)).groups
    assert "\n" not in group.items[0].why
    assert len(group.items[0].why) <= 300


def test_the_same_content_has_the_same_id_and_any_other_another() -> None:
    assert digest(notice("a"), notice("b")).id == digest(notice("a"), notice("b")).id
    others = [
        digest(notice("a")),
        digest(notice("a"), cluster="test"),
        digest(notice("a", at=AT + 1)),
        digest(notice("a"), remark="x"),
        digest(notice("a", uid="1")),
    ]
    assert len({other.id for other in others}) == len(others)


def test_what_is_announced_has_the_same_id_whoever_tells_it_and_when() -> None:
    ahead = [notice(name, what="notice", uid=name, due=AT + 3600) for name in "ab"]
    later = [msgspec.structs.replace(one, at=AT + 60) for one in reversed(ahead)]
    assert digest(*ahead).id == digest(*later).id
    assert digest(*ahead).id != digest(notice("a", what="notice", uid="a", due=AT + 7200), ahead[1]).id


def test_times_span_what_happened() -> None:
    found = digest(notice(at=AT + 5), notice(at=AT), notice(at=AT + 9))
    assert (found.first, found.last) == (AT, AT + 9)


def test_remarks_are_few_and_each_is_made_once() -> None:
    from skoupa.report.notices.digest import Batch

    batch = Batch(route="ops", cluster="")
    for number in range(50):
        batch.add(notice(), remark=f"remark {number // 2}")
    assert batch.close().remarks == tuple(f"remark {number}" for number in range(REMARKS))


@pytest.mark.parametrize("limit", [200, 500, 1900])
def test_a_text_that_is_cut_says_how_many_were_left_out(limit: int) -> None:
    found = digest(*(notice(f"web-{n}", namespace=f"team-{n % 30}") for n in range(3000)))
    said = wording.text(found, limit=limit)
    assert len(said) <= limit
    named = said.count("configmaps/web-")
    in_between = sum(int(line.split()[2]) for line in said.splitlines() if line.startswith("- and "))
    assert said.splitlines()[-1] == f"… and {3000 - named - in_between} more"


def test_a_digest_is_bounded_however_much_happens() -> None:
    found = digest(*(notice(f"web-{n}", namespace=f"team-{n % 500}", why="y" * 900) for n in range(50_000)))
    assert len(msgspec.json.encode(found)) < 500_000
    assert found.total == 50_000
