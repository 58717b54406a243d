"""Policies of the cluster, and labels, that would take an object again, at their next run, if it came back as it is to be created.

Read and asked with the caller's rights, by the same evaluation as a run; services outside are not asked. What can't be
read or worked out is said, and stops nothing. Which of them a controller enforces, and what else would hold an object
there, is not looked at: whoever brings something back while a policy wants it should say for how long it is to stay.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from skoupa import names
from skoupa.cli.restoring.pieces import Piece
from skoupa.errors import ApiError, Forbidden, SkoupaError
from skoupa.judge.protection import kept_until
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.lists import everything
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import NAMESPACES, Resource
from skoupa.kube.timestamps import whole_seconds

if TYPE_CHECKING:
    from skoupa.policy.policies import Policy
    from skoupa.runs.book import Book
    from skoupa.runs.calls.outside import Outside

_GROUPS: Final = frozenset({names.KYVERNO_GROUP, names.KYVERNO_POLICIES_GROUP})
# One list of all namespaces is cheaper than so many.
_MOST_PLACES: Final = 10
_NO_UID: Final = "00000000-0000-0000-0000-000000000000"


class Taken(msgspec.Struct, kw_only=True):
    """`by` are the policies that would take something again, with the first of it; `doubts` what is not known."""

    by: dict[str, str] = msgspec.field(default_factory=dict)
    doubts: list[str] = msgspec.field(default_factory=list)


class Rules:
    def __init__(self, client: Client, discovery: Discovery, *, now: float) -> None:
        self._client = client
        self._discovery = discovery
        self._now = now
        self._labels: Mapping[str, Mapping[str, str]] | None = None
        self.taken = Taken()
        self._doubted = False

    async def ask(self, pieces: Sequence[Piece]) -> Taken:
        """About those that would come back, and have no label that keeps them."""
        open_ones = [piece for piece in pieces if piece.possible and not self._is_kept(piece)]
        if not open_ones:
            return self.taken
        await self._ask_retention(open_ones)
        if _GROUPS & {resource.group for resource in self._discovery.resources}:
            await self._ask(open_ones)
        return self.taken

    async def _ask_retention(self, pieces: Sequence[Piece]) -> None:
        labels = any(
            names.TTL_AFTER_LABEL in (one.manifest["metadata"].get("labels") or {}) for one in pieces
        )
        kinds = {names.RETENTION_POLICY_KIND, names.CLUSTER_RETENTION_POLICY_KIND}
        served = any(
            one.group == names.SKOUPA_GROUP and one.kind in kinds for one in self._discovery.resources
        )
        if not labels and not served:
            return
        # What it takes to ask is needed only where there is something to ask.
        from skoupa.cli.restoring import retention  # noqa: PLC0415

        found = [retention.labelled(pieces)]
        if served:
            self._labels = await self._namespace_labels(pieces)
            places = {piece.namespace for piece in pieces}
            try:
                found.append(
                    await retention.by_policies(
                        self._client,
                        self._discovery,
                        _by_kind(pieces, self._discovery),
                        places=sorted(places) if len(places) <= _MOST_PLACES else ("",),
                        labels=self._labels,
                    )
                )
            except SkoupaError as error:
                self._doubt(f"retention policies can't be asked ({_short(error)})")
        for one in found:
            self.taken.by |= one.by
            self.taken.doubts += (said for rule, said in one.said.items() if rule not in one.by)

    def _is_kept(self, piece: Piece) -> bool:
        labels = piece.manifest["metadata"].get("labels") or {}
        return kept_until(labels.get(names.KEEP_LABEL), self._now) is not None

    async def _ask(self, pieces: Sequence[Piece]) -> None:
        # What it takes to ask policies is needed only where there are some.
        from skoupa.runs.book import Book  # noqa: PLC0415
        from skoupa.runs.calls.outside import Outside  # noqa: PLC0415
        from skoupa.settings import PolicySettings  # noqa: PLC0415

        book = Book(
            self._client,
            discovery=lambda: self._discovery,
            on_change=lambda _: None,
            on_exemptions=lambda _: None,
        )
        await self._read(book, {piece.namespace for piece in pieces if piece.namespace})
        policies = [entry.policy for entry in book if entry.policy is not None]
        running = [one for one in policies if not one.options.suspended]
        if not running:
            return
        self._labels = self._labels or await self._namespace_labels(pieces)
        outside = Outside(self._client, settings=PolicySettings(), services=False)
        try:
            await self._evaluate(running, book, outside, _by_kind(pieces, self._discovery))
        finally:
            await outside.close()

    async def _read(self, book: Book, places: Collection[str]) -> None:
        from skoupa.kinds.policies.exception import POLICY_EXCEPTION  # noqa: PLC0415
        from skoupa.runs.book import WATCHED, served  # noqa: PLC0415

        unread: dict[str, set[str]] = {}
        for definition in WATCHED:
            kind = served(definition, self._discovery)
            if kind is None:
                continue
            own = kind.namespaced and kind.kind != POLICY_EXCEPTION.kind and len(places) <= _MOST_PLACES
            for place in sorted(places) if own else ("",):
                try:
                    await book.read(kind, place)
                except SkoupaError as error:
                    unread.setdefault(_short(error), set()).add(kind.kind)
        for why, kinds in unread.items():
            self._doubt(f"{', '.join(sorted(kinds))} can't be read ({why})")

    async def _evaluate(
        self,
        policies: Iterable[Policy],
        book: Book,
        outside: Outside,
        pieces: Mapping[Resource, Sequence[Piece]],
    ) -> None:
        from skoupa.clock import SystemClock  # noqa: PLC0415
        from skoupa.expr.cel.pool import Pool  # noqa: PLC0415
        from skoupa.runs.evaluation import Evaluation  # noqa: PLC0415
        from skoupa.runs.expressions import namespaces_of  # noqa: PLC0415
        from skoupa.runs.kyverno_config import KyvernoConfig  # noqa: PLC0415

        config = KyvernoConfig(self._client)
        async with Pool(clock=SystemClock()) as pool:
            for policy in policies:
                moment = policy.schedule.following(self._now)
                if moment is None:
                    continue
                try:
                    filters = await config.filters(self._discovery)
                    evaluation = Evaluation(
                        policy,
                        pool=pool,
                        calls=outside.calls(namespace=policy.namespace, discovery=self._discovery),
                        clock=self._client.clock,
                        exemptions=book.exemptions,
                        filters=filters,
                        namespaces=self._labels,
                        namespace_object=namespaces_of(self._client),
                        at=moment,
                    )
                    for resource, some in pieces.items():
                        meant = [one for one in some if policy.namespace in {"", one.namespace}]
                        found = await evaluation.page(resource, [self._raw(one) for one in meant])
                        for one, said in zip(meant, found, strict=True):
                            self._learn(policy, one, said.outcome)
                except SkoupaError as error:
                    self._doubt(f"{policy.called} can't be asked ({_short(error)})")

    def _learn(self, policy: Policy, piece: Piece, outcome: str) -> None:
        if outcome == "claimed":
            self.taken.by.setdefault(policy.called, f"{piece.kept.kind} {piece.kept.name}")
        elif outcome == "unclear":
            self._doubt(f"{policy.called} does not say it of {piece.kept.kind} {piece.kept.name}")

    def _doubt(self, what: str) -> None:
        # One is enough to make somebody look.
        if not self._doubted:
            self._doubted = True
            self.taken.doubts.append(f"whether a policy would take it again is not known: {what}")

    def _raw(self, piece: Piece) -> bytes:
        """As the server will have it when it is back."""
        metadata = {
            **piece.manifest["metadata"],
            "uid": piece.kept.uid or _NO_UID,
            "creationTimestamp": whole_seconds(self._now),
        }
        return msgspec.json.encode({**piece.manifest, "metadata": metadata})

    async def _namespace_labels(self, pieces: Iterable[Piece]) -> Mapping[str, Mapping[str, str]] | None:
        """Of all namespaces that are there, and of those that come back; None: they are not known."""
        try:
            found = (await everything(self._client, NAMESPACES, METADATA)).items
        except SkoupaError:
            return None
        labels: dict[str, Mapping[str, str]] = {one.metadata.name: one.metadata.labels or {} for one in found}
        for piece in pieces:
            if piece.kept.resource == NAMESPACES.qualified:
                metadata: dict[str, Any] = piece.manifest["metadata"]
                labels.setdefault(piece.kept.name, metadata.get("labels") or {})
        return labels


def _by_kind(pieces: Iterable[Piece], discovery: Discovery) -> dict[Resource, list[Piece]]:
    """What the server has no kind for yet comes back with its definition, and nobody can ask about it before."""
    found: dict[Resource, list[Piece]] = {}
    for piece in pieces:
        group = piece.kept.api_version.rpartition("/")[0]
        resource = discovery.find(group, piece.kept.kind)
        if resource is not None:
            found.setdefault(resource, []).append(piece)
    return found


def _short(error: SkoupaError) -> str:
    if isinstance(error, Forbidden):
        return "no permission to list them"
    return error.status.message or error.message if isinstance(error, ApiError) else error.message
