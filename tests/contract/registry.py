"""The list of rules: each a sentence about the API server, a check of it, and a way to break it.

`broken_by` damages the embedded cluster in one place; a rule that does not notice checks nothing and fails its own
test (`test_breaking_the_embedded_cluster_is_noticed`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from tests.contract.arena import Arena
from tests.contract.sabotage import Sabotage

Check = Callable[[Arena], Awaitable[None]]


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    sentence: str
    check: Check
    broken_by: Sabotage


RULES: dict[str, Rule] = {}


def rule(*, broken_by: Sabotage) -> Callable[[Check], Check]:
    def register(check: Check) -> Check:
        name = check.__name__
        assert name not in RULES, f"two rules are called {name}"
        sentence = " ".join((check.__doc__ or "").split())
        assert sentence, f"{name} has no sentence"
        RULES[name] = Rule(name=name, sentence=sentence, check=check, broken_by=broken_by)
        return check

    return register
