"""Skoupa's own functions of policies, by name: who uses the object that is judged, and whether it has finished.

They are the same in JMESPath and CEL. None of them is worked out here: whoever evaluates hands in somebody who knows the cluster. They
are about the object that is judged and no other, so that of most of them only its uid is looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

UNUSED: Final = "skoupa_unused"
UNMOUNTED: Final = "skoupa_unmounted"
BEHIND_SERVICE: Final = "skoupa_behind_service"
FINISHED: Final = "skoupa_finished"
USED_BY: Final = "skoupa_used_by"

USAGE_FUNCTIONS: Final = (UNUSED, UNMOUNTED, BEHIND_SERVICE, FINISHED, USED_BY)
# What it is told by stands in the object itself, so that all of it is looked at.
OF_BODIES: Final = frozenset({FINISHED})
# Who uses it stands in others, so that these have to be read.
OF_OTHERS: Final = frozenset(USAGE_FUNCTIONS) - OF_BODIES
# As much of the object as is looked at where others tell.
IDENTITY: Final = ("metadata", "uid")

# A function and the uid of what it is asked about; a SkoupaError where nobody knows.
AskUsage = Callable[[str, str], bool | list[str]]


def uid_of(found: object) -> str:
    """That of an object as expressions hand it over; a ValueError where it is none."""
    metadata = found.get("metadata") if isinstance(found, dict) else None
    uid = metadata.get("uid") if isinstance(metadata, dict) else None
    if not isinstance(uid, str) or not uid:
        raise ValueError("this is no object of the cluster; hand over the one that is judged, as a whole")
    return uid
