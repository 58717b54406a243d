"""The table in docs/benchmarks.md: a run of everything writes all rows of who is measured anew, a run of some figures their rows alone.

A peer that is not measured keeps its rows. Who was asked the same stands below one another.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.bench.course import Figure

_HEAD = """# Benchmarks

Written by `make bench`: a real kube-apiserver and etcd (without fsync) on the same two cores as the controller, `skoupa run`
as a separate process through its public configuration. Ratios carry over to other machines; absolute numbers do not.
Each row is the newest measurement of its figure, of the day that it names.

| controller | figure | measured | bar | | day | counts |
|---|---|---|---|---|---|---|
"""

_TAIL = """
The bare client is our own transport with the same preconditions, its best concurrency and nothing else to do: no watch, no
judging, no Events, no log. Where a rate is compared with its, the two take turns, and each of ours is divided by the mean of
those before and after it: the machine is quicker in one minute than in the next. Skoupa runs with its rate and brake ceilings lifted, unlike as shipped; and without ledger and
trash (`--ledger none`) except in the rows that name them, which say what those cost. PostgreSQL runs on the same two cores,
without fsync as etcd does. Rows without a bar are there to be seen. `--peer NAME=COMMAND` measures another controller on the
same load; it is started with `KUBECONFIG` set. With `--only unused` it is a command that answers once, such as `kor configmap`, and
is timed from its start to its end; its row stands below that of `skoupa unused configmaps`. What of that is no CPU is waiting: kor
lists each Namespace by itself, 5 requests a second, as its client is shipped. A run of a policy is measured with a tenth of the objects where it
is a peer's: what Kyverno 1.19.1 takes for a CleanupPolicy with a condition grows with the square of what it judges (4 s of CPU for 3,000 ConfigMaps, 74 s for
12,000), and over 50,000 it had not ended after 15 minutes. Its cleanup controller is started outside of a cluster with `--serverIP=127.0.0.1:9443`.

The graph is that of who uses what, as `skoupa run` builds it from watches once something has the label `skoupa.dev/ttl-after`. The raw
LIST next to it is our own client with the same kinds, pages and accepted forms, all kinds at once, which decodes nothing but the pages;
they take turns, and each build is divided by the mean of the lists before and after it. On the embedded cluster server and client are
one process without a network: there the list that makes plain objects of the answers is what a build is compared with, and the
bytes alone stand in the counts. Growth is fed by a generator, a process for each size.

What a deleted tenant costs is counted on the embedded cluster, in virtual time, from the deletion of the Tenant until it is gone and told: all that
the controller asks, but for what it asks in idle times too; with a ledger in SQLite, and without the trash, which reads all that it keeps. Its
Namespaces there have next to nothing in them. On a server the same Namespaces are deleted by hand first, with no Skoupa.
"""


def render(
    rows: Sequence[tuple[str, Figure]], *, day: str, before: str = "", everything: bool = False
) -> str:
    """`before` is the text whose other rows stay; `everything` was measured, of the subjects that are in `rows`."""
    new = {_key(line): line for line in (_line(*row, day=day) for row in rows)}
    old = {_key(line): line for line in before.splitlines() if _is_row(line)}
    if everything:
        measured = {subject for subject, _ in new}
        old = {key: line for key, line in old.items() if key[0] not in measured}
    lines = new | old if everything else old | new
    figures = list(dict.fromkeys(figure for _, figure in lines))
    ordered = sorted(lines, key=lambda key: figures.index(key[1]))
    return _HEAD + "\n".join(lines[key] for key in ordered) + "\n" + _TAIL


def _line(subject: str, figure: Figure, *, day: str) -> str:
    *first, counts = cells(figure)
    return f"| {' | '.join((subject, *first, day, counts))} |"


def _is_row(line: str) -> bool:
    return line.startswith("| ") and not line.startswith("| controller |")


def _key(line: str) -> tuple[str, str]:
    """Who was measured, and what."""
    subject, figure = line.split("|")[1:3]
    return subject.strip(), figure.strip()


def cells(figure: Figure) -> tuple[str, ...]:
    measured = f"{figure.value:.3g}{figure.unit}"
    if figure.bar is None:
        return figure.name, measured, "\N{EN DASH}", "", figure.counts
    bar = f"{'>=' if figure.at_least else '<='} {figure.bar:g}{figure.unit}"
    return figure.name, measured, bar, "met" if figure.met else "**not met**", figure.counts
