"""What judging by policies needs, for the life of a process, and an evaluation of what is known at one moment.

Child processes for CEL, ways outside, Kyverno's filters, exceptions and the labels of namespaces come together here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Final, Self

from skoupa.clock import Clock
from skoupa.controller.knowledge import Knowledge
from skoupa.expr.cel.pool import Pool
from skoupa.kube.client import Client
from skoupa.kube.resources import NAMESPACES
from skoupa.policy.policies import Policy
from skoupa.runs.book import Book
from skoupa.runs.calls.outside import Outside
from skoupa.runs.effort import Pace
from skoupa.runs.evaluation import Evaluation
from skoupa.runs.expressions import namespaces_of
from skoupa.runs.kyverno_config import KyvernoConfig
from skoupa.runs.using.looks import UsageLooks
from skoupa.settings import Settings

# Policies that are due together look at the same labels.
LABELS_SECONDS: Final = 1.0

Labels = Mapping[str, Mapping[str, str]]


class PolicyEvaluations:
    """An asynchronous context manager. `namespaces_known`: the store has every Namespace that is looked into."""

    def __init__(
        self,
        client: Client,
        *,
        settings: Settings,
        knowledge: Knowledge,
        book: Book,
        namespaces_known: Callable[[], bool],
    ) -> None:
        self._clock: Clock = client.clock
        self._only = settings.namespaces
        self._knowledge = knowledge
        self._book = book
        self._namespaces_known = namespaces_known
        self.pool = Pool(clock=client.clock)
        self._pace = Pace(client.clock)
        looks = UsageLooks(
            client, pool=self.pool, ignored=settings.usage.ignore_kinds, only=settings.namespaces
        )
        self.outside = Outside(client, settings=settings.policies, looks=looks)
        self.kyverno = KyvernoConfig(client)
        # An installation for some namespaces may read those one by one.
        self._namespace_object = namespaces_of(client, one_by_one=bool(settings.namespaces))
        self._labels: Labels = {}
        self._labels_at = float("-inf")

    async def __aenter__(self) -> Self:
        await self.pool.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.pool.__aexit__(kind, error, trace)
        await self.outside.close()

    async def make(self, policy: Policy, *, at: float | None = None, anew: bool = False) -> Evaluation:
        """`at` is the moment that its expressions take for the present, where that is another.

        `anew`: nothing counts that is older than this moment, but for Kyverno's filters and the answers of calls that
        GlobalContextEntries keep for an interval of their own.
        """
        since = self._clock.monotonic() if anew else -math.inf
        return Evaluation(
            policy,
            pool=self.pool,
            calls=self.outside.calls(
                namespace=policy.namespace, discovery=self._knowledge.discovery, since=since, anew=anew
            ),
            clock=self._clock,
            exemptions=self._book.exemptions,
            filters=await self.kyverno.filters(self._knowledge.discovery),
            namespaces=self.namespace_labels(anew=anew),
            namespace_object=self._namespace_object,
            at=at,
            pace=self._pace,
        )

    def labels_refused(self) -> bool:
        """Whether the labels of namespaces are not known because nobody was ever allowed to read them."""
        knowledge = self._knowledge
        awaited = bool(knowledge.namespaces_unseen) or knowledge.namespace_doubt is not None
        return not awaited and not self._namespaces_known()

    def namespace_labels(self, *, anew: bool = False) -> Labels | None:
        """Of all namespaces that are looked into; None: they are not all known."""
        if not self._namespaces_known():
            return None
        now = self._clock.monotonic()
        if anew or now - self._labels_at > LABELS_SECONDS:
            discovery, store = self._knowledge.discovery, self._knowledge.store
            rows = store.of_kind(discovery.find("", NAMESPACES.kind) or NAMESPACES)
            self._labels = {
                row.name: dict(row.labels) for row in rows if not self._only or row.name in self._only
            }
            self._labels_at = now
        return self._labels
