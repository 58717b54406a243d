"""The policies of the cluster as they are read, kept true by watching: what runs, what is broken and why.

Each object is read for itself; what can't be understood is in the book with its problems, and is read anew when it changes or the
kinds of the cluster do. Exceptions stand beside. What the server has not told yet, or could not, is a doubt that holds runs, never
an empty book. Whose status or mark we write ourselves does not change by that.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import aclosing
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.errors import ApiError, Forbidden, SkoupaError
from skoupa.kinds.definition import Definition
from skoupa.kinds.policies.exception import POLICY_EXCEPTION
from skoupa.kube import watch, watched
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.lines import Change
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import Resource
from skoupa.policy.exemptions import Exemption, read_exemption
from skoupa.policy.headings import POLICY_KINDS
from skoupa.policy.options import as_labels, as_written, place
from skoupa.policy.policies import Clauses, Policy
from skoupa.policy.problems import Problem
from skoupa.policy.reading import Reading, read_policy
from skoupa.runs.authors import fields_in, last_write
from skoupa.runs.calls.written import clause_problems
from skoupa.runs.known import NOT_KNOWN, Written

_NOT_READ: Final = "they are not read yet"
WATCHED: Final[tuple[Definition, ...]] = (*POLICY_KINDS.values(), POLICY_EXCEPTION)
_WITHOUT: Final = {
    True: "those policies do not run",
    False: "deleting policies do not run, for exceptions are not known",
}
_DELETING: Final = frozenset({"DeletingPolicy", "NamespacedDeletingPolicy"})

Object = Mapping[str, Any]


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A policy as it stands in the cluster: `kind` is where its status is written, `author` wrote its spec last."""

    kind: Resource
    namespace: str
    name: str
    uid: str
    generation: int
    reading: Reading
    author: str = ""
    written: Written = NOT_KNOWN
    status: Object = {}

    @property
    def policy(self) -> Policy | None:
        return self.reading.policy

    @property
    def called(self) -> str:
        return "/".join(part for part in (self.kind.kind, self.namespace, self.name) if part)


def served(definition: Definition, discovery: Discovery) -> Resource | None:
    """The kind in the version that we know best, where it can be followed."""
    for version in definition.versions:
        found = discovery.find(definition.group, definition.kind, version.name)
        if found is not None and found.may("list", "watch"):
            return found
    return None


class Book:
    """`on_change` hears of a policy by its uid: new, changed, or gone; `on_exemptions` of an exception, as it was and as it is.

    `told` hears what may not be read. `require_account`: a policy of a namespace has to name the account that it acts as.
    """

    def __init__(
        self,
        client: Client,
        *,
        discovery: Callable[[], Discovery],
        on_change: Callable[[str], None],
        on_exemptions: Callable[[Iterable[Exemption]], None],
        told: Callable[[str], None] = lambda _: None,
        require_account: bool = False,
    ) -> None:
        self._client = client
        self._discovery = discovery
        self._on_change = on_change
        self._on_exemptions = on_exemptions
        self._told = told
        self._require_account = require_account
        self._entries: dict[str, Entry] = {}
        self._objects: dict[str, tuple[Resource, Object]] = {}
        self._exemptions: dict[str, Exemption] = {}
        self._refuted: dict[str, tuple[Clauses, tuple[Problem, ...]]] = {}
        # By kind and place: why what is known of it may not be all.
        self.doubts: dict[tuple[str, str], str] = {}
        self._places_read: set[tuple[str, str]] = set()

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(list(self._entries.values()))

    def get(self, uid: str) -> Entry | None:
        return self._entries.get(uid)

    @property
    def exemptions(self) -> tuple[Exemption, ...]:
        return tuple(self._exemptions.values())

    def expect(self, kind: Resource, namespace: str = "") -> None:
        """It is going to be followed."""
        self.doubts.setdefault((kind.kind, namespace), _NOT_READ)

    def leave(self, kind: Resource, namespace: str) -> None:
        """It is followed otherwise from now on; what is known of it stays until that tells more."""
        self.doubts.pop((kind.kind, namespace), None)
        self._places_read.discard((kind.kind, namespace))

    def abandon(self, kind: Resource, namespace: str = "") -> None:
        """The server has no such kind any more, and so none of its objects."""
        self.leave(kind, namespace)
        self._lose(kind, namespace, but=frozenset())

    def doubt(self, kind: str = "") -> str:
        """Why what is known of this kind of policy (empty: of any) may be old; empty: it is not."""
        wanted = {kind} if kind else POLICY_KINDS.keys()
        if not kind or kind in _DELETING:
            wanted = {*wanted, POLICY_EXCEPTION.kind}
        return next((why for (of, _), why in self.doubts.items() if of in wanted and why), "")

    @property
    def whole(self) -> bool:
        """Whether everything that is followed was read once."""
        return self.doubts.keys() <= self._places_read

    async def read(self, kind: Resource, namespace: str = "") -> None:
        """Once, for who only looks."""
        found = await everything(self._client, kind, WHOLE, scope=Scope(namespace=namespace))
        self._swap(kind, namespace, {_uid(one): one for one in found.items})

    async def follow(self, kind: Resource, namespace: str = "") -> None:
        """For ever."""
        listed: dict[str, Object] = {}
        events = watch.watch(self._client, kind, WHOLE, scope=Scope(namespace=namespace))
        async with aclosing(events):
            async for event in events:
                match event:
                    case watched.Begun():
                        listed = {}
                    case watched.Listed(objects, _):
                        listed |= {_uid(found): found for found in objects}
                    case watched.Synced():
                        self._swap(kind, namespace, listed)
                    case watched.Interrupted(error, _):
                        self._lose_touch(kind, namespace, error)
                    case watched.Changed(changes, _):
                        self._follow(kind, changes)
                        self._trust(kind, namespace)
                    case watched.Progressed() | watched.Resumed():
                        self._trust(kind, namespace)

    def _lose_touch(self, kind: Resource, namespace: str, error: SkoupaError) -> None:
        said = error.status.message if isinstance(error, ApiError) else error.message
        self.doubts[kind.kind, namespace] = said or "the watch is behind"
        if isinstance(error, Forbidden):
            self._told(
                f"no permission to list and watch {kind.qualified}: {_WITHOUT[kind.kind in POLICY_KINDS]}"
            )

    def _swap(self, kind: Resource, namespace: str, listed: Mapping[str, Object]) -> None:
        for found in listed.values():
            self._learn(kind, found)
        self._lose(kind, namespace, but=listed.keys())
        self._places_read.add((kind.kind, namespace))
        self._trust(kind, namespace)

    def _follow(self, kind: Resource, changes: Iterable[Change[dict[str, Any]]]) -> None:
        for change in changes:
            if change.deleted:
                self._drop(_uid(change.object))
            else:
                self._learn(kind, change.object)

    def read_again(self) -> None:
        """The kinds of the cluster changed: what was wrong may be right now, and the other way round."""
        for uid, (kind, found) in list(self._objects.items()):
            if kind.kind in POLICY_KINDS:
                self._enter(uid, kind, found)

    def refute(self, uid: str, clauses: Clauses, problems: tuple[Problem, ...]) -> None:
        """These clauses of what is in the book can't be meant, as somebody found out who took longer: with them it is broken."""
        self._refuted[uid] = (clauses, problems)
        self._enter(uid, *self._objects[uid])

    def _trust(self, kind: Resource, namespace: str) -> None:
        if self.doubts.get((kind.kind, namespace)):
            self.doubts[kind.kind, namespace] = ""
            self._on_change("")

    def _learn(self, kind: Resource, found: Object) -> None:
        uid = _uid(found)
        if kind.kind in POLICY_KINDS and found["metadata"].get("deletionTimestamp"):
            # Whoever deletes it wants it to stop, however long a finalizer keeps it.
            self._drop(uid)
            return
        _, before = self._objects.get(uid, (None, None))
        self._objects[uid] = (kind, found)
        if kind.kind not in POLICY_KINDS:
            was, self._exemptions[uid] = self._exemptions.get(uid), read_exemption(found)
            if before is None or before.get("spec") != found.get("spec"):
                self._on_exemptions([one for one in (was, self._exemptions[uid]) if one is not None])
        elif before is not None and _same(before, found) and uid in self._entries:
            status = found.get("status") or {}
            self._entries[uid] = msgspec.structs.replace(self._entries[uid], kind=kind, status=status)
        else:
            self._enter(uid, kind, found)

    def _enter(self, uid: str, kind: Resource, found: Object) -> None:
        metadata = found["metadata"]
        author, written = last_write(metadata)
        entry = Entry(
            kind=kind,
            namespace=str(metadata.get("namespace") or ""),
            name=str(metadata["name"]),
            uid=uid,
            generation=int(metadata.get("generation") or 0),
            reading=self._unless_refuted(uid, self._read(found, kind)),
            author=author,
            written=Written(written, fields_in(found.get("spec"))),
            status=found.get("status") or {},
        )
        if self._entries.get(uid) != entry:
            self._entries[uid] = entry
            self._on_change(uid)

    def _unless_refuted(self, uid: str, reading: Reading) -> Reading:
        clauses, problems = self._refuted.get(uid, (None, ()))
        refuted = reading.policy is not None and reading.policy.clauses == clauses
        return _broken(reading, *problems) if refuted else reading

    def _read(self, found: Object, kind: Resource) -> Reading:
        reading = read_policy(_with_head(found, kind), discovery=self._discovery(), check=clause_problems)
        problem = account_problem(reading.policy) if self._require_account else None
        return reading if problem is None else _broken(reading, problem)

    def _lose(self, kind: Resource, namespace: str, *, but: Container[str]) -> None:
        for uid, (known, found) in list(self._objects.items()):
            place = str(found["metadata"].get("namespace") or "")
            if known.kind == kind.kind and uid not in but and namespace in {"", place}:
                self._drop(uid)

    def _drop(self, uid: str) -> None:
        self._objects.pop(uid, None)
        self._refuted.pop(uid, None)
        exemption = self._exemptions.pop(uid, None)
        if exemption is not None:
            self._on_exemptions([exemption])
        if self._entries.pop(uid, None) is not None:
            self._on_change(uid)


def account_problem(policy: Policy | None) -> Problem | None:
    """Of a policy of a namespace that names no account, where it has to."""
    if policy is None or not policy.namespace or policy.options.service_account:
        return None
    return Problem(
        path=place(names.SERVICE_ACCOUNT_ANNOTATION),
        what="it is missing, and policies of a namespace have to name an account here",
        instead="write the name of a ServiceAccount of this namespace that may delete what the policy matches",
    )


def _broken(reading: Reading, *problems: Problem) -> Reading:
    return Reading(policy=None, problems=problems, warnings=reading.warnings)


def _same(before: Object, found: Object) -> bool:
    """Whether all that counts is as it was; a spec that changed has another generation, an old server aside."""
    was, now = before["metadata"], found["metadata"]
    return (
        before.get("spec") == found.get("spec")
        and was.get("generation") == now.get("generation")
        and as_written(was.get("annotations")) == as_written(now.get("annotations"))
        and as_labels(was.get("labels")) == as_labels(now.get("labels"))
    )


def _with_head(found: Object, kind: Resource) -> Object:
    """Items of a list may come without."""
    return {"apiVersion": kind.api_version, "kind": kind.kind, **found}


def _uid(found: Object) -> str:
    return str(found["metadata"].get("uid", ""))
