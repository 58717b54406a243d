"""PolicyExceptions at the moment of a run: what is compiled of each, and what its answers mean for an object.

An exception lies in a namespace, and whoever may write it there learns from what stays. So it may ask no more than a policy of that
namespace could, whatever the policy that it is about may ask, and it sees no values of Secrets where such a policy would see none. One
that can't be understood or asked lets the object stay.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from skoupa.expr.cel.messages import Report, Result, Source
from skoupa.kube.resources import Resource
from skoupa.model.reasons import reason
from skoupa.policy.exemptions import Exemption
from skoupa.policy.policies import Policy
from skoupa.runs.calls.protocol import Calls
from skoupa.runs.opinions import CLAIMED, Item, Opinion, clipped, shown
from skoupa.runs.secret_values import SECRET_FIELDS, SECRETS, without_values
from skoupa.runs.untold import trouble_of_condition

# Where one from a file would go that names no namespace: it is not of the whole cluster for that.
_NOWHERE = "default"
_GIST = "one of its conditions has no answer"
_NO_MORE = "an exception may ask for no more than a policy of its namespace may"


class Exempting(msgspec.Struct, frozen=True, kw_only=True):
    """`broken` says why its expressions can't be asked, so that everything stays; `problems` are those of its other parts.

    `calls` are what may be asked from its namespace; `confined`: the policy itself may ask for more.
    """

    called: str
    source: Source
    report: Report
    calls: Calls
    confined: bool = False
    broken: str = ""
    problems: tuple[str, ...] = ()

    @property
    def troubles(self) -> list[str]:
        """For the run as a whole."""
        return [
            f"PolicyException {self.called} may let more stay than it means: {problem}"
            for problem in (*self.problems, self.broken)
            if problem
        ]

    def refused(self, resource: Resource) -> str:
        """Why it can't be asked about objects of that kind at all; empty: it can."""
        if self.broken:
            return self.broken
        if not self._hides(resource) or not looks_into(self.report, SECRET_FIELDS):
            return ""
        why = str(self.calls.secrets_refused())
        return f"{why}; {_NO_MORE}" if self.confined else why

    def seen(self, resource: Resource, items: Sequence[Item]) -> Sequence[Item]:
        """The objects as it may see them."""
        return [without_values(item) for item in items] if self._hides(resource) else items

    def opinion(self, policy: Policy, resource: Resource, result: Result) -> Opinion:
        if result.error:
            why = told(policy, self.source, result.error, calls=self.calls)
            if self.confined and self.report.asks:
                why = f"{why}; {_NO_MORE}"
            why = shown(resource, why=why, gist=_GIST, secret=self.calls.saw_secrets)
            return self.unclear(policy, why)
        stays = reason("exempted", exception=self.called, policy=policy.called)
        return Opinion("left", stays) if result.matched else CLAIMED

    def unclear(self, policy: Policy, why: str) -> Opinion:
        facts = {"exception": self.called, "policy": policy.called}
        return Opinion("unclear", reason("exemption-unclear", why=clipped(why), **facts))

    def _hides(self, resource: Resource) -> bool:
        return resource.qualified == SECRETS and not self.calls.sees_secrets


def exempting(exemption: Exemption, source: Source, report: Report, *, calls: Calls) -> Exempting:
    """`calls` are those of the policy."""
    own = calls.within(exemption.namespace or _NOWHERE)
    return Exempting(
        called="/".join(part for part in (exemption.namespace, exemption.name) if part),
        source=source,
        report=report,
        calls=own,
        confined=own is not calls,
        broken=str(report.problems[0]) if report.problems else "",
        problems=exemption.problems,
    )


def looks_into(report: Report, fields: frozenset[str]) -> bool:
    """Whether what was compiled may look at one of these fields of an object."""
    return report.fields is None or bool(fields & set(report.fields))


def told(policy: Policy, source: Source, said: str, *, calls: Calls) -> str:
    """Without what was read of others, where whoever reads it may not read those."""
    if not policy.namespace and not calls.saw_others:
        return said
    untold = {word: word for word in calls.usage.told}
    return trouble_of_condition(said, source, asked={**calls.troubles, **untold})
