"""Test files: Kyverno's (`kyverno-test.yaml`) as they are, and a shorter form of ours (`skoupa-test.yaml`).

Both become Trials: policies, objects, and what is expected of which object. Paths are relative to the file. What a file asks for and is not
done here (values for variables, payloads that are no objects, results of other sorts of policies) is a remark, never passed over silently.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from skoupa.cli.checking.kyverno_shared import SharedEntry
from skoupa.cli.checking.kyverno_values import (
    Surroundings,
    inline_values,
    read_cluster_resources,
    read_context,
    read_values,
)
from skoupa.errors import ManifestError
from skoupa.expr.instants import parse_rfc3339
from skoupa.expr.readings import Problem
from skoupa.sim.content.documents import documents
from skoupa.sim.content.manifests import Manifest, text_of

KYVERNO_FILE: Final = "kyverno-test.yaml"
OWN_FILE: Final = "skoupa-test.yaml"

Outcome = Literal["claimed", "left", "unclear"]
_KYVERNO: Final[Mapping[str, Outcome]] = {
    "pass": "claimed",
    "fail": "left",
    "skip": "left",
    "error": "unclear",
}
# Results of policies that delete nothing say so in one of these.
_OTHERS: Final = frozenset(
    {
        "rule",
        "isValidatingAdmissionPolicy",
        "isMutatingAdmissionPolicy",
        "isValidatingPolicy",
        "isImageValidatingPolicy",
        "isGeneratingPolicy",
        "isMutatingPolicy",
    }
)


class Target(msgspec.Struct, frozen=True):
    """An object; an empty kind or namespace is any."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return "/".join(part for part in (self.kind, self.namespace, self.name) if part)


class Expected(msgspec.Struct, frozen=True):
    """`policy` is its name, also with its namespace or kind before it (`shop/old`); `deleting`: it has its conditions in CEL."""

    policy: str
    target: Target
    outcome: Outcome
    deleting: bool = False


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """`rest_stays`: policies that are named here claim nothing but what is expected. `now` None: the time it is.

    `around` is in the cluster too, for policies to ask for, and is not tried; `shared` is context that they may ask for.
    """

    file: str
    name: str
    policies: tuple[str, ...]
    resources: tuple[str, ...]
    exceptions: tuple[str, ...] = ()
    around: tuple[Manifest, ...] = ()
    shared: tuple[SharedEntry, ...] = ()
    expected: tuple[Expected, ...] = ()
    rest_stays: frozenset[str] = frozenset()
    now: float | None = None
    remarks: tuple[str, ...] = ()


class _Said(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    goes: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()


class _Own(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Our form: of each policy what goes and what is unclear; everything else stays."""

    name: str = ""
    policies: tuple[str, ...]
    resources: tuple[str, ...]
    exceptions: tuple[str, ...] = ()
    now: str | None = None
    expect: dict[str, _Said]


class _Place(msgspec.Struct, frozen=True):
    name: str
    namespace: str = ""


class _Result(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    policy: str
    result: Literal["pass", "fail", "skip", "error", "warn"]
    kind: str = ""
    namespace: str = ""
    resource: str = ""
    resources: tuple[str, ...] = ()
    resource_specs: tuple[_Place, ...] = ()
    is_deleting_policy: bool = False


class _Metadata(msgspec.Struct, frozen=True):
    name: str = ""


class _Kyverno(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """As much of Kyverno's form as concerns policies that delete."""

    name: str = ""
    metadata: _Metadata = _Metadata()
    policies: tuple[str, ...]
    resources: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()
    variables: str = ""
    values: dict[str, Any] | None = None
    context: str = ""
    cluster_resources: tuple[str, ...] = ()
    global_context_entries: tuple[SharedEntry, ...] = ()
    json_payloads: tuple[str, ...] = ()
    results: tuple[dict[str, Any], ...] = ()


_KNOWN: Final = frozenset(field.encode_name for field in msgspec.structs.fields(_Kyverno))
_HEAD: Final = frozenset({"apiVersion", "kind"})


def files_of(folder: Path) -> list[Path]:
    """All in a folder and below it, in the order of their names."""
    return [folder] if folder.is_file() else sorted([*folder.rglob(KYVERNO_FILE), *folder.rglob(OWN_FILE)])


def read_trials(file: Path) -> Iterator[Trial]:
    for number, document in documents(text_of(file), file=str(file)):
        if document is None:
            continue
        try:
            kyverno = isinstance(document, dict) and "results" in document
            yield _of_kyverno(document, file) if kyverno else _own(document, file)
        except msgspec.ValidationError as error:
            raise ManifestError(
                f"is no test: {error}",
                file=str(file),
                document=number,
                advice="write policies, resources and expect (docs/policies.md), or a test of Kyverno's",
            ) from error


def _own(document: Any, file: Path) -> Trial:
    said = msgspec.convert(document, _Own)
    if not said.expect:
        advice = "name each policy under expect, with what goes: `{}` where nothing does"
        raise ManifestError("nothing is expected in it", file=str(file), advice=advice)
    moment = parse_rfc3339(said.now) if said.now is not None else None
    if isinstance(moment, Problem):
        raise ManifestError(f"now: {moment.what}", file=str(file), advice=moment.instead)
    expected: list[Expected] = []
    for policy, each in said.expect.items():
        expected += (Expected(policy, _target(text, file), "claimed") for text in each.goes)
        expected += (Expected(policy, _target(text, file), "unclear") for text in each.unclear)
    return Trial(
        file=str(file),
        name=said.name or _folder(file),
        policies=_beside(said.policies, file),
        resources=_beside(said.resources, file),
        exceptions=_beside(said.exceptions, file),
        expected=tuple(expected),
        rest_stays=frozenset(said.expect),
        now=None if moment is None else float(moment),
    )


def _of_kyverno(document: Any, file: Path) -> Trial:
    said = msgspec.convert(document, _Kyverno)
    others = [result for result in said.results if not _OTHERS.isdisjoint(result)]
    results = [msgspec.convert(result, _Result) for result in said.results if _OTHERS.isdisjoint(result)]
    remarks = [] if said.results else ["it has no results, so nothing was tried"]
    if others:
        remarks.append(f"{len(others)} results are about policies that delete nothing, and were passed over")
    payloads = [result for result in results if not any(True for _ in _targets(result))]
    if said.json_payloads:
        remarks.append(
            f"jsonPayloads are no objects that a cluster could hold: {len(payloads)} results about them were passed over"
        )
    elif payloads:
        remarks.append(f"{len(payloads)} results name no object, and were passed over")
    unread = sorted(document.keys() - _KNOWN - _HEAD)
    if unread:
        remarks.append(f"{', '.join(unread)}: not read")
    around = list(_around(said, file))
    remarks += (remark for each in around for remark in each.remarks)
    return Trial(
        file=str(file),
        name=said.metadata.name or said.name or _folder(file),
        policies=_beside(said.policies, file),
        resources=_beside(said.resources, file),
        exceptions=_beside(said.exceptions, file),
        around=tuple(manifest for each in around for manifest in each.manifests),
        shared=said.global_context_entries,
        expected=tuple(
            Expected(
                result.policy,
                target,
                _KYVERNO.get(result.result, "left"),
                deleting=result.is_deleting_policy,
            )
            for result in results
            for target in _targets(result)
        ),
        remarks=tuple(remarks),
    )


def _folder(file: Path) -> str:
    """Also where the path is relative to that very folder."""
    return file.parent.resolve().name


def _around(said: _Kyverno, file: Path) -> Iterator[Surroundings]:
    if said.values is not None:
        yield inline_values(said.values, file)
    elif said.variables:
        yield read_values(Path(*_beside((said.variables,), file)), said.variables)
    if said.context:
        yield read_context(Path(*_beside((said.context,), file)), said.context)
    for written in said.cluster_resources:
        yield read_cluster_resources(Path(*_beside((written,), file)), written, folder=file.parent)


def _targets(result: _Result) -> Iterator[Target]:
    for text in (*result.resources, *((result.resource,) if result.resource else ())):
        namespace, _, name = text.rpartition("/")
        yield Target(result.kind, namespace or result.namespace, name)
    for place in result.resource_specs:
        yield Target(result.kind, place.namespace, place.name)


def _target(text: str, file: Path) -> Target:
    match text.split("/"):
        case [kind, name] if kind and name:
            return Target(kind, "", name)
        case [kind, namespace, name] if kind and namespace and name:
            return Target(kind, namespace, name)
        case _:
            advice = "write Kind/name, or Kind/namespace/name"
            raise ManifestError(f'"{text}" names no object', file=str(file), advice=advice)


def _beside(paths: tuple[str, ...], file: Path) -> tuple[str, ...]:
    far = next((path for path in paths if "://" in path), None)
    if far is not None:
        raise ManifestError(
            f"{far} is not read: tests ask nobody outside", file=str(file), advice="download it"
        )
    return tuple(str(file.parent / path) for path in paths)
