"""`skoupa run` that asks every few seconds for what it else asks for once a minute: rights, Namespaces, Kyverno, what is
left of a deleted Tenant.

A script, started where `python -m skoupa` would be: the same program, with these pauses shorter and nothing else.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Final
from unittest.mock import patch

from skoupa.__main__ import main

IMPATIENT: Final = ("-P", __file__)
_PAUSES: Final = (
    "skoupa.controller.sight.outlook.RIGHTS_SECONDS",
    "skoupa.controller.sight.namespaces.POLL_SECONDS",
    "skoupa.controller.kyverno.beside.LOOK_SECONDS",
    "skoupa.controller.tenancy.deletion.LONGEST_SECONDS",
)
SECONDS: Final = 4.0


def run() -> None:
    with ExitStack() as stack:
        for pause in _PAUSES:
            stack.enter_context(patch(pause, SECONDS))
        main()


if __name__ == "__main__":
    run()
