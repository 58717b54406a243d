"""Services over real sockets: who is called, what goes along, and everything that can go wrong on the way."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from skoupa.errors import BadReply, SkoupaError, TimedOut, Unreachable, UsageError
from skoupa.runs.calls.protocol import ServiceCall
from skoupa.runs.calls.resolving import ForbiddenAddress, checked_socket
from skoupa.runs.calls.services import Services, accepted
from skoupa.settings import PolicySettings
from tests.unit.runs.calls.serving import (
    AUTHORITY,
    HOST,
    LOOPBACK,
    OTHER_AUTHORITY,
    Hasty,
    Names,
    Service,
    hanging,
    here,
    prices,
    served,
)

pytestmark = pytest.mark.unit

SECRET = "s3cr3t-token"


@asynccontextmanager
async def services(settings: PolicySettings, lookup: Names | None = None) -> AsyncIterator[Services]:
    made = Services(Hasty(), settings=settings, lookup=lookup or here())
    try:
        yield made
    finally:
        await made.close()


def call(service: Service, path: str = "/fruit", *, ca: str = AUTHORITY.certificate) -> ServiceCall:
    return ServiceCall(url=f"{service.origin}{path}", ca_bundle=ca)


async def failure(
    made: Services, asked: ServiceCall, *, method: str = "GET", headers: Mapping[str, str] | None = None
) -> SkoupaError:
    with pytest.raises(SkoupaError) as caught:
        await made.ask(asked, method=method, headers=headers or {})
    assert caught.value.advice, "every failure says what to do"
    assert SECRET not in str(caught.value)
    return caught.value


async def test_an_allowed_service_answers_what_it_is_asked() -> None:
    async with served() as service, services(service.settings()) as made:
        answer = await made.ask(call(service, "/fruit?x=1"), method="GET", headers={"X-Team": "shop"})
        assert answer.value() == {"pear": 3, "path": "/fruit"}
        sent = await made.ask(call(service), method="POST", body=b'{"a":1}')
        assert accepted(sent).status == 200
    (get, get_path, headers, _), (post, _, posted, body) = service.requests
    assert (get, get_path, post, body) == ("GET", "/fruit?x=1", "POST", b'{"a":1}')
    assert headers["X-Team"] == "shop"
    assert posted["Content-Type"] == "application/json"


async def test_nothing_of_ours_goes_along(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
        monkeypatch.setenv(name.lower(), "http://127.0.0.1:9")

    async def sets_cookies(_: web.Request) -> web.StreamResponse:
        answer = web.json_response(1)
        answer.set_cookie("id", "7")
        return answer

    async with served(sets_cookies) as service, services(service.settings()) as made:
        await made.ask(call(service), method="GET")
        await made.ask(call(service), method="GET")
    for _, _, headers, _ in service.requests:
        assert set(headers) == {"Host", "User-Agent", "Accept", "Accept-Encoding"}


async def test_a_host_that_is_not_named_is_not_even_looked_up() -> None:
    lookup = here()
    async with (
        served() as service,
        services(service.settings(allowed_hosts=("other.example",)), lookup) as made,
    ):
        error = await failure(made, call(service, f"/{SECRET}"))
    assert f"{HOST}:{service.port}" in error.advice
    assert (lookup.asked, service.requests) == ([], [])


async def test_loopback_is_closed_unless_the_operator_opens_it() -> None:
    async with served() as service, services(service.settings(allowed_networks=())) as made:
        error = await failure(made, call(service))
        assert "this machine" in str(error)
    assert service.requests == []


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254", "0.0.0.0"]
)
async def test_an_address_instead_of_a_name_is_checked_too(address: str) -> None:
    settings = PolicySettings(allowed_hosts=(address.strip("[]"), "*"))
    async with services(settings) as made:
        error = await failure(made, ServiceCall(url=f"https://{address}/latest/meta-data"))
    assert isinstance(error, UsageError)


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "127.1", "localhost", "0177.0.0.1"])
async def test_another_spelling_of_loopback_does_not_help(host: str) -> None:
    """The system's own resolver, which knows them all."""
    made = Services(Hasty(), settings=PolicySettings(allowed_hosts=("*",)))
    try:
        await failure(made, ServiceCall(url=f"https://{host}/"))
    finally:
        await made.close()


@pytest.mark.parametrize(
    "addresses",
    ["169.254.169.254", "93.184.216.34,127.0.0.1", "::ffff:169.254.169.254", "fe80::1", "0.0.0.0"],
)
async def test_a_name_that_leads_to_a_closed_address_is_refused_whole(addresses: str) -> None:
    settings = PolicySettings(allowed_hosts=(HOST,))
    async with services(settings, Names(prices_shop_example=addresses)) as made:
        assert isinstance(await failure(made, ServiceCall(url=f"https://{HOST}/")), UsageError)


async def test_a_name_that_only_the_wildcard_allows_may_not_be_private() -> None:
    async with services(PolicySettings(allowed_hosts=("*",)), Names(prices_shop_example="10.0.0.1")) as made:
        assert "private" in str(await failure(made, ServiceCall(url=f"https://{HOST}/")))


async def test_a_name_that_changes_its_address_is_checked_at_each_connection() -> None:
    """First harmless, then the machine itself: the second connection is not made."""
    lookup = Names(prices_shop_example=["127.0.0.1", "127.0.0.2"])

    async def closing(request: web.Request) -> web.StreamResponse:
        answer = await prices(request)
        answer.force_close()
        return answer

    async with (
        served(closing) as service,
        services(service.settings(allowed_networks=("127.0.0.1/32",)), lookup) as made,
    ):
        assert (await made.ask(call(service), method="GET")).status == 200
        assert "this machine" in str(await failure(made, call(service)))
    assert len(service.requests) == 1


@pytest.mark.parametrize(
    ("address", "family"),
    [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6), ("localhost", socket.AF_INET)],
)
def test_a_socket_is_made_for_the_address_that_was_checked_and_for_no_name(
    address: str, family: socket.AddressFamily
) -> None:
    with pytest.raises(ForbiddenAddress):
        checked_socket(())((family, socket.SOCK_STREAM, 0, "", (address, 443)))


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_is_not_followed_wherever_it_leads(status: int) -> None:
    async def elsewhere(_: web.Request) -> web.StreamResponse:
        return web.Response(status=status, headers={"Location": f"https://127.0.0.1/{SECRET}"})

    async with served(elsewhere) as service, services(service.settings()) as made:
        error = await failure(made, call(service))
        assert "redirects are not followed" in str(error)
    assert len(service.requests) == 1


@pytest.mark.parametrize(
    ("names", "ca", "why"),
    [
        ("other.example", AUTHORITY.certificate, "not trusted"),
        (HOST, OTHER_AUTHORITY.certificate, "not trusted"),
        (HOST, "", "not trusted"),
    ],
    ids=["another name", "another authority", "the system's authorities"],
)
async def test_a_service_must_prove_its_name(names: str, ca: str, why: str) -> None:
    async with served(names=names) as service, services(service.settings()) as made:
        error = await failure(made, call(service, ca=ca))
    assert isinstance(error, Unreachable)
    assert why in str(error)
    assert service.requests == []


@pytest.mark.parametrize("ca", ["nonsense", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"])
async def test_a_bundle_that_is_none_is_told(ca: str) -> None:
    async with services(PolicySettings(allowed_hosts=(HOST,))) as made:
        assert "caBundle" in str(await failure(made, ServiceCall(url=f"https://{HOST}/", ca_bundle=ca)))


async def test_plain_http_is_refused_unless_the_operator_allows_it() -> None:
    async with served(tls=False) as service:
        async with services(service.settings()) as made:
            assert "allowPlainHttp" in str(await failure(made, call(service)))
        async with services(service.settings(allow_plain_http=True)) as made:
            assert (await made.ask(call(service), method="GET")).value()["pear"] == 3


async def test_a_service_that_hangs_costs_the_time_limit_and_no_more() -> None:
    loop = asyncio.get_running_loop()
    async with served(hanging) as service, services(service.settings(call_timeout="1s")) as made:
        before = loop.time()
        assert isinstance(await failure(made, call(service)), TimedOut)
        assert loop.time() - before < 5


async def test_an_answer_that_stops_half_way_costs_the_same() -> None:
    async def half(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Length": "100"})
        await answer.prepare(request)
        await answer.write(b'{"a":')
        await asyncio.Event().wait()
        return answer

    async with served(half) as service, services(service.settings(call_timeout="1s")) as made:
        assert isinstance(await failure(made, call(service)), TimedOut)


async def test_an_answer_over_the_limit_is_an_error_and_is_not_read_to_its_end() -> None:
    written = 0

    async def large(request: web.Request) -> web.StreamResponse:
        nonlocal written
        answer = web.StreamResponse()
        answer.enable_chunked_encoding()
        await answer.prepare(request)
        piece = b" " * 100_000
        for _ in range(2000):
            if request.transport is None or request.transport.is_closing():
                # Whoever asked has left: what is written from here on goes nowhere, and without a word.
                break
            await answer.write(piece)
            written += len(piece)
        return answer

    async with served(large) as service, services(service.settings(call_timeout="60s")) as made:
        error = await failure(made, call(service))
    assert isinstance(error, BadReply)
    assert "2,000,000" in str(error)
    assert written < 50_000_000


async def test_an_answer_is_not_inflated() -> None:
    async def packed(_: web.Request) -> web.StreamResponse:
        return web.Response(body=b"\x1f\x8b" + b"0" * 100, headers={"Content-Encoding": "gzip"})

    async with served(packed) as service, services(service.settings()) as made:
        assert "compressed" in str(await failure(made, call(service)))


async def test_a_refusal_is_no_answer_and_its_text_is_not_quoted() -> None:
    async def refusing(request: web.Request) -> web.StreamResponse:
        return web.Response(status=403, text=request.headers["Authorization"])

    async with served(refusing) as service, services(service.settings()) as made:
        answer = await made.ask(call(service), method="GET", headers={"Authorization": f"Bearer {SECRET}"})
        with pytest.raises(BadReply) as caught:
            accepted(answer)
    assert "403" in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Content-Length": "1"},
        {"transfer-encoding": "chunked"},
        {"Proxy-Authorization": SECRET},
        {"Connection": "upgrade"},
        {"X-A": f"1\r\nX-B: {SECRET}"},
        {"X A": "1"},
        {"": "1"},
    ],
)
async def test_a_header_that_steers_the_connection_or_breaks_out_is_refused(headers: dict[str, str]) -> None:
    async with served() as service, services(service.settings()) as made:
        assert isinstance(await failure(made, call(service), headers=headers), UsageError)
    assert service.requests == []


async def test_no_other_method_is_sent() -> None:
    async with served() as service, services(service.settings()) as made:
        await failure(made, call(service), method="DELETE")
    assert service.requests == []


async def test_a_name_that_nobody_knows_and_a_port_where_nobody_listens_are_told() -> None:
    async with served() as service:
        settings = service.settings(allowed_hosts=(f"*:{service.port}", f"{HOST}:{service.port}"))
        async with services(settings, Names()) as made:
            assert "resolved" in str(await failure(made, call(service)))
        asked = call(service)
    async with services(settings) as made:
        error: Any = await failure(made, asked)
    assert isinstance(error, Unreachable)
    assert LOOPBACK[0] not in str(error)
