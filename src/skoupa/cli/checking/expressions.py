"""The CEL of policies, compiled in a process of its own: what is wrong with it, and what it asks for outside of the object."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

import msgspec

from skoupa.clock import SystemClock
from skoupa.expr.cel.messages import Report, Source
from skoupa.expr.cel.pool import Pool
from skoupa.policy.cel_checks import cel_problems, source_of
from skoupa.policy.policies import Clauses
from skoupa.policy.problems import Problem

_NOTHING: Final = Report()


class Compiled(msgspec.Struct, frozen=True):
    problems: tuple[Problem, ...] = ()
    asks: tuple[str, ...] = ()


def compile_all(many: Sequence[Clauses]) -> list[Compiled]:
    """One answer for each; without any CEL no process is started."""
    sources = [source_of(clauses) if clauses.expressions or clauses.variables else None for clauses in many]
    return [Compiled(tuple(cel_problems(report)), report.asks) for report in reports(sources)]


def reports(many: Sequence[Source | None]) -> list[Report]:
    """What compiling each says; of None nothing."""
    return asyncio.run(_compiled(many)) if any(many) else [_NOTHING] * len(many)


async def _compiled(many: Sequence[Source | None]) -> list[Report]:
    async with Pool(clock=SystemClock()) as pool:
        return [_NOTHING if source is None else await pool.compile(source) for source in many]
