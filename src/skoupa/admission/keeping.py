"""The policy that warns about a keep label which keeps for good although its writer probably meant otherwise.

What `expr.ttl.keep_slip` calls so, and never anything that it does not. It warns, whatever the settings say: a label
that keeps too long is no reason to refuse a write.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from skoupa import names
from skoupa.admission.advice import TIMES, like_duration, like_time, spelling
from skoupa.admission.cel import choose, literal, matches, sentence
from skoupa.admission.grammar import TIME
from skoupa.admission.own import IS_OWN
from skoupa.admission.policies import Manifest, Writes, policy, validation
from skoupa.admission.readings import label_changed, variable
from skoupa.expr.ttl import KEEP_LIKE_DATE, KEEP_LIKE_DURATION, KEEP_LIKE_FALSE, LIKE_FALSE
from skoupa.model.reasons import REASONS

KEEP_POLICY: Final = "skoupa-keep-label"

_VALUE: Final = "variables.value"
_KEY: Final = literal(names.KEEP_LABEL)
_LIKE_FALSE: Final = matches("variables.lower", "|".join(LIKE_FALSE))


def keep_policy() -> Iterator[Manifest]:
    writes = Writes(
        name="keep-added-or-changed",
        condition=f"{label_changed(names.KEEP_LABEL)} && !{IS_OWN}",
        label=names.KEEP_LABEL,
        resources=("*", "*/status"),
    )
    cases = [
        (f"{_VALUE} == 'false' || {matches(_VALUE, TIME)}", ("", "")),
        (_LIKE_FALSE, KEEP_LIKE_FALSE),
        (like_time(), (KEEP_LIKE_DATE, f"write it as {TIMES}")),
        (like_duration(), KEEP_LIKE_DURATION),
    ]
    variables = [
        variable("value", f"object.metadata.?labels[?{_KEY}].orValue('')"),
        *spelling(),
        variable("what", choose([(when, literal(what)) for when, (what, _) in cases], otherwise="''")),
        variable(
            "instead", choose([(when, literal(instead)) for when, (_, instead) in cases], otherwise="''")
        ),
    ]
    text = REASONS["keep-unclear"].text
    told = sentence(text, key=_KEY, value=_VALUE, what="variables.what", instead="variables.instead")
    validations = [
        validation(
            unless="variables.what == ''",
            message=told,
            fallback=f"{names.KEEP_LABEL} keeps for good: write false, true, or a day as YYYY-MM-DD",
        )
    ]
    return policy(KEEP_POLICY, writes=writes, variables=variables, validations=validations, denies=False)
