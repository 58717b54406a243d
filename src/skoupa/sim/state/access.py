"""Who may do what: rules in the manner of RBAC, denials for tests, and the reviews that ask about them.

Everybody may do everything until `allow_only` restricts a user to rules or `deny` takes something away; a
denial wins. Kinds are named as kubectl names them ("pods", "deployments.apps", "pods/status"), "*" is all. Names restrict
only requests that name an object. The refusal has the words of a real server's RBAC authorizer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from skoupa.kube.resources import Resource
from skoupa.sim.state.catalogue import Catalogue
from skoupa.sim.state.refusals import Refusal, details_of

MASTERS = "system:masters"


class User(msgspec.Struct, frozen=True):
    name: str
    groups: tuple[str, ...] = ()


ADMIN = User("kubernetes-admin", (MASTERS, "system:authenticated"))


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """Verbs on kinds, in some namespaces (none: all of them and cluster-wide), on some names (none: all)."""

    verbs: tuple[str, ...] = ("*",)
    resources: tuple[str, ...] = ("*",)
    namespaces: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """What a request wants to do."""

    verb: str
    group: str = ""
    plural: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


class Access:
    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._denials: list[tuple[str, Rule]] = []
        self._grants: dict[str, tuple[Rule, ...]] = {}
        # Whom a TokenReview finds; requests themselves come without tokens.
        self.tokens: dict[str, User] = {}

    def deny(self, user: str, rule: Rule) -> None:
        self._denials.append((user, rule))

    def allow_only(self, user: str, rules: Iterable[Rule]) -> None:
        self._grants[user] = tuple(rules)

    def clear(self) -> None:
        self._denials.clear()
        self._grants.clear()

    def allowed(self, user: User, ask: Ask) -> bool:
        if any(who in {user.name, "*"} and _covers(rule, ask) for who, rule in self._denials):
            return False
        grants = self._grants.get(user.name)
        return grants is None or any(_covers(rule, ask) for rule in grants)

    def check(self, user: User, ask: Ask) -> None:
        if (self._denials or self._grants) and not self.allowed(user, ask):
            raise _forbidden(user, ask)

    def rules(self, user: User, namespace: str) -> list[dict[str, Any]]:
        """What SelfSubjectRulesReview lists for a namespace, cluster-wide rights included."""
        grants = self._grants.get(user.name)
        if grants is None and not any(who in {user.name, "*"} for who, _ in self._denials):
            return [_listed(("*",), ("*",), ("*",))]
        found = []
        for served in self._catalogue.preferred():
            resource = served.resource
            for plural in (resource.plural, *(f"{resource.plural}/{sub}" for sub in resource.subresources)):
                found += self._rules_for(user, resource, plural=plural, namespace=namespace)
        return found

    def _rules_for(
        self, user: User, resource: Resource, *, plural: str, namespace: str
    ) -> list[dict[str, Any]]:
        base, _, subresource = plural.partition("/")
        verbs = ("get", "update", "patch") if subresource else resource.verbs

        def allowed(name: str) -> tuple[str, ...]:
            return tuple(
                verb
                for verb in verbs
                if self.allowed(
                    user,
                    Ask(
                        verb=verb,
                        group=resource.group,
                        plural=base,
                        subresource=subresource,
                        # A Namespace lies within itself: a Role in it may grant it.
                        namespace=namespace if resource.namespaced or base == "namespaces" else "",
                        name=name,
                    ),
                )
            )

        general = allowed("")
        found = [_listed(general, (resource.group,), (plural,))] if general else []
        for name in sorted({name for rule in self._grants.get(user.name, ()) for name in rule.names}):
            named = tuple(verb for verb in allowed(name) if verb not in general)
            if named:
                found.append(_listed(named, (resource.group,), (plural,), (name,)))
        return found


def _covers(rule: Rule, ask: Ask) -> bool:
    if "*" not in rule.verbs and ask.verb not in rule.verbs:
        return False
    if rule.namespaces and ask.namespace not in rule.namespaces:
        return False
    if rule.names and ask.name not in rule.names:
        return False
    if "*" in rule.resources:
        return True
    kind = f"{ask.plural}.{ask.group}" if ask.group else ask.plural
    return (f"{kind}/{ask.subresource}" if ask.subresource else kind) in rule.resources


def _listed(
    verbs: tuple[str, ...], groups: tuple[str, ...], resources: tuple[str, ...], names: tuple[str, ...] = ()
) -> dict[str, Any]:
    rule: dict[str, Any] = {"verbs": list(verbs), "apiGroups": list(groups), "resources": list(resources)}
    return rule | {"resourceNames": list(names)} if names else rule


def _forbidden(user: User, ask: Ask) -> Refusal:
    kind = f"{ask.plural}/{ask.subresource}" if ask.subresource else ask.plural
    where = f'in the namespace "{ask.namespace}"' if ask.namespace else "at the cluster scope"
    resource = Resource(
        group=ask.group, version="", plural=ask.plural, kind="", namespaced=bool(ask.namespace)
    )
    whom = f'{resource.qualified} "{ask.name}"' if ask.name else resource.qualified
    return Refusal(
        code=403,
        reason="Forbidden",
        message=f'{whom} is forbidden: User "{user.name}" cannot {ask.verb} resource "{kind}" '
        f'in API group "{ask.group}" {where}',
        details=details_of(resource, ask.name),
    )
