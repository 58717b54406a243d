"""Commands as they are to be typed beside an open dashboard: with the options that led to the same cluster."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from skoupa.cli.options import Connecting
from skoupa.cli.remembering.ledgers import LedgerChoice
from skoupa.ledger.dsn import shown
from skoupa.ledger.opening import is_shared

# Where history and trash are is asked only of the commands that look back.
_LOOK_BACK = frozenset({"history", "restore", "explain"})
_TAKE_SOURCES = frozenset({"plan"})


class TypedHere:
    """`sources` are files instead of a cluster: `plan` reads those too. Any other command would act on a live cluster: empty."""

    def __init__(
        self, connecting: Connecting, choice: LedgerChoice, *, sources: tuple[str, ...], config: str | None
    ) -> None:
        self._connecting = connecting
        self._choice = choice
        self._sources = sources
        self._config = config

    def __call__(self, words: Sequence[str]) -> str:
        if self._sources and words[0] not in _TAKE_SOURCES:
            return ""
        return shlex.join(("skoupa", *words, *self._options(words[0])))

    def _options(self, command: str) -> Iterator[str]:
        if self._sources:
            for source in self._sources:
                yield from ("--from", source)
        else:
            yield from _named("--kubeconfig", self._connecting.kubeconfig)
            yield from _named("--context", self._connecting.context)
            if command != "history":
                yield from _named("--as", self._connecting.as_user)
        if command in {"plan", "explain"}:
            yield from _named("--config", self._config)
        if command in _LOOK_BACK:
            yield from _named("--ledger", self._ledger)
            yield from _named("--cluster", self._choice.cluster)
            yield from _named("--skoupa-namespace", self._choice.home)
            yield from _named("--token-file", self._choice.token_file)

    @property
    def _ledger(self) -> str | None:
        """Without its password: pages are seen over shoulders."""
        where = self._choice.ledger
        return shown(where) if where is not None and is_shared(where) else where


def _named(option: str, value: str | None) -> Iterator[str]:
    if value:
        yield from (option, value)
