"""What we may do, asked seldom: one rules review per namespace instead of an access review per kind and verb.

A rules review that the server calls incomplete (webhook authorizers do) leaves absent rules unknown; then one access
review decides. Answers are kept until they are old or until a 403 says that the world changed (`forget`).
A review of a namespace that does not exist lists exactly the cluster-wide rights.
"""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec

from skoupa.clock import Clock
from skoupa.kube.client import Client
from skoupa.kube.decoding import decode
from skoupa.kube.resources import Resource
from skoupa.kube.transport import Request

R = TypeVar("R")

FRESH_SECONDS: Final = 600.0
_NO_SUCH_NAMESPACE: Final = "skoupa-cluster-wide-rights"


class Rule(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    verbs: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()

    def grants(self, verb: str, resource: Resource, name: str) -> bool:
        return (
            _in(verb, self.verbs)
            and _in(resource.group, self.api_groups)
            and _in(resource.plural, self.resources)
            and (not self.resource_names or name in self.resource_names)
        )


class Rules(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    resource_rules: tuple[Rule, ...] | None = None
    incomplete: bool = False
    evaluation_error: str = ""

    def grants(self, verb: str, resource: Resource, name: str = "") -> bool | None:
        """None: the server did not tell."""
        if any(rule.grants(verb, resource, name) for rule in self.resource_rules or ()):
            return True
        return None if self.incomplete else False


class _RulesReview(msgspec.Struct):
    status: Rules


class _Allowed(msgspec.Struct):
    allowed: bool = False


class _AccessReview(msgspec.Struct):
    status: _Allowed


class Access:
    """The rights of this client's own user."""

    def __init__(self, client: Client, *, clock: Clock, fresh_seconds: float = FRESH_SECONDS) -> None:
        self._client = client
        self._clock = clock
        self._fresh = fresh_seconds
        self._rules: dict[str, tuple[float, Rules]] = {}
        self._answers: dict[tuple[str, str, str, str], tuple[float, bool]] = {}

    def forget(self) -> None:
        """Called when a 403 contradicts what was known, or a grant was seen to change."""
        self._rules.clear()
        self._answers.clear()

    async def renew(self, namespace: str = "") -> Rules:
        """Asks for the rules anew; where they changed, nothing of what else was known there counts any more."""
        before = self._rules.pop(namespace, None)
        rules = await self.rules(namespace)
        if before is not None and before[1] != rules:
            self._answers.clear()
        return rules

    async def may(self, verb: str, resource: Resource, *, namespace: str = "", name: str = "") -> bool:
        """Without a namespace: everywhere."""
        rules = await self.rules(namespace)
        granted = rules.grants(verb, resource, name)
        if granted is not None:
            return granted
        return await self._review(verb, resource, namespace=namespace, name=name)

    async def rules(self, namespace: str = "") -> Rules:
        """All rights in a namespace, cluster-wide ones included; without a namespace only the latter."""
        known = self._rules.get(namespace)
        if known and self._clock.monotonic() - known[0] < self._fresh:
            return known[1]
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectRulesReview",
            "spec": {"namespace": namespace or _NO_SUCH_NAMESPACE},
        }
        rules: Rules = (await self._ask("selfsubjectrulesreviews", body, _RulesReview)).status
        self._rules[namespace] = (self._clock.monotonic(), rules)
        return rules

    async def _review(self, verb: str, resource: Resource, *, namespace: str, name: str) -> bool:
        key = (verb, resource.qualified, namespace, name)
        known = self._answers.get(key)
        if known and self._clock.monotonic() - known[0] < self._fresh:
            return known[1]
        attributes = {
            "verb": verb,
            "group": resource.group,
            "version": resource.version,
            "resource": resource.plural,
            "namespace": namespace,
            "name": name,
        }
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        allowed: bool = (await self._ask("selfsubjectaccessreviews", body, _AccessReview)).status.allowed
        self._answers[key] = (self._clock.monotonic(), allowed)
        return allowed

    async def _ask(self, plural: str, body: object, kind: type[R]) -> R:
        request = Request(
            method="POST",
            path=f"/apis/authorization.k8s.io/v1/{plural}",
            headers=self._client.headers(
                ("Accept", "application/json"), ("Content-Type", "application/json")
            ),
            body=msgspec.json.encode(body),
            verb="review",
            kind=f"{plural}.authorization.k8s.io",
            repeatable=True,
        )
        doing = "ask what we may do"
        response = await self._client.ask(request, doing=doing)
        return decode(response.body, kind, doing=doing)  # type: ignore[no-any-return]


def _in(value: str, allowed: tuple[str, ...]) -> bool:
    return "*" in allowed or value in allowed
