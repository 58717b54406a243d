"""What is known at a moment, and the Judge over it.

Filled by reading once (`survey`) or kept true by watching (`engine`); either way the verdicts come from the same place.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Protocol

from skoupa import names
from skoupa.controller.keeping.kept import KeptIndex
from skoupa.facts.feeds import Body
from skoupa.facts.rows import Extraction, Row, Uid
from skoupa.facts.store import Delta, Store
from skoupa.judge.brakes import NO_BRAKES, BrakeGuard, Pulled
from skoupa.judge.cascade import Blind, CascadeGuard, is_namespace, waived
from skoupa.judge.circumstances import Circumstances
from skoupa.judge.judge import Judge
from skoupa.judge.mechanism import Guard, Interest, Mechanism, Ruling
from skoupa.judge.other_times import LabelTimeGuard, OtherTimeGuard
from skoupa.judge.policies import NAME as POLICIES
from skoupa.judge.protection import Protection, kept_until
from skoupa.judge.retention import NeedGuard, RetentionMechanism
from skoupa.judge.retention_rules import RetentionRules
from skoupa.judge.tenants import TenantMechanism
from skoupa.judge.ttl import TtlMechanism
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import NAMESPACES, Resource
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Claim, Hold, Question, Verdict
from skoupa.settings import Settings
from skoupa.usage.reading import Readings

KEPT = Interest(labels=names.KEEP_LABEL)


def mechanisms_of(settings: Settings) -> tuple[Mechanism, ...]:
    ttl = (TtlMechanism(settings),) if settings.features.ttl else ()
    return (*ttl, RetentionMechanism()) if settings.features.retention else ttl


class TenantLook(Protocol):
    """The last look around something that goes with its tenant; who follows tenants takes it."""

    async def before(self, row: Row, claim: Claim) -> tuple[Hold, ...]:
        """Whether the Tenant is still deleted, and whether it is still that Tenant's alone."""

    def inside(self, row: Row, inside: Row, claim: Claim) -> Hold | None:
        """Whether something inside a Namespace or a definition keeps it."""

    async def around(self, row: Row, claim: Claim) -> tuple[Hold, ...]:
        """What goes along with a Namespace although it is in none."""


class Knowledge:
    """`extra` are holds that only a running controller knows (backlog, re-creation, rights).

    `rulings` are mechanisms whose rules choose by themselves.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        rulings: Sequence[Ruling] = (),
        skew: Callable[[], float] = lambda: 0.0,
        extra: Sequence[Callable[[Row, float], Hold | None]] = (),
    ) -> None:
        self.settings = settings
        # Retention policies choose by themselves; who follows them hands in what is known of them.
        self.retention_rules = RetentionRules() if settings.features.retention else None
        self.rulings = (*rulings, *((self.retention_rules,) if self.retention_rules is not None else ()))
        self.labelled = mechanisms_of(settings)
        # Who follows Tenants says what goes with them, and looks around it.
        self.tenants = TenantMechanism() if settings.features.tenants else None
        self.tenant_look: TenantLook | None = None
        self.mechanisms: tuple[Mechanism, ...] = (
            *self.labelled,
            *self.rulings,
            *((self.tenants,) if self.tenants is not None else ()),
        )
        self.interests: tuple[Interest, ...] = tuple(
            interest for mechanism in self.mechanisms for interest in mechanism.interests()
        )
        self.store = Store()
        # Who keeps evidence for it true hands that in.
        self.retention = next((one for one in self.labelled if isinstance(one, RetentionMechanism)), None)
        # By label selector: what is read of objects beside their metadata.
        self.bodies: dict[str, Callable[[Resource], Body]] = {}
        # Policies heed the times that are written on objects, whether or not those go by them.
        heeded = TtlMechanism(settings).interests() if settings.policies.respect_ttl else ()
        self.extraction = Extraction(
            annotations={key for one in (*self.interests, *heeded) for key in one.annotations}
        )
        self.kept = KeptIndex()
        self.discovery = Discovery(resources=())
        # Kinds that were seen defined, by name; they may be gone by now.
        self.definitions: set[str] = set()
        # What might tell of new kinds and can't be followed.
        self.kinds_untold: set[str] = set()
        # Kinds whose kept objects can't be read, with the reason; and those that nobody had the time to read yet.
        self.blind: dict[str, Blind] = {}
        self.coming: dict[str, Blind] = {}
        # By name, with the uid of the Namespace that has the label: another of that name may have come since.
        self._namespace_keeps: dict[str, tuple[Uid, str]] = {}
        self._namespace_notices: dict[str, tuple[Uid, str]] = {}
        self._namespace_routes: dict[str, tuple[Uid, str]] = {}
        # Namespaces whose wish for a notice changed since somebody last looked here.
        self.renoticed: set[str] = set()
        # Why keep labels of Namespaces may be out of date; empty: they are not.
        self.namespaces_unseen = ""
        # The same for each Namespace, where they are read one by one.
        self.namespace_doubt: Callable[[str], str] | None = None
        # Before something in one of them goes: makes sure that what is known of it is fresh, or says what holds.
        self.freshen_namespace: Callable[[str], Awaitable[Hold | None]] | None = None
        # By kind: by which table to read what its objects take along through their own finalizers.
        self.takes: Callable[[str], Readings | None] = lambda _kind: None
        self.on_questions: Callable[[Row, Sequence[Question]], None] = lambda _row, _questions: None
        # How often something that others hang on changed: who judged can tell whether that still counts.
        self.keep_changes = 0
        self.brakes: Pulled = NO_BRAKES
        self.brake_guard = BrakeGuard(lambda: self.brakes)
        self.protection = Protection(
            settings.protect, namespace_label=self._namespace_keep, home=settings.lease.namespace
        )
        cascades = CascadeGuard(kept=self.kept.around, blind=self._blind_kinds)
        written_times = tuple(self._written_times())
        # What holds an object for good, or until a time, whoever asks and however others stand.
        self._lasting: tuple[Guard, ...] = (self.protection, cascades, *written_times)
        self.judge = Judge(
            self.mechanisms,
            [
                self.protection,
                self.brake_guard,
                cascades,
                Circumstances(skew=skew, extra=(self._others, self._unseen, *extra)),
                *((NeedGuard(self.retention),) if self.retention is not None else ()),
                *written_times,
            ],
        )

    def _written_times(self) -> Iterator[Guard]:
        if self.retention is not None:
            heedless = () if self.settings.policies.respect_ttl else (POLICIES,)
            yield LabelTimeGuard(self.retention, heedless=heedless)
            yield from (OtherTimeGuard(one) for one in self.labelled if isinstance(one, TtlMechanism))

    def is_kept_from(self, claim: Claim, row: Row, now: float) -> bool:
        """Whether it would stay whoever else stood aside: somebody wants it, or what it would take along, or its own time is to come."""
        return any(True for guard in self._lasting for _ in guard.holds(row, claim, now))

    def verdict(self, row: Row, now: float) -> Verdict:
        return self.judge.verdict(row, now)

    def heed(self, row: Row, questions: Sequence[Question]) -> None:
        """Who acts on a Verdict says here what it asks."""
        if questions:
            self.on_questions(row, questions)

    def labelled_due(self, row: Row, now: float) -> float | None:
        """By what is written on it, as backlogs are counted: what rules choose is weighed instead."""
        first: float | None = None
        for mechanism in self.labelled:
            due = mechanism.due(row, now)
            if due is not None and (first is None or due < first):
                first = due
        return first

    def learn(self, deltas: Iterable[Delta]) -> bool:
        """Whether something changed that others hang on: kept objects, keep labels of Namespaces."""
        deltas = list(deltas)
        changed = self.kept.learn(deltas)
        for delta in deltas:
            row = delta.after or delta.before
            if row is None or row.resource.kind != "Namespace" or row.resource.group:
                continue
            after = delta.after
            keep = after.label(names.KEEP_LABEL) if after else None
            changed = _note(self._namespace_keeps, row, keep) or changed
            notice = after.annotation(names.NOTICE_BEFORE_ANNOTATION) if after else None
            if _note(self._namespace_notices, row, notice):
                self.renoticed.add(row.name)
            route = after.annotation(names.NOTIFY_ANNOTATION) if after else None
            _note(self._namespace_routes, row, route)
        self.keep_changes += changed
        return changed

    def notice_in(self, namespace: str) -> str | None:
        """What a Namespace says about notices for what lives in it."""
        known = self._namespace_notices.get(namespace)
        return known[1] if known is not None else None

    def route_in(self, namespace: str) -> str | None:
        """Whom a Namespace wants told of what happens in it."""
        known = self._namespace_routes.get(namespace)
        return known[1] if known is not None else None

    def kept_namespaces(self, now: float) -> set[str]:
        """Those with a keep label that keeps now."""
        return {
            name for name, (_, value) in self._namespace_keeps.items() if kept_until(value, now) is not None
        }

    def is_ending(self, namespace: str) -> bool:
        """Whether a Namespace is being deleted with all that is in it, or is gone, as far as Namespaces are seen."""
        known = {row.name: row for row in self.store.of_kind(NAMESPACES)}
        found = known.get(namespace)
        return bool(found.deleted_at) if found is not None else bool(known)

    def _namespace_keep(self, name: str) -> str | None:
        known = self._namespace_keeps.get(name)
        return known[1] if known is not None else None

    def _others(self, row: Row, now: float) -> Hold | None:  # noqa: ARG002 - a setting does not end by itself
        """Another install may look after what lies outside of the namespaces of this one."""
        namespaces = self.settings.namespaces
        if not namespaces or (row.name if is_namespace(row) else row.namespace) in namespaces:
            return None
        return Hold(reason=reason("other-namespaces", namespaces=", ".join(namespaces)))

    def _unseen(self, row: Row, now: float) -> Hold | None:  # noqa: ARG002 - ends when the feed has caught up
        if not row.namespace:
            return None
        ask = self.namespace_doubt
        # Those read one by one are doubted only once what is known of them is old: that is news by itself.
        code = "namespace-unread" if ask is not None else "feed-behind"
        why = ask(row.namespace) if ask is not None else self.namespaces_unseen
        return Hold(reason=reason(code, kind="namespaces", why=why)) if why else None

    def _blind_kinds(self) -> list[Blind]:
        ignored = self.settings.cascade.ignore_kinds
        known = (*self.blind.values(), *self.coming.values()) if self.coming else self.blind.values()
        return [found for found in known if not waived(found.resource, ignored)]


def _note(known: dict[str, tuple[Uid, str]], row: Row, value: str | None) -> bool:
    """Remembers what is written on a Namespace; whether that is news. An older one of that name counts no more."""
    before = known.get(row.name)
    if value is not None and before != (row.uid, value):
        known[row.name] = (row.uid, value)
        return True
    if value is None and before is not None and before[0] == row.uid:
        del known[row.name]
        return True
    return False
