"""Routes that can't work are refused at the start, by name, and without showing what is secret."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from skoupa.errors import UsageError
from skoupa.report.notices import open_routes
from skoupa.settings.notices import EVENTS, TEMPLATE_FIELDS, NoticeSettings
from tests.unit.report.notices.telling import route, settings

pytestmark = pytest.mark.unit

TOKEN = "T0KEN-hunter2-in-the-url"
SLACK = {"name": "ops", "type": "slack", "urlFrom": {"env": "OPS_URL"}}


def refused(*routes: dict[str, Any], environ: dict[str, str] | None = None, **more: Any) -> str:
    with pytest.raises(UsageError) as caught:
        open_routes(settings(*routes, **more), environ=environ or {}, source="skoupa.yaml")
    assert str(caught.value).startswith("skoupa.yaml: notices.")
    assert caught.value.advice
    assert TOKEN not in repr(caught.value)
    return str(caught.value)


def without_url(**more: Any) -> dict[str, Any]:
    return {"name": "ops", "type": "webhook", **more}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (without_url(), "ops: it needs one of url and urlFrom"),
        (route(urlFrom={"env": "X"}), "ops: it needs one of url and urlFrom"),
        (
            without_url(urlFrom={}),
            "urlFrom names no one place: give one of `env: VARIABLE` and `file: /PATH`",
        ),
        (without_url(urlFrom={"env": "X", "file": "/x"}), "urlFrom names no one place"),
        (
            {**SLACK, "url": f"https://hooks.example/{TOKEN}", "urlFrom": None},
            "is a secret, and the settings are",
        ),
        (route(url=f"ftp://h/{TOKEN}"), "url is no http or https URL: write it like https://HOST/PATH"),
        (route(url=f"https:///{TOKEN}"), "url is no http or https URL"),
        (route(url=f"https://h:99999/{TOKEN}"), "url is no http or https URL"),
        (route(url=f"https://h/{TOKEN} x"), "url is no http or https URL"),
        (route(url=f"https://h/{TOKEN}\n"), "url is no http or https URL"),
        (route(url=f"https://me:{TOKEN}@h/"), "url has a password in it"),
        (route("Ops"), "routes[0].name: 'Ops' can't be the name of a route"),
        (route(""), "routes[0].name: '' can't be the name of a route"),
        (route(events=[]), "ops: events is empty"),
        ({**SLACK, "secretFrom": {"env": "X"}}, "Slack checks no signature: leave secretFrom out"),
        (route(secretFrom={}), "secretFrom names no one place"),
        (route(headers=[{"name": "A b", "value": "x"}]), "'A b' can't be the name of a header"),
        (route(headers=[{"name": "Host", "value": "x"}]), "Host is set by Skoupa itself"),
        (route(headers=[{"name": "x-skoupa-signature", "value": "x"}]), "is set by Skoupa itself"),
        (route(headers=[{"name": "A"}]), "A needs one of value and valueFrom"),
        (route(headers=[{"name": "A", "value": "x", "valueFrom": {"env": "X"}}]), "A needs one of value and"),
        (route(headers=[{"name": "A", "value": f"{TOKEN}\r\nB: c"}]), "characters that no header can have"),
        (route(headers=[{"name": "A", "value": "x"}, {"name": "a", "value": "y"}]), "headers has a twice"),
        (route(template="$tekst"), "there is no field $tekst: there are text, summary,"),
        (route(template="5 $"), "has a $ that begins no field: write $$ for a dollar sign"),
        (route(template=" "), "is no text that can be sent"),
        (route(template='{"content": $text}'), "begins like JSON and is none: put every field but $total in"),
        (route(template='{"content": "$text"'), "begins like JSON and is none"),
    ],
)
def test_a_route_that_can_not_work_is_refused_with_its_name(given: dict[str, Any], said: str) -> None:
    assert said in refused(given)


@pytest.mark.parametrize(
    "template",
    [
        '{"content": "$text"}',
        '[$total, "${cluster}"]',
        "$summary\n$$5",
        "plain",
        '{"a": {"b": "x $id"}}',
        "Σκούπα",
    ],
)
def test_a_template_of_known_fields_is_taken(template: str) -> None:
    (found,) = open_routes(settings(route(template=template)), environ={})
    assert found.template == template


def test_two_routes_of_one_name_and_a_default_that_is_none_are_refused() -> None:
    assert "has two routes ops" in refused(route(), route())
    assert "there is no route 'opps': there are: a, ops" in refused(route(), route("a"), default="opps")


@pytest.mark.parametrize(("key", "text"), [("every", "2days"), ("timeout", "0"), ("every", "-1s")])
def test_intervals_have_to_be_durations_above_zero(key: str, text: str) -> None:
    wrong: dict[str, Any] = {key: text}
    assert f"notices.{key}" in refused(route(), **wrong)


@pytest.mark.parametrize(
    "tree",
    [
        {"routes": [{**SLACK, "events": ["delete"]}]},
        {"routes": [{**SLACK, "type": "teams"}]},
        {"routes": [{**SLACK, "channel": "#x"}]},
        {"routes": [{"type": "slack"}]},
        {"routes": {"ops": SLACK}},
    ],
)
def test_what_is_no_setting_is_refused_by_its_type(tree: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(tree, NoticeSettings)


def test_a_secret_that_is_not_there_is_told_by_its_place(tmp_path: Path) -> None:
    empty, binary = tmp_path / "empty", tmp_path / "binary"
    empty.write_text("\n")
    binary.write_bytes(b"\xff" + TOKEN.encode())
    assert "urlFrom: the variable OPS_URL is not set" in refused(SLACK)
    for file, said in (
        (tmp_path / "none", "can't be read: No such file or directory"),
        (tmp_path, "can't be read: Is a directory"),
        (empty, "is empty"),
        (binary, "is no UTF-8 text"),
    ):
        assert said in refused({**SLACK, "urlFrom": {"file": str(file)}})


def test_a_secret_that_can_not_be_used_is_told_without_showing_it() -> None:
    refused(SLACK, environ={"OPS_URL": f"hooks.example/{TOKEN}"})
    keyed = route(headers=[{"name": "Authorization", "valueFrom": {"env": "KEY"}}])
    assert "characters that no header can have" in refused(keyed, environ={"KEY": f"{TOKEN}\x00"})


def test_secrets_come_from_variables_and_files_without_their_line_end(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("k3y\n")
    (found,) = open_routes(
        settings(
            without_url(
                urlFrom={"env": "OPS_URL"},
                headers=[{"name": "Authorization", "valueFrom": {"file": str(file)}}],
                secretFrom={"file": str(file)},
            )
        ),
        environ={"OPS_URL": "https://hooks.example/x\n"},
    )
    assert [secret.reveal() for secret in found.secrets()] == ["https://hooks.example/x", "k3y", "k3y"]


def test_a_rotated_file_is_read_anew_and_a_bad_one_leaves_the_last_good_value(tmp_path: Path) -> None:
    file = tmp_path / "url"
    file.write_text("https://hooks.example/1")
    (found,) = open_routes(settings({**SLACK, "urlFrom": {"file": str(file)}}), environ={})
    file.write_text("https://hooks.example/2")
    assert found.url.now().reveal() == "https://hooks.example/2"
    for spoil in (lambda: file.write_text("half of it"), file.unlink):
        spoil()
        assert found.url.now().reveal() == "https://hooks.example/2"


def test_by_default_a_route_hears_of_what_went_or_will_or_could_not() -> None:
    (found,) = open_routes(settings(SLACK), environ={"OPS_URL": "https://hooks.example/x"})
    assert found.events == EVENTS.keys() - {"held", "would-delete"}
    assert NoticeSettings() == settings()
    assert (NoticeSettings().every, NoticeSettings().timeout) == ("60s", "10s")


def test_every_field_event_and_setting_is_in_the_docs() -> None:
    page = (Path(__file__).parents[4] / "docs" / "notices.md").read_text(encoding="utf-8")
    for field, meaning in TEMPLATE_FIELDS.items():
        assert f"| `${field}` | {meaning} |" in page
    for event, meaning in EVENTS.items():
        assert f"| `{event}` | {meaning}" in page
    for key in ("routes", "default", "every", "timeout"):
        assert f"`notices.{key}`" in page
    for key in ("name", "type", "url", "urlFrom", "headers", "template", "secretFrom", "events"):
        assert f"| `{key}` |" in page
