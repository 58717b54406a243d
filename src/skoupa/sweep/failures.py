"""Deletes that failed and are tried again: what the last try of each object said, so that it is told once.

The same refusal comes back with every try, for hours. It is news the first time, and again after another one came in
between. Words that change from try to try (a request's id, a time) do not make it another one. What fails for the server's
own sake is news to the people of an object only once that lasts, whatever it says from try to try.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from skoupa.errors import ApiError, Disconnected, ServerFailure, SkoupaError, TimedOut
from skoupa.facts.rows import Row, Uid

_WITH_DIGITS: Final = re.compile(r"\S*\d\S*")
# These say something about the server, or about us, and nothing about the object.
_NOT_THE_OBJECTS: Final = frozenset({401, 404, 408, 409, 429})
# The server is well; who has to be asked about this object does not answer.
_WEBHOOK_AWAY: Final = "failed calling webhook"
LASTING_SECONDS: Final = 60.0


class News(msgspec.Struct, frozen=True, gc=False):
    """`is_other`: it is another failure than that of the last try; `lasts`: by now it has failed for long, which is told once."""

    is_other: bool
    lasts: bool = False

    def concerns(self, error: SkoupaError) -> bool:
        """Whether those who look at the object are to hear of it."""
        return self.is_other if refused(error) else self.lasts


class Failure(msgspec.Struct, frozen=True, gc=False):
    """`words` are those of all objects alike; `gist` is what has to change to make it another failure. `since` the first of all tries that failed."""

    code: int
    words: str
    gist: str
    since: float
    lasted: bool


class Failures:
    def __init__(self) -> None:
        self._last: dict[Uid, Failure] = {}

    def note(self, row: Row, error: SkoupaError, *, at: float) -> News:
        code = error.code if isinstance(error, ApiError) else 0
        words = shared_words(row, error)
        before = self._last.get(row.uid)
        since = before.since if before is not None else at
        lasted = before is not None and before.lasted
        # Who refuses has been told of at once.
        lasts = not lasted and at - since >= LASTING_SECONDS and not refused(error)
        failure = Failure(code, words, lasting_words(words), since, lasted or lasts)
        self._last[row.uid] = failure
        is_other = before is None or (before.code, before.gist) != (failure.code, failure.gist)
        return News(is_other, lasts)

    def forget(self, uid: Uid) -> None:
        self._last.pop(uid, None)

    def words(self, uid: Uid) -> str:
        """What the last try of it said; empty: none failed."""
        found = self._last.get(uid)
        return found.words if found is not None else ""

    def commonest(self, uids: Iterable[Uid]) -> str:
        """What the last tries of most of these said; empty: none failed."""
        found = Counter(filter(None, map(self.words, uids)))
        return found.most_common(1)[0][0] if found else ""

    def most_frequent(self, counts: Callable[[Uid], bool]) -> tuple[int, str]:
        """How many of those that `counts` have failed, and the words of most of them."""
        found = Counter(failure.words for uid, failure in self._last.items() if counts(uid))
        return found.total(), found.most_common(1)[0][0] if found else ""


def refused(error: SkoupaError) -> bool:
    """Whether somebody decided that this very object must not go, or is not there to decide.

    A server in trouble decides nothing.
    """
    if not isinstance(error, ApiError) or error.code in _NOT_THE_OBJECTS:
        return False
    return 400 <= error.code < 500 or _WEBHOOK_AWAY in error.status.message


def lasting_words(words: str) -> str:
    """Without what changes from try to try."""
    return _WITH_DIGITS.sub("", words)


def server_words(error: SkoupaError) -> str:
    return (isinstance(error, ApiError) and error.status.message) or error.message


def shared_words(row: Row, error: SkoupaError) -> str:
    """What the server said, without the name, which would make each one different."""
    return server_words(error).replace(f'"{row.name}"', "…").replace(f"{row.resource.plural}/{row.name}", "…")


def is_sure(error: SkoupaError) -> bool:
    """Whether nothing can have gone by a delete that ended so."""
    if isinstance(error, ApiError) and error.after_silence:
        return False
    if isinstance(error, ServerFailure):
        # A webhook that could not be asked has not let anything through.
        return _WEBHOOK_AWAY in error.message
    return not isinstance(error, Disconnected | TimedOut)
