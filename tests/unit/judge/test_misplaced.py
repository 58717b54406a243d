"""Labels that do other than was meant are told: written as annotations (with the command), or a slip in a keep label."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa import names
from skoupa.judge.misplaced import ANY_TTL, ANY_TTL_AFTER
from skoupa.judge.retention import RetentionMechanism
from skoupa.judge.ttl import TtlMechanism
from skoupa.kube.resources import NAMESPACES
from skoupa.model.reasons import problems, render
from skoupa.settings import decode
from tests.unit.judge.rows import CREATED, row

pytestmark = pytest.mark.unit

TTL, KEEP = names.TTL_LABEL, names.KEEP_LABEL
STRICT = TtlMechanism(decode({}, source="the test"))
KYVERNO = TtlMechanism(decode({"compat": {"kyvernoTtl": True}}, source="the test"))
OTHERS = TtlMechanism(decode({"compat": {"janitor": True, "ttlController": True}}, source="the test"))


def commands(mechanism: TtlMechanism, **written: object) -> list[str]:
    notes = mechanism.answer(row("web", **written), CREATED).notes  # type: ignore[arg-type] # as `row` takes them
    return [dict(note.facts)["command"] for note in notes]


def test_it_claims_nothing_and_is_a_problem_that_says_what_to_do() -> None:
    found = row("web", annotations={TTL: "1h"})
    answer = STRICT.answer(found, CREATED)
    assert not answer.claims
    assert STRICT.due(found, CREATED) is None
    assert problems(answer.notes) == answer.notes
    assert render(answer.notes[0]) == (
        f"{TTL} is written as an annotation and does nothing: write it under metadata.labels, "
        f"or run kubectl label configmaps/web -n shop {TTL}=1h"
    )


def test_what_is_in_no_namespace_is_named_without_one() -> None:
    answer = STRICT.answer(row("old", resource=NAMESPACES, annotations={TTL: "1h"}), CREATED)
    assert dict(answer.notes[0].facts)["command"] == f"kubectl label namespaces/old {TTL}=1h"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("2d", "2d"),
        ("2026-09-30", "2026-09-30"),
        ("2days", "2d"),
        ("1.5h", "1h30m"),
        ("2026-08-04T00:30:00Z", "2026-08-04T003000Z"),
        ("", ANY_TTL),
        ("30", ANY_TTL),
        ("whenever it suits you", ANY_TTL),
        ("never", ANY_TTL),
        ("1" * 70 + "d", ANY_TTL),
        ("0" * 62 + "1d", ANY_TTL),
    ],
)
def test_the_command_has_the_value_as_a_label_takes_it(value: str, written: str) -> None:
    assert commands(STRICT, annotations={TTL: value}) == [
        f"kubectl label configmaps/web -n shop {TTL}={written}"
    ]


def test_with_kyvernos_readings_its_values_stay_as_they_are_where_a_label_can_hold_them() -> None:
    assert commands(KYVERNO, annotations={TTL: "2days"}) == [
        f"kubectl label configmaps/web -n shop {TTL}=2days"
    ]
    assert commands(KYVERNO, annotations={TTL: "2 days"})[0].endswith(f" {TTL}={ANY_TTL}")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("true", "true"),
        ("2026-09-30", "2026-09-30"),
        ("2026-09-30T12:00:00Z", "2026-09-30T120000Z"),
        ("", "true"),
        ("because it is mine", "true"),
        ("x" * 64, "true"),
    ],
)
def test_a_keep_label_is_told_in_the_same_way(value: str, written: str) -> None:
    assert commands(STRICT, annotations={KEEP: value}) == [
        f"kubectl label configmaps/web -n shop {KEEP}={written}"
    ]


@given(st.text(max_size=120))
def test_whatever_is_written_the_command_has_nothing_in_it_that_a_shell_would_obey(value: str) -> None:
    found = commands(STRICT, annotations={TTL: value, KEEP: value})
    found += commands(KYVERNO, annotations={TTL: value, KEEP: value})
    assert len(found) == 4
    for command in found:
        assert re.fullmatch(r"[A-Za-z0-9 ,./=_-]+", command), command


def test_an_annotation_that_repeats_the_label_is_not_spoken_of() -> None:
    assert commands(STRICT, ttl="1h", annotations={TTL: "1h"}) == []
    assert commands(STRICT, ttl="1h", keep="true", annotations={KEEP: "true"}) == []


def test_an_annotation_that_says_other_than_the_label_is_told_and_the_label_counts() -> None:
    answer = STRICT.answer(row("web", "1h", annotations={TTL: "9d"}), CREATED)
    assert [claim.due for claim in answer.claims] == [CREATED + 3600]
    assert dict(answer.notes[0].facts)["command"] == (
        f"kubectl label --overwrite configmaps/web -n shop {TTL}=9d"
    )


@pytest.mark.parametrize("mechanism", [STRICT, OTHERS], ids=["plain", "compat"])
@pytest.mark.parametrize(
    "key",
    [
        names.JANITOR_TTL_ANNOTATION,
        names.TTL_CONTROLLER_TTL_ANNOTATION,
        names.REFRESHED_AT_ANNOTATION,
        names.NOTICE_BEFORE_ANNOTATION,
        names.PROPAGATION_POLICY_ANNOTATION,
    ],
)
def test_what_belongs_into_an_annotation_is_not_spoken_of(mechanism: TtlMechanism, key: str) -> None:
    notes = mechanism.answer(row("web", annotations={key: "1h"}), CREATED).notes
    assert not [note for note in notes if note.code in {"ttl-annotation", "keep-annotation"}]


def test_on_skoupas_own_objects_a_label_would_do_nothing_either() -> None:
    own = {names.PART_OF_LABEL: names.COMPONENT}
    assert commands(STRICT, labels=own, annotations={TTL: "1h", KEEP: "true"}) == []


@pytest.mark.parametrize("ttl", [None, "1h", "2days"])
@pytest.mark.parametrize("value", ["1h", "2026-13-45", "2026-9-30", "FALSE", "no", "off", "0"])
def test_a_keep_label_with_a_slip_in_it_is_told_whether_or_not_there_is_a_ttl(
    value: str, ttl: str | None
) -> None:
    notes = problems(STRICT.answer(row("web", ttl, keep=value), CREATED).notes)
    (note,) = (note for note in notes if note.code == "keep-unclear")
    assert render(note).startswith(f"{KEEP}={value} keeps for good: ")
    assert "; write" in render(note) or "; check the date" in render(note)


@pytest.mark.parametrize(
    "value", ["", "true", "yes", "1", "false", "2026-09-30", "JIRA-123", "12345", "audit"]
)
def test_other_keep_labels_are_not_spoken_of(value: str) -> None:
    assert STRICT.answer(row("web", keep=value), CREATED).notes == ()


def test_a_keep_label_on_skoupas_own_objects_is_not_spoken_of() -> None:
    assert STRICT.answer(row(keep="1h", labels={names.PART_OF_LABEL: names.COMPONENT}), CREATED).notes == ()


@pytest.mark.parametrize(
    ("value", "written"), [("unused-1h", "unused-1h"), ("unused=1h", ANY_TTL_AFTER), ("1h", ANY_TTL_AFTER)]
)
def test_the_label_of_retention_too(value: str, written: str) -> None:
    key = names.TTL_AFTER_LABEL
    answer = RetentionMechanism().answer(row("web", annotations={key: value}), CREATED)
    assert not answer.claims
    assert problems(answer.notes) == answer.notes
    (command,) = [dict(note.facts)["command"] for note in answer.notes]
    assert command == f"kubectl label configmaps/web -n shop {key}={written}"
