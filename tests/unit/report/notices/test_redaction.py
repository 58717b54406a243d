"""URLs, header values and signing keys are in no log, error, metric, statistic or repr, searched for byte by byte."""

from __future__ import annotations

import io
import traceback
from pathlib import Path
from typing import Any

import msgspec
import pytest

from skoupa.errors import UsageError
from skoupa.report.log import Log
from skoupa.report.notices import Notifier, notifier_of, open_routes
from skoupa.report.notices.posting import HttpPost, Outgoing
from skoupa.report.notices.routes import Route
from tests.unit.report.notices.receiver import HastyClock, Receiver, answer, close, receiving, until
from tests.unit.report.notices.telling import notice, opened, route, running, settings

pytestmark = pytest.mark.unit

# Each is looked for whole and in parts, because a library may quote a path without its host.
PATH_TOKEN = "T0BYTES-path-9f8e7d"
QUERY_TOKEN = "T0BYTES-query-6c5b4a"
HEADER_TOKEN = "T0BYTES-header-3a2b1c"
HMAC_TOKEN = "T0BYTES-hmac-0d9e8f"
LITERAL_TOKEN = "T0BYTES-literal-7a6b5c"
HIDDEN = (PATH_TOKEN, QUERY_TOKEN, HEADER_TOKEN, HMAC_TOKEN, LITERAL_TOKEN)


def environ(url: str) -> dict[str, str]:
    return {
        "HOOK_URL": f"{url}/services/{PATH_TOKEN}?key={QUERY_TOKEN}",
        "HOOK_HEADER": f"Bearer {HEADER_TOKEN}",
        "HOOK_HMAC": HMAC_TOKEN,
    }


def secretive(**more: Any) -> dict[str, Any]:
    one = route(
        urlFrom={"env": "HOOK_URL"},
        headers=[
            {"name": "Authorization", "valueFrom": {"env": "HOOK_HEADER"}},
            {"name": "X-Key", "value": LITERAL_TOKEN},
        ],
        secretFrom={"env": "HOOK_HMAC"},
        **more,
    )
    del one["url"]
    return one


def nothing_hidden_in(text: str, *, address: str = "") -> None:
    for token in (*HIDDEN, *([address] if address else [])):
        assert token.encode() not in text.encode(), token


def everything_shown(notifier: Notifier, routes: tuple[Route, ...]) -> str:
    stream = io.StringIO()
    log = Log(HastyClock(), stream=stream)
    for name, trouble in notifier.troubles().items():
        log("trouble", level="warning", what="notices", route=name, error=trouble)
    log("statistics", statistics=notifier.statistics(), present=notifier.present(), routes=routes)
    return stream.getvalue() + repr(notifier.statistics()) + repr(routes) + repr(notifier.__dict__)


def echo(status: int) -> Any:
    """What some receivers do: the answer quotes the request."""

    async def behave(request: Any) -> Any:
        told = f"{request.url} {dict(request.headers)}"
        return await answer(status, told)(request)

    return behave


@pytest.mark.parametrize("kind", ["slack", "webhook"])
@pytest.mark.parametrize(
    "trouble",
    [echo(403), echo(500), echo(404), answer(302, Location=f"/{PATH_TOKEN}"), close, answer(200)],
    ids=["403", "500", "404", "302", "closed", "taken"],
)
async def test_nothing_secret_is_shown_whatever_the_receiver_answers(trouble: Any, kind: str) -> None:
    async with receiving() as receiver:
        receiver.always[f"/services/{PATH_TOKEN}"] = trouble
        await _tell_and_look(receiver, kind=kind)


async def _tell_and_look(receiver: Receiver, *, kind: str) -> None:
    one = secretive(type=kind)
    if kind == "slack":
        del one["secretFrom"]
    routes = opened(one, environ=environ(receiver.url))
    notifier = Notifier(HastyClock(), routes, default="ops", every=0.01)
    async with running(notifier):
        notifier.tell(notice())
        await until(lambda: _something_came_of(notifier))
        shown = everything_shown(notifier, routes)
    nothing_hidden_in(shown, address=receiver.url.removeprefix("http://"))
    (got, *_) = receiver.requests
    assert PATH_TOKEN in got.path, "the secret was in play"
    assert HEADER_TOKEN in got.headers["Authorization"]
    nothing_hidden_in(got.body.decode())


def _something_came_of(notifier: Notifier) -> bool:
    found = notifier.statistics()["ops"]
    return bool(found.sent + found.failed + found.retried)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9",
        "https://127.0.0.1:9",
        f"http://{PATH_TOKEN.lower()}.invalid",
        f"http://{'x' * 70}.invalid",
        "http://[::1]:9",
    ],
)
async def test_nothing_secret_is_shown_when_there_is_no_connection(url: str) -> None:
    post = HttpPost(HastyClock().now, environ={})
    (found,) = opened(secretive(), environ=environ(url))
    outgoing = Outgoing(
        url=found.url.now(), headers=tuple((n, v.now()) for n, v in found.headers), body=b"{}"
    )
    try:
        outcome = await post(outgoing)
    finally:
        await post.close()
    assert outcome.said
    nothing_hidden_in(repr(outcome) + repr(outgoing), address=url.partition("://")[2])
    assert PATH_TOKEN.lower() not in outcome.said


@pytest.mark.parametrize(
    "spoilt",
    [
        {"HOOK_URL": f"no url {PATH_TOKEN}"},
        {"HOOK_URL": f"https://h:port/{PATH_TOKEN}"},
        {"HOOK_URL": f"https://[{PATH_TOKEN}/"},
        {"HOOK_HEADER": f"{HEADER_TOKEN}\r\nX: y"},
        {"HOOK_HEADER": f"{HEADER_TOKEN} ü"},
        {"HOOK_HMAC": ""},
        {"HTTPS_PROXY": f"http://me:{LITERAL_TOKEN}@h:port"},
    ],
    ids=lambda spoilt: next(iter(spoilt)),
)
def test_no_error_at_the_start_shows_what_is_secret_not_even_its_traceback(spoilt: dict[str, str]) -> None:
    with pytest.raises(UsageError) as caught:
        open_routes(settings(secretive()), environ={**environ("https://hooks.example"), **spoilt})
    nothing_hidden_in("".join(traceback.format_exception(caught.value)))


def test_a_file_that_is_no_text_is_not_quoted(tmp_path: Path) -> None:
    file = tmp_path / "url"
    file.write_bytes(f"https://h/{PATH_TOKEN}".encode() + b"\xff")
    one = {**secretive(), "urlFrom": {"file": str(file)}}
    with pytest.raises(UsageError) as caught:
        open_routes(settings(one), environ=environ("https://h"))
    nothing_hidden_in("".join(traceback.format_exception(caught.value)))


def test_the_settings_themselves_show_no_url_and_no_value() -> None:
    wrote = settings(route(url=f"https://h/{PATH_TOKEN}", headers=[{"name": "A", "value": HEADER_TOKEN}]))
    nothing_hidden_in(repr(wrote) + str(wrote) + f"{wrote.routes[0].headers}")


def test_an_opened_route_can_not_be_written_down() -> None:
    (found,) = opened(secretive(), environ=environ("https://h"))
    nothing_hidden_in(repr(found))
    for secret in found.secrets():
        with pytest.raises((TypeError, msgspec.EncodeError)):
            msgspec.json.encode(secret)


def test_a_notifier_made_from_settings_has_their_routes() -> None:
    notifier = notifier_of(
        settings(secretive(), default="ops", every="5s", timeout="3s"),
        HastyClock(),
        environ=environ("https://h"),
    )
    assert notifier
    assert notifier.statistics().keys() == {"ops"}
    assert not notifier_of(settings(), HastyClock(), environ={})
