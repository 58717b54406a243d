"""A value that is not known is answered with those that are, also inside a list."""

from __future__ import annotations

import pytest

from skoupa.errors import UsageError
from skoupa.settings import load
from skoupa.settings.choices import choices_at

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("route", "said"),
    [
        ("type: slak", "notices.routes[0].type: 'slak' is not known: write slack or webhook"),
        (
            "type: webhook, events: [failed, foo]",
            (
                "notices.routes[0].events[1]: 'foo' is not known: "
                "write braked or deleted or failed or held or notice or stuck or would-delete"
            ),
        ),
        (
            "typ: slack",
            "notices.routes[0]: there is no typ in it: there are name, type, url, urlFrom, headers, template, secretFrom, events",
        ),
        (
            "type: webhook, secretFrom: {environ: X}",
            "notices.routes[0].secretFrom: there is no environ in it: there are env, file",
        ),
    ],
)
def test_a_route_says_what_may_be_written(route: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        load("skoupa.yaml", text=f"notices: {{routes: [{{name: a, url: https://h/, {route}}}]}}", environ={})
    assert str(caught.value) == f"skoupa.yaml: {said}"


@pytest.mark.parametrize(
    "key", ["", "clusterName", "notices.routes[0]", "notices.routes[0].name", "no.such[0].key"]
)
def test_what_takes_any_value_has_no_choices(key: str) -> None:
    assert choices_at(key) == ()
