"""Words that may be the name of an object, where no rule says of what kind.

They stand in annotations, in the arguments and the environment of containers, and anywhere in custom objects. A word means something only where an object is called so; it then keeps that object, whatever its kind, in the namespace of
who says it, in none, or in a namespace that the same object names anywhere (`prod/db`, `db.prod.svc`, `--namespace=prod`). This
can only keep more. Words are many and hardly one is a name: they are kept as numbers, and looked up once all objects are known.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from itertools import chain
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.facts.rows import Row, Uid
from skoupa.kube.objects import Metadata
from skoupa.usage import tracking
from skoupa.usage.found import Target, Use
from skoupa.usage.graph import Graph, kind_name, target_of
from skoupa.usage.rules import Means
from skoupa.usage.silent import REPORTS

# Eight bytes each. A cluster in which more is said is one whose objects are not read to the end.
MOST_WORDS: Final = 16_000_000
_LONGEST: Final = 253
_REMEMBERED: Final = 256
_REMEMBERED_TOGETHER: Final = 1024
_RUN: Final = re.compile(r"[A-Za-z0-9.:-]+")
_NAME: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9.:]*[A-Za-z0-9])?")
# What these say is about the object itself, or is a copy of what it has in its fields.
_ABOUT_ITSELF: Final = (
    "kubernetes.io/description",
    "kubectl.kubernetes.io/",
    "deployment.kubernetes.io/",
    "meta.helm.sh/",
    "skoupa.dev/",
    "argocd.argoproj.io/tracking-id",
    "config.kubernetes.io/",
    "config.k8s.io/",
)
# Words by where they stand: the numbers of some are shared by objects that say the same, and nobody changes them.
Said = list[tuple[str, "array[int]"]]
Texts = Iterator[tuple[str, list[str]]]
_NOT_WALKED: Final = frozenset({"apiVersion", "kind", "metadata"})
_MADE_PODS: Final = re.compile(rb'"(?:args|command|env|annotations)"')
# What a policy that deletes, or a Brake, is about and has done is no use of it: by that a policy would keep what it was to delete.
# What a policy asks for in its context or its conditions is.
_ABOUT_OTHERS: Final = ("status", "match", "exclude", "matchConstraints")
_POLICY_GROUPS: Final = frozenset({"kyverno.io", "policies.kyverno.io"})
# Fields of built-in kinds that hold whatever a driver likes.
_OPEN: Final = {"PersistentVolume": ("spec",), "storage.k8s.io/StorageClass": ("parameters",)}


class _Variable(msgspec.Struct, frozen=True, gc=False):
    name: str = ""
    value: str | None = None


class _Container(msgspec.Struct, frozen=True, gc=False):
    args: list[str] | None = None
    command: list[str] | None = None
    env: list[_Variable] | None = None


class _PodSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None
    ephemeral_containers: list[_Container] | None = None


class _Marks(msgspec.Struct, frozen=True, gc=False):
    annotations: dict[str, str] | None = None


class _Template(msgspec.Struct, frozen=True, gc=False):
    metadata: _Marks | None = None
    spec: _PodSpec | None = None


class _Job(msgspec.Struct, frozen=True, gc=False):
    template: _Template | None = None


class _JobTemplate(msgspec.Struct, frozen=True, gc=False):
    spec: _Job | None = None


class _Spec(_PodSpec, frozen=True, gc=False, rename="camel"):
    """That of a Pod, or of what makes Pods."""

    template: _Template | None = None
    job_template: _JobTemplate | None = None


_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_SPEC: Final = msgspec.json.Decoder(_Spec | None)


class Mentioned:
    """What objects say, until it is known which words are names."""

    def __init__(self, most: int = MOST_WORDS) -> None:
        self._said: dict[Uid, Said] = {}
        self._left = most

    def note(self, row: Row, item: Any, metadata: Metadata, *, custom: bool) -> bool:
        """Whether there was room for it; `item` and `custom` are those of `said_by`."""
        said = said_by(row, item, metadata, custom=custom)
        self._left -= sum(len(words) for _, words in said)
        if self._left < 0:
            return False
        if said:
            self._said[row.uid] = said
        return True

    def resolved(self, graph: Graph, kinds: Collection[str]) -> Iterator[Row]:
        """Objects of these kinds whose name somebody says are pointed at from now on: by each that comes, one after the other."""
        called: dict[int, list[Target]] = {}
        namespaces: dict[int, str] = {}
        for row in graph:
            if kind_name(row.resource) in kinds:
                called.setdefault(hash(row.name), []).append(target_of(row))
            if row.namespace:
                namespaces[hash(row.namespace)] = row.namespace
        for uid, said in self._said.items():
            row_of_it = graph.by_uid(uid)
            if row_of_it is not None:
                places = {row_of_it.namespace, ""}
                for _, words in said:
                    places.update(namespaces[word] for word in words if word in namespaces)
                graph.add(uid, _meant(said, called, places, everywhere=not row_of_it.namespace))
                yield row_of_it
        self._said.clear()


def _meant(
    said: Said,
    called: Mapping[int, list[Target]],
    places: set[str],
    *,
    everywhere: bool,
) -> Iterator[Use]:
    for at, words in said:
        for word in words:
            for target in called.get(word, ()):
                if everywhere or target.namespace in places:
                    yield Use(target, at, Means.MENTIONS)


def said_by(row: Row, item: Any, metadata: Metadata, *, custom: bool) -> Said:
    """The words of an object by where they stand, as numbers.

    `item` is a manifest, or what was listed of an object: its fields at the top as bytes. `custom`: all of it counts.
    """
    texts = _texts_of(row, item, metadata, custom=custom)
    return [(at, words) for at, told in texts if told and (words := numbers_of(told))]


def numbers_of(texts: list[str]) -> array[int]:
    """The words of these texts. Replicas, rollouts and runs say the same as those before them: few are looked at twice."""
    if sum(map(len, texts)) <= _REMEMBERED_TOGETHER:
        return _numbers_of(tuple(texts))
    return _all_numbers(texts)


def _all_numbers(texts: Iterable[str]) -> array[int]:
    words: set[str] = set()
    return array("q", set(map(hash, words.union(*map(words_in, texts)))))


_numbers_of = lru_cache(maxsize=8192)(_all_numbers)


def _texts_of(row: Row, item: Any, metadata: Metadata, *, custom: bool) -> Texts:
    kind = kind_name(row.resource)
    if metadata.annotations:
        yield "metadata.annotations", _in_annotations(metadata.annotations)
    if row.resource.group == names.SKOUPA_GROUP or kind in REPORTS:
        return
    fields = item if isinstance(item, Mapping) else _listed(item)
    if row.resource.group in _POLICY_GROUPS:
        fields = _without_subjects(fields)
    for field, value in fields.items():
        if field in _NOT_WALKED or (field == "status" and kind in tracking.KINDS):
            # What a deployer lists there is read by rules: it names what it is about to prune as well.
            continue
        if custom or field in _OPEN.get(kind, ()):
            yield str(field), _in_everything(_decoded(value))
        elif field == "spec":
            yield from _in_pods(value)
        elif field == "template" and kind == "PodTemplate":
            yield from _in_pods({"template": _decoded(value)})


def _without_subjects(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    kept = {field: _decoded(value) for field, value in fields.items() if field not in _ABOUT_OTHERS}
    if isinstance(spec := kept.get("spec"), Mapping):
        kept["spec"] = {field: value for field, value in spec.items() if field not in _ABOUT_OTHERS}
    return kept


def _in_annotations(marks: Mapping[str, str]) -> list[str]:
    return [
        value for key, value in marks.items() if not key.startswith(_ABOUT_ITSELF) and isinstance(value, str)
    ]


def _in_container(one: _Container) -> Iterator[str]:
    values = (variable.value for variable in one.env or ())
    return chain(one.command or (), one.args or (), filter(None, values))


def _in_everything(value: Any) -> list[str]:
    """Every text, and the keys of maps; without recursion, for nobody knows how deep it goes."""
    found: list[str] = []
    left = [value]
    while left:
        here = left.pop()
        if isinstance(here, str):
            found.append(here)
        elif isinstance(here, Mapping):
            found += map(str, here)
            left += here.values()
        elif isinstance(here, list):
            left += here
    return found


def words_in(text: str) -> Collection[str]:
    """All that may be a name: whole words, and the parts of what is joined by dots and colons."""
    return _remembered(text) if len(text) <= _REMEMBERED else _words(text)


def _words(text: str) -> Collection[str]:
    words: dict[str, None] = {}
    for run in _RUN.findall(text):
        word = run.strip(".:-")
        if "." in word or ":" in word:
            for part in word.split(":"):
                pieces = part.split(".")
                words.update(dict.fromkeys(pieces))
                # Names that have dots of their own, with something behind: `my.settings.yaml`.
                words.update((".".join(pieces[:end]), None) for end in range(2, min(len(pieces), 16) + 1))
        words[word] = None
    return tuple(word for word in words if len(word) <= _LONGEST and _NAME.fullmatch(word))


_remembered = lru_cache(maxsize=16384)(_words)


def _listed(item: Any) -> dict[str, Any]:
    return {field: getattr(item, attribute) for field, attribute in _attributes(item.__class__)}


@cache
def _attributes(kind: type) -> tuple[tuple[str, str], ...]:
    fields = msgspec.structs.fields(kind)
    return tuple((one.encode_name, one.name) for one in fields if one.encode_name not in _NOT_WALKED)


def _decoded(value: Any) -> Any:
    if not isinstance(value, msgspec.Raw):
        return value
    try:
        return msgspec.json.decode(value) if bytes(value) else None
    except _UNREADABLE:
        # Whoever reads the object by its table says so.
        return None


def _in_pods(value: Any) -> Texts:
    """The containers of a Pod, or of the template of one."""
    if isinstance(value, msgspec.Raw):
        raw = bytes(value)
        if not _MADE_PODS.search(raw):
            return
    elif isinstance(value, Mapping):
        raw = b""
    else:
        return
    try:
        spec = _SPEC.decode(raw or msgspec.json.encode(value))
    except _UNREADABLE:
        # Not as a server would have it, or no Pods at all: then whatever it says counts.
        yield "spec", _in_everything(_decoded(value))
        return
    if spec is None:
        return
    job = spec.job_template.spec if spec.job_template else None
    template = spec.template or (job.template if job else None)
    if template and template.metadata and template.metadata.annotations:
        yield "the annotations of the template", _in_annotations(template.metadata.annotations)
    for pods in (spec, template.spec if template else None):
        if pods is not None:
            groups = (pods.containers, pods.init_containers, pods.ephemeral_containers)
            told = [text for group in groups for one in group or () for text in _in_container(one)]
            yield "the arguments or the environment of a container", told
