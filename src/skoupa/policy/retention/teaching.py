"""What all profiles of a cluster teach together: by which tables objects are read, how which kinds end, and what is doubted.

A profile that is not understood teaches nothing and takes away: its kind may point at anything and may be at work, so that all that it could
mean stays. So do two of one kind, for nobody knows which of them is meant. One whose expressions can't be used is doubted in what they
say alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from skoupa.kinds.retention.profile import KIND_PROFILE
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import BUILT_IN_GROUPS
from skoupa.policy.problems import Problem
from skoupa.policy.retention.ends import Ending
from skoupa.policy.retention.profiles import Profile, ProfileReading
from skoupa.policy.retention.tables import doubted, table_of, takes_of
from skoupa.usage import finishing
from skoupa.usage.edges.patterns import ANYTHING
from skoupa.usage.finishing import Doubt
from skoupa.usage.reading import Readings, shipped
from skoupa.usage.rules import KindRules
from skoupa.usage.sight import Unread

PROFILES: Final = f"{KIND_PROFILE.plural}.{KIND_PROFILE.group}"
# A kind that is written so may be any.
_ANY_KIND: Final = f"{ANYTHING}/{ANYTHING}"


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """One profile: `problems` are those that compiling its expressions found, `written` is the kind that it names, if it can be read."""

    name: str
    written: str
    reading: ProfileReading
    problems: tuple[Problem, ...] = ()

    @property
    def called(self) -> str:
        return f"{KIND_PROFILE.kind}/{self.name}"


class Taught(msgspec.Struct, frozen=True, kw_only=True):
    """`wrong` is what keeps a profile from counting, by its name; `tables` are by kind, and so is all else."""

    wrong: Mapping[str, str] = {}
    tables: Mapping[str, KindRules] = {}
    profiles: Mapping[str, Profile] = {}
    # Of which nothing is known, and those of which only the end is not.
    doubted: Mapping[str, str] = {}
    endless: Mapping[str, str] = {}
    # Why nobody knows which kinds there are profiles of; and why what is known of those that there are may be old.
    unread: str = ""
    behind: str = ""
    # Whether they were not read for a reason that passes.
    may_come: bool = False

    def readings(self) -> Readings:
        return shipped().with_tables(self.tables.values()) if self.tables else shipped()

    def unclear(self, discovery: Discovery) -> Iterator[Unread]:
        """Kinds of the server that may point at anything, for who asks what was not read."""
        if self.unread:
            yield Unread(kind=_ANY_KIND, what=PROFILES, why=self.unread)
        for kind, why in self._unclear_kinds().items():
            group, _, bare = kind.rpartition("/")
            served = discovery.find(group, bare)
            if served is not None or discovery.unreadable(group) is not None:
                yield Unread(kind=kind, what=served.qualified if served is not None else kind, why=why)

    def _unclear_kinds(self) -> Mapping[str, str]:
        if not self.behind:
            return self.doubted
        old = f"whether {PROFILES} still teach the same of it is not known: {self.behind}"
        return {**dict.fromkeys(self.profiles, old), **self.doubted}

    def end_doubt(self, kind: str) -> Doubt | None:
        """Why nobody can tell whether objects of a kind have ended, whatever they say."""
        why = self.endless.get(kind) or self._unclear_kinds().get(kind)
        if not why and self.unread and finishing.shipped().ends(kind) is not finishing.Ends.NEVER:
            why = f"what {PROFILES} teach of it is not known: {self.unread}"
        return Doubt(why) if why else None

    def ends(self, kind: str) -> finishing.Ends:
        """What is known of the way in which a kind ends, with what is taught; in doubt it has to be waited for."""
        profile = self.profiles.get(kind)
        if (profile is not None and profile.ends) or self.end_doubt(kind) is not None:
            return finishing.Ends.BY_RULE
        return finishing.shipped().ends(kind)

    def waived(self, ignored: Collection[str]) -> Taught:
        """Where the settings say that profiles need not be read (`usage.ignoreKinds`), none of them leaves anything in doubt by that."""
        return msgspec.structs.replace(self, unread="") if PROFILES in ignored else self

    def takes(self, kind: str) -> Readings | None:
        """By which table to read what objects of a kind take along; None where nobody says that they do."""
        profile = self.profiles.get(kind)
        table = takes_of(profile) if profile is not None else None
        return shipped().with_tables((table,)) if table is not None else None

    def ending_profile(self, kind: str) -> Profile | None:
        """That which says how a kind ends, where it can be asked."""
        profile = self.profiles.get(kind)
        return profile if profile is not None and profile.ends and kind not in self.endless else None

    def endings(self) -> dict[str, Ending]:
        return {kind: Ending(found) for kind in self.profiles if (found := self.ending_profile(kind))}


NOTHING: Final = Taught()


def teach(profiles: Iterable[Read]) -> Taught:
    lessons = _Lessons()
    for one in sorted(profiles, key=lambda read: read.name):
        lessons.hear(one)
    return lessons.taught()


class _Lessons:
    def __init__(self) -> None:
        self._wrong: dict[str, str] = {}
        self._doubts: dict[str, str] = {}
        self._endless: dict[str, str] = {}
        self._sound: dict[str, tuple[Read, Profile]] = {}
        self._unread = ""

    def hear(self, one: Read) -> None:
        profile = one.reading.profile
        if profile is None:
            self._broken(one)
        elif profile.kind in self._sound:
            other, _ = self._sound[profile.kind]
            for this, that in ((one, other), (other, one)):
                self._wrong[this.name] = f"{that.called} is about {profile.kind} too: delete one of them"
            self._doubts[profile.kind] = f"{other.called} and {one.called} are both about it"
        else:
            self._sound[profile.kind] = (one, profile)

    def _broken(self, one: Read) -> None:
        why = self._wrong[one.name] = _said(one.reading.problems)
        if one.written and not any(problem.path == "spec.kind" for problem in one.reading.problems):
            self._doubts[one.written] = f"{one.called} is not understood: {why}"
        else:
            self._unread = f"which kind {one.called} is about nobody knows: {why}"

    def taught(self) -> Taught:
        tables: dict[str, KindRules] = {}
        for kind, (one, profile) in self._sound.items():
            if kind in self._doubts:
                self._wrong.setdefault(one.name, self._doubts[kind])
                continue
            if one.problems:
                why = self._wrong[one.name] = _said(one.problems)
                self._endless[kind] = f"{one.called}: {why}"
            table = _checked(profile)
            if isinstance(table, str):
                self._wrong[one.name] = table
                self._doubts[kind] = f"{one.called}: {table}"
            elif table is not None:
                tables[kind] = table
        tables |= {kind: doubted(kind, shipped().table(kind)) for kind in self._doubts}
        return Taught(
            wrong=self._wrong,
            tables=tables,
            profiles={kind: found for kind, (_, found) in self._sound.items() if kind not in self._doubts},
            doubted=self._doubts,
            endless=self._endless,
            unread=self._unread,
        )


def written_kind(found: Mapping[str, Any]) -> str:
    """The kind that a profile names, whatever else is wrong with it."""
    spec = found.get("spec")
    kind = spec.get("kind") if isinstance(spec, Mapping) else None
    return kind if isinstance(kind, str) else ""


def replaced(profile: Profile) -> tuple[str, ...]:
    """What of the shipped knowledge rests because of it, in words."""
    known = shipped().table(profile.kind)
    found = []
    if profile.ends and profile.kind in finishing.shipped().kinds():
        found.append("when it has finished")
    if known is not None and profile.group not in BUILT_IN_GROUPS:
        found += ["what it uses"] if profile.uses else []
        found += ["what it makes again"] if profile.produces else []
    return tuple(found)


def _checked(profile: Profile) -> KindRules | str | None:
    """What its paths can't mean together is found when they are laid out."""
    table = table_of(profile, shipped().table(profile.kind))
    if table is not None:
        try:
            shipped().with_tables((table,)).view(profile.kind)
        except ValueError as error:
            return f"its paths can't be read together: {error}"
    return table


def _said(problems: Iterable[Problem]) -> str:
    return "; ".join(map(str, problems))
