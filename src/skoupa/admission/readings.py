"""CEL variables of a policy that say what a TTL label means and when its object would go.

All times are whole seconds since the epoch as `int`: CEL's own durations and timestamps overflow into errors. Policies
have no clock, so `now` is the creation time on CREATE and the newest managedFields time on UPDATE, which is the
moment of the very request that changed the label. An object without managedFields (created empty, or cleared of them)
shows no newer time than its creation, so that less is called past, never more. Clients can forge managedFields, which
fools only what is said about the past: no limit can be escaped by it.
"""

from __future__ import annotations

from typing import Final

from skoupa import names
from skoupa.admission.cel import choose, literal, matches
from skoupa.admission.grammar import DURATION, MAXIMUM_SECONDS, RFC3339, TIME, UNITS

Variable = dict[str, str]

# Of annotations and ConfigMaps, which can be so long that matching them would cost more than a request may. The engine
# takes nothing longer either.
LONGEST: Final = 100

_KEY: Final = literal(names.TTL_LABEL)
_LABEL: Final = f"metadata.?labels[?{_KEY}]"

_CREATED: Final = "object.metadata.creationTimestamp"


def label_changed(key: str) -> str:
    """Whether this write sets the label: removing it is always silent, and so is every write that leaves it as it was."""
    label = f"metadata.?labels[?{literal(key)}]"
    return f"object.{label}.hasValue() && (oldObject == null || object.{label} != oldObject.{label})"


LABEL_CHANGED: Final = label_changed(names.TTL_LABEL)


def is_duration(text: str) -> str:
    """Whether `seconds` can be asked for."""
    return f"({text} != '' && {matches(text, DURATION)})"


def seconds(text: str) -> str:
    """The length of a duration; an error for anything else."""
    return " + ".join(
        f"int('0' + {text}.find('[0-9]+{unit}').replace('{unit}', '')) * {size}"
        for unit, size in UNITS.items()
    )


def epoch(text: str) -> str:
    """The seconds since the epoch of a date or time of the grammar; an error for anything else."""
    clock = f"{text}.substring(0, 13) + ':' + {text}.substring(13, 15) + ':' + {text}.substring(15)"
    return f"int(timestamp(size({text}) == 10 ? {text} + 'T00:00:00Z' : {clock}))"


def label_time(instant: str) -> str:
    """Seconds since the epoch as a text that a label can hold."""
    return f"string(timestamp({instant})).replace(':', '')"


def refresh(text: str) -> str:
    """Seconds since the epoch of a refresh in capital letters; 0 for one that is not understood and does not count."""
    # On the first and the last day an offset could lead to a year that CEL or the engine does not have.
    in_range = f"size({text}) <= {LONGEST} && {text} >= '1970-01-02' && {text} < '9999-12-31'"
    return f"({in_range} && {matches(text, RFC3339)} ? int(timestamp({text})) : 0)"


def refreshed(where: str) -> str:
    """The text of the annotation on `object` or `oldObject`, in capital letters; empty where there is none."""
    key = literal(names.REFRESHED_AT_ANNOTATION)
    return f"{where}.metadata.?annotations[?{key}].orValue('').upperAscii()"


def created() -> Variable:
    return variable("created", f"has({_CREATED}) && {_CREATED} != null ? int(timestamp({_CREATED})) : 0")


def variable(name: str, expression: str) -> Variable:
    return {"name": name, "expression": expression}


def understanding(text: str) -> list[Variable]:
    """`value` is the text; `understood`, `isTime`, and `seconds`, which is -1 for what is no duration."""
    value = "variables.value"
    return [
        variable("value", text),
        variable("isTime", matches(value, TIME)),
        # -1 is what no duration has: whatever is no duration, or a longer one than the engine takes.
        variable("counted", f"{is_duration(value)} ? {seconds(value)} : -1"),
        variable("seconds", f"variables.counted <= {MAXIMUM_SECONDS} ? variables.counted : -1"),
        variable("understood", "variables.isTime || variables.seconds >= 0"),
    ]


def reading() -> list[Variable]:
    """Those of `understanding` for the label, `created`, `now`, `since`, and `due`, which counts only where understood."""
    value = "variables.value"
    times = "object.metadata.?managedFields.orValue([]).filter(f, has(f.time)).map(f, int(timestamp(f.time)))"
    # A refresh in the future counts as now, and one before the creation not at all.
    since = f"[variables.created, [{refresh('variables.refreshed')}, variables.now].min()].max()"
    return [
        *understanding(f"object.{_LABEL}.orValue('')"),
        created(),
        variable(
            "now",
            f"request.operation == 'UPDATE' ? ([variables.created] + {times}).max() : variables.created",
        ),
        variable("refreshed", refreshed("object")),
        variable("since", since),
        variable(
            "due",
            choose(
                [
                    ("variables.isTime", epoch(value)),
                    ("variables.seconds >= 0", "variables.since + variables.seconds"),
                ],
                otherwise="variables.now",
            ),
        ),
    ]
