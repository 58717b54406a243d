"""From an object to a Profile, what a KindProfile teaches of one kind, or to a list of what is wrong with it.

Every part is read by itself and nothing trusts that a definition was asked. One with a problem teaches nothing, and its kind is
doubted: half of what it uses would be a reason to delete the other half. Whether its expressions compile is asked elsewhere
(`profile_expressions`): they are compiled in a process of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.expr.readings import quoted
from skoupa.kinds.retention.profile import KIND_PROFILE, ProfileSpec
from skoupa.kinds.retention.profile import Pointer as Written
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import Resource
from skoupa.policy.headings import version_problem
from skoupa.policy.problems import Problem
from skoupa.policy.sections import Sections
from skoupa.usage import finishing
from skoupa.usage.paths import Path, last_of_many, parsed

POINTING: Final = ("uses", "produces", "takes")
_TESTS: Final = ("finished", "succeeded", "failed")
# A path in the words of the definition, and an expression that is nothing but one.
_PATH: Final = re.compile(
    r'(?!object\.)[^.\[\]{}\s"()]+(?:\[\]|\{\})*(?:\.(?:[^.\[\]{}\s"()]+|"[^"]+")(?:\[\]|\{\})*)+'
)
_SELECTION: Final = re.compile(r"object\.([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)", re.ASCII)
_VERSION: Final = re.compile("v[0-9]+((alpha|beta)[0-9]+)?")
_BIRTH: Final = "creationTimestamp"


class Pointer(msgspec.Struct, frozen=True, kw_only=True):
    """A path at whose end the name of an object of `kind` stands (`Secret`, `apps/Deployment`).

    Its namespace is `namespace`, or what stands at `namespace_path`, which goes through no other list or map than `path` does; with
    neither it is that of the object itself.
    """

    path: Path
    kind: str
    namespace: str = ""
    namespace_path: Path = ()


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of `kind` (`example.com/Training`). Tests are CEL over `object`, empty where nothing is written.

    When it finished stands at `finished_at_path`, or is what the CEL of `finished_at` gives (a timestamp, or what `timestamp()` takes);
    with neither it is when Skoupa first saw it finished.
    """

    name: str
    kind: str
    uid: str = ""
    generation: int = 0
    finished: str = ""
    succeeded: str = ""
    failed: str = ""
    finished_at: str = ""
    finished_at_path: Path = ()
    uses: tuple[Pointer, ...] = ()
    produces: tuple[Pointer, ...] = ()
    takes: tuple[Pointer, ...] = ()

    @property
    def called(self) -> str:
        """As messages name it."""
        return f"{names.KIND_PROFILE_KIND}/{self.name}"

    @property
    def group(self) -> str:
        return self.kind.rpartition("/")[0]

    @property
    def ends(self) -> bool:
        """Whether it says when objects of the kind have finished."""
        return bool(self.finished or self.succeeded or self.failed)


class ProfileReading(msgspec.Struct, frozen=True, kw_only=True):
    """There is a profile exactly when there is no problem."""

    profile: Profile | None
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()


def read_profile(obj: Mapping[str, Any], *, discovery: Discovery | None = None) -> ProfileReading:
    return _Parts(obj, discovery).read()


class _Parts:
    """The parts of one profile, each by itself."""

    def __init__(self, obj: Mapping[str, Any], discovery: Discovery | None) -> None:
        self._read = Sections(obj, ProfileSpec)
        self._object = obj
        self._discovery = discovery

    def read(self) -> ProfileReading:
        read = self._read
        self._heading()
        if read.problems:
            return ProfileReading(profile=None, problems=tuple(read.problems))
        read.unknown_fields()
        name, kind = read.name(), self._kind()
        path, expression = self._finished_at()
        finished, succeeded, failed = (read.field(field) or "" for field in _TESTS)
        uses, produces, takes = (self._pointers(field, kind) for field in POINTING)
        self._says_something()
        if not read.whole:
            return ProfileReading(profile=None, problems=tuple(read.problems))
        profile = Profile(
            name=name,
            kind=kind,
            uid=read.uid,
            generation=read.generation,
            finished=finished,
            succeeded=succeeded,
            failed=failed,
            finished_at=expression,
            finished_at_path=path,
            uses=uses,
            produces=produces,
            takes=takes,
        )
        return ProfileReading(profile=profile, warnings=tuple(_cautions(profile, self._discovery)))

    def _heading(self) -> None:
        kind = str(self._object.get("kind") or "")
        if kind != KIND_PROFILE.kind:
            self._read.say("kind", f"{quoted(kind)} is no profile", f"write {KIND_PROFILE.kind}")
        elif problem := version_problem(self._object, KIND_PROFILE):
            self._read.problems.append(problem)

    def _kind(self) -> str:
        found = self._read.field("kind", required=True) or ""
        self._versionless(found, "spec.kind")
        return found

    def _versionless(self, kind: str, path: str) -> None:
        """`v1/Secret` would be a kind of a group that is called v1."""
        group, _, bare = kind.rpartition("/")
        if _VERSION.fullmatch(group):
            self._read.say(path, f"{group} is a version", f"write the kind without it: {bare}")

    def _finished_at(self) -> tuple[Path, str]:
        text: str | None = self._read.field("finishedAt")
        if text is None:
            return (), ""
        where = "spec.finishedAt"
        if _BIRTH in text:
            what = "when something ended is not known from when it was created"
            self._read.say(
                where,
                what,
                "name a time of its end, or leave it out: then it is when Skoupa first saw it finished",
            )
        selection = _SELECTION.fullmatch(text.strip())
        path = selection[1] if selection is not None else text.strip()
        return (parsed(path), "") if selection is not None or _PATH.fullmatch(path) else ((), text)

    def _pointers(self, field: str, kind: str) -> tuple[Pointer, ...]:
        written: tuple[Written, ...] = self._read.field(field) or ()
        if not self._read.is_whole(field):
            return ()
        return tuple(
            self._pointer(one, kind, path=f"spec.{field}[{index}]") for index, one in enumerate(written)
        )

    def _pointer(self, one: Written, kind: str, *, path: str) -> Pointer:
        self._versionless(one.kind, f"{path}.kind")
        at = parsed(one.path)
        beside = parsed(one.namespace_path) if one.namespace_path else ()
        if one.namespace is not None and beside:
            what = "namespace and namespacePath can't stand together"
            self._read.say(path, what, "leave one of them out")
        many = last_of_many(beside)
        if beside[:many] != at[:many]:
            what = f"it goes through another list or map than {quoted(one.path)}, so that nobody knows which belong together"
            self._read.say(f"{path}.namespacePath", what, "write the field beside the name")
        if one.namespace is None and not beside and self._homeless(kind, one.kind):
            what = f"{kind} lives in no namespace, and {one.kind} does: in which one it is meant nobody knows"
            self._read.say(path, what, "write namespace or namespacePath with it")
        return Pointer(path=at, kind=one.kind, namespace=one.namespace or "", namespace_path=beside)

    def _homeless(self, kind: str, target: str) -> bool:
        here, there = _found(kind, self._discovery), _found(target, self._discovery)
        return here is not None and there is not None and not here.namespaced and there.namespaced

    def _says_something(self) -> None:
        spec = self._read.spec
        if spec.keys() - ProfileSpec.__struct_encode_fields__:
            # One that nobody knows may be what is missing.
            return
        said = {field for field, value in spec.items() if value is not None and value != []}
        if said.isdisjoint((*_TESTS, *POINTING)):
            instead = "write finished, succeeded, failed, uses, produces or takes"
            self._read.say("spec", "it teaches nothing", instead)
        elif "finishedAt" in said and said.isdisjoint(_TESTS):
            what = "it says when something finished, and nothing says whether"
            self._read.say("spec.finishedAt", what, "write finished, succeeded or failed too")


def _cautions(profile: Profile, discovery: Discovery | None) -> Iterator[Problem]:
    """What can be meant, but mostly is not."""
    if profile.ends and any(rule.kind == profile.kind for rule in finishing.RULES):
        what = f"Skoupa knows when a {profile.kind} has finished, and this takes the place of what it knows"
        yield Problem(path="spec.kind", what=what, instead="leave that out if it is not meant")
    if discovery is None:
        return
    places = {"spec.kind": profile.kind}
    for field in POINTING:
        many: tuple[Pointer, ...] = getattr(profile, field)
        places |= {f"spec.{field}[{index}].kind": one.kind for index, one in enumerate(many)}
    for path, kind in places.items():
        gap = discovery.unreadable(kind.rpartition("/")[0])
        if _found(kind, discovery) is not None or gap is not None:
            continue
        near = next((row for row in discovery.preferred() if row.kind == kind.rpartition("/")[2]), None)
        instead = "it counts once there is one" if near is None else f"did you mean {_written(near)}?"
        yield Problem(path=path, what=f"the server has no kind {quoted(kind)}", instead=instead)


def _found(kind: str, discovery: Discovery | None) -> Resource | None:
    group, _, bare = kind.rpartition("/")
    return None if discovery is None else discovery.find(group, bare)


def _written(resource: Resource) -> str:
    return f"{resource.group}/{resource.kind}" if resource.group else resource.kind
