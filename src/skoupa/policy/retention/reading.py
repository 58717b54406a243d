"""From an object to a Retention, or to a list of what is wrong with it: where, what, and what to write.

As with other policies every part is read by itself and nothing trusts that a definition was asked. One with a problem is none: what
it is about stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec

from skoupa import names
from skoupa.expr import patterns
from skoupa.expr.durations import parse_duration
from skoupa.expr.readings import Problem as Unread
from skoupa.expr.readings import quoted
from skoupa.kinds.policies.filters import Filters
from skoupa.kinds.retention.policy import (
    CLUSTER_RETENTION_POLICY,
    RETENTION_POLICY,
    After,
    Capacity,
    KeepNewest,
    RetentionSpec,
)
from skoupa.kube.kinds import Discovery
from skoupa.policy import filters
from skoupa.policy.extent import kinds_of_filters
from skoupa.policy.filter_checks import conflicts, filters_problems
from skoupa.policy.headings import version_problem
from skoupa.policy.match import Subject, names_kind
from skoupa.policy.places import cluster_wide
from skoupa.policy.problems import Problem
from skoupa.policy.retention.annotations import read_annotations
from skoupa.policy.retention.cautions import cautions
from skoupa.policy.retention.policies import EVENTS, Kind, Limit, Moment, Newest, Retention
from skoupa.policy.sections import Sections

_DEFINITIONS: Final = {one.kind: one for one in (RETENTION_POLICY, CLUSTER_RETENTION_POLICY)}
KINDS: Final = tuple(_DEFINITIONS)
# The same objects once more.
_EVENTS_AGAIN: Final = msgspec.structs.replace(EVENTS, group="events.k8s.io")
_MOMENTS: Final[tuple[Moment, ...]] = ("created", "finished", "succeeded", "failed", "unused")


class RetentionReading(msgspec.Struct, frozen=True, kw_only=True):
    """There is a policy exactly when there is no problem."""

    policy: Retention | None
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()


def read_retention(
    obj: Mapping[str, Any], *, discovery: Discovery | None = None, default_namespace: str = "default"
) -> RetentionReading:
    """`obj` is of one of `KINDS`. `default_namespace` is where a policy that names none would go."""
    return _Parts(obj, discovery=discovery, default_namespace=default_namespace).read()


class _Parts:
    """The parts of one policy, each by itself."""

    def __init__(
        self, obj: Mapping[str, Any], *, discovery: Discovery | None, default_namespace: str
    ) -> None:
        self._read = Sections(obj, RetentionSpec)
        self._object = obj
        self._kind = str(obj.get("kind") or "")
        self._discovery = discovery
        namespace = str(self._read.metadata.get("namespace") or default_namespace)
        self._namespace = namespace if self._kind == names.RETENTION_POLICY_KIND else ""

    def read(self) -> RetentionReading:
        read = self._read
        if self._kind not in KINDS:
            read.say("kind", f"{quoted(self._kind)} is no retention policy", f"write {' or '.join(KINDS)}")
        elif problem := version_problem(self._object, _DEFINITIONS[self._kind]):
            read.problems.append(problem)
        if read.problems:
            return RetentionReading(policy=None, problems=tuple(read.problems))
        read.unknown_fields()
        name = read.name()
        subject = self._subject()
        after, newest, limit = self._after(), self._newest(), self._limit()
        if not any(field in read.spec for field in ("after", "keepNewest", "capacity")):
            read.say("spec", "it says nothing", "write after, keepNewest or capacity")
        self._check_events(subject, after, newest, limit)
        owners, propagation = read.field("owners"), read.field("deletionPropagationPolicy")
        suspended, annotated = read.field("suspend"), read_annotations(read.metadata)
        read.also(annotated.problems)
        if not read.whole:
            return RetentionReading(policy=None, problems=tuple(read.problems))
        policy = Retention(
            kind=cast("Kind", self._kind),
            namespace=self._namespace,
            name=name,
            uid=read.uid,
            generation=read.generation,
            subject=subject,
            after=after,
            newest=newest,
            limit=limit,
            owners_hold=owners != "Ignore",
            suspended=bool(suspended) or annotated.suspended,
            propagation=propagation or "Background",
        )
        warnings = (*annotated.warnings, *cautions(policy, self._discovery))
        return RetentionReading(policy=policy, warnings=warnings)

    def _subject(self) -> Subject | None:
        match: Filters | None = self._read.field("match")
        exclude: Filters | None = self._read.field("exclude")
        if too_many := list(kinds_of_filters(match, exclude)):
            self._read.problems += too_many
            return None
        for field, found in (("match", match), ("exclude", exclude)):
            if found is not None:
                raw = self._read.spec.get(field)
                self._read.also(
                    filters_problems(
                        found,
                        raw=raw,
                        path=f"spec.{field}",
                        namespace=self._namespace,
                        cluster_kind=names.CLUSTER_RETENTION_POLICY_KIND,
                    )
                )
        if not self._read.is_whole("match", "exclude"):
            return None
        if match is not None:
            self._check(match, exclude)
        if match is None and exclude is None:
            return None
        # An empty filter is about nothing, so that everything has to be said by a demand that all meet.
        everything = filters.Filters("all", (filters.Filter(operations=True),))
        return Subject(
            match=everything if match is None else filters.prepared(match),
            exclude=None if exclude is None else filters.prepared(exclude),
            namespace=self._namespace,
        )

    def _check(self, match: Filters, exclude: Filters | None) -> None:
        if not match.any and not match.all:
            self._read.say(
                "spec.match", "it matches nothing", "write any or all with a filter, or leave it out"
            )
        if self._namespace and self._discovery is not None:
            self._read.also(
                cluster_wide(
                    match,
                    self._discovery,
                    path="spec.match",
                    cluster_kind=names.CLUSTER_RETENTION_POLICY_KIND,
                )
            )
        if exclude is not None:
            self._read.problems += conflicts(match, exclude)

    def _check_events(
        self, subject: Subject | None, after: Mapping[Moment, int], newest: Newest | None, limit: Limit | None
    ) -> None:
        """They are many and short-lived: only their age is looked at, and only under one of their two names."""
        if subject is None:
            return
        if not names_kind(subject.match, EVENTS):
            if names_kind(subject.match, _EVENTS_AGAIN):
                what = (
                    "Events are read by their first name, so that nothing goes by a policy for events.k8s.io"
                )
                self._read.say("spec.match", what, "write the kind Event")
            return
        if set(after) != {"created"} or newest is not None or limit is not None:
            self._read.also(
                [
                    Problem(
                        path="spec",
                        what="Events go by their age alone",
                        instead="write after with created and nothing else, in a policy of their own: created: 10m",
                    )
                ]
            )

    def _after(self) -> dict[Moment, int]:
        found: After | None = self._read.field("after")
        if found is None:
            return {}
        times: dict[Moment, int] = {}
        for moment in _MOMENTS:
            text: str | None = getattr(found, moment)
            if text is None:
                continue
            seconds = parse_duration(text)
            if isinstance(seconds, Unread):
                self._read.say(f"spec.after.{moment}", seconds.what, seconds.instead)
            else:
                times[moment] = seconds
        if not times and self._read.is_whole("after"):
            instead = f"write one of {', '.join(_MOMENTS)}, such as finished: 1h"
            self._read.also([Problem(path="spec.after", what="it names no moment", instead=instead)])
        return times

    def _newest(self) -> Newest | None:
        found: KeepNewest | None = self._read.field("keepNewest")
        if found is None:
            return None
        path = "spec.keepNewest.family"
        if found.family is not None and found.per != "Family":
            self._read.say(path, f"per is {found.per}", "write per: Family with it, or leave family out")
        if found.family is not None:
            try:
                groups = patterns.compile(found.family).groups
            except ValueError as error:
                self._read.say(path, str(error), "write a regular expression as Go reads it: ^(.*)-v[0-9]+$")
            else:
                if not groups:
                    self._read.say(path, "it has no group", "put the family in parentheses: ^(.*)-v[0-9]+$")
        return Newest(count=found.count, per=found.per, family=found.family or "")

    def _limit(self) -> Limit | None:
        found: Capacity | None = self._read.field("capacity")
        if found is None:
            return None
        path = "spec.capacity"
        if (found.at_most is None) == (found.from_quota is None) and self._read.is_whole("capacity"):
            what = (
                "it says not how many"
                if found.at_most is None
                else "atMost and fromQuota can't stand together"
            )
            self._read.say(path, what, "write one of atMost and fromQuota")
        if found.from_quota is not None and found.divide not in {None, "PerNamespace"}:
            instead = "leave it out, or write PerNamespace"
            self._read.say(f"{path}.divide", "a quota counts for each namespace by itself", instead)
        return Limit(
            at_most=found.at_most or 0, quota=found.from_quota or "", divide=found.divide or "PerNamespace"
        )
