"""Words that may be the name of an object, where no rule says of what kind.

They stand in annotations, in the arguments, the environment, hooks and probes of containers, and anywhere in custom objects. A word means something only where an object is called so; it then keeps that object, whatever its kind, in the namespace of
who says it, in none, or in a namespace that the same object names anywhere (`prod/db`, `db.prod.svc`, `--namespace=prod`). This
can only keep more. Words are many and hardly one is a name: they are kept as numbers, and looked up once all objects are known.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from skoupa.facts.rows import Row, Uid
from skoupa.kube.objects import Metadata
from skoupa.usage.found import Target, Use
from skoupa.usage.graph import Graph, kind_name, target_of
from skoupa.usage.rules import Means
from skoupa.usage.texts import texts_of

# Eight bytes each. A cluster in which more is said is one whose objects are not read to the end.
MOST_WORDS: Final = 16_000_000
_LONGEST: Final = 253
_REMEMBERED: Final = 256
_REMEMBERED_TOGETHER: Final = 1024
_RUN: Final = re.compile(r"[A-Za-z0-9.:-]+")
# As Traefik writes what is in the cluster, wherever it does: `prod-web-auth@kubernetescrd`, where nobody can tell one dash from another.
_TRAEFIK: Final = re.compile(r"([a-z0-9][-a-z0-9.]{1,506})@kubernetes")
_NAME: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9.:]*[A-Za-z0-9])?")
# Words by where they stand: the numbers of some are shared by objects that say the same, and nobody changes them.
Said = list[tuple[str, "array[int]"]]


class Mentioned:
    """What objects say, until it is known which words are names."""

    def __init__(self, most: int = MOST_WORDS) -> None:
        self._said: dict[Uid, Said] = {}
        self._left = most

    def note(self, row: Row, item: Any, metadata: Metadata, *, custom: bool, walked: bool) -> bool:
        """Whether there was room for it; the others are those of `said_by`."""
        said = said_by(row, item, metadata, custom=custom, walked=walked)
        self._left -= sum(len(words) for _, words in said)
        if self._left < 0:
            return False
        if said:
            self._said[row.uid] = said
        return True

    def resolved(
        self, graph: Graph, kinds: Collection[str], *, may_point: Callable[[str, str], bool]
    ) -> Iterator[Row]:
        """Objects of these kinds whose name somebody says are pointed at from now on: by each that comes, one after the other.

        `may_point`: whether it counts what the first kind says of the second, whatever else was read.
        """
        called: dict[int, list[Target]] = {}
        namespaces: dict[int, str] = {}
        for row in graph:
            if kind_name(row.resource) in kinds:
                called.setdefault(hash(row.name), []).append(target_of(row))
            if row.namespace:
                namespaces[hash(row.namespace)] = row.namespace
        counts = lru_cache(None)(may_point)
        for uid, said in self._said.items():
            row_of_it = graph.by_uid(uid)
            if row_of_it is not None:
                by = kind_name(row_of_it.resource)
                places = {row_of_it.namespace, ""}
                for _, words in said:
                    places.update(namespaces[word] for word in words if word in namespaces)
                meant = _meant(said, called, places, everywhere=not row_of_it.namespace)
                graph.add(uid, (use for use in meant if counts(by, use.target.kind)))
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


def said_by(row: Row, item: Any, metadata: Metadata, *, custom: bool, walked: bool) -> Said:
    """The words of an object by where they stand, as numbers.

    `item` is a manifest, or what was listed of an object: its fields at the top as bytes. `custom`: all of it counts, and its own name
    where it is `walked`, for no table knows its kind.
    """
    texts = texts_of(row, item, metadata, custom=custom, walked=walked)
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
    for joined in _TRAEFIK.findall(text) if "@kubernetes" in text else ():
        for at, char in enumerate(joined):
            if char == "-":
                words.update(dict.fromkeys((joined[:at], joined[at + 1 :])))
    return tuple(word for word in words if len(word) <= _LONGEST and _NAME.fullmatch(word))


_remembered = lru_cache(maxsize=16384)(_words)
