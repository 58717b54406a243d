"""Of an Event what its age counts from: when it was last seen to happen, by whichever of its fields says the latest."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from skoupa.kube.objects import Metadata, View


class _Series(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    last_observed_time: datetime | None = None


class EventTimes(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    metadata: Metadata
    last_timestamp: datetime | None = None
    event_time: datetime | None = None
    series: _Series | None = None

    def last(self, created: float) -> float:
        series = self.series.last_observed_time if self.series is not None else None
        seen = (self.last_timestamp, self.event_time, series)
        return max(created, *(one.timestamp() for one in seen if one is not None), created)


EVENT_TIMES: Final = View[EventTimes](type=EventTimes)
