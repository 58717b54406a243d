"""Hosts and networks that can't be meant are refused when settings are read, not when a policy calls."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from skoupa.errors import UsageError
from skoupa.settings import PolicySettings, decode
from skoupa.settings.policy_checks import check_policies

pytestmark = pytest.mark.unit


def policies(**given: Any) -> PolicySettings:
    found = msgspec.convert(given, PolicySettings)
    check_policies(found, source="skoupa.yaml")
    return found


def test_by_default_no_host_is_called_and_no_network_is_opened() -> None:
    found = policies()
    assert (found.allowed_hosts, found.allowed_networks) == ((), ())
    assert not found.allow_plain_http
    assert not found.allow_http_in_namespaced_policies
    assert not found.allow_global_context_in_namespaced_policies
    assert found.max_answer_bytes == 2_000_000


@pytest.mark.parametrize(
    "host",
    ["prices.shop", "prices.shop:8443", "*.shop", "*", "10.0.0.1", "[fd00::1]:8443", "fd00::1", "a_b.shop"],
)
def test_a_host_may_be_a_name_an_address_or_a_wildcard(host: str) -> None:
    assert policies(allowedHosts=[host]).allowed_hosts == (host,)


@pytest.mark.parametrize(
    "host",
    [
        "https://prices.shop",
        "prices.shop/path",
        "",
        "a b",
        "*shop",
        "a.*.shop",
        "prices.shop:0",
        "x:99999",
        "x:y",
    ],
)
def test_what_names_no_host_is_refused(host: str) -> None:
    with pytest.raises(UsageError, match="allowedHosts"):
        policies(allowedHosts=[host])


@pytest.mark.parametrize("network", ["loopback", "127.0.0.1/8", "", "10.0.0.0/40"])
def test_what_is_no_network_is_refused(network: str) -> None:
    with pytest.raises(UsageError, match="allowedNetworks"):
        policies(allowedNetworks=[network])


def test_they_are_checked_with_all_other_settings() -> None:
    assert decode({"policies": {"allowedHosts": ["a"]}}, source="x").policies.allowed_hosts == ("a",)
    with pytest.raises(UsageError, match=r"skoupa\.yaml: policies\.allowedHosts"):
        decode({"policies": {"allowedHosts": ["https://a"]}}, source="skoupa.yaml")


def test_a_call_needs_some_time() -> None:
    with pytest.raises(UsageError, match="callTimeout"):
        policies(callTimeout="0")
