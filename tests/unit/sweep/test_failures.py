"""The same failure is news once; another one, or the same after another, is news again."""

from __future__ import annotations

import pytest

from skoupa.errors import SkoupaError, Status, Unreachable, api_error
from skoupa.sweep.failures import LASTING_SECONDS, Failures, refused, shared_words
from tests.unit.judge.rows import row

pytestmark = pytest.mark.unit


def refusal(message: str, code: int = 403) -> SkoupaError:
    return api_error(Status(code=code, message=message), doing="delete configmaps/web in shop")


def news(*errors: SkoupaError) -> list[bool]:
    failures = Failures()
    return [failures.note(row(), error, at=0).is_other for error in errors]


def test_a_failure_is_news_when_it_changes() -> None:
    no, not_today = refusal("no"), refusal("not today")
    assert news(no, no, not_today, not_today, no) == [True, False, True, False, True]
    assert news(no, refusal("no", 400), Unreachable("no")) == [True, True, True]


def test_a_number_that_changes_with_every_try_is_no_news() -> None:
    tries = [refusal(f"request 7f3c-{number} denied at 12:0{number}: ask first") for number in range(3)]
    assert news(*tries) == [True, False, False]


def test_what_is_gone_is_forgotten() -> None:
    failures = Failures()
    for found in (row(), row("other")):
        assert failures.note(found, refusal("no"), at=0).is_other
        failures.forget(found.uid)
        assert failures.note(found, refusal("no"), at=0).is_other
        failures.forget(found.uid)
    assert failures.most_frequent(lambda _: True) == (0, "")


def test_the_most_frequent_failure_is_counted_whatever_the_names_in_it() -> None:
    failures = Failures()
    for number in range(5):
        found = row(f"web-{number}")
        failures.note(found, refusal(f'configmaps "web-{number}" is forbidden: ask first'), at=0)
    failures.note(row("other"), Unreachable("no route"), at=0)
    assert failures.most_frequent(lambda _: True) == (6, "configmaps … is forbidden: ask first")
    other = row("other").uid
    assert failures.most_frequent(lambda uid: uid == other) == (1, "no route")


def test_the_name_is_no_part_of_the_words_that_are_shared() -> None:
    error = Unreachable("delete configmaps/web in shop: no route")
    assert shared_words(row(), error) == "delete … in shop: no route"


@pytest.mark.parametrize(
    ("error", "decided"),
    [
        (refusal("no"), True),
        (refusal("invalid", 422), True),
        (refusal('Internal error occurred: failed calling webhook "door.example": timed out', 500), True),
        (refusal("etcdserver: request timed out", 500), False),
        (refusal("busy", 429), False),
        (refusal("it was changed", 409), False),
        (Unreachable("no way"), False),
    ],
)
def test_what_is_told_on_the_object_is_about_it_and_not_about_the_server(
    error: SkoupaError, *, decided: bool
) -> None:
    assert refused(error) is decided


def test_trouble_of_the_server_concerns_people_once_when_it_lasts_whatever_it_says() -> None:
    failures, down = Failures(), refusal("etcdserver: no leader", 500)
    errors = [down, Unreachable("no route"), down, Unreachable("no route"), down, down]
    told = [
        failures.note(row(), error, at=number * LASTING_SECONDS / 3).concerns(error)
        for number, error in enumerate(errors)
    ]
    assert told == [False, False, False, True, False, False]
    failures.forget(row().uid)
    assert not failures.note(row(), down, at=10 * LASTING_SECONDS).concerns(down)


def test_a_refusal_concerns_people_at_once_and_only_again_when_it_changes() -> None:
    failures = Failures()
    errors = [refusal("no"), refusal("no"), refusal("no"), refusal("not today")]
    told = [
        failures.note(row(), error, at=number * LASTING_SECONDS).concerns(error)
        for number, error in enumerate(errors)
    ]
    assert told == [True, False, False, True]
