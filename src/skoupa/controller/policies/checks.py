"""Compiles the CEL of policies as soon as they are known, so that their status says what is wrong before the first tick.

The compiler is a process of its own, so this comes a moment after a policy was read; a run that begins in between finds the
same out for itself. A policy that does not compile is broken like one that can't be read, until it is changed. A compiler
that died says nothing of the policy.
"""

from __future__ import annotations

import asyncio

from skoupa.errors import SkoupaError
from skoupa.expr.cel.messages import Report
from skoupa.expr.cel.pool import Pool
from skoupa.policy.cel_checks import cel_problems, source_of
from skoupa.policy.policies import Clauses
from skoupa.runs.book import Book


class PolicyChecks:
    def __init__(self, pool: Pool, book: Book) -> None:
        self._pool = pool
        self._book = book
        self._wanted: dict[str, None] = {}
        # What was compiled already, and is right.
        self._sound: dict[str, Clauses] = {}
        self._news = asyncio.Event()

    def want(self, uid: str) -> None:
        """It came or changed."""
        self._wanted[uid] = None
        self._news.set()

    async def follow(self) -> None:
        """For ever."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self._wanted:
                uid = next(iter(self._wanted))
                del self._wanted[uid]
                await self._look(uid)

    async def _look(self, uid: str) -> None:
        entry = self._book.get(uid)
        policy = entry.policy if entry is not None else None
        if entry is None:
            self._sound.pop(uid, None)
        if policy is None or not (policy.clauses.expressions or policy.clauses.variables):
            return
        if self._sound.get(uid) == policy.clauses:
            return
        try:
            report = await self._pool.compile(source_of(policy.clauses))
        except SkoupaError:
            # The run that needs it says so.
            return
        if not report.problems:
            self._sound[uid] = policy.clauses
        elif _about_the_policy(report) and self._book.get(uid) is not None:
            # It may be gone by now.
            self._book.refute(uid, policy.clauses, tuple(cel_problems(report)))


def _about_the_policy(report: Report) -> bool:
    return all(problem.expression for problem in report.problems)
