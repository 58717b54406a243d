"""Objects that policies could not judge: told one by one with the expression and the reason, once, and counted.

They stay whatever happens here: nothing claims them. One that could be judged at a later run is told anew when it is unclear
again; other words alone are no news. What a policy spares for a reason of its own (an exception, the rights of its account) is
counted beside; the run as a whole tells of that.
"""

from __future__ import annotations

from collections import Counter

from skoupa.clock import Clock
from skoupa.controller.policies.settling import Ran
from skoupa.kube.events import Regarding
from skoupa.model.reasons import Reason, gist
from skoupa.runs.evaluation import Found
from skoupa.runs.status import told
from skoupa.sweep.reporting import Report, Unclear


class UnclearObjects:
    def __init__(self, clock: Clock, report: Report) -> None:
        self._clock = clock
        self._report = report
        # By policy, and that by object.
        self._told: dict[str, dict[str, Unclear]] = {}
        # By policy, how many it spared at its last run, by the code of the reason.
        self._spared: dict[str, Counter[str]] = {}

    def heed(self, ran: Ran) -> None:
        """A run was read."""
        findings = ran.went.findings
        if findings is None:
            # Nothing is known of any object: what was told before still stands.
            return
        self._spared.pop(ran.entry.uid, None)
        if findings.spared:
            self._spared[ran.entry.uid] = Counter(
                one.why.code for one in findings.spared if one.why is not None
            )
        before = self._told.pop(ran.entry.uid, {})
        now: dict[str, Unclear] = {}
        news: list[Unclear] = []
        for found in findings.unclear:
            if found.why is None:
                continue
            key = _key(found)
            now[key] = _unclear(found, found.why)
            if key not in before or gist((before[key].why,)) != gist((found.why,)):
                news.append(now[key])
        if now:
            self._told[ran.entry.uid] = now
        if news:
            self._report.policy_unclear(
                told(ran.entry, ran.went), news, run=ran.run.name, at=self._clock.now()
            )

    def forget(self, uid: str) -> None:
        self._told.pop(uid, None)
        self._spared.pop(uid, None)

    def of(self, uid: str, *, resource: str, namespace: str) -> tuple[Reason, ...]:
        """What policies could not find out about one object, if it is of this kind and there."""
        found = (known[uid] for known in self._told.values() if uid in known)
        return tuple(one.why for one in found if (one.kind, one.about.namespace) == (resource, namespace))

    def counts(self) -> Counter[str]:
        """How many there are, and how many are spared, by the code of the reason."""
        found = Counter(one.why.code for known in self._told.values() for one in known.values())
        for spared in self._spared.values():
            found.update(spared)
        return found


def _key(found: Found) -> str:
    known = found.metadata
    return known.uid or f"{found.resource.qualified}/{known.namespace}/{known.name}"


def _unclear(found: Found, why: Reason) -> Unclear:
    return Unclear(
        about=Regarding(
            api_version=found.resource.api_version,
            kind=found.resource.kind,
            name=found.metadata.name,
            namespace=found.metadata.namespace,
            uid=found.metadata.uid,
        ),
        kind=found.resource.qualified,
        why=why,
    )
