"""The annotations of a policy that Skoupa knows (design: what does not disturb Kyverno's schema stands there).

What is not understood is a Problem, so that a policy whose writer wanted it held never runs by a slip of the pen. A key under
skoupa.dev that nobody knows is told, with the nearest.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

from skoupa import names
from skoupa.errors import UsageError
from skoupa.expr.durations import EXAMPLES, parse_duration
from skoupa.expr.readings import Problem as Unread
from skoupa.expr.readings import quoted
from skoupa.expr.zones import named_zone
from skoupa.policy.policies import Options
from skoupa.policy.problems import Problem

KNOWN: Final = (
    names.TIME_ZONE_ANNOTATION,
    names.SUSPEND_ANNOTATION,
    names.MISSED_RUNS_ANNOTATION,
    names.MAX_DELETIONS_ANNOTATION,
    names.OBSERVE_ANNOTATION,
    names.SERVICE_ACCOUNT_ANNOTATION,
    names.NOTICE_BEFORE_ANNOTATION,
    names.NOTIFY_ANNOTATION,
)
_PREFIX: Final = f"{names.SKOUPA_GROUP}/"
_ACCOUNT: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", re.ASCII)
_MISSED: Final[dict[str, Literal["Once", "Skip"]]] = {"Once": "Once", "Skip": "Skip"}


def place(key: str) -> str:
    return f"metadata.annotations[{key}]"


def as_written(annotations: Any) -> Any:
    """But for what Skoupa itself writes there: nothing is read from that."""
    if not isinstance(annotations, Mapping) or names.NEXT_EXECUTION_ANNOTATION not in annotations:
        return annotations or None
    return {key: it for key, it in annotations.items() if key != names.NEXT_EXECUTION_ANNOTATION} or None


def as_labels(labels: Any) -> dict[str, Any]:
    """Of the labels of a policy those that it would have to have as annotations."""
    return {key: labels[key] for key in KNOWN if key in labels} if isinstance(labels, Mapping) else {}


def mislaid(labels: Any) -> Iterator[Problem]:
    """Whoever wrote one as a label believes it suspended, or limited, and it is not."""
    for key in as_labels(labels):
        what = "nobody looks at that label, so that the policy runs as if it were not there"
        yield Problem(path=f"metadata.labels[{key}]", what=what, instead="write it under annotations")


class OptionsReading:
    """The annotations of one policy, each by itself, and what was wrong with them."""

    def __init__(self, annotations: Any, *, namespaced: bool) -> None:
        self.problems: list[Problem] = []
        self._namespaced = namespaced
        self._found: Mapping[str, Any] = annotations if isinstance(annotations, Mapping) else {}
        if annotations is not None and not isinstance(annotations, Mapping):
            self._problem("metadata.annotations", "it is no object with fields", "write key: value")

    def options(self) -> Options:
        return Options(
            suspended=self._suspended(),
            missed_runs=self._missed_runs(),
            max_deletions=self._max_deletions(),
            observe_seconds=self._duration(names.OBSERVE_ANNOTATION),
            service_account=self._service_account(),
            notice_seconds=self._duration(names.NOTICE_BEFORE_ANNOTATION),
            notify=self._text(names.NOTIFY_ANNOTATION),
        )

    def time_zone(self) -> str:
        """The name of the zone, where there is such a zone."""
        name = self._text(names.TIME_ZONE_ANNOTATION)
        try:
            if name:
                named_zone(name)
        except UsageError as error:
            self._problem(place(names.TIME_ZONE_ANNOTATION), error.message, error.advice)
            return ""
        return name

    def unknown(self) -> Iterator[Problem]:
        for key in self._found:
            if str(key).startswith(_PREFIX) and key not in (*KNOWN, names.NEXT_EXECUTION_ANNOTATION):
                near = difflib.get_close_matches(str(key), KNOWN, n=1)
                instead = f"did you mean {near[0]}?" if near else f"there are {', '.join(KNOWN)}"
                yield Problem(path=place(str(key)), what="a policy has no such annotation", instead=instead)

    def _suspended(self) -> bool:
        text = self._text(names.SUSPEND_ANNOTATION)
        if text not in {"", "true", "false"}:
            path = place(names.SUSPEND_ANNOTATION)
            self._problem(path, f"{quoted(text)} is neither true nor false", 'write "true" or "false"')
        return text == "true"

    def _missed_runs(self) -> Literal["Once", "Skip"]:
        text = self._text(names.MISSED_RUNS_ANNOTATION)
        if text and text not in _MISSED:
            path = place(names.MISSED_RUNS_ANNOTATION)
            instead = "write Once (one run makes up for all that were missed) or Skip"
            self._problem(path, f"{quoted(text)} is not known", instead)
        return _MISSED.get(text, "Once")

    def _max_deletions(self) -> int:
        text = self._text(names.MAX_DELETIONS_ANNOTATION)
        if not text:
            return 0
        if not (text.isascii() and text.isdecimal()) or len(text) > 9 or int(text) == 0:
            path = place(names.MAX_DELETIONS_ANNOTATION)
            instead = f'write a whole number from 1 on; {names.SUSPEND_ANNOTATION}: "true" deletes nothing'
            self._problem(path, f"{quoted(text)} is no number of deletions", instead)
            return 0
        return int(text)

    def _duration(self, key: str) -> int:
        text = self._text(key)
        seconds = parse_duration(text) if text else 0
        if isinstance(seconds, Unread):
            self._problem(place(key), seconds.what, seconds.instead or f"write {EXAMPLES}")
            return 0
        return seconds

    def _service_account(self) -> str:
        text = self._text(names.SERVICE_ACCOUNT_ANNOTATION)
        path = place(names.SERVICE_ACCOUNT_ANNOTATION)
        if text and not self._namespaced:
            what = "a cluster-wide policy has no namespace of its own in which that account could be"
            self._problem(path, what, "leave it out, or write a policy of a namespace")
        elif text and not _ACCOUNT.fullmatch(text):
            instead = "write the bare name of a ServiceAccount in the namespace of the policy"
            self._problem(path, f"{quoted(text)} is no name of a ServiceAccount", instead)
        return text

    def _text(self, key: str) -> str:
        value = self._found.get(key, "")
        if not isinstance(value, str):
            self._problem(place(key), f"{value!r} is not a text", f'write it in quotes: "{value}"')
            return ""
        return value.strip()

    def _problem(self, path: str, what: str, instead: str) -> None:
        self.problems.append(Problem(path=path, what=what, instead=instead))
