"""How the cost of the graph grows: `python -m harness.bench.usage.growing NAMESPACES [--calls]`, a process for each size.

The objects are those of `templates`, as bytes from a generator, kind by kind as lists bring them; one ConfigMap of each namespace has
the label. Only the decoding and the graph are counted. Afterwards some workloads name another ConfigMap, each as a watch would tell of
it. With `--calls` the calls of functions are counted instead, which no other process on the machine can change.
Who is named by nobody is checked at the end: a graph that misses something is quick.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from harness.bench.usage import templates
from skoupa import names
from skoupa.controller.retaining.labelled import Labelled
from skoupa.controller.retaining.usage_graph import UsageGraph
from skoupa.facts.rows import Extraction
from skoupa.facts.store import Delta
from skoupa.kube.decoding import decode_line
from skoupa.kube.objects import Metadata, Partial
from skoupa.kube.resources import CONFIG_MAPS, Resource
from skoupa.usage import finishing, reading
from skoupa.usage.found import Target
from skoupa.usage.objects import Objects

CHANGES: Final = 1000
_RESOURCES: Final = {
    kind: Resource(group=group, version="v1", plural=f"{kind.lower()}s", kind=kind, namespaced=True)
    for kind, group in (
        ("ConfigMap", ""),
        ("Secret", ""),
        ("CronJob", "batch"),
        ("Deployment", "apps"),
        ("Job", "batch"),
        ("ReplicaSet", "apps"),
    )
}


class Grown(msgspec.Struct, frozen=True, kw_only=True):
    """`blocks` are what the allocator has given out for it and `bytes` what the process has grown by; `change` is in CPU seconds."""

    objects: int
    edges: int
    cpu: float = 0.0
    blocks: int = 0
    bytes: int = 0
    change: float = 0.0
    calls: int = 0


class Growing:
    def __init__(self, namespaces: int, *, count_calls: bool) -> None:
        self._places = [templates.namespace_name(place) for place in range(namespaces)]
        self._objects = Objects(reading.shipped())
        self._profile = cProfile.Profile(subcalls=False, builtins=False) if count_calls else None
        self._version = 0
        self.cpu = 0.0
        labelled = Labelled(finishing.shipped(), on_seen=lambda _: None, by_policy=lambda _: False)
        self.concerned: set[Any] = set()
        self.graph = UsageGraph(
            self._objects, labelled, on_concerned=self.concerned.update, on_doubt=lambda: None
        )
        labelled.learn(self._labelled())
        self.graph.mentions.follow(labelled)

    def build(self) -> None:
        for kind in templates.KINDS:
            for place in self._places:
                lines = [self._line(body) for body in templates.of_kind(kind, place)]
                self._put(_RESOURCES[kind], lines, followed=False)

    def change(self) -> int:
        """Deployments all over the place name what nobody has named before."""
        step = max(1, len(self._places) // CHANGES)
        places = (self._places[::step] * CHANGES)[:CHANGES]
        lines = []
        for index, place in enumerate(places):
            body = next(iter(templates.of_kind("Deployment", place)))
            body["spec"]["template"]["spec"]["volumes"][0]["configMap"]["name"] = f"new-{index}"
            lines.append(self._line(body))
        self._put(_RESOURCES["Deployment"], lines, followed=True)
        return len(lines)

    def calls(self) -> int:
        return 0 if self._profile is None else sum(entry.callcount for entry in self._profile.getstats())

    def check(self) -> None:
        for place in (self._places[0], self._places[-1]):
            unused = [name for name in self._config_names() if not self._is_named(place, *name)]
            if len(unused) != templates.UNUSED_EACH:
                raise RuntimeError(f"{len(unused)} of {place} are named by nobody: {unused}")

    def _config_names(self) -> Iterator[tuple[str, str]]:
        for index in range(templates.CONFIGS_EACH):
            yield "ConfigMap" if index % 2 == 0 else "Secret", templates.config_name(index)

    def _is_named(self, place: str, kind: str, name: str) -> bool:
        return any(True for _ in self.graph.graph.users(Target(kind, place, name)))

    def _put(self, resource: Resource, lines: list[bytes], *, followed: bool) -> None:
        view = self._objects.view(resource)
        if self._profile is not None:
            self._profile.enable()
        started = time.process_time()
        # As a watch tells of them: one piece of a list at a time, and changes one by one.
        items = [decode_line(line, view).object for line in lines]  # type: ignore[union-attr]
        for part in ((item,) for item in items) if followed else (items,):
            self.graph.put(resource, part, followed=followed)
        self.cpu += time.process_time() - started
        if self._profile is not None:
            self._profile.disable()

    def _line(self, body: templates.Body) -> bytes:
        self._version += 1
        body["metadata"]["resourceVersion"] = str(self._version)
        if body["kind"] == "Secret":
            # As the server sends them to who may not see what is in them.
            del body["data"]
        return b'{"type":"ADDED","object":%s}' % msgspec.json.encode(body)

    def _labelled(self) -> Iterator[Delta]:
        extraction = Extraction()
        for place in self._places:
            metadata = Metadata(
                name=templates.config_name(0),
                namespace=place,
                uid=f"labelled in {place}",
                labels={names.TTL_AFTER_LABEL: "unused-30d"},
            )
            yield Delta(None, extraction.row(CONFIG_MAPS, Partial(metadata=metadata)))


def grown(namespaces: int, *, count_calls: bool) -> Grown:
    # What is made once in the life of a process does not grow.
    Growing(1, count_calls=False).build()
    growing = Growing(namespaces, count_calls=count_calls)
    blocks, resident = _blocks(), _resident()
    growing.build()
    graph = growing.graph.graph
    built = Grown(
        objects=len(graph),
        edges=graph.edges,
        cpu=growing.cpu,
        blocks=_blocks() - blocks,
        bytes=_resident() - resident,
        calls=growing.calls(),
    )
    changed = growing.change()
    growing.check()
    return msgspec.structs.replace(built, change=(growing.cpu - built.cpu) / changed)


def _blocks() -> int:
    gc.collect()
    return sys.getallocatedblocks()


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m harness.bench.usage.growing")
    parser.add_argument("namespaces", type=int)
    parser.add_argument("--calls", action="store_true", help="count calls instead of seconds")
    asked = parser.parse_args()
    sys.stdout.buffer.write(msgspec.json.encode(grown(asked.namespaces, count_calls=asked.calls)))


if __name__ == "__main__":
    main()
