"""What `migrate` prints with `-o json` and `-o yaml`.

Public: `docs/migrate.md` describes every field, and a test compares. Fields are added, never renamed. Times are RFC 3339 in UTC.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from skoupa import names
from skoupa.cli.migrating.kyverno import Kyverno, State
from skoupa.cli.migrating.labels import Labelled
from skoupa.cli.migrating.policies import Compared
from skoupa.cli.migrating.steps import Step
from skoupa.cli.terminal.items import API_VERSION, gap_of, moment
from skoupa.cli.terminal.shape import Shape, ToldGap
from skoupa.controller.survey import Gap
from skoupa.facts.rows import uid_text
from skoupa.judge.kyverno_labels import our_words
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.differences import Difference, Effect


class ToldDifference(Shape, frozen=True, kw_only=True):
    """`effect` is what Skoupa does compared with Kyverno; `docs` is where it is said at length."""

    code: str
    effect: Effect
    kyverno: str
    skoupa: str
    docs: str


class ToldController(Shape, frozen=True, kw_only=True):
    """A Deployment of Kyverno's cleanup controller, how many replicas are wanted, and how it was started."""

    namespace: str
    name: str
    image: str
    version: str
    replicas: int
    flags: tuple[str, ...]
    time_zone: str
    service_account: str


class ToldKyverno(Shape, frozen=True, kw_only=True):
    """What of Kyverno is there. `leases` are namespaces, `filters` the entries of its resourceFilters."""

    state: State
    leases: tuple[str, ...]
    controllers: tuple[ToldController, ...]
    webhooks: tuple[str, ...]
    filters: tuple[str, ...]


class ToldReading(Shape, frozen=True, kw_only=True):
    """When it goes by one of the two, null for never, and how its label is read."""

    goes_at: str | None
    words: str


class ToldLabel(Shape, frozen=True, kw_only=True):
    """One object with a TTL; `value` is that of the label, null where only another tool's annotation stands on it."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    value: str | None
    kyverno: ToldReading
    skoupa: ToldReading
    differences: tuple[ToldDifference, ...]


class ToldMatches(Shape, frozen=True, kw_only=True):
    """How many objects match now, and how many of them would go under Skoupa; `unknown` says what could not be worked out."""

    matched: int
    goes: int
    unknown: str


class ToldPolicy(Shape, frozen=True, kw_only=True):
    """One policy. The runs are the next of each, null for never or not known; `matches` is null where nobody looked."""

    kind: str
    namespace: str
    name: str
    schedule: str
    kyverno_runs: bool
    kyverno_next_run: str | None
    skoupa_runs: bool
    skoupa_next_run: str | None
    matches: ToldMatches | None
    differences: tuple[ToldDifference, ...]


class ToldStep(Shape, frozen=True, kw_only=True):
    """What is done, and the command for it; empty: by hand."""

    what: str
    command: str


class MigrateDocument(Shape, frozen=True, kw_only=True):
    """What `migrate` prints. `differences` are those of the whole cluster."""

    api_version: str = msgspec.field(default=API_VERSION, name="apiVersion")
    kind: Literal["Migration"] = "Migration"
    now: str
    kyverno: ToldKyverno
    differences: tuple[ToldDifference, ...]
    labels: tuple[ToldLabel, ...]
    policies: tuple[ToldPolicy, ...]
    over: tuple[ToldStep, ...]
    back: tuple[ToldStep, ...]
    gaps: tuple[ToldGap, ...]
    warnings: tuple[str, ...]


class Migration(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was found, before anybody renders it."""

    now: float
    kyverno: Kyverno
    overall: tuple[Difference, ...]
    labels: tuple[Labelled, ...]
    policies: tuple[Compared, ...]
    over: tuple[Step, ...]
    back: tuple[Step, ...]
    gaps: tuple[Gap, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def differs(self) -> bool:
        labels = any(one.differences for one in self.labels)
        return labels or bool(self.overall) or any(one.differences for one in self.policies)


def document(found: Migration) -> MigrateDocument:
    return MigrateDocument(
        now=whole_seconds(found.now),
        kyverno=_kyverno(found.kyverno),
        differences=_differences(found.overall),
        labels=tuple(map(_label, found.labels)),
        policies=tuple(map(_policy, found.policies)),
        over=tuple(map(_step, found.over)),
        back=tuple(map(_step, found.back)),
        gaps=tuple(map(gap_of, found.gaps)),
        warnings=found.warnings,
    )


def _differences(many: Iterable[Difference]) -> tuple[ToldDifference, ...]:
    return tuple(
        ToldDifference(
            code=one.code,
            effect=one.meaning.effect,
            kyverno=one.kyverno,
            skoupa=one.skoupa,
            docs=one.meaning.docs,
        )
        for one in many
    )


def _kyverno(found: Kyverno) -> ToldKyverno:
    return ToldKyverno(
        state=found.state,
        leases=found.leases,
        controllers=tuple(
            ToldController(
                namespace=one.namespace,
                name=one.name,
                image=one.image,
                version=one.version,
                replicas=one.replicas,
                flags=one.flags,
                time_zone=one.time_zone or "UTC",
                service_account=one.service_account,
            )
            for one in found.controllers
        ),
        webhooks=tuple(one.name for one in found.webhooks),
        filters=tuple(one.text for one in found.filters.filters),
    )


def _label(one: Labelled) -> ToldLabel:
    row, verdict = one.row, one.verdict
    return ToldLabel(
        api_version=row.resource.api_version,
        kind=row.resource.kind,
        namespace=row.namespace,
        name=row.name,
        uid=uid_text(row.uid),
        value=row.label(names.TTL_LABEL),
        kyverno=ToldReading(goes_at=moment(one.kyverno.due), words=one.kyverno.words),
        skoupa=ToldReading(goes_at=moment(verdict.goes), words=our_words(row, verdict)),
        differences=_differences(one.differences),
    )


def _policy(one: Compared) -> ToldPolicy:
    return ToldPolicy(
        kind=one.kind,
        namespace=one.namespace,
        name=one.name,
        schedule=one.schedule,
        kyverno_runs=one.kyverno_runs,
        kyverno_next_run=moment(one.kyverno_next),
        skoupa_runs=one.policy is not None,
        skoupa_next_run=moment(one.skoupa_next),
        matches=None
        if one.matches is None
        else ToldMatches(matched=one.matches.matched, goes=one.matches.goes, unknown=one.matches.unknown),
        differences=_differences(one.differences),
    )


def _step(one: Step) -> ToldStep:
    return ToldStep(what=one.what, command=one.command)
