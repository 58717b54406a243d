"""A connection that was cut and stands again: what is due does not wait for the server's next bookmark."""

from __future__ import annotations

import pytest

from skoupa.kube.resources import NAMESPACES
from tests.unit.controller.stage import MINUTE, Stage, story

pytestmark = pytest.mark.unit


def cut_the_watch_of_namespaces(stage: Stage, *, seconds: float) -> None:
    """The server forgets nothing, so that the watch goes on where it was."""
    stage.cluster.faults.answer(503, when=lambda r: r.path == "/api/v1/namespaces", seconds=seconds)
    for shelf, watches in stage.cluster.plane.watches.items():
        for watch in tuple(watches) if shelf.plural == NAMESPACES.plural else ():
            watch.cut()


@story()
async def test_what_is_due_goes_soon_after_the_watch_of_quiet_namespaces_stands_again(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("a", "1m")
    await stage.later(50)
    cut_the_watch_of_namespaces(stage, seconds=12)
    await stage.later(11)
    assert stage.there("a")
    assert play.overdue == {"feed-behind": 1}
    assert not play.told("held"), "a short break is no news of the object"
    await stage.later(10)
    assert not stage.there("a")


@story()
async def test_a_keep_label_that_was_written_during_the_cut_counts(stage: Stage) -> None:
    await stage.play()
    await stage.make("a", "1m")
    await stage.later(50)
    cut_the_watch_of_namespaces(stage, seconds=12)
    await stage.later(5)
    await stage.label("shop", resource=NAMESPACES, keep="true")
    await stage.later(2 * MINUTE)
    assert stage.there("a")
