"""When messages leave, to which route, and how tries are spaced: all in virtual time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import pytest

from skoupa.report.notices import Notifier
from skoupa.report.notices.courier import GIVE_UP_SECONDS, QUEUE_SIZE
from skoupa.report.notices.posting import Outcome
from skoupa.report.notices.repeats import REMEMBERED_SECONDS, Repeats
from skoupa.sim.clock import VirtualClock, run
from tests.unit.report.notices.telling import (
    AT,
    BUSY,
    REFUSED,
    Inbox,
    header,
    notice,
    opened,
    route,
    running,
)

pytestmark = pytest.mark.unit

OPS, TEAM = route("ops", url="http://ops.test/"), route("team", url="http://team.test/")
Story = Callable[[Notifier, Inbox, VirtualClock], Awaitable[None]]


def play(
    story: Story, *routes: dict[str, Any], outcomes: Iterable[Outcome] = (), **options: Any
) -> tuple[Notifier, Inbox]:
    async def main(clock: VirtualClock) -> tuple[Notifier, Inbox]:
        inbox = Inbox(clock, outcomes)
        notifier = Notifier(clock, opened(*(routes or (OPS,))), post=inbox, **{"default": "ops", **options})
        async with running(notifier):
            await story(notifier, inbox, clock)
        assert inbox.closed or not notifier
        return notifier, inbox

    return run(main, start=AT)


def test_what_happens_within_an_interval_is_one_message() -> None:
    async def story(notifier: Notifier, _: Inbox, clock: VirtualClock) -> None:
        for number in range(500):
            notifier.tell(notice(f"web-{number}", namespace=f"team-{number % 3}"))
            await clock.sleep(0.1)
        await clock.sleep(30)

    _, inbox = play(story)
    assert inbox.times == [AT + 60]
    (body,) = inbox.bodies()
    assert body["counts"] == {"deleted": 500}
    assert [part["namespace"] for part in body["namespaces"]] == ["team-0", "team-1", "team-2"]


def test_when_nothing_happens_nothing_is_sent() -> None:
    async def story(_: Notifier, __: Inbox, clock: VirtualClock) -> None:
        await clock.sleep(100_000)

    _, inbox = play(story)
    assert inbox.tries == []


def test_messages_to_one_route_are_an_interval_apart() -> None:
    async def story(notifier: Notifier, _: Inbox, clock: VirtualClock) -> None:
        for number in range(290):
            notifier.tell(notice(f"web-{number}"))
            await clock.sleep(1)

    _, inbox = play(story)
    assert len(inbox.times) == 4
    assert min(later - earlier for earlier, later in zip(inbox.times, inbox.times[1:], strict=False)) >= 60


def test_the_objects_own_wish_goes_before_its_namespaces_and_that_before_the_default() -> None:
    async def story(notifier: Notifier, _: Inbox, clock: VirtualClock) -> None:
        notifier.tell(notice("own", notify="team", namespace="other"))
        notifier.tell(notice("by-namespace", namespace="bank"))
        notifier.tell(notice("own-against-namespace", notify="ops", namespace="bank"))
        notifier.tell(notice("default"))
        await clock.sleep(61)

    notifier, inbox = play(story, OPS, TEAM, namespace_notify=lambda name: "team" if name == "bank" else None)
    assert names(inbox, "http://team.test/") == {"own", "by-namespace"}
    assert names(inbox, "http://ops.test/") == {"own-against-namespace", "default"}
    assert notifier.unknown_routes == 0


def names(inbox: Inbox, url: str) -> set[str]:
    return {
        item["name"] for body in inbox.bodies(url) for part in body["namespaces"] for item in part["items"]
    }


def test_a_route_that_does_not_exist_leads_to_the_default_with_a_remark_and_a_count() -> None:
    async def story(notifier: Notifier, _: Inbox, clock: VirtualClock) -> None:
        notifier.tell(notice("web", notify="teem"))
        await clock.sleep(61)

    notifier, inbox = play(story)
    (body,) = inbox.bodies()
    assert body["remarks"] == [
        "there is no route 'teem', which skoupa.dev/notify names for configmaps/web in shop: told here instead"
    ]
    assert notifier.unknown_routes == 1
    assert notifier.present()["skoupa_notice_unknown_routes_total"] == {(): 1.0}


def test_without_a_default_only_what_names_a_route_is_told() -> None:
    async def story(notifier: Notifier, _: Inbox, clock: VirtualClock) -> None:
        notifier.tell(notice("nobody"))
        notifier.tell(notice("unknown", notify="teem"))
        notifier.tell(notice("known", notify="ops"))
        await clock.sleep(61)

    notifier, inbox = play(story, default="")
    assert names(inbox, "") == {"known"}
    assert notifier.unknown_routes == 1


def test_a_route_hears_only_of_the_events_that_it_wants() -> None:
    async def story(notifier: Notifier, _: Inbox, clock: VirtualClock) -> None:
        notifier.tell(notice("gone"))
        notifier.tell(notice("soon", what="notice"))
        await clock.sleep(61)

    _, inbox = play(story, {**OPS, "events": ["notice"]})
    assert names(inbox, "") == {"soon"}


def test_without_routes_nothing_is_kept_run_returns_and_there_is_nothing_to_drain() -> None:
    async def main(clock: VirtualClock) -> None:
        inbox = Inbox(clock)
        notifier = Notifier(clock, post=inbox)
        assert not notifier
        notifier.tell(notice(notify="ops"))
        await notifier.run()
        assert await notifier.drain() == 0
        assert clock.now() == AT
        assert notifier.statistics() == {}
        assert inbox.tries == []

    run(main, start=AT)


def test_a_busy_route_is_tried_again_later_and_later_with_one_id() -> None:
    async def story(notifier: Notifier, _: Inbox, clock: VirtualClock) -> None:
        notifier.tell(notice())
        await clock.sleep(600)

    notifier, inbox = play(story, {**OPS, "secretFrom": {"file": __file__}}, outcomes=[BUSY] * 8)
    assert len(inbox.tries) == 9
    waits = [later - earlier for earlier, later in zip(inbox.times, inbox.times[1:], strict=False)]
    assert all(0.5 * 2**number <= wait <= 2**number for number, wait in enumerate(waits[:5]))
    assert max(waits) <= 45
    outgoing = [one for _, one in inbox.tries]
    assert len({header(one, "X-Skoupa-Id") for one in outgoing}) == 1
    assert len({one.body for one in outgoing}) == 1
    # A try is signed with its own time, or a receiver would take the ninth for a replay of the first.
    assert len({header(one, "X-Skoupa-Signature") for one in outgoing}) > 5
    assert [int(header(one, "X-Skoupa-Timestamp")) for one in outgoing] == [int(at) for at in inbox.times]
    found = notifier.statistics()["ops"]
    assert (found.sent, found.retried, found.failed, found.last_error) == (1, 8, 0, "")


def test_a_receiver_that_says_when_is_not_asked_before() -> None:
    async def story(notifier: Notifier, _: Inbox, clock: VirtualClock) -> None:
        notifier.tell(notice())
        await clock.sleep(600)

    asked = Outcome(said="it answered 429", again=True, retry_after=300.0)
    _, inbox = play(story, outcomes=[asked])
    assert inbox.times == [AT + 60, AT + 360]


def test_a_refusal_is_final_and_the_next_message_is_sent_all_the_same() -> None:
    async def story(notifier: Notifier, _: Inbox, clock: VirtualClock) -> None:
        notifier.tell(notice("a"))
        await clock.sleep(120)
        assert notifier.troubles() == {"ops": "it refused the message with 404"}
        notifier.tell(notice("b"))
        await clock.sleep(120)

    notifier, inbox = play(story, outcomes=[REFUSED])
    assert len(inbox.tries) == 2
    found = notifier.statistics()["ops"]
    assert (found.sent, found.failed, found.retried) == (1, 1, 0)
    assert notifier.troubles() == {}


def test_a_route_that_hangs_keeps_no_other_waiting_and_is_tried_again() -> None:
    async def story(notifier: Notifier, inbox: Inbox, clock: VirtualClock) -> None:
        inbox.hang_on = lambda outgoing: "ops" in outgoing.url.reveal()
        for number in range(5):
            notifier.tell(notice(f"a-{number}"))
            notifier.tell(notice(f"b-{number}", notify="team"))
            await clock.sleep(61)

    notifier, inbox = play(story, OPS, TEAM, timeout=10.0)
    assert names(inbox, "http://team.test/") == {f"b-{number}" for number in range(5)}
    found = notifier.statistics()
    assert found["team"].sent == 5
    assert found["ops"].sent == 0
    # Ten seconds of waiting each, and pauses that add up to 153 s at most.
    assert found["ops"].retried >= 8
    assert found["ops"].last_error == "no answer within 10 s"


def test_of_a_route_that_stays_away_the_oldest_messages_are_dropped_and_counted() -> None:
    async def story(notifier: Notifier, inbox: Inbox, clock: VirtualClock) -> None:
        inbox.hang_on = lambda _: True
        for number in range(QUEUE_SIZE + 6):
            notifier.tell(notice(f"web-{number}"))
            await clock.sleep(61)
        found = notifier.statistics()["ops"]
        assert (found.queued, found.dropped) == (QUEUE_SIZE + 1, 5)
        assert notifier.present()["skoupa_notice_queue"] == {("ops",): QUEUE_SIZE + 1}
        inbox.hang_on = lambda _: False
        inbox.tries.clear()
        await clock.sleep(120)
        # The one under way was the first; of those that waited the oldest are gone.
        expected = [0, *range(6, QUEUE_SIZE + 6)]
        assert [body["namespaces"][0]["items"][0]["name"] for body in inbox.bodies()] == [
            f"web-{number}" for number in expected
        ]

    play(story)


def test_a_message_that_no_try_gets_through_does_not_block_the_route_for_ever() -> None:
    async def story(notifier: Notifier, inbox: Inbox, clock: VirtualClock) -> None:
        inbox.hang_on = lambda outgoing: b"poison" in outgoing.body
        notifier.tell(notice("poison"))
        await clock.sleep(61)
        notifier.tell(notice("web"))
        await clock.sleep(GIVE_UP_SECONDS + 120)

    notifier, inbox = play(story)
    assert "web" in names(inbox, "")
    found = notifier.statistics()["ops"]
    assert (found.sent, found.failed, found.queued) == (1, 1, 0)


def test_a_surprise_in_sending_ends_nothing() -> None:
    class Surprising(Inbox):
        async def __call__(self, outgoing: Any) -> Outcome:
            if not self.tries:
                await super().__call__(outgoing)
                raise RuntimeError(outgoing.url.reveal())
            return await super().__call__(outgoing)

    async def main(clock: VirtualClock) -> None:
        inbox = Surprising(clock)
        notifier = Notifier(clock, opened(OPS), default="ops", post=inbox)
        async with running(notifier):
            notifier.tell(notice())
            await clock.sleep(60.2)
            assert notifier.troubles() == {"ops": "sending failed unexpectedly (RuntimeError)"}
            await clock.sleep(10)
            assert notifier.statistics()["ops"].sent == 1

    run(main, start=AT)


def test_a_drain_sends_what_was_gathered_at_once() -> None:
    async def story(notifier: Notifier, _: Inbox, clock: VirtualClock) -> None:
        notifier.tell(notice())
        assert await notifier.drain() == 0
        assert clock.now() == AT

    _, inbox = play(story)
    assert inbox.times == [AT]


def test_a_drain_gives_each_message_one_more_try_and_tells_how_many_were_not_taken() -> None:
    async def story(notifier: Notifier, inbox: Inbox, clock: VirtualClock) -> None:
        notifier.tell(notice("a"))
        await clock.sleep(100)
        waiting = len(inbox.tries)
        notifier.tell(notice("b"))
        assert await notifier.drain() == 2
        assert clock.now() == AT + 100
        assert len(inbox.tries) == waiting + 2

    play(story, outcomes=[BUSY] * 100)


def test_a_drain_does_not_wait_long_for_a_route_that_hangs_nor_lose_the_others() -> None:
    async def story(notifier: Notifier, inbox: Inbox, clock: VirtualClock) -> None:
        inbox.hang_on = lambda outgoing: "ops" in outgoing.url.reveal()
        notifier.tell(notice("a"))
        notifier.tell(notice("b", notify="team"))
        assert await notifier.drain(3.0) == 1
        assert clock.now() == AT + 3

    notifier, _ = play(story, OPS, TEAM)
    assert notifier.statistics()["team"].sent == 1


def test_a_delete_that_fails_again_and_again_is_told_once() -> None:
    async def story(notifier: Notifier, _: Inbox, clock: VirtualClock) -> None:
        for number in range(100):
            notifier.tell(notice(what="failed", why=f"conflict at version {number}", at=clock.now()))
            await clock.sleep(45)

    _, inbox = play(story)
    (body,) = inbox.bodies()
    assert body["counts"] == {"failed": 1}


def test_what_still_holds_after_a_while_or_for_another_reason_is_told_again() -> None:
    repeats = Repeats(most=100)
    assert repeats.is_new(notice(what="held", why="kept"))
    assert not repeats.is_new(notice(what="held", why="kept", at=AT + 1))
    assert repeats.is_new(notice(what="held", why="brake"))
    assert repeats.is_new(notice(what="held", why="kept", at=AT + REMEMBERED_SECONDS))
    assert repeats.is_new(notice())
    assert repeats.is_new(notice())
    assert repeats.is_new(notice(what="braked"))
    assert repeats.is_new(notice(what="braked")), "somebody released it, and it was pulled again"
    assert repeats.suppressed == 1


def test_each_of_very_many_that_fail_is_told_once() -> None:
    repeats = Repeats()
    for number in range(30_000):
        assert repeats.is_new(notice(f"web-{number}", what="failed"))
    assert not any(
        repeats.is_new(notice(f"web-{number}", what="failed", at=AT + 45)) for number in range(30_000)
    )


def test_what_was_told_is_remembered_within_bounds() -> None:
    repeats = Repeats(most=100)
    for number in range(1000):
        repeats.is_new(notice(f"web-{number}", what="failed"))
    assert len(repeats._told) == 100
    assert not repeats.is_new(notice("web-999", what="failed"))


def test_metrics_have_a_series_for_each_route_and_outcome() -> None:
    async def story(notifier: Notifier, _: Inbox, clock: VirtualClock) -> None:
        notifier.tell(notice())
        await clock.sleep(61)

    notifier, _ = play(story, OPS, TEAM)
    messages = notifier.present()["skoupa_notice_messages_total"]
    assert messages["ops", "sent"] == 1
    assert messages.keys() == {
        (name, outcome) for name in ("ops", "team") for outcome in ("sent", "failed", "dropped", "retried")
    }
