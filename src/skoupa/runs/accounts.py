"""The ServiceAccount that a policy of a namespace acts as: it deletes only what that account may delete too.

The server is asked what the account may do (SubjectAccessReview); nobody takes its place. Rights are asked for by kind and namespace,
so one that is granted for single names does not count. What can't be asked lets nothing go.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

import msgspec

from skoupa import names
from skoupa.errors import NotFound, SkoupaError
from skoupa.expr.readings import quoted
from skoupa.kube.client import Client
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import Resource
from skoupa.kube.reviews import Ask, Caller, may
from skoupa.model.reasons import reason
from skoupa.policy.narrowing import listed
from skoupa.policy.options import place
from skoupa.policy.policies import Policy
from skoupa.policy.problems import Problem
from skoupa.runs.evaluation import Found
from skoupa.runs.run import Findings

COUNTS_SECONDS: Final = 30.0
# A wildcard means many kinds, and who writes a policy waits for the answer.
MOST_ASKED: Final = 20
_ACCOUNTS: Final = Resource(version="v1", plural="serviceaccounts", kind="ServiceAccount", namespaced=True)


class Accounts:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[tuple[Caller, Ask], tuple[float, bool]] = {}

    async def permitted(self, policy: Policy, findings: Findings) -> Findings:
        """The same, but for what the account may not delete: that stays."""
        if not policy.options.service_account:
            return findings
        claimed: list[Found] = []
        spared = list(findings.spared)
        for found in findings.claimed:
            if await self.may_delete(policy, found.resource, found.metadata.namespace):
                claimed.append(found)
                continue
            why = reason(
                "account-may-not",
                account=policy.options.service_account,
                policy=policy.called,
                kind=found.resource.qualified,
            )
            spared.append(msgspec.structs.replace(found, outcome="left", why=why))
        return msgspec.structs.replace(findings, claimed=tuple(claimed), spared=tuple(spared))

    async def may_delete(self, policy: Policy, resource: Resource, namespace: str) -> bool:
        """Raises what keeps the server from telling."""
        if not policy.options.service_account:
            return True
        key = (_caller(policy), Ask(verb="delete", resource=resource.qualified, namespace=namespace))
        now = self._client.clock.monotonic()
        asked_at, allowed = self._known.get(key, (float("-inf"), False))
        if now - asked_at > COUNTS_SECONDS:
            allowed = await may(self._client, *key)
            self._known = {one: said for one, said in self._known.items() if now - said[0] <= COUNTS_SECONDS}
            self._known[key] = (now, allowed)
        return allowed


async def account_cautions(
    client: Client, policy: Policy, resources: Sequence[Resource] = ()
) -> tuple[Problem, ...]:
    """An account that is not there, or may not delete these kinds; nothing where that can't be found out.

    A server takes reviews of one that is not there, and says no.
    """
    name = policy.options.service_account
    if not name:
        return ()
    path = place(names.SERVICE_ACCOUNT_ANNOTATION)
    try:
        await client.find(_ACCOUNTS, name, view=METADATA, namespace=policy.namespace)
    except NotFound:
        what = f"there is no ServiceAccount {quoted(name)} in {policy.namespace}, so that everything stays"
        instead = "make it, with the right to delete what the policy matches, or mend its name"
        return (Problem(path=path, what=what, instead=instead),)
    except SkoupaError:
        return ()
    lacked = await _lacked(client, policy, resources[:MOST_ASKED])
    if not lacked:
        return ()
    what = f"the ServiceAccount {quoted(name)} may not delete {listed(lacked)} in {policy.namespace}, so that those stay"
    return (Problem(path=path, what=what, instead="grant it delete there, for these kinds as a whole"),)


async def _lacked(client: Client, policy: Policy, resources: Sequence[Resource]) -> list[str]:
    async def allowed(resource: Resource) -> bool:
        ask = Ask(verb="delete", resource=resource.qualified, namespace=policy.namespace)
        try:
            return await may(client, _caller(policy), ask)
        except SkoupaError:
            # The run that can't ask it either says so.
            return True

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(allowed(resource)) for resource in resources]
    return [resource.qualified for resource, task in zip(resources, tasks, strict=True) if not task.result()]


def _caller(policy: Policy) -> Caller:
    """As the server knows a ServiceAccount."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{policy.namespace}", "system:authenticated")
    name = f"system:serviceaccount:{policy.namespace}:{policy.options.service_account}"
    return Caller(username=name, groups=groups)
