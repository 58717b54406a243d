"""`skoupa snapshot`: the dump that `--from` reads.

Memory stays at one kind. Values of Secrets never leave the server's answer: keys are kept,
values are replaced. Everything else is in it, also what people wrote into the environment of containers, so a file is
for its owner alone. A kind that can't be read is named and changes the exit code: a gap must not look like emptiness.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import aclosing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Self, TextIO

import typer

from skoupa.cli.connect import connected, run_async
from skoupa.cli.exits import LEFTOVERS
from skoupa.cli.options import Connecting
from skoupa.cli.terminal import yaml_text
from skoupa.cli.terminal.saying import progress, say
from skoupa.errors import ApiError, BadReply, Forbidden, NotFound, SkoupaError, TimedOut, UsageError
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.kinds import Discovery
from skoupa.kube.lists import Scope, pages
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import NAMESPACES, Resource

REDACTED: Final = ""
# Copies of other objects, or gone within the hour: they would only bloat the dump.
_LEFT_OUT: Final = {"events", "events.events.k8s.io", "componentstatuses"}
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def run(*, connecting: Connecting, kinds: tuple[str, ...], all_namespaces: bool, output: str) -> None:
    gaps = run_async(_snapshot(connecting, kinds=kinds, all_namespaces=all_namespaces, output=output))
    if gaps:
        raise typer.Exit(LEFTOVERS)


async def _snapshot(
    connecting: Connecting, *, kinds: tuple[str, ...], all_namespaces: bool, output: str
) -> int:
    async with connected(connecting) as (client, connection):
        discovery = await discover(client)
        namespace = "" if all_namespaces else connection.namespace
        if namespace:
            await _look_for(client, namespace)
        gaps = 0
        for gap in discovery.gaps:
            gaps += 1
            say(f"not in the snapshot: the kinds of {gap.where} ({gap.why})")
        wanted = list(_wanted(discovery, kinds, namespaced_only=bool(namespace)))
        advice: dict[str, None] = {}
        with _Output(output) as out:
            for resource in wanted:
                progress(f"{out.written} objects, reading {resource.qualified}")
                try:
                    await _write_kind(client, resource, namespace=namespace, out=out)
                except (ApiError, BadReply, TimedOut) as error:
                    gaps += 1
                    advice.update({error.advice: None} if error.advice else {})
                    say(f"not in the snapshot: {resource.qualified} ({error.message})")
        told = [_counted(out.written, "object"), *([_counted(gaps, "gap")] if gaps else [])]
        say(": ".join([", ".join(told), *(["; ".join(advice)] if advice else [])]))
        return gaps


async def _look_for(client: Client, namespace: str) -> None:
    """A UsageError where there is no such Namespace; one that may not be looked for may be there."""
    with suppress(Forbidden):
        try:
            await client.get(NAMESPACES, namespace, view=METADATA)
        except NotFound as error:
            advice = "check -n and the context, or take -A for all"
            raise UsageError(f"there is no namespace {namespace}", advice=advice) from error


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _wanted(discovery: Discovery, kinds: tuple[str, ...], *, namespaced_only: bool) -> Iterator[Resource]:
    if kinds:
        yield from {discovery.resolve(kind): None for kind in kinds}
        return
    for resource in discovery.preferred():
        if resource.may("list") and resource.qualified not in _LEFT_OUT:
            if namespaced_only and not resource.namespaced:
                continue
            yield resource


async def _write_kind(client: Client, resource: Resource, *, namespace: str, out: _Output) -> None:
    """A kind whose list breaks off half-way is not in the snapshot at all: half a list would be a lie."""
    kept: list[dict[str, Any]] = []
    unreadable = 0
    listing = pages(client, resource, WHOLE, scope=Scope(namespace=namespace))
    async with aclosing(listing):
        async for page in listing:
            if page.first:
                kept.clear()
                unreadable = 0
            kept += page.items
            unreadable += len(page.undecodable)
    if unreadable:
        raise BadReply(f"{unreadable} of {len(kept) + unreadable} objects are no objects")
    for found in kept:
        # Items of a list do not say what they are; everything that follows has to know.
        out.write(without_secrets({"apiVersion": resource.api_version, "kind": resource.kind, **found}))


def without_secrets(found: dict[str, Any]) -> dict[str, Any]:
    """The object without Secret values, and without what repeats it (managedFields, the last applied form)."""
    metadata = {key: value for key, value in found.get("metadata", {}).items() if key != "managedFields"}
    annotations = {
        key: value for key, value in (metadata.get("annotations") or {}).items() if key != _LAST_APPLIED
    }
    if metadata.pop("annotations", None) is not None and annotations:
        metadata["annotations"] = annotations
    cleaned = {**found, "metadata": metadata}
    if found["kind"] == "Secret":
        for field in ("data", "stringData"):
            if isinstance(cleaned.get(field), dict):
                cleaned[field] = dict.fromkeys(cleaned[field], REDACTED)
    return cleaned


class _Output:
    """A YAML List written item by item. A file appears under its name only when it is complete."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._stream: TextIO = sys.stdout
        self.written = 0

    def __enter__(self) -> Self:
        if self._path != "-":
            try:
                # What an ended snapshot left there may have other rights.
                Path(self._partial).unlink(missing_ok=True)
                private = os.open(self._partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            except OSError as error:
                raise UsageError(
                    f"{self._path} can't be written: {error.strerror}", advice="choose another --output"
                ) from error
            self._stream = os.fdopen(private, "w", encoding="utf-8")
        self._stream.write("apiVersion: v1\nkind: List\nitems:")
        return self

    @property
    def _partial(self) -> str:
        return f"{self._path}.partial"

    def write(self, found: dict[str, Any]) -> None:
        with self._telling():
            if not self.written:
                self._stream.write("\n")
            yaml_text.write([found], self._stream)
        self.written += 1

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and not self.written:
            self._stream.write(" []\n")
        progress("")
        if self._path == "-":
            self._stream.flush()
            return
        complete = False
        try:
            with self._telling() if kind is None else suppress(OSError):
                self._stream.close()
                complete = kind is None
        finally:
            if complete:
                Path(self._partial).replace(self._path)
            else:
                Path(self._partial).unlink(missing_ok=True)

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if self._path == "-":
                raise
            raise SkoupaError(
                f"{self._path} can't be written: {error.strerror}",
                advice="make room, or choose another --output",
            ) from error
