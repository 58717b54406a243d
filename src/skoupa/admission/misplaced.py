"""The policy that speaks of labels written as annotations, when they are written: nothing else would ever see them.

Annotations can't be selected, so the server asks the condition of nearly every write. It is therefore a look into one
map, kinds that are written by the second are left out, and so are status writes. It warns, whatever the settings say.
What it tells is what `judge.misplaced` tells, as far as an expression can work it out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from skoupa import names
from skoupa.admission.cel import literal, matches, sentence
from skoupa.admission.grammar import TIME
from skoupa.admission.own import IS_OWN
from skoupa.admission.policies import Manifest, Writes, policy, validation
from skoupa.admission.readings import Variable, understanding, variable
from skoupa.judge.misplaced import ANY_TTL, KEEP_FOR_GOOD, LABEL_VALUE
from skoupa.model.reasons import REASONS

MISPLACED_POLICY: Final = "skoupa-label-as-annotation"

_LONGEST_LABEL: Final = 63
# A template's annotations arrive with everything that is made from it, at a controller that reads no warnings.
_MADE_BY_A_CONTROLLER: Final = "oldObject == null && object.metadata.?ownerReferences.orValue([]).exists(o, o.?controller.orValue(false))"


def misplaced_policy() -> Iterator[Manifest]:
    any_of_them = " || ".join(_misplaced(key) for key in (names.TTL_LABEL, names.KEEP_LABEL))
    writes = Writes(
        name="annotation-added-or-changed",
        condition=f"({any_of_them}) && !({_MADE_BY_A_CONTROLLER}) && !{IS_OWN}",
        resources=("*",),
        left_out=(
            ("", ("events", "endpoints")),
            ("events.k8s.io", ("events",)),
            ("coordination.k8s.io", ("leases",)),
            ("discovery.k8s.io", ("endpointslices",)),
        ),
    )
    ttl = f"variables.understood ? variables.value : {literal(ANY_TTL)}"
    validations = [
        _validation(names.TTL_LABEL, code="ttl-annotation", value=ttl),
        _validation(names.KEEP_LABEL, code="keep-annotation", value="variables.keep"),
    ]
    return policy(
        MISPLACED_POLICY, writes=writes, variables=_variables(), validations=validations, denies=False
    )


def _variables() -> list[Variable]:
    group, namespace = "request.resource.group", "variables.place"
    kept = "variables.keepText"
    is_value = matches(kept, LABEL_VALUE)
    return [
        *understanding(_as_time_of_a_label(names.TTL_LABEL)),
        variable("keepText", _as_time_of_a_label(names.KEEP_LABEL)),
        variable("keep", f"{is_value} ? {kept} : {literal(KEEP_FOR_GOOD)}"),
        # What the request says of its namespace differs for Namespaces themselves.
        variable("place", "object.metadata.?namespace.orValue('')"),
        variable(
            "object",
            f"request.resource.resource + ({group} == '' ? '' : '.' + {group}) + '/' + "
            f"object.metadata.?name.orValue('NAME') + ({namespace} == '' ? '' : ' -n ' + {namespace})",
        ),
    ]


def _validation(key: str, *, code: str, value: str) -> Manifest:
    again = f"(object.metadata.?labels[?{literal(key)}].hasValue() ? ' --overwrite ' : ' ')"
    command = f"'kubectl label' + {again} + variables.object + {literal(f' {key}=')} + ({value})"
    return validation(
        unless=f"!({_misplaced(key)})",
        message=sentence(REASONS[code].text, key=literal(key), command=command),
        fallback=f"{key} is written as an annotation and does nothing: write it under metadata.labels",
    )


def _misplaced(key: str) -> str:
    """Whether this write puts it there, or changes it, and no label says the same."""
    annotation, label = f"metadata.?annotations[?{literal(key)}]", f"metadata.?labels[?{literal(key)}]"
    return (
        f"(object.{annotation}.hasValue() && object.{annotation} != object.{label} && "
        f"(oldObject == null || object.{annotation} != oldObject.{annotation}))"
    )


def _as_time_of_a_label(key: str) -> str:
    """The annotation, a time without the colons that a label can't have; empty where it is longer than a label."""
    text = f"object.metadata.?annotations[?{literal(key)}].orValue('')"
    bare = f"{text}.replace(':', '')"
    return f"size({text}) > {_LONGEST_LABEL} ? '' : ({matches(bare, TIME)} ? {bare} : {text})"
