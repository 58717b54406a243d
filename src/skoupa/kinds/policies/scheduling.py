"""`schedule` and `deletionPropagationPolicy`, which all policies have.

The rules are coarse where CEL can't know (whether a day exists, which time zones there are): reading checks those again, in full.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from skoupa.expr.schedules import LONGEST_SCHEDULE
from skoupa.kinds.schema import Rule, about

Propagation = Literal["Foreground", "Background", "Orphan"]

_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_SCHEDULE)]

_EVERY: Final = Rule(
    r"!self.matches('(?i)^\\s*@every')",
    '@every counts from a start that nobody knows: write a step such as "*/5 * * * *", or @hourly',
)
_FIELDS: Final = Rule(
    r"self.matches('^\\s*((?i:CRON_TZ|TZ)=\\S+\\s+)?(@\\S+(\\s+\\S+)?|\\S+(\\s+\\S+){4})\\s*$')",
    'write five fields (minute, hour, day of the month, month, day of the week) such as "0 3 * * 0", or "@daily"',
)

ScheduleText = Annotated[
    _Text,
    about(
        'When it runs, as a cron expression of five fields ("30 3 * * 0" is Sunday at 3:30) or a name such as @daily; in UTC, '
        "unless the annotation skoupa.dev/time-zone or a leading CRON_TZ=Europe/Athens names a zone.",
        _EVERY,
        _FIELDS,
    ),
]
PropagationPolicy = Annotated[
    Propagation | None,
    about(
        "What happens to what the object owns: Background (it goes afterwards; as shipped), Foreground (it goes first) "
        "or Orphan (it stays)."
    ),
]
