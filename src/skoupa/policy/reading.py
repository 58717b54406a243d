"""From an object to a Policy, or to a list of what is wrong with it: where, what, and what to write.

Every part is read by itself, so that all problems are told at once. Objects from files have met no server: nothing here trusts
that a definition was asked. Whether expressions parse and compile is asked of a function that is handed in; kinds are looked up where
a Discovery is. A policy with a problem is no policy: it does not run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar, cast

import msgspec

from skoupa import names
from skoupa.expr.instants import parse_rfc3339
from skoupa.expr.readings import Problem as Unread
from skoupa.expr.schedules import Schedule, parse_schedule
from skoupa.kinds.definition import Definition
from skoupa.kinds.policies.cleanup import CleanupSpec
from skoupa.kinds.policies.constraints import Constraints
from skoupa.kinds.policies.context import ContextEntry
from skoupa.kinds.policies.deleting import DeletingSpec, NamedExpression
from skoupa.kinds.policies.filters import Filters
from skoupa.kinds.policies.scheduling import Propagation
from skoupa.kinds.reading import read_field_partly, read_partly
from skoupa.kube.kinds import Discovery
from skoupa.policy import constraints, filters
from skoupa.policy.cautions import cautions
from skoupa.policy.clause_checks import as_far_as_readable, comparison_problems, context_problems
from skoupa.policy.constraint_checks import constraint_problems, expression_problems
from skoupa.policy.extent import kinds_of_filters, kinds_of_rules
from skoupa.policy.filter_checks import conflicts, filters_problems, match_problems
from skoupa.policy.headings import definition_of
from skoupa.policy.match import Subject
from skoupa.policy.options import OptionsReading, mislaid
from skoupa.policy.places import cluster_wide
from skoupa.policy.policies import Clauses, Kind, Policy
from skoupa.policy.problems import Problem
from skoupa.policy.sections import Sections

SHORTEST_INTERVAL: Final = 60

T = TypeVar("T", ContextEntry, NamedExpression)
Check = Callable[[Clauses], Iterable[Problem]]


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """There is a policy exactly when there is no problem."""

    policy: Policy | None
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()


def read_policy(
    obj: Mapping[str, Any],
    *,
    discovery: Discovery | None = None,
    check: Check | None = None,
    minimum_seconds: int = SHORTEST_INTERVAL,
    default_namespace: str = "default",
) -> Reading:
    """`check` tells what is wrong with expressions; `default_namespace` is where a policy that names none would go."""
    definition = definition_of(obj)
    if isinstance(definition, Problem):
        return Reading(policy=None, problems=(definition,))
    reading = _PolicyParts(obj, definition, discovery=discovery, default_namespace=default_namespace)
    return reading.read(check=check, minimum_seconds=minimum_seconds)


class _PolicyParts:
    """The parts of one policy, each by itself."""

    def __init__(
        self,
        obj: Mapping[str, Any],
        definition: Definition,
        *,
        discovery: Discovery | None,
        default_namespace: str,
    ) -> None:
        self._shape: type[msgspec.Struct] = DeletingSpec if "Deleting" in definition.kind else CleanupSpec
        self._read = Sections(obj, self._shape)
        self._definition = definition
        self._discovery = discovery
        self._metadata, self._spec = self._read.metadata, self._read.spec
        # A policy of a namespace that names none must never count as one about the whole cluster.
        namespace = str(self._metadata.get("namespace") or default_namespace)
        self._namespace = namespace if definition.namespaced else ""

    def read(self, *, check: Check | None, minimum_seconds: int) -> Reading:
        problems = self._read.problems
        if problems:
            return Reading(policy=None, problems=tuple(problems))
        annotated = OptionsReading(self._metadata.get("annotations"), namespaced=self._definition.namespaced)
        self._read.unknown_fields()
        name = self._read.name()
        schedule = self._schedule(annotated.time_zone(), minimum_seconds)
        subject = self._subject()
        clauses = self._clauses()
        propagation: Propagation | None = self._read.field("deletionPropagationPolicy")
        options = annotated.options()
        problems += annotated.problems
        if check is not None:
            problems += check(clauses)
        warnings = [*annotated.unknown(), *mislaid(self._metadata.get("labels"))]
        if subject is not None and self._read.is_whole("variables"):
            warnings += cautions(subject, clauses, self._discovery)
        if not self._read.whole or schedule is None or subject is None:
            return Reading(policy=None, problems=tuple(problems), warnings=tuple(warnings))
        policy = Policy(
            kind=cast("Kind", self._definition.kind),
            namespace=self._namespace,
            name=name,
            uid=self._read.uid,
            generation=self._read.generation,
            created=self._created(),
            subject=subject,
            clauses=clauses,
            schedule=schedule,
            propagation=propagation or "Background",
            options=options,
        )
        return Reading(policy=policy, warnings=tuple(warnings))

    def _schedule(self, zone_name: str, minimum_seconds: int) -> Schedule | None:
        # What to write for an empty text its parser knows, and its type does not.
        written = self._spec.get("schedule")
        text = written if written == "" else self._read.field("schedule", required=True)
        if text is None:
            return None
        schedule = parse_schedule(text, zone_name=zone_name, minimum_seconds=minimum_seconds)
        if isinstance(schedule, Unread):
            self._read.say("spec.schedule", schedule.what, schedule.instead)
            return None
        return schedule

    def _subject(self) -> Subject | None:
        if self._shape is DeletingSpec:
            return self._constrained()
        return self._filtered()

    def _filtered(self) -> Subject | None:
        match: Filters | None = self._read.field("match", required=True)
        exclude: Filters | None = self._read.field("exclude")
        if self._says(kinds_of_filters(match, exclude)):
            return None
        for field, found in (("match", match), ("exclude", exclude)):
            if found is not None:
                path, raw = f"spec.{field}", self._spec.get(field)
                self._read.also(
                    filters_problems(
                        found,
                        raw=raw,
                        path=path,
                        namespace=self._namespace,
                        cluster_kind=names.CLUSTER_CLEANUP_POLICY_KIND,
                    )
                )
        if match is None:
            return None
        self._read.also(match_problems(match, path="spec.match"))
        self._ask_for_places(match, "spec.match")
        if not self._read.is_whole("match", "exclude"):
            return None
        if exclude is not None:
            self._read.problems += conflicts(match, exclude)
        return Subject(
            match=filters.prepared(match),
            exclude=None if exclude is None else filters.prepared(exclude),
            namespace=self._namespace,
        )

    def _constrained(self) -> Subject | None:
        found: Constraints | None = self._read.field("matchConstraints", required=True)
        if found is None:
            return None
        path = "spec.matchConstraints"
        if self._says(kinds_of_rules(found, path=path)):
            return None
        self._read.also(constraint_problems(found, path=path, namespace=self._namespace))
        self._ask_for_places(found, path)
        if not self._read.is_whole("matchConstraints"):
            return None
        return Subject(match=constraints.prepared(found), namespace=self._namespace)

    def _says(self, problems: Iterable[Problem]) -> bool:
        """Whether there are any."""
        found = list(problems)
        self._read.problems += found
        return bool(found)

    def _ask_for_places(self, match: Filters | Constraints, path: str) -> None:
        if self._namespace and self._discovery is not None:
            self._read.also(cluster_wide(match, self._discovery, path=path))

    def _clauses(self) -> Clauses:
        if self._shape is DeletingSpec:
            expressions = self._many("conditions", NamedExpression, _passing)
            variables = self._many("variables", NamedExpression, _any_value)
            self._read.also(expression_problems(expressions, path="spec.conditions"))
            self._read.also(expression_problems(variables, path="spec.variables"))
            if not self._read.is_whole("variables") and not all(one.name for one in variables):
                # Whatever looks at one of them would seem wrong.
                return Clauses(namespace=self._namespace)
            return Clauses(namespace=self._namespace, expressions=expressions, variables=variables)
        context = self._many("context", ContextEntry, lambda name: ContextEntry(name=name))
        for index, entry in enumerate(context):
            self._read.also(context_problems(entry, path=f"spec.context[{index}]", namespace=self._namespace))
        comparisons = self._spec.get("conditions")
        if comparisons is None:
            return Clauses(namespace=self._namespace, context=context)
        wrong = list(comparison_problems(comparisons, path="spec.conditions"))
        self._read.problems += wrong
        if wrong:
            comparisons = as_far_as_readable(comparisons)
        return Clauses(namespace=self._namespace, context=context, comparisons=comparisons)

    def _many(self, name: str, shape: type[T], stand_in: Callable[[str], T]) -> tuple[T, ...]:
        """A list of named parts. One that can't be read has a stand-in, so that the others keep their places and may look at it."""
        written, where = self._spec.get(name), f"spec.{name}"
        if not isinstance(written, list):
            return self._read.field(name) or ()
        whole = read_field_partly(written, self._shape, name, where=where)
        if not whole.errors:
            return cast("tuple[T, ...]", whole.value)
        parts = [read_partly(one, shape, where=f"{where}[{index}]") for index, one in enumerate(written)]
        if not any(part.errors for part in parts):
            return self._read.note(whole) or ()
        return tuple(
            self._read.note(part) or stand_in(str(one.get("name") or "") if isinstance(one, Mapping) else "")
            for one, part in zip(written, parts, strict=True)
        )

    def _created(self) -> float | None:
        text = self._metadata.get("creationTimestamp")
        if not isinstance(text, str):
            return None
        moment = parse_rfc3339(text)
        return None if isinstance(moment, Unread) else float(moment)


def _passing(name: str) -> NamedExpression:
    return NamedExpression(name=name, expression="true")


def _any_value(name: str) -> NamedExpression:
    return NamedExpression(name=name, expression="dyn(0)")
