"""Limits of the TTL label: the shortest and the longest time, and the last day; in a ConfigMap that the policy reads.

Whoever may write the ConfigMap changes them without touching the policy, and the change counts at the next request.
A limit is written in the grammar of the label itself. One that is not understood refuses every label instead of being
no limit. A time counts as its distance from the creation of its object; the last day holds for durations too.
"""

from __future__ import annotations

import re
from typing import Final

from skoupa import names
from skoupa.admission.advice import WHAT_TO_WRITE
from skoupa.admission.cel import literal, matches, sentence
from skoupa.admission.grammar import KYVERNO, TIME
from skoupa.admission.policies import PART_OF, Manifest, validation
from skoupa.admission.readings import LONGEST, Variable, epoch, is_duration, seconds, variable
from skoupa.errors import UsageError
from skoupa.settings import TtlSettings

LIMITS_CONFIG_MAP: Final = "skoupa-ttl-limits"

_VALUE: Final = "variables.value"
_KEY: Final = literal(names.TTL_LABEL)
_DAY: Final = 86_400
_KEYS: Final = ("minimum", "maximum", "notAfter")


def limits_of(settings: TtlSettings) -> dict[str, str]:
    given = {"minimum": settings.minimum, "maximum": settings.maximum, "notAfter": settings.not_after}
    limits = {key: text for key, text in given.items() if text is not None}
    last = limits.get("notAfter")
    if last is not None and not re.fullmatch(TIME, last.replace(":", "")):
        raise UsageError(
            f"ttl.notAfter: {last!r} is no date", advice="write one such as 2026-12-31 or 2026-12-31T180000Z"
        )
    return limits


def config_map(limits: dict[str, str], *, namespace: str) -> Manifest:
    about = {
        f"{names.SKOUPA_GROUP}/about": (
            "Limits of the label cleanup.kyverno.io/ttl: minimum and maximum (durations), notAfter (a date). "
            "A change counts at once; a key that is empty or left out sets no limit."
        )
    }
    metadata = {
        "name": LIMITS_CONFIG_MAP,
        "namespace": namespace,
        "labels": dict(PART_OF),
        "annotations": about,
    }
    # A key that is not written would stay as it was where somebody else has written it too.
    data = {key: limits.get(key, "") for key in _KEYS}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def limit_variables() -> list[Variable]:
    """-1 stands for a limit that is not set, -2 for one that is not understood."""

    def text(key: str) -> str:
        return f"params.?data[?'{key}'].orValue('')"

    def limit(name: str, *, valid: str, number: str) -> Variable:
        return variable(name, f"variables.{name}Text == '' ? -1 : ({valid} ? {number} : -2)")

    last = "variables.notAfterText"
    variables = []
    for name in ("minimum", "maximum"):
        said = f"variables.{name}Text"
        variables.append(variable(f"{name}Text", text(name)))
        variables.append(limit(name, valid=_short(is_duration(said), said), number=seconds(said)))
    variables.append(variable("notAfterText", f"{text('notAfter')}.replace(':', '')"))
    # A bare date allows all of that day.
    whole_day = f"(size({last}) == 10 ? {_DAY - 1} : 0)"
    variables.append(
        limit("notAfter", valid=_short(matches(last, TIME), last), number=f"{epoch(last)} + {whole_day}")
    )
    lifetime = "variables.isTime ? variables.due - variables.created : variables.seconds"
    return [*variables, variable("lifetime", lifetime)]


def _short(condition: str, text: str) -> str:
    """Matching a text as long as a ConfigMap may hold would cost more than a request may."""
    return f"(size({text}) <= {LONGEST} && {condition})"


def limit_validations(*, namespace: str, kyverno_readings: bool) -> list[Manifest]:
    where = f"ConfigMap {namespace}/{LIMITS_CONFIG_MAP}"
    validations = [
        _unreadable(name, where=where, instead=instead)
        for name, instead in (
            ("minimum", "a duration such as 1h"),
            ("maximum", "a duration such as 90d"),
            ("notAfter", "a date such as 2026-12-31"),
        )
    ]
    if kyverno_readings:
        unlimited = "variables.minimum < 0 && variables.maximum < 0 && variables.notAfter < 0"
        unless = f"variables.understood || !{matches(_VALUE, KYVERNO)} || ({unlimited})"
        text = f"{{key}}={{value}} can't be held against the limits ({where}): {WHAT_TO_WRITE}"
        validations.append(
            validation(
                unless=unless,
                message=sentence(text, key=_KEY, value=_VALUE),
                fallback=f"{names.TTL_LABEL} can't be held against the limits",
            )
        )
    for name, unless, verdict in (
        ("minimum", "variables.lifetime >= variables.minimum", "is shorter than {limit}, the shortest time"),
        ("maximum", "variables.lifetime <= variables.maximum", "is longer than {limit}, the longest time"),
        (
            "notAfter",
            "variables.due <= variables.notAfter",
            "ends at {due}, and {limit} is the last day or time",
        ),
    ):
        text = f"{{key}}={{value}} {verdict} that is allowed here ({where}, {name})"
        facts = {"key": _KEY, "value": _VALUE, "limit": f"variables.{name}Text"}
        message = sentence(text, **facts, due="string(timestamp(variables.due))")
        fallback = f"{names.TTL_LABEL} is outside the limits of the {where}, {name}"
        unset = f"!variables.understood || variables.{name} < 0"
        validations.append(validation(unless=f"{unset} || {unless}", message=message, fallback=fallback))
    return validations


def _unreadable(name: str, *, where: str, instead: str) -> Manifest:
    """A misspelt limit refuses every label: it must not silently be no limit."""
    told = (
        f"the {where} says {name}={{limit}}, which is not understood: an administrator has to write {instead}"
    )
    limit = f"variables.{name}Text"
    return validation(
        unless=f"variables.{name} > -2",
        # The text may be as long as a ConfigMap, and a message has its limit.
        message=sentence(told, limit=f"size({limit}) <= 80 ? {limit} : {limit}.substring(0, 80)"),
        fallback=f"the {where} has a limit that is not understood: {name}",
    )
