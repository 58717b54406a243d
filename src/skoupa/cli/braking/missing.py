"""Whether what a Brake names is there: a slip in an emergency must not look like a stop.

What can't be looked up is not doubted: a stop must work then too.
"""

from __future__ import annotations

import difflib

from skoupa.errors import SkoupaError
from skoupa.kinds.brake import Scope
from skoupa.kinds.brake_effect import covers, missing_kind
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.kinds import Discovery
from skoupa.kube.lists import everything
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import NAMESPACES


async def missing(client: Client, scope: Scope) -> str:
    """Says that there is no such kind or policy, with the nearest; empty: there is, it names none, or nobody can tell."""
    if scope.kind is None and scope.policy is None:
        return ""
    try:
        discovery = await discover(client)
        return missing_kind(scope, discovery) or await _missing_policy(client, scope.policy, discovery)
    except SkoupaError:
        return ""


async def _missing_policy(client: Client, wanted: str | None, discovery: Discovery) -> str:
    if wanted is None or discovery.gaps:
        return ""
    # What policies are is known to few commands.
    from skoupa.kinds.retention.policy import CLUSTER_RETENTION_POLICY, RETENTION_POLICY  # noqa: PLC0415
    from skoupa.kinds.tenant import TENANT  # noqa: PLC0415
    from skoupa.policy.headings import POLICY_KINDS  # noqa: PLC0415
    from skoupa.runs.book import served  # noqa: PLC0415

    rules: list[str] = []
    tenants: list[str] = []
    for definition in (*POLICY_KINDS.values(), RETENTION_POLICY, CLUSTER_RETENTION_POLICY, TENANT):
        kind = served(definition, discovery)
        if kind is not None:
            found = [one.metadata for one in (await everything(client, kind, METADATA)).items]
            called = ("/".join(filter(None, (kind.kind, one.namespace, one.name))) for one in found)
            # What belongs to a deleted one goes by it as by a rule.
            (tenants if definition is TENANT else rules).extend(called)
    if any(_is_meant(wanted, rule) for rule in (*rules, *tenants)):
        return ""
    names = {rule.rpartition("/")[2]: rule for rule in (*rules, *tenants)}
    last = wanted.rpartition("/")[2]
    near = difflib.get_close_matches(last.lower(), names, n=1)
    number = "there is 1" if len(rules) == 1 else f"there are {len(rules)}"
    named = "it" if len(rules) == 1 else "them"
    advice = f"did you mean {near[0]}?" if near else f"{number} (`skoupa plan -A` names {named})"
    return f"there is no policy {wanted} in this cluster: {advice if rules or near else 'there are none'}"


def _is_meant(wanted: str, rule: str) -> bool:
    """As the Brake will understand it."""
    scope = Scope(policy=wanted)
    return covers(scope, resource=NAMESPACES, namespace="", name="", mechanism="", rule=rule)
