"""From a declared command to the module that does it, which is imported only then."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def dispatch(module: str, **arguments: Any) -> None:
    try:
        run: Callable[..., None] = importlib.import_module(f"skoupa.cli.{module}").run
        run(**arguments)
    except (KeyboardInterrupt, BrokenPipeError) as end:
        # Typer has exit codes of its own for these (130 and 1); in a group they get past it to `__main__`.
        raise BaseExceptionGroup("the command was ended from outside", [end]) from None
