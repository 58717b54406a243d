"""Calls as they stand in a policy, looked at before any is made: by the checks of the run, as far as no variable makes them.

What no run could ever ask for is a problem, whatever the settings are. What the settings decide is told by them: as a refusal
where the API server refuses it too (a policy of a namespace), else as a caution. A call that an expression puts together is
looked at when it is made, and so is every other once more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from ipaddress import ip_network
from typing import Final

from skoupa.errors import UsageError
from skoupa.kinds.policies.context import ApiCall
from skoupa.policy.confinement import confined
from skoupa.policy.expression_checks import jmespath_problems
from skoupa.policy.policies import Clauses
from skoupa.policy.problems import Problem
from skoupa.runs.calls.addresses import refusal
from skoupa.runs.calls.hosts import AllowedHosts, is_address, read_address
from skoupa.runs.calls.paths import read_path
from skoupa.settings import PolicySettings

_VARIABLE: Final = "{{"
# As the policies for the API server see it.
_HTTP: Final = re.compile(r"(?:^|[^A-Za-z0-9_.'\"])http\s*[.]\s*(?:Get|Post|Client|get|post|client)\s*\(")
# A text that is the whole of the first argument: one that goes on is put together by the expression.
_ADDRESS: Final = re.compile(
    r"\bhttp\s*[.]\s*(?:[Cc]lient\s*\([^()]*\)\s*[.]\s*)?(?:Get|Post|get|post)\s*\(\s*(['\"])([^'\"\\]*)\1\s*[,)]"
)
_POSTED: Final = re.compile(
    r"\bresource\s*[.]\s*[Pp]ost\s*\(\s*(['\"])([^'\"\\]*)\1\s*,\s*(['\"])([^'\"\\]*)\3\s*,"
)
_SECRETS: Final = re.compile(r"/api/v1/namespaces/[^/]+/secrets([/?]|$)")
_ENCODED: Final = re.compile(r"%(?!3[aA])")
_LOCAL: Final = re.compile(r"(.+\.)?localhost\.?", re.IGNORECASE)


def clause_problems(clauses: Clauses) -> Iterator[Problem]:
    """For `read_policy(check=…)`: all that is wrong with conditions and context but what a compiler says of CEL."""
    yield from jmespath_problems(clauses)
    yield from _call_problems(clauses)


def _call_problems(clauses: Clauses) -> Iterator[Problem]:
    """What no settings could let a run ask for."""
    for path, call in _calls(clauses):
        if call.service is None:
            yield from _path_problems(call, f"{path}.urlPath", clauses.namespace)
    for path, address in _addresses(clauses):
        yield from _told(partial(read_address, address), path)
    for path, text in _expressions(clauses):
        for _, version, _, plural in _POSTED.findall(text):
            place = f"/apis/{version}/{plural}" if "/" in version else f"/api/{version}/{plural}"
            yield from _told(partial(read_path, place, method="POST"), path)


def confinement_problems(clauses: Clauses, settings: PolicySettings) -> Iterator[Problem]:
    """What the API server refuses to a policy of a namespace, and a run too."""
    if not clauses.namespace:
        return
    for path, call in _calls(clauses):
        if call.service is not None:
            if not settings.allow_http_in_namespaced_policies:
                yield _no_services(f"{path}.service", "ClusterCleanupPolicy")
            continue
        place = call.url_path or ""
        before, _, _ = place.partition(_VARIABLE)
        if _ENCODED.search(before.partition("?")[0]):
            yield Problem(
                path=f"{path}.urlPath",
                what="it writes a character as % and its number, so that it is not seen where it leads",
                instead="write the character itself",
            )
        if _SECRETS.match(place) and not settings.allow_secrets_in_namespaced_policies:
            yield Problem(
                path=f"{path}.urlPath",
                what="a policy of a namespace may not look at Secrets",
                instead="write a ClusterCleanupPolicy, or let the operator set policies.allowSecretsInNamespacedPolicies",
            )
    if not settings.allow_http_in_namespaced_policies:
        for path, text in _expressions(clauses):
            if _HTTP.search(text):
                yield _no_services(path, "DeletingPolicy")


def call_cautions(clauses: Clauses, settings: PolicySettings) -> Iterator[Problem]:
    """Services that the settings do not let a policy call as they are now."""
    if clauses.namespace and not settings.allow_http_in_namespaced_policies:
        # That is told already, and by more than a caution.
        return
    hosts = AllowedHosts(settings.allowed_hosts, plain_http=settings.allow_plain_http)
    for path, address in _addresses(clauses):
        try:
            why = _closed(address, settings)
        except UsageError:
            continue
        if why:
            instead = "give the address of a service; policies.allowedNetworks can open a network"
            yield Problem(path=path, what=f"it is not called: {why}", instead=instead)
        else:
            yield from _told(partial(hosts.destination, address), path)


def _path_problems(call: ApiCall, path: str, namespace: str) -> Iterator[Problem]:
    place = call.url_path
    if place is None or _VARIABLE in place or (namespace and not confined(place, namespace)):
        # Missing, known only when it runs, or told as what leads out of the namespace.
        return
    yield from _told(partial(read_path, place, method=call.method, namespace=namespace), path)


def _closed(address: str, settings: PolicySettings) -> str:
    """Why nobody calls that host, whichever hosts are allowed."""
    host = read_address(address).raw_host or ""
    if _LOCAL.fullmatch(host):
        host = "127.0.0.1"
    if not is_address(host):
        return ""
    return refusal(host, private=True, opened=tuple(ip_network(text) for text in settings.allowed_networks))


def _calls(clauses: Clauses) -> Iterator[tuple[str, ApiCall]]:
    for index, entry in enumerate(clauses.context):
        if entry.api_call is not None:
            yield f"spec.context[{index}].apiCall", entry.api_call


def _expressions(clauses: Clauses) -> Iterator[tuple[str, str]]:
    for field, many in (("conditions", clauses.expressions), ("variables", clauses.variables)):
        for index, one in enumerate(many):
            yield f"spec.{field}[{index}].expression", one.expression


def _addresses(clauses: Clauses) -> Iterator[tuple[str, str]]:
    """Of services, as far as they stand there whole; each once at a place."""
    for path, call in _calls(clauses):
        if call.service is not None and _VARIABLE not in call.service.url:
            yield f"{path}.service.url", call.service.url
    for path, text in _expressions(clauses):
        for address in dict.fromkeys(found for _, found in _ADDRESS.findall(text)):
            yield path, address


def _no_services(path: str, kind: str) -> Problem:
    return Problem(
        path=path,
        what="a policy of a namespace may not call services",
        instead=f"write a {kind}, or let the operator set policies.allowHttpInNamespacedPolicies",
    )


def _told(check: Callable[[], object], path: str) -> Iterator[Problem]:
    try:
        check()
    except UsageError as error:
        yield Problem(path=path, what=error.message, instead=error.advice or "mend it")
