"""Where commands read history and trash from: the ledger itself behind `--ledger`, else the running controller.

What comes out of the trash is open already: the keys are where the source is.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from skoupa import names
from skoupa.cli.options import Connecting
from skoupa.cli.worlds import World
from skoupa.errors import LedgerUnusable, SkoupaError, UsageError
from skoupa.kube.login.secret import Secret
from skoupa.ledger.opening import store_for
from skoupa.ledger.rows import Entry
from skoupa.ledger.store import Place, Restored, Store, Wish
from skoupa.ledger.trash.contents import Kept
from skoupa.ledger.trash.sealing import Seal, read_keys

if TYPE_CHECKING:
    from skoupa.cli.remembering.asking import ControllerSource
    from skoupa.kube.client import Client

_BODIES_AT_ONCE: Final = 200

# Rows whose trash can't be opened, by id: its key is not there, or it is damaged.
Sealed = dict[str, SkoupaError]


class LeftOut(msgspec.Struct, kw_only=True):
    """What a source did not give: rows that the caller may not see, and whether older ones were not looked at at all.

    `by_rights`: it shows only what the caller may read, and of what is named does not count the rest.
    """

    hidden: int = 0
    unlooked: bool = False
    by_rights: bool = False

    def remarks(self, *, absent: bool = False) -> list[str]:
        """`absent`: something that was named is not among what it gave."""
        said = []
        if absent and self.by_rights:
            said.append("what you may not read in the cluster is not found by its name either")
        if self.hidden:
            rows = "row is" if self.hidden == 1 else "rows are"
            said.append(
                f"{self.hidden} {rows} not shown: they are of kinds that you may not read there, "
                "or of an earlier namespace of that name"
            )
        if self.unlooked:
            said.append(
                "older rows were not looked at: name a namespace (-n), a kind or a time to look further"
            )
        return said


class HistorySource(Protocol):
    left_out: LeftOut

    @property
    def where(self) -> str:
        """As it may be shown to anybody."""

    @property
    def whose(self) -> str:
        """`NAMESPACE=UID` of the cluster whose rows these are; empty: that was not written down, or it is this one."""

    async def find(self, wish: Wish, *, limit: int, before: Place | None = None) -> list[Entry]:
        """The newest first."""

    async def get(self, entry_id: str) -> Entry | None: ...

    async def kept(
        self, entries: Sequence[Entry], *, sealed: Sealed | None = None
    ) -> Mapping[str, tuple[Kept, ...]]:
        """By id; the object itself first, then what went along. Absent: nothing is kept.

        Raises where one can't be opened; with `sealed` that is put there instead, and the others are given.
        """

    async def restored(self, uids: Mapping[str, str]) -> None:
        """Remembers what became of it: the old uid and the new one."""

    async def purge(self, entry_id: str) -> bool:
        """Erases what is kept; whether there was anything."""


class LedgerChoice(msgspec.Struct, frozen=True, kw_only=True):
    """What the options say. `cluster` is needed only where a database has rows of several.

    Without `ledger` the controller in the namespace `home` is asked, with the token in `token_file`, else our own.
    """

    ledger: str | None = None
    cluster: str | None = None
    key_file: str | None = None
    key_env: str | None = None
    home: str | None = None
    token_file: str | None = None


class LedgerSource:
    def __init__(self, store: Store, seal: Seal, *, whose: str = "") -> None:
        self._store = store
        self._seal = seal
        self.whose = whose
        self.left_out = LeftOut()

    @property
    def where(self) -> str:
        return self._store.where

    async def find(self, wish: Wish, *, limit: int, before: Place | None = None) -> list[Entry]:
        return await self._store.find(wish, limit=limit, before=before)

    async def get(self, entry_id: str) -> Entry | None:
        return await self._store.get(entry_id)

    async def kept(
        self, entries: Sequence[Entry], *, sealed: Sealed | None = None
    ) -> Mapping[str, tuple[Kept, ...]]:
        found: dict[str, tuple[Kept, ...]] = {}
        for start in range(0, len(entries), _BODIES_AT_ONCE):
            some = {entry.id: entry for entry in entries[start : start + _BODIES_AT_ONCE]}
            for entry_id, bodies in (await self._store.bodies(tuple(some))).items():
                uid = some[entry_id].uid
                ordered = sorted(bodies, key=lambda body: body.part)
                try:
                    found[entry_id] = tuple(self._seal.open(body, uid=uid) for body in ordered)
                except (UsageError, LedgerUnusable) as error:
                    if sealed is None:
                        raise
                    sealed[entry_id] = error
        return found

    async def restored(self, uids: Mapping[str, str]) -> None:
        await self._store.write([Restored(uid=old, restored_as=new) for old, new in uids.items()])

    async def purge(self, entry_id: str) -> bool:
        return await self._store.purge(entry_id)


@asynccontextmanager
async def opened(
    choice: LedgerChoice,
    *,
    connecting: Connecting,
    world: World | None = None,
    writable: bool = False,
) -> AsyncIterator[HistorySource]:
    """`world` is the cluster where it is reached already; else it is reached as `connecting` says, if it is needed."""
    check_choice(choice)
    if choice.ledger is None:
        async with _controller(choice, connecting, world) as asked:
            yield asked
        return
    keys = read_keys(file=choice.key_file or "", variable=choice.key_env or "")
    cluster, whose = await _cluster(choice.ledger, choice.cluster)
    store = store_for(choice.ledger, cluster=cluster, writable=writable)
    try:
        await store.open()
        yield LedgerSource(store, Seal(cluster=cluster, keys=keys), whose=whose)
    finally:
        await store.close()


def check_choice(choice: LedgerChoice) -> None:
    """Options that can't go together, or mean no history."""
    if choice.ledger == "none":
        raise UsageError(
            "--ledger none has no history",
            advice="give a path, or postgresql://…, or leave it out to ask the running controller",
        )
    own = {"--cluster": choice.cluster, "--key-file": choice.key_file, "--key-env": choice.key_env}
    asked = {"--skoupa-namespace": choice.home, "--token-file": choice.token_file}
    wrong = next((name for name, value in (own if choice.ledger is None else asked).items() if value), None)
    if wrong and choice.ledger is None:
        raise UsageError(f"{wrong} goes with --ledger", advice="the controller has its own; leave it out")
    if wrong:
        raise UsageError(
            f"{wrong} is for asking the controller", advice="leave it out, or leave out --ledger"
        )


@asynccontextmanager
async def _controller(
    choice: LedgerChoice, connecting: Connecting, world: World | None
) -> AsyncIterator[HistorySource]:
    # Who reads a file needs neither the HTTP client nor the words for it.
    from skoupa.cli.connect import reached  # noqa: PLC0415

    if world is not None:
        yield controller_of(choice, client=world.client, token=world.token)
        return
    async with reached(connecting) as cluster:
        yield controller_of(choice, client=cluster.client, token=cluster.token)


def controller_of(
    choice: LedgerChoice, *, client: Client, token: Callable[[], Awaitable[Secret]]
) -> ControllerSource:
    from skoupa.cli.remembering.asking import ControllerSource  # noqa: PLC0415 - as above

    given = _token_in(choice.token_file) if choice.token_file else None
    return ControllerSource(client, namespace=choice.home or names.COMPONENT, token=given or token)


@cache
def _token_in(path: str) -> Callable[[], Awaitable[Secret]]:
    """Read once: it may be a pipe."""
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise UsageError(
            f"the token file {path} can't be read: {why}", advice="check --token-file"
        ) from error
    if not text or not text.isprintable() or " " in text:
        raise UsageError(
            f"the token file {path} has no token in it", advice="write one token, and nothing else"
        )
    token = Secret(text)

    async def current() -> Secret:
        return token

    return current


async def _cluster(where: str, asked: str | None) -> tuple[str, str]:
    """Its name, and what tells it from others. Opened for reading: a name that was guessed must not be written into the database."""
    store = store_for(where, cluster="", writable=False)
    try:
        await store.open()
        clusters = await store.clusters()
    finally:
        await store.close()
    if asked is not None:
        if clusters and asked not in clusters:
            raise UsageError(
                f'the ledger {store.where} has no rows of a cluster "{asked}"',
                advice=f"it has those of {', '.join(clusters)}",
            )
        return asked, clusters.get(asked, "")
    if len(clusters) > 1:
        raise UsageError(
            f"the ledger {store.where} has rows of several clusters: {', '.join(clusters)}",
            advice="say which one with --cluster",
        )
    return next(iter(clusters.items()), ("", ""))
