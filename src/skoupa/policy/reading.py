"""From an object to a Policy, or to a list of what is wrong with it: where, what, and what to write.

Every part is read by itself, so that all problems are told at once. Objects from files have met no server: nothing here trusts
that a definition was asked. Whether expressions parse and compile is asked of a function that is handed in; kinds are looked up where
a Discovery is. A policy with a problem is no policy: it does not run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar, cast

import msgspec

from skoupa.errors import UsageError
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
from skoupa.kinds.reading import Partly, read_field_partly, read_partly, unknown_fields
from skoupa.kube.kinds import Discovery
from skoupa.policy import constraints, filters
from skoupa.policy.cautions import cautions
from skoupa.policy.clause_checks import as_far_as_readable, comparison_problems, context_problems
from skoupa.policy.constraint_checks import constraint_problems, expression_problems
from skoupa.policy.filter_checks import conflicts, filters_problems, match_problems
from skoupa.policy.headings import definition_of
from skoupa.policy.match import Subject
from skoupa.policy.options import OptionsReading
from skoupa.policy.places import cluster_wide
from skoupa.policy.policies import Clauses, Kind, Policy
from skoupa.policy.problems import Problem

SHORTEST_INTERVAL: Final = 60
_MISSING: Final = " is missing"

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
    reading = _Sections(obj, definition, discovery=discovery, default_namespace=default_namespace)
    return reading.read(check=check, minimum_seconds=minimum_seconds)


class _Sections:
    """The parts of one policy, each by itself, and what was wrong with them."""

    def __init__(
        self,
        obj: Mapping[str, Any],
        definition: Definition,
        *,
        discovery: Discovery | None,
        default_namespace: str,
    ) -> None:
        self.problems: list[Problem] = []
        # Places that could not be read, and the fields that are written there.
        self._wrong: dict[str, frozenset[str]] = {}
        self._definition = definition
        self._discovery = discovery
        self._metadata = self._mapping(obj, "metadata")
        self._spec = self._mapping(obj, "spec")
        self._shape: type[msgspec.Struct] = DeletingSpec if "Deleting" in definition.kind else CleanupSpec
        # A policy of a namespace that names none must never count as one about the whole cluster.
        namespace = str(self._metadata.get("namespace") or default_namespace)
        self._namespace = namespace if definition.namespaced else ""

    def read(self, *, check: Check | None, minimum_seconds: int) -> Reading:
        if self.problems:
            return Reading(policy=None, problems=tuple(self.problems))
        annotated = OptionsReading(self._metadata.get("annotations"), namespaced=self._definition.namespaced)
        for error in unknown_fields(self._spec, self._shape, where="spec"):
            self._add(error)
        name = self._metadata.get("name")
        if not isinstance(name, str) or not name:
            self._say("metadata.name", "it is missing", "write a name")
        schedule = self._schedule(annotated.time_zone(), minimum_seconds)
        subject = self._subject()
        clauses = self._clauses()
        propagation: Propagation | None = self._field("deletionPropagationPolicy")
        options = annotated.options()
        self.problems += annotated.problems
        if check is not None:
            self.problems += check(clauses)
        warnings = list(annotated.unknown())
        if subject is not None and self._is_whole("variables"):
            warnings += cautions(subject, clauses, self._discovery)
        if self.problems or self._wrong or schedule is None or subject is None:
            return Reading(policy=None, problems=tuple(self.problems), warnings=tuple(warnings))
        generation = self._metadata.get("generation")
        policy = Policy(
            kind=cast("Kind", self._definition.kind),
            namespace=self._namespace,
            name=str(name),
            uid=str(self._metadata.get("uid") or ""),
            generation=generation if isinstance(generation, int) else 0,
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
        text = written if written == "" else self._field("schedule", required=True)
        if text is None:
            return None
        schedule = parse_schedule(text, zone_name=zone_name, minimum_seconds=minimum_seconds)
        if isinstance(schedule, Unread):
            self._say("spec.schedule", schedule.what, schedule.instead)
            return None
        return schedule

    def _subject(self) -> Subject | None:
        if self._shape is DeletingSpec:
            return self._constrained()
        return self._filtered()

    def _filtered(self) -> Subject | None:
        match: Filters | None = self._field("match", required=True)
        exclude: Filters | None = self._field("exclude")
        for field, found in (("match", match), ("exclude", exclude)):
            if found is not None:
                path, raw = f"spec.{field}", self._spec.get(field)
                self._also(filters_problems(found, raw=raw, path=path, namespace=self._namespace))
        if match is None:
            return None
        self._also(match_problems(match, path="spec.match"))
        self._ask_for_places(match, "spec.match")
        if not self._is_whole("match", "exclude"):
            return None
        if exclude is not None:
            self.problems += conflicts(match, exclude)
        return Subject(
            match=filters.prepared(match),
            exclude=None if exclude is None else filters.prepared(exclude),
            namespace=self._namespace,
        )

    def _constrained(self) -> Subject | None:
        found: Constraints | None = self._field("matchConstraints", required=True)
        if found is None:
            return None
        path = "spec.matchConstraints"
        self._also(constraint_problems(found, path=path, namespace=self._namespace))
        self._ask_for_places(found, path)
        if not self._is_whole("matchConstraints"):
            return None
        return Subject(match=constraints.prepared(found), namespace=self._namespace)

    def _ask_for_places(self, match: Filters | Constraints, path: str) -> None:
        if self._namespace and self._discovery is not None:
            self._also(cluster_wide(match, self._discovery, path=path))

    def _clauses(self) -> Clauses:
        if self._shape is DeletingSpec:
            expressions = self._many("conditions", NamedExpression, _passing)
            variables = self._many("variables", NamedExpression, _any_value)
            self._also(expression_problems(expressions, path="spec.conditions"))
            self._also(expression_problems(variables, path="spec.variables"))
            if not self._is_whole("variables") and not all(one.name for one in variables):
                # Whatever looks at one of them would seem wrong.
                return Clauses(namespace=self._namespace)
            return Clauses(namespace=self._namespace, expressions=expressions, variables=variables)
        context = self._many("context", ContextEntry, lambda name: ContextEntry(name=name))
        for index, entry in enumerate(context):
            self._also(context_problems(entry, path=f"spec.context[{index}]", namespace=self._namespace))
        comparisons = self._spec.get("conditions")
        if comparisons is None:
            return Clauses(namespace=self._namespace, context=context)
        before = len(self.problems)
        self.problems += comparison_problems(comparisons, path="spec.conditions")
        if len(self.problems) != before:
            comparisons = as_far_as_readable(comparisons)
        return Clauses(namespace=self._namespace, context=context, comparisons=comparisons)

    def _many(self, name: str, shape: type[T], stand_in: Callable[[str], T]) -> tuple[T, ...]:
        """A list of named parts. One that can't be read has a stand-in, so that the others keep their places and may look at it."""
        written, where = self._spec.get(name), f"spec.{name}"
        if not isinstance(written, list):
            return self._field(name) or ()
        whole = read_field_partly(written, self._shape, name, where=where)
        if not whole.errors:
            return cast("tuple[T, ...]", whole.value)
        parts = [read_partly(one, shape, where=f"{where}[{index}]") for index, one in enumerate(written)]
        if not any(part.errors for part in parts):
            return self._note(whole) or ()
        return tuple(
            self._note(part) or stand_in(str(one.get("name") or "") if isinstance(one, Mapping) else "")
            for one, part in zip(written, parts, strict=True)
        )

    def _created(self) -> float | None:
        text = self._metadata.get("creationTimestamp")
        if not isinstance(text, str):
            return None
        moment = parse_rfc3339(text)
        return None if isinstance(moment, Unread) else float(moment)

    def _field(self, name: str, *, required: bool = False) -> Any:
        """The part as its Struct, without what can't be read of it, which is then a problem; None where nothing is left."""
        value = self._spec.get(name)
        if value is None:
            if required:
                self._say(f"spec.{name}", "it is missing", f"write {name}")
            return None
        return self._note(read_field_partly(value, self._shape, name, where=f"spec.{name}"))

    def _note(self, partly: Partly) -> Any:
        for error in partly.errors:
            self._add(error)
        self._wrong |= partly.wrong
        return partly.value

    def _is_whole(self, *fields: str) -> bool:
        return not any(place.startswith(f"spec.{field}") for place in self._wrong for field in fields)

    def _also(self, found: Iterable[Problem]) -> None:
        """Without what only follows from a place that could not be read: mending that mends it too."""
        self.problems += (problem for problem in found if not self._follows(problem.path))

    def _follows(self, path: str) -> bool:
        around, _, field = path.rpartition(".")
        if around in self._wrong and field.partition("[")[0] not in self._wrong[around]:
            return True
        return any(place == path or place.startswith((f"{path}.", f"{path}[")) for place in self._wrong)

    def _mapping(self, obj: Mapping[str, Any], field: str) -> Mapping[str, Any]:
        found = obj.get(field)
        if isinstance(found, Mapping):
            return found
        what = "it is missing" if found is None else "it is no object with fields"
        self._say(field, what, f"write {field} with its fields")
        return {}

    def _add(self, error: UsageError) -> None:
        path, colon, what = error.message.partition(": ")
        if not colon and path.endswith(_MISSING):
            path, what = path.removesuffix(_MISSING), f"it{_MISSING}"
        self._say(path, what, error.advice)

    def _say(self, path: str, what: str, instead: str) -> None:
        self.problems.append(Problem(path=path, what=what, instead=instead))


def _passing(name: str) -> NamedExpression:
    return NamedExpression(name=name, expression="true")


def _any_value(name: str) -> NamedExpression:
    return NamedExpression(name=name, expression="dyn(0)")
