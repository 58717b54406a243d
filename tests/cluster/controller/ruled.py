"""`skoupa run` with a rule that chooses by itself: the same program with one more mechanism handed in.

Started where `python -m skoupa` would be, with the rule as JSON in its first word.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Final
from unittest.mock import patch

import msgspec

from skoupa.__main__ import main
from skoupa.controller.process import run_process
from tests.standing_rule import Spec, StandingRule

_ROOT: Final = Path(__file__).parents[3]


def with_rule(spec: Spec) -> tuple[str, ...]:
    """For tests: what to start."""
    start = f"import sys; sys.path.insert(0, {str(_ROOT)!r}); from {__name__} import run; run()"
    return ("-c", start, msgspec.json.encode(spec).decode())


def run() -> None:
    _, spec, *words = sys.argv
    sys.argv = ["skoupa", *words]
    rule = StandingRule(msgspec.json.decode(spec, type=Spec))
    with patch("skoupa.cli.running.run.run_process", partial(run_process, rulings=[rule])):
        main()
