"""docs/finished.md: the table of finishing, and the grammar of the label that counts from it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from harness.reference.markdown import code, page, table
from skoupa.expr.readings import Problem
from skoupa.expr.ttl_after import parse_ttl_after
from skoupa.usage.finishing import RULES, generic
from skoupa.usage.finishing.rules import (
    Absent,
    Caution,
    Condition,
    Count,
    Field,
    FinishRule,
    Latest,
    OwnTtl,
    Present,
    Sign,
    Test,
    Time,
    TimeAt,
    TimeOf,
)

_INTRODUCTION: Final = """
Which objects have finished, how and when, as Skoupa reads it; and the label `skoupa.dev/ttl-after`, by which they go a while after
that, or after nothing uses them. The label counts with the setting `features.retention` (alpha, off by default): without it nothing is
marked, nothing goes by it and nothing more is read.

Everything here is read from the object as it is now. What runs again, a retried Workflow for instance, has not finished any more.
"""
_LABEL: Final = """
One or more of `<moment>-<duration>`, joined by dots, each moment at most once; a duration is that of the [TTL label](ttl.md) (`1d12h`; units
`w d h m s`, whole numbers, largest first; `0` at once). A label value has at most 63 characters and no colons.
"""
_MEANINGS: Final = {
    "finished-1h": "an hour after it finished, however it ended",
    "succeeded-1h": "an hour after it succeeded; what failed stays",
    "failed-7d": "seven days after it failed; what succeeded stays",
    "succeeded-1h.failed-7d": "each after its own time",
    "finished-1h.failed-7d": "seven days after it failed, else an hour after it finished: what says how it ended beats `finished`",
    "unused-30m": "half an hour after the last use of it ended; an object of a kind that finishes has to finish first",
    "finished-1h.unused-2h": "two hours after it has finished and nothing uses it: all that is written counts",
}
_WRONG: Final = (
    "completed-1h",
    "Finished-1H",
    "finished=1h",
    "succeeded-1h-failed-7d",
    "finished-1.5h",
    "finished-2days",
    "finished-30",
    "finished-",
    "1h",
    "finished-1h.finished-2h",
    "finished-2026-09-30",
    "created-1h",
)
_AGREEING: Final = """
All have to agree: it has finished (where its kind finishes), nothing uses it, none of its owners lives. The time counts from the **latest** of
these moments, never from creation. Where the kind has a time of its own for what has finished (the column below), the **later** of the two
counts. A controller of that kind, or of Kubernetes, that is earlier is not held back by Skoupa.

Whatever else would let the object go waits for this label too: the TTL label, a policy with a schedule (unless
`policies.respectTtl` is off), the limit of a retention policy. A label that says nothing of how it ended, `failed-7d` on
what succeeded, holds nothing back, nor does `finished-…` on a kind that does not finish; one that is not understood keeps it from limits alone.
`unused-…` on a kind that is there for itself (a Deployment, a Node) never comes, so beside the TTL label it keeps the object for good. Whoever writes
a label that can never come is told (`SkoupaLabelProblem`).

Of an object that has finished and does not say how, `succeeded-…` and `failed-…` count only together, and then the longer of them; alone
they keep it. `finished-…` counts for every end.

An object that is labelled and has finished long ago does not go at once: **its time begins when Skoupa first sees that nothing needs it**,
since nobody knows what needed it before. That moment is written on it, in the annotation `skoupa.dev/unneeded-since`, with one patch;
restarts and new leaders count from there. When something needs it again, or it runs again, the mark is taken off and the time starts
anew. Of one that a running Skoupa saw end, with nothing needing it, the mark is the time of its end. A mark that can't be meant is
written anew. A use that began and ended while nobody looked (Skoupa was down, or the server away and what happened meanwhile forgotten) is not
seen. While observing nothing is written onto objects: the moment is kept in the ledger, and without one in memory, so that a restart begins
anew. Where the right to `patch` is missing the object stays, and the log says so.

That nothing points at it is not all: what is good for something stays, as `skoupa unused` has it ([guide](unused.md)). A definition stays
while there are objects of its kind, a Namespace while something is in it, a Service while something is behind it, a default
PriorityClass always; that is asked every ten seconds, and right before the object goes. Kinds that are there for themselves (a
Deployment, a Node) are never unused. A name in arguments, the environment, an annotation or a custom object counts as use.

An object that has finished under a living owner, a Job of a CronJob for instance, is held, and its writer is told (`SkoupaLabelProblem`); a
[RetentionPolicy](retention.md) with `owners: Ignore` that is about it lets its label count all the same.

While a kind that could use or own it can't be read, may be out of date, or holds something that can't be understood, the object is held
and the reason names that kind; the setting `usage.ignoreKinds` waives kinds. Right before it goes, all that could use it is listed once
more and what changed is read. [references](references.md) says what counts as a use. Where only some namespaces are looked into (the setting
`namespaces`), kinds in no namespace and those that can point out of others are not read, and hold what they could use unless they are waived. A name in a text of
a namespace that is not looked into is not seen.
"""
_KINDS: Final = """
The first time that is there counts. One that can't be read, that is zero, or that lies before the start or the creation of the object is none, and so is
one that lies ahead by more than five minutes: then the time counts from when Skoupa first saw it finished. **Holds** says what an object
has to wait for although it has finished.

An object whose status has another shape than is written here, or that says both that it succeeded and that it failed, has not finished: it
stays, with what is wrong as the reason.
"""
_GENERIC: Final = """
Of a custom kind that the table does not know, an object has finished only where two things come together: a condition that says so, and a field of its
status that says when. A phase alone is not enough, since every kind has words of its own and many try again what failed; nor is a
condition alone, since many operators say `Failed` between two tries. Nothing has finished while another condition speaks of work, or
while `status.observedGeneration` is older than the object. In doubt it has not finished: a [KindProfile](profiles.md)
says it exactly. `Complete` and `Completed` do not say how it ended, since some say so of what failed too.

Built-in kinds that are not in the table do not finish; nor do custom kinds of a group that ends in `.k8s.io`, unless they are in it.
"""


def finished_page() -> str:
    values = [(code(value), meaning) for value, meaning in _MEANINGS.items()]
    wrong = [(code(value), _instead(value)) for value in _WRONG]
    rule = generic.RULE
    generic_rows = [
        ("finished when", _signs(rule)),
        ("not while", " or ".join(map(_test, rule.unless))),
        ("at", ", ".join(map(_time, rule.times))),
    ]
    return page(
        "What has finished",
        _INTRODUCTION,
        "## The label",
        _LABEL,
        table(("value", "the object goes"), values),
        "A value that is not understood does nothing, and its writer is told what to write:",
        table(("value", "what to do"), wrong),
        "## Who has to agree",
        _AGREEING,
        "## The kinds",
        _KINDS,
        table(("kind", "finished when", "at", "its own time", "to heed"), _rows()),
        "## Kinds that the table does not know",
        _GENERIC,
        table(("", ""), generic_rows),
        source="skoupa.usage.finishing",
    )


def _instead(value: str) -> str:
    problem = parse_ttl_after(value)
    assert isinstance(problem, Problem), value
    return problem.instead


def _rows() -> Iterator[tuple[str, ...]]:
    """Kinds that end alike share a row."""
    for cells, rules in groupby(RULES, key=_cells):
        yield ", ".join(code(rule.kind) for rule in rules), *cells


def _cells(rule: FinishRule) -> tuple[str, ...]:
    return (
        _signs(rule) + "".join(f"; not while {_test(test)}" for test in rule.unless),
        ", else ".join(map(_time, rule.times)) or "when it was first seen so",
        ", else ".join(map(_own, rule.own_ttl)),
        "; ".join(map(_caution, rule.cautions)),
    )


def _signs(rule: FinishRule) -> str:
    return "; ".join(map(_sign, rule.signs))


def _sign(sign: Sign) -> str:
    return f"{' and '.join(map(_test, sign.tests))}: {sign.outcome.value}"


def _test(test: Test) -> str:
    match test:
        case Field(at=at, values=values):
            return f"{code(at)} is {' or '.join(map(code, values))}"
        case Condition(type=kind, status=status, reasons=reasons):
            because = f" with the reason {' or '.join(map(code, reasons))}" if reasons else ""
            return f"condition {code(kind)} is {status}{because}"
        case Present(at=at):
            return f"there is {code(at)}"
        case Absent(at=at):
            return f"there is no {code(at)}"


def _time(time: Time) -> str:
    match time:
        case TimeAt(at=at, unless=()):
            return code(at)
        case TimeAt(at=at, unless=unless):
            return f"{code(at)} where there is no {' or '.join(map(code, unless))}"
        case TimeOf(type="", field=field):
            return f"{code(field)} of that condition"
        case TimeOf(type=kind, status=status, field=field):
            return f"{code(field)} of the condition {code(kind)}" + (
                f" while it is {status}" if status else ""
            )
        case Latest(of=parts, when=when, every=every):
            latest = f"the latest of {', '.join(map(_time, parts))}" if len(parts) > 1 else _time(parts[0])
            every_one = f" once each of {code(every)} is there" if every else ""
            return latest + every_one + (f" if {' and '.join(map(_test, when))}" if when else "")


def _own(own: OwnTtl) -> str:
    form = {Count.SECONDS: "", Count.GO_DURATION: " (a duration)", Count.TIME: " (a time)"}[own.count]
    when = f" if {' and '.join(map(_test, own.when))}" if own.when else ""
    return f"{code(own.at)}{form}{when}"


def _caution(caution: Caution) -> str:
    return f"**holds**: {caution.why}" if caution.holds else caution.why
