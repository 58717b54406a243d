"""Over real sockets: a receiver that hangs, drips, closes, refuses, redirects or can't be trusted."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.utils import formatdate
from typing import Any

import pytest

from harness.faultproxy import Answer, FaultProxy, Rule
from skoupa.kube.login.secret import Secret
from skoupa.report.notices import Notifier
from skoupa.report.notices.posting import LONGEST_WAIT, HttpPost, Outgoing, retry_after
from tests.unit.report.notices.receiver import (
    Behaviour,
    HastyClock,
    Receiver,
    answer,
    close,
    receiving,
    until,
)
from tests.unit.report.notices.telling import AT, notice, opened, route, running

pytestmark = pytest.mark.unit

SECRET = "signing-key"


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as started:
        yield started


@asynccontextmanager
async def notifying(*routes: dict[str, Any], **options: Any) -> AsyncIterator[Notifier]:
    clock = HastyClock()
    environ = {"KEY": SECRET, **{f"URL_{one['name']}": one["url"] for one in routes}}
    for one in routes:
        if one["type"] == "slack":
            one["urlFrom"] = {"env": f"URL_{one['name']}"}
            del one["url"]
    opened_routes = opened(*routes, environ=environ)
    notifier = Notifier(clock, opened_routes, **{"default": routes[0]["name"], "every": 0.01, **options})
    async with running(notifier):
        yield notifier


async def settled(notifier: Notifier, name: str = "ops") -> None:
    await until(lambda: notifier.statistics()[name].sent + notifier.statistics()[name].failed > 0)


async def test_a_signed_message_can_be_verified_from_what_arrives(receiver: Receiver) -> None:
    one = route(
        url=f"{receiver.url}/hook?team=a%20b",
        secretFrom={"env": "KEY"},
        headers=[
            {"name": "Authorization", "valueFrom": {"env": "KEY"}},
            {"name": "X-Team", "value": "payments"},
        ],
    )
    async with notifying(one) as notifier:
        notifier.tell(notice())
        (got,) = await receiver.until(1)
        await settled(notifier)
    signed = got.headers["X-Skoupa-Timestamp"].encode() + b"." + got.body
    expected = hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
    assert got.headers["X-Skoupa-Signature"] == f"sha256={expected}"
    assert abs(int(got.headers["X-Skoupa-Timestamp"]) - time.time()) < 30
    assert got.headers["X-Skoupa-Id"] == got.json()["id"]
    assert got.headers["Content-Type"] == "application/json"
    assert (got.headers["Authorization"], got.headers["X-Team"]) == (SECRET, "payments")
    assert got.headers["User-Agent"].startswith("skoupa/")
    assert notifier.statistics()["ops"].sent == 1


async def test_without_a_secret_there_is_no_signature_and_a_given_content_type_is_the_only_one(
    receiver: Receiver,
) -> None:
    one = route(
        url=receiver.url, template="$summary", headers=[{"name": "content-type", "value": "text/markdown"}]
    )
    async with notifying(one) as notifier:
        notifier.tell(notice())
        (got,) = await receiver.until(1)
    assert got.body == b"Skoupa: 1 deleted"
    assert "X-Skoupa-Signature" not in got.headers
    assert [value for key, value in got.headers.items() if key.lower() == "content-type"] == ["text/markdown"]


@pytest.mark.parametrize(
    "trouble",
    [answer(500), answer(503, Retry_After="0"), answer(429), answer(408), close],
    ids=["500", "503", "429", "408", "closed"],
)
async def test_a_receiver_in_trouble_is_tried_until_it_takes_the_same_message(
    receiver: Receiver, trouble: Behaviour
) -> None:
    receiver.script = [trouble] * 3
    async with notifying(route(url=receiver.url)) as notifier:
        notifier.tell(notice())
        got = await receiver.until(4)
        await settled(notifier)
        found = notifier.statistics()["ops"]
    assert (found.sent, found.retried, found.failed, found.last_error) == (1, 3, 0, "")
    assert len({(one.headers["X-Skoupa-Id"], one.body) for one in got}) == 1


async def test_a_receiver_that_asks_for_a_second_gets_it(receiver: Receiver) -> None:
    receiver.script = [answer(429, Retry_After="1")]
    async with notifying(route(url=receiver.url)) as notifier:
        notifier.tell(notice())
        await receiver.until(1)
        first = time.monotonic()
        await receiver.until(2)
    assert time.monotonic() - first > 0.9


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 413])
async def test_a_refusal_is_final(receiver: Receiver, status: int) -> None:
    receiver.script = [answer(status, "because of X")]
    async with notifying(route(url=receiver.url)) as notifier:
        notifier.tell(notice())
        await settled(notifier)
        found = notifier.statistics()["ops"]
    assert len(receiver.requests) == 1
    assert (found.failed, found.last_error) == (1, f"it refused the message with {status}")


async def test_what_slack_says_about_a_refusal_is_told_if_it_is_a_word_of_its_own(receiver: Receiver) -> None:
    receiver.script = [answer(403, "invalid_token\n"), answer(400, "you sent <b>this</b>")]
    async with notifying({**route(url=f"{receiver.url}/services/T0"), "type": "slack"}) as notifier:
        notifier.tell(notice())
        await settled(notifier)
        assert notifier.troubles() == {"ops": "it refused the message with 403 (invalid_token)"}
        notifier.tell(notice("b"))
        await until(lambda: notifier.statistics()["ops"].failed == 2)
        assert notifier.troubles() == {"ops": "it refused the message with 400"}
    assert receiver.requests[0].json()["blocks"]


async def test_a_word_that_is_part_of_the_url_is_not_told_back(receiver: Receiver) -> None:
    receiver.script = [answer(403, "hunter_two")]
    async with notifying({**route(url=f"{receiver.url}/services/hunter_two"), "type": "slack"}) as notifier:
        notifier.tell(notice())
        await settled(notifier)
        assert notifier.troubles() == {"ops": "it refused the message with 403"}


async def test_redirects_are_not_followed(receiver: Receiver) -> None:
    receiver.script = [answer(302, Location="/elsewhere"), answer(308, Location="/elsewhere")]
    async with notifying(route(url=f"{receiver.url}/hook")) as notifier:
        notifier.tell(notice())
        await settled(notifier)
        assert "it answered 302: redirects are not followed" in notifier.troubles()["ops"]
    assert [one.path for one in receiver.requests] == ["/hook"]


async def test_a_receiver_that_hangs_is_left_after_the_time_limit_and_blocks_no_other(
    receiver: Receiver,
) -> None:
    receiver.always["/hangs"] = receiver.hang
    hanging, well = route("hangs", url=f"{receiver.url}/hangs"), route("well", url=f"{receiver.url}/well")
    async with notifying(hanging, well, timeout=1.0) as notifier:
        for number in range(3):
            notifier.tell(notice(f"a-{number}"))
            notifier.tell(notice(f"b-{number}", notify="well"))
            await receiver.until(number + 1, path="/well")
        await receiver.until(2, path="/hangs")
        await until(lambda: notifier.statistics()["well"].sent == 3)
        found = notifier.statistics()
    assert found["well"].sent == 3
    assert found["hangs"].sent == 0
    assert found["hangs"].last_error == "no answer within 1 s"


async def test_an_answer_that_never_ends_is_left_after_the_time_limit(receiver: Receiver) -> None:
    receiver.script = [receiver.drip, receiver.drip]
    slack = {**route(url=f"{receiver.url}/services/T0"), "type": "slack"}
    async with asyncio.timeout(60), notifying(slack, timeout=0.2) as notifier:
        notifier.tell(notice())
        await settled(notifier)


async def test_telling_takes_no_time_while_every_route_hangs(receiver: Receiver) -> None:
    receiver.always["/"] = receiver.hang
    async with notifying(route(url=f"{receiver.url}/"), timeout=30.0) as notifier:
        notifier.tell(notice())
        await receiver.until(1)
        started = time.process_time()
        for number in range(10_000):
            notifier.tell(notice(f"web-{number}", namespace=f"team-{number % 100}"))
        assert time.process_time() - started < 2.0


async def test_a_drain_ends_in_time_with_a_receiver_that_hangs(receiver: Receiver) -> None:
    receiver.always["/hangs"] = receiver.hang
    hanging, well = route("hangs", url=f"{receiver.url}/hangs"), route("well", url=f"{receiver.url}/well")
    async with notifying(hanging, well, every=3600.0) as notifier:
        notifier.tell(notice("a"))
        notifier.tell(notice("b", notify="well"))
        started = time.monotonic()
        assert await notifier.drain(2.0) == 1
        assert time.monotonic() - started < 30
    assert len(receiver.of("/well")) == 1


async def test_a_receiver_that_is_not_there_is_tried_again_and_told_without_its_address() -> None:
    async with receiving() as gone:
        url = gone.url
    async with notifying(route(url=url)) as notifier:
        notifier.tell(notice())
        await until(lambda: notifier.statistics()["ops"].retried > 2)
        assert notifier.troubles() == {"ops": "it can't be reached: connection refused"}


@pytest.mark.parametrize("identity", ["other-authority", "other-name"])
async def test_a_certificate_that_is_not_trusted_gets_no_message(identity: Any) -> None:
    async with FaultProxy(identity=identity) as proxy, notifying(route(url=proxy.url)) as notifier:
        notifier.tell(notice())
        await until(lambda: notifier.statistics()["ops"].retried > 0)
        assert "its certificate is not trusted" in notifier.troubles()["ops"]
        assert proxy.requests == []


_POST_ONCE = """
import asyncio, sys, time
from skoupa.kube.login.secret import Secret
from skoupa.report.notices.posting import HttpPost, Outgoing

async def main():
    post = HttpPost(time.time, environ={})
    try:
        print((await post(Outgoing(url=Secret(sys.argv[1]), headers=(), body=b"{}"))).said or "taken")
    finally:
        await post.close()

asyncio.run(main())
"""


async def test_an_authority_that_ssl_cert_file_names_is_trusted() -> None:
    async with FaultProxy() as proxy:
        proxy.script(Rule(Answer(200, b"ok"), times=None))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", _POST_ONCE, f"{proxy.url}/hook"),
            env={**os.environ, "SSL_CERT_FILE": str(proxy.ca_file)},
            stdout=asyncio.subprocess.PIPE,
        )
        said, _ = await process.communicate()
    assert said == b"taken\n"


async def test_plain_http_behind_an_https_address_is_told_as_what_it_is(receiver: Receiver) -> None:
    async with notifying(route(url=receiver.url.replace("http:", "https:"))) as notifier:
        notifier.tell(notice())
        await until(lambda: notifier.statistics()["ops"].retried > 0)
        assert notifier.troubles() == {"ops": "TLS with it failed; check that the port speaks https"}


async def test_the_proxy_of_the_environment_is_used_unless_no_proxy_names_the_receiver(
    receiver: Receiver,
) -> None:
    outgoing = Outgoing(url=Secret("http://receiver.test/hook"), headers=(), body=b"{}")
    proxied = HttpPost(time.time, environ={"HTTP_PROXY": receiver.url.replace("://", "://me:pw@")})
    direct = HttpPost(time.time, environ={"HTTP_PROXY": receiver.url, "NO_PROXY": ".test"})
    try:
        assert (await proxied(outgoing)).sent
        (got,) = receiver.requests
        assert got.headers["Host"] == "receiver.test"
        assert got.headers["Proxy-Authorization"].startswith("Basic ")
        outcome = await direct(outgoing)
        assert (outcome.said, outcome.again) == ("its name can't be resolved", True)
        assert len(receiver.requests) == 1
    finally:
        await proxied.close()
        await direct.close()


async def test_a_proxy_that_does_not_answer_is_told_as_such() -> None:
    async with receiving() as gone:
        url = gone.url
    post = HttpPost(time.time, environ={"HTTP_PROXY": url})
    try:
        outcome = await post(Outgoing(url=Secret("http://receiver.test/"), headers=(), body=b"{}"))
    finally:
        await post.close()
    assert "the proxy on the way to it does not answer" in outcome.said
    assert outcome.again


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", 0),
        ("7", 7),
        ("0", 0),
        ("-5", 0),
        ("soon", 0),
        ("99999999999999999999", LONGEST_WAIT),
        (formatdate(AT + 30, usegmt=True), 30),
        (formatdate(AT - 30, usegmt=True), 0),
        ("Fri, 99 Foo 0000 00:00:00 GMT", 0),
        ("٣", 0),
    ],
)
def test_retry_after_is_read_in_both_forms_and_bounded(text: str, seconds: float) -> None:
    assert retry_after(text, now=AT) == seconds
