"""Policies asked as a run asks them, while nothing runs: what each would choose of a cluster, or of manifests, at some moment.

Nothing is deleted, remembered or written. Services outside are asked only where that is allowed; what policies ask the API server
for is answered by it, and in manifests by these alone. What else holds an object (a TTL, a Brake) is for who judges.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from skoupa.cli.looking.entries_ahead import EntriesAhead, with_entries
from skoupa.cli.looking.files_alone import FilesAlone
from skoupa.cli.worlds import World
from skoupa.clock import SystemClock
from skoupa.controller.survey import Survey
from skoupa.errors import ApiError, BadReply, Forbidden, TimedOut
from skoupa.expr.cel.pool import Pool
from skoupa.kube.client import Client
from skoupa.kube.lists import everything
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import NAMESPACES
from skoupa.policy.exemptions import Exemption
from skoupa.policy.kyverno_filters import KyvernoFilters
from skoupa.policy.policies import Policy
from skoupa.runs.accounts import Accounts
from skoupa.runs.calls.outside import Outside
from skoupa.runs.evaluation import Evaluation, Found
from skoupa.runs.expressions import namespaces_of
from skoupa.runs.lists import Lists
from skoupa.runs.run import Findings, find
from skoupa.runs.using.looks import UsageLooks
from skoupa.settings import Settings

Labels = Mapping[str, Mapping[str, str]]
_FILTERS_UNKNOWN: Final = "what Kyverno leaves alone (resourceFilters of its ConfigMap) may not be read with these rights: some of it may stay"


def new_pool() -> Pool:
    """Its children live by the machine's clock, whatever time it is for the policies."""
    return Pool(clock=SystemClock())


class DryRuns:
    """For all policies of one look. `only` are the namespaces that are looked into; empty: all.

    `shared` are GlobalContextEntries that count before those of the cluster, `profiles` KindProfiles. `labels` are those of namespaces, by name; None: they are not known, so what hangs on them is unclear.
    """

    def __init__(
        self,
        world: World,
        survey: Survey,
        settings: Settings,
        *,
        pool: Pool,
        exemptions: Iterable[Exemption],
        only: Sequence[str] = (),
        allow_calls: bool = False,
        shared: Sequence[Mapping[str, Any]] = (),
        profiles: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        client = world.client
        self._world = world
        self._survey = survey
        self._pool = pool
        self._exemptions = tuple(exemptions)
        self._only = tuple(only)
        asked = client if world.given is None else Client(FilesAlone(client.transport), client.clock)
        asked = Client(EntriesAhead(asked.transport, shared), client.clock) if shared else asked
        self._shared = bool(shared)
        looks = UsageLooks(
            asked,
            pool=pool,
            ignored=settings.usage.ignore_kinds,
            only=only,
            still=world.given is not None,
            profiles=profiles,
        )
        self._outside = Outside(
            asked,
            settings=settings.policies,
            services=allow_calls,
            looks=looks,
            secrets_known=world.secrets_known,
        )
        self._lists = Lists(client)
        self._accounts = Accounts(client)
        self.labels: Labels | None = None
        self.doubts: list[str] = []

    @property
    def read_nothing(self) -> bool:
        """Lists were asked for, and none of them could be read."""
        return 0 < self._lists.lists == self._lists.failed

    async def close(self) -> None:
        await self._outside.close()

    async def learn_namespaces(self) -> None:
        """The labels of all that are looked into; where they can't be listed, those that were read one by one."""
        try:
            found = (await everything(self._world.client, NAMESPACES, METADATA)).items
        except (ApiError, BadReply, TimedOut):
            self.labels = self.read_already(self._only)
            return
        labels = {one.metadata.name: one.metadata.labels or {} for one in found}
        self.labels = {name: own for name, own in labels.items() if not self._only or name in self._only}

    def read_already(self, namespaces: Sequence[str]) -> Labels | None:
        """The labels of just these, without a question; None: one of them was not read, or none is named."""
        knowledge = self._survey.knowledge
        rows = knowledge.store.of_kind(knowledge.discovery.find("", NAMESPACES.kind) or NAMESPACES)
        known = {row.name: dict(row.labels) for row in rows}
        if not namespaces or not set(namespaces) <= known.keys():
            return None
        return {name: known[name] for name in namespaces}

    def evaluation(self, policy: Policy, *, at: float, filters: KyvernoFilters) -> Evaluation:
        """`at` is the moment that conditions take for the present."""
        client, discovery = self._world.client, self._survey.knowledge.discovery
        discovery = with_entries(discovery) if self._shared else discovery
        if filters.missing:
            # The controller may be allowed to read it.
            filters = msgspec.structs.replace(filters, missing="")
            self._doubt(_FILTERS_UNKNOWN)
        return Evaluation(
            policy,
            pool=self._pool,
            calls=self._outside.calls(namespace=policy.namespace, discovery=discovery),
            clock=client.clock,
            at=at,
            exemptions=self._exemptions,
            filters=filters,
            namespaces=self.labels,
            namespace_object=namespaces_of(client, one_by_one=bool(self._only)),
        )

    async def findings(self, policy: Policy, *, at: float, filters: KyvernoFilters) -> Findings:
        """Of everything that it means. A cluster in memory has some objects of its own: those are left out."""
        found = await find(
            policy,
            self.evaluation(policy, at=at, filters=filters),
            lists=self._lists,
            discovery=self._survey.knowledge.discovery,
            namespaces=self.labels,
            only=self._only,
            themselves=True,
        )
        if self._world.given is None:
            return found
        return msgspec.structs.replace(
            found,
            claimed=tuple(filter(self._brought, found.claimed)),
            unclear=tuple(filter(self._brought, found.unclear)),
            spared=tuple(filter(self._brought, found.spared)),
        )

    async def permitted(self, policy: Policy, findings: Findings) -> Findings:
        """The same, but for what the ServiceAccount of the policy may not delete; `doubts` where nobody can tell."""
        account = policy.options.service_account
        if not account or not findings.claimed:
            return findings
        unknown = f"what the ServiceAccount {account} of {policy.called} may delete is not known"
        if self._world.given is not None:
            self.doubts.append(f"{unknown}: files do not tell rights")
            return findings
        try:
            return await self._accounts.permitted(policy, findings)
        except Forbidden:
            self.doubts.append(f"{unknown}: no permission to create subjectaccessreviews")
            return findings

    def _doubt(self, what: str) -> None:
        if what not in self.doubts:
            self.doubts.append(what)

    def _brought(self, found: Found) -> bool:
        key = (found.resource.kind, found.metadata.namespace, found.metadata.name)
        return key in self._world.brought
