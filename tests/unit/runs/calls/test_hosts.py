"""A policy calls the hosts that the operator names, and no other, however it writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.errors import UsageError
from skoupa.runs.calls.hosts import AllowedHosts

pytestmark = pytest.mark.unit


def allowed(text: str, *patterns: str, plain_http: bool = False) -> bool:
    try:
        AllowedHosts(patterns, plain_http=plain_http).destination(text)
    except UsageError:
        return False
    return True


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("https://prices.shop/a?b=c", "prices.shop"),
        ("https://PRICES.Shop./", "prices.shop"),
        ("https://prices.shop:443/", "prices.shop"),
        ("https://prices.shop:8443/", "prices.shop:8443"),
        ("https://a.b.shop/", "*.shop"),
        ("https://10.0.0.1/", "10.0.0.1"),
        ("https://[fd00::1]:8443/", "[fd00:0::1]:8443"),
        ("https://bücher.example/", "xn--bcher-kva.example"),
        ("https://anything.example/", "*"),
    ],
)
def test_a_host_that_is_named_may_be_called(text: str, pattern: str) -> None:
    assert allowed(text, pattern)


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("https://prices.shop.evil.example/", "prices.shop"),
        ("https://evilprices.shop/", "prices.shop"),
        ("https://prices.shop../", "prices.shop"),
        ("https://shop/", "*.shop"),
        ("https://evilshop/", "*.shop"),
        ("https://prices.shop:8443/", "prices.shop"),
        ("https://prices.shop/", "prices.shop:8443"),
        ("https://prices.shop@evil.example/", "prices.shop"),
        ("https://evil.example#@prices.shop/", "prices.shop"),
        ("https://evil.example\\@prices.shop/", "prices.shop"),
        ("https://evil.example/prices.shop", "prices.shop"),
        ("https://user:word@prices.shop/", "prices.shop"),
        ("http://prices.shop/", "prices.shop"),
        ("ftp://prices.shop/", "prices.shop"),
        ("file:///etc/passwd", "*"),
        ("//prices.shop/", "prices.shop"),
        ("prices.shop", "prices.shop"),
        ("https:///a", "*"),
        ("https://prices.shop\n.evil.example/", "*"),
        ("", "*"),
    ],
)
def test_every_other_host_and_scheme_is_refused(text: str, pattern: str) -> None:
    assert not allowed(text, pattern)


def test_nothing_is_allowed_by_default() -> None:
    assert not allowed("https://prices.shop/")


def test_plain_http_is_for_operators_to_allow_and_means_port_80() -> None:
    assert allowed("http://prices.shop/", "prices.shop", plain_http=True)
    assert not allowed("http://prices.shop:443/", "prices.shop", plain_http=True)


def test_only_a_host_that_is_named_may_be_in_a_private_network() -> None:
    hosts = AllowedHosts(("*", "prices.shop:8443", "*.inner.example"))
    assert hosts.destination("https://prices.shop:8443/").private
    assert hosts.destination("https://a.inner.example/").private
    assert not hosts.destination("https://prices.shop/").private
    assert not hosts.destination("https://other.example/").private


def test_what_is_shown_of_an_address_is_neither_its_path_nor_its_query() -> None:
    found = AllowedHosts(("*",)).destination("https://prices.shop/token/abc?key=secret#part")
    assert found.shown == "https://prices.shop"
    assert "secret" not in repr(found)
    with pytest.raises(UsageError) as caught:
        AllowedHosts(()).destination("https://prices.shop:8443/token/abc?key=secret")
    assert "secret" not in str(caught.value)
    assert "prices.shop:8443" in caught.value.advice


@given(st.text(max_size=80))
def test_whatever_is_written_goes_to_the_named_host_or_nowhere(text: str) -> None:
    for written in (text, f"https://{text}", f"https://prices.shop{text}", f"https://{text}@prices.shop/"):
        try:
            found = AllowedHosts(("prices.shop",)).destination(written)
        except UsageError:
            continue
        assert (found.url.host or "").lower().removesuffix(".") == "prices.shop"
        assert found.url.port == 443
