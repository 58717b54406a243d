"""A rule that nobody has as a Tenant yet: what has certain labels would be somebody's.

It is asked beside the rules of all Tenants that there are, so that what is one of theirs is disputed and stays, and everything that
speaks against a tenant's claim speaks against this one. A selector that something meets without having any label is no rule.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from skoupa.errors import UsageError
from skoupa.kube.selectors import LabelSelector, parse_labels
from skoupa.settings import TenantSettings
from skoupa.tenants.ids import KNOWN, reserved
from skoupa.tenants.ownership import KUBEZOO_LABEL, Candidate, Ownership, named_group
from skoupa.tenants.tenant import Tenant

# These say of an object that it has the label; `!key`, `key!=value` and `notin` are met by what has none.
_POSITIVE: Final = frozenset({"in", "exists", ">", "<"})


def rule_of(text: str) -> LabelSelector:
    """Raises UsageError where it is no selector, or would mean what has no label at all."""
    try:
        selector = parse_labels(text)
    except ValueError as error:
        raise UsageError(
            f"--selector {text!r} is no label selector: {error}",
            advice="write it as kubectl takes it: team=blue",
        ) from error
    if not any(one.operator in _POSITIVE for one in selector.requirements):
        raise UsageError(
            f"--selector {text!r} would also mean everything that has no label at all",
            advice="name a label that the objects have: team=blue",
        )
    return selector


class Selected(Ownership):
    """`text` stands for the tenant that there is not: no name of one has the form of its own, so it is put in brackets."""

    def __init__(self, settings: TenantSettings, tenants: Iterable[Tenant], text: str) -> None:
        super().__init__(settings, tenants)
        self._selector = rule_of(text)
        self._text = text
        self._keys = {one.key for one in self._selector.requirements}
        self.tenant: Final = selected_name(text)

    def _claimants(self, found: Candidate) -> dict[str, tuple[str, bool]]:
        claimants = super()._claimants(found)
        if self._selector.matches(found.labels):
            # What is also bound to a claim that is meant is meant for its labels first.
            claimants[self.tenant] = (f"it has the labels {self._text}", False)
        return claimants

    def _objection(self, found: Candidate, tenant: str) -> str:
        if tenant != self.tenant:
            return super()._objection(found, tenant)
        called = found.name
        if named_group(found.resource, called) is None and (
            called in KNOWN or called in self._settings.protected or reserved(called)
        ):
            return "it is called as what is the cluster's own"
        for key in (KUBEZOO_LABEL, self._convention(found.resource)):
            said = found.labels.get(key)
            # The label that is the rule itself is no objection to it.
            if key and said and key not in self._keys:
                return f"its label {key} says {said}"
        return ""


def selected_name(text: str) -> str:
    return f"({text})"
