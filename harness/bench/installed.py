"""The environment of a measured command: as after any installation, its bytecode is on disk once it has run.

Without it every start compiles the sources anew, which shows as CPU and as memory that the process never gives back.
"""

from __future__ import annotations

import os
from typing import Final

_KEEPS_BYTECODE_AWAY: Final = "PYTHONDONTWRITEBYTECODE"


def environment(**more: str) -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if key != _KEEPS_BYTECODE_AWAY} | more
