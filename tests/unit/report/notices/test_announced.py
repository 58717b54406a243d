"""What is announced ahead of its time is told once, whichever process tells it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import pytest

from skoupa.errors import LedgerUnavailable
from skoupa.ledger.nowhere import NoStore
from skoupa.report.notices import Notifier, notifier_of
from skoupa.report.notices.announced import Announced
from skoupa.report.notices.posting import Outcome
from skoupa.sim.clock import VirtualClock, run
from tests.unit.report.notices.telling import (
    AT,
    REFUSED,
    Inbox,
    header,
    notice,
    opened,
    route,
    running,
    settings,
)

pytestmark = pytest.mark.unit

OPS = route("ops", url="http://ops.test/")


class Book(NoStore):
    """Remembers what was announced, unless it is away."""

    def __init__(self) -> None:
        super().__init__(cluster="prod")
        self.known: dict[str, float] = {}
        self.away = False

    async def announced(self, keys: Sequence[str]) -> Collection[str]:
        if self.away:
            raise LedgerUnavailable("the ledger is away")
        return self.known.keys() & set(keys)

    async def announce(self, keys: Mapping[str, float], *, now: float) -> None:
        if self.away:
            raise LedgerUnavailable("the ledger is away")
        self.known = {key: due for key, due in (self.known | dict(keys)).items() if due >= now}


def announcing(book: Book, *names: str, outcomes: Iterable[Outcome] = (), due: float = 7200.0) -> Inbox:
    """A process that begins with all that is still to come, as each does, and is stopped a while later."""

    async def main(clock: VirtualClock) -> Inbox:
        inbox = Inbox(clock, outcomes)
        notifier = Notifier(clock, opened(OPS), post=inbox, default="ops", announced=Announced(book, clock))
        async with running(notifier):
            for name in names:
                notifier.tell(notice(name, what="notice", uid=f"uid-{name}", due=AT + due, at=clock.now()))
            await clock.sleep(70)
            await notifier.drain()
        return inbox

    return run(main, start=AT)


def test_what_a_process_before_announced_is_not_told_again() -> None:
    book = Book()
    assert len(announcing(book, "web").tries) == 1
    assert announcing(book, "web").tries == []
    # What is new, or has another time, is told, and that alone.
    (body,) = announcing(book, "web", "db").bodies()
    assert [item["name"] for part in body["namespaces"] for item in part["items"]] == ["db"]
    assert body["counts"] == {"notice": 1}
    assert len(announcing(book, "web", due=9000.0).tries) == 1


def test_what_was_announced_to_nobody_is_told_by_the_next_process() -> None:
    book = Book()
    refused = announcing(book, "web", outcomes=[REFUSED])
    assert len(refused.tries) == 1
    assert len(announcing(book, "web").tries) == 1
    assert announcing(book, "web").tries == []


def test_while_the_ledger_is_away_notices_are_given_with_the_same_id() -> None:
    book = Book()
    book.away = True
    first, second = (announcing(book, *names).tries[0][1] for names in (("web", "db"), ("db", "web")))
    assert header(first, "X-Skoupa-Id") == header(second, "X-Skoupa-Id")


def test_a_notifier_of_settings_remembers_in_the_ledger() -> None:
    book = Book()
    told = settings(route(), default="ops")

    async def main(clock: VirtualClock) -> int:
        inbox = Inbox(clock)
        notifier = notifier_of(told, clock, environ={}, store=book, post=inbox)
        async with running(notifier):
            notifier.tell(notice("web", what="notice", uid="u", due=AT + 7200))
            await notifier.drain()
        return len(inbox.tries)

    assert [run(main, start=AT), run(main, start=AT)] == [1, 0]
