"""Calls that a policy makes under Kyverno and that are refused here, as far as the manifest tells where they go.

An address in which variables stand is looked at when the policy runs; here it counts only by what is certain of it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from skoupa.errors import UsageError
from skoupa.kinds.policies.context import ApiCall
from skoupa.model.differences import Difference, difference
from skoupa.policy.policies import Clauses
from skoupa.runs.calls.hosts import AllowedHosts
from skoupa.runs.calls.paths import read_path
from skoupa.settings import PolicySettings

_VARIABLE: Final = "{{"
_REVIEW: Final = "reviews"
_NAMESPACED: Final = "a policy of a namespace may not call services (policies.allowHttpInNamespacedPolicies)"
_HTTP: Final = "http"
_SHARED: Final = re.compile(r"\bglobalContext\s*\.\s*[Gg]et\s*\(\s*['\"]([^'\"]+)")
_POST: Final = "resource.Post"
_SECRETS: Final = re.compile(r"['\"](?:secrets|Secret)['\"]")
_SECRET_PATH: Final = re.compile(r"^/api/v1/namespaces/[^/]+/secrets(?:[/?]|$)")
_ADDRESS: Final = re.compile(r"https?://[^'\"\s]+")


def call_differences(
    clauses: Clauses, settings: PolicySettings, *, asks: Collection[str] = ()
) -> Iterator[Difference]:
    """Each once; `asks` are the functions of its CEL that look outside, as its compiler names them."""
    hosts = AllowedHosts(settings.allowed_hosts, plain_http=settings.allow_plain_http)
    confined = bool(clauses.namespace)
    found: list[Difference] = []
    for entry in clauses.context:
        if entry.api_call is not None:
            found += _of_call(entry.api_call, hosts, settings, confined=confined)
        if entry.global_reference is not None and confined:
            found += _of_shared([entry.global_reference.name], settings)
    written = "\n".join(one.expression for one in (*clauses.expressions, *clauses.variables))
    if any(ask.startswith(_HTTP) for ask in asks):
        found += _of_cel(written, hosts, settings, confined=confined)
    if any(ask.lower() == _POST.lower() for ask in asks) and _REVIEW not in written.lower():
        found.append(difference("post-call", path=_POST))
    if confined and asks:
        found += _of_shared(_SHARED.findall(written), settings)
    if (
        confined
        and not settings.allow_secrets_in_namespaced_policies
        and _asks_for_secrets(clauses, written, asks)
    ):
        found.append(difference("secret-values"))
    yield from dict.fromkeys(found)


def _asks_for_secrets(clauses: Clauses, written: str, asks: Collection[str]) -> bool:
    paths = [entry.api_call.url_path or "" for entry in clauses.context if entry.api_call is not None]
    by_cel = any(ask.startswith("resource.") for ask in asks) and _SECRETS.search(written)
    return bool(by_cel) or any(_SECRET_PATH.search(path) for path in paths)


def _of_call(
    call: ApiCall, hosts: AllowedHosts, settings: PolicySettings, *, confined: bool
) -> Iterator[Difference]:
    if call.service is not None:
        why = _refusal(call.service.url, hosts, settings, confined=confined)
        if why:
            yield difference("service-call", service=_shown(call.service.url), why=why)
        return
    path = call.url_path or ""
    if call.method == "POST" and _REVIEW not in path.lower():
        yield difference("post-call", path=path)
    elif path and _VARIABLE not in path:
        try:
            # Whether it stays in a namespace is told by the policy's own problems.
            read_path(path, method="GET")
        except UsageError as error:
            yield difference("reaching-call", path=path, why=error.message)


def _of_cel(
    expression: str, hosts: AllowedHosts, settings: PolicySettings, *, confined: bool
) -> Iterator[Difference]:
    addresses = _ADDRESS.findall(expression)
    for address in addresses:
        why = _refusal(address, hosts, settings, confined=confined)
        if why:
            yield difference("service-call", service=_shown(address), why=why)
    if not addresses and (confined or not settings.allowed_hosts):
        why = _NAMESPACED if confined else "policies.allowedHosts names no host"
        yield difference("service-call", service="a service", why=why)


def _of_shared(called: Iterable[str], settings: PolicySettings) -> Iterator[Difference]:
    if not settings.allow_global_context_in_namespaced_policies:
        for name in called:
            yield difference("shared-context", name=name)


def _refusal(url: str, hosts: AllowedHosts, settings: PolicySettings, *, confined: bool) -> str:
    if confined and not settings.allow_http_in_namespaced_policies:
        return _NAMESPACED
    if _VARIABLE in url:
        return "" if settings.allowed_hosts else "policies.allowedHosts names no host"
    try:
        hosts.destination(url)
    except UsageError as error:
        return "; ".join(part for part in (error.message, error.advice) if part)
    return ""


def _shown(url: str) -> str:
    """Scheme and host: the rest of an address may be secret."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0].rpartition('@')[2].partition('?')[0]}"
