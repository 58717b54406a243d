"""Settings that name kinds or namespaces which are not there: no error, since they may come later; but it is told.

What `protect` names has its own module (`judge.protected_kinds`), for there it is dangerous.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from skoupa.errors import SkoupaError
from skoupa.kinds.naming import means
from skoupa.kube.kinds import Discovery
from skoupa.settings import Settings

_DEFAULT: Final = Settings()


def doubts_of_kinds(settings: Settings, discovery: Discovery) -> Iterator[str]:
    shipped = {*_DEFAULT.watch_also, *_DEFAULT.brakes.parents}
    for key, named in (("watchAlso", settings.watch_also), ("brakes.parents", settings.brakes.parents)):
        for text in named:
            if text not in shipped and not any(means(text, one) for one in discovery.preferred()):
                yield f"{key}: {text!r} names nothing: {_nothing(text, discovery)}"
    yield from _of_ignored("cascade", settings.cascade.ignore_kinds, _DEFAULT.cascade.ignore_kinds, discovery)
    yield from _of_ignored("trash", settings.trash.ignore_kinds, _DEFAULT.trash.ignore_kinds, discovery)


def _of_ignored(
    section: str, named: Iterable[str], shipped: Collection[str], discovery: Discovery
) -> Iterator[str]:
    """Of those that are compared with what the server calls a kind, letter by letter."""
    groups = {resource.group for resource in discovery.resources} | {gap.group for gap in discovery.gaps}
    names = {resource.qualified for resource in discovery.resources}
    for text in named:
        group = text.partition(".")[2]
        if text in shipped or text in names or discovery.unreadable(group) is not None:
            continue
        if text.startswith("*."):
            if group not in groups:
                yield f"{section}.ignoreKinds: {text!r} names nothing: the server has no group {group}"
            continue
        meant = [one.qualified for one in discovery.preferred() if means(text, one)]
        instead = f"write {' or '.join(meant)}" if meant else _nothing(text, discovery)
        yield f"{section}.ignoreKinds: {text!r} names nothing: {instead}"


def doubts_of_namespaces(missing: Iterable[str]) -> Iterator[str]:
    yield from (f"namespaces: there is no namespace {name}; check the name" for name in missing)


def _nothing(text: str, discovery: Discovery) -> str:
    try:
        discovery.resolve(text)
    except SkoupaError as error:
        return str(error)
    return "write the plural of a kind, with its group"
