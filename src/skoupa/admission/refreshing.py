"""The policy that warns about a refresh that is not understood, which holds the object until somebody mends it.

Only on objects whose TTL a refresh could move: those with the label, unless it is a date. It warns, whatever the settings
say. What the engine understands is never spoken of.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from skoupa import names
from skoupa.admission.cel import literal, matches, sentence
from skoupa.admission.grammar import RFC3339, TIME
from skoupa.admission.own import IS_OWN
from skoupa.admission.policies import Manifest, Writes, policy, validation
from skoupa.admission.readings import LONGEST, variable
from skoupa.expr.instants import RFC3339_EXAMPLE
from skoupa.model.reasons import REASONS

REFRESH_POLICY: Final = "skoupa-refreshed-at"

_KEY: Final = literal(names.REFRESHED_AT_ANNOTATION)
_REFRESH: Final = f"metadata.?annotations[?{_KEY}]"
_TTL: Final = f"metadata.?labels[?{literal(names.TTL_LABEL)}]"
_TEXT: Final = "variables.text"
# With an offset the last day of 1969 can reach into 1970, which is where the engine begins.
_UNDERSTOOD: Final = (
    f"size({_TEXT}) <= {LONGEST} && ({matches(_TEXT, RFC3339)} || {_TEXT}.startsWith('1969-12-31'))"
)


def refresh_policy() -> Iterator[Manifest]:
    writes = Writes(
        name="refresh-added-or-changed",
        condition=f"object.{_REFRESH}.hasValue() && (oldObject == null || object.{_REFRESH} != oldObject.{_REFRESH} || "
        f"object.{_TTL} != oldObject.{_TTL}) && !{IS_OWN}",
        label=names.TTL_LABEL,
        resources=("*", "*/status"),
    )
    variables = [
        variable("ttl", f"object.{_TTL}.orValue('')"),
        variable("text", f"object.{_REFRESH}.orValue('')"),
        variable("shown", f"size({_TEXT}) <= {LONGEST} ? {_TEXT} : {_TEXT}.substring(0, {LONGEST}) + '…'"),
    ]
    instead = f"write a time in UTC such as {RFC3339_EXAMPLE}"
    told = sentence(
        REASONS["refreshed-invalid"].text, key=_KEY, value="variables.shown", instead=literal(instead)
    )
    validations = [
        validation(
            unless=f"({_UNDERSTOOD}) || {matches('variables.ttl', TIME)}",
            message=told,
            fallback=f"{names.REFRESHED_AT_ANNOTATION} is not understood, so the object stays: {instead}",
        )
    ]
    return policy(REFRESH_POLICY, writes=writes, variables=variables, validations=validations, denies=False)
