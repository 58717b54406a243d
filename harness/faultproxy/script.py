"""Rules and the script that picks one for a request.

Rules are looked at in the order in which they were added, and the first that applies is the one that acts.
A rule first lets `after` matching requests through, then acts `times` times (None: for ever), and only within
`during` seconds of being added. Counts live in the Script, so that rules stay values: equal rules share
their number of hits. Time comes in with every call; nothing here looks at a clock.
"""

import re
from urllib.parse import parse_qs

import msgspec

from harness.faultproxy.faults import Answer, Fault, Stream


class Request(msgspec.Struct, frozen=True):
    """What rules can look at in a request."""

    method: str
    path: str
    query: str

    @property
    def watch(self) -> bool:
        return parse_qs(self.query).get("watch", [""])[-1] in {"1", "true"}


class Rule(msgspec.Struct, frozen=True):
    """Which requests get which fault.

    A `path` that is a str is a prefix of the path; a compiled pattern is searched in path and query.
    `answer` stands in for the upstream's answer, as what the fault works on.
    """

    fault: Fault
    method: str | None = None
    path: str | re.Pattern[str] = "/"
    watch: bool | None = None
    times: int | None = 1
    after: int = 0
    during: float | None = None
    answer: Answer | Stream | None = None

    def __post_init__(self) -> None:
        if self.times is not None and self.times < 1:
            raise ValueError("times counts from 1; leave the rule out, or use None for ever")
        if self.after < 0:
            raise ValueError("after is the number of requests to let through first: 0 or more")


class Entry:
    """A rule in the script, with what has happened to it."""

    def __init__(self, rule: Rule, *, now: float) -> None:
        self.rule = rule
        self.active = True
        self.hits = 0
        self._passed = 0
        self._until = None if rule.during is None else now + rule.during

    def takes(self, request: Request, *, now: float) -> bool:
        """Whether the rule acts on this request; the request is counted either way."""
        rule = self.rule
        spent = rule.times is not None and self.hits >= rule.times
        over = self._until is not None and now >= self._until
        if not self.active or spent or over or not matches(rule, request):
            return False
        if self._passed < rule.after:
            self._passed += 1
            return False
        self.hits += 1
        return True


class Script:
    def __init__(self) -> None:
        self._entries: list[Entry] = []

    def add(self, rule: Rule, *, now: float) -> None:
        self._entries.append(Entry(rule, now=now))

    def take(self, request: Request, *, now: float) -> Rule | None:
        return next((entry.rule for entry in self._entries if entry.takes(request, now=now)), None)

    def hits(self, rule: Rule) -> int:
        """How often the rule has acted, also after `clear`."""
        return sum(entry.hits for entry in self._entries if entry.rule == rule)

    def clear(self) -> None:
        for entry in self._entries:
            entry.active = False


def matches(rule: Rule, request: Request) -> bool:
    if rule.method is not None and rule.method != request.method:
        return False
    if rule.watch is not None and rule.watch != request.watch:
        return False
    if isinstance(rule.path, str):
        return request.path.startswith(rule.path)
    return rule.path.search(f"{request.path}?{request.query}") is not None
