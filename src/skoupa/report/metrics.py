"""Metrics, all in one table: names, meaning, labels. Cardinality is bounded: kinds, mechanisms, policies and reason codes only.

`docs/metrics.md` is written from `METRICS`. Gauges that describe the present are asked for when somebody scrapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Literal

import msgspec
from prometheus_client import CollectorRegistry, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

# When a counter was made says nothing about the cluster, and would double the number of series.
disable_created_metrics()  # type: ignore[no-untyped-call]  # the library does not type it


class Described(msgspec.Struct, frozen=True):
    type: Literal["counter", "gauge", "histogram"]
    about: str
    labels: tuple[str, ...] = ()


METRICS: Final[dict[str, Described]] = {
    "skoupa_deletions_total": Described("counter", "Deletes that the server took.", ("kind", "mechanism")),
    "skoupa_would_delete_total": Described(
        "counter",
        "Observing: what would have gone. Several replicas that observe each count all of it.",
        ("kind", "mechanism"),
    ),
    "skoupa_delete_failures_total": Described(
        "counter", "Deletes that failed and are tried again.", ("kind", "error")
    ),
    "skoupa_deletion_lag_seconds": Described(
        "histogram",
        "From the due time, or from when that was written if it was over by then, to the delete that the server took.",
        ("mechanism",),
    ),
    "skoupa_policy_runs_total": Described(
        "counter",
        "Runs of policies: `failed` where not all could be read, judged or deleted at once.",
        ("policy", "outcome"),
    ),
    "skoupa_policy_deletions_total": Described(
        "counter", "Deletes that the server took, by policy.", ("policy",)
    ),
    "skoupa_policy_objects": Described(
        "gauge",
        "How many objects the last run of a policy was about: `matched`, and of those `deleted`, `held`, `failed` (not judged, or "
        "not deleted so far).",
        ("policy", "state"),
    ),
    "skoupa_invalid_labels_total": Described(
        "counter", "Labels that were not understood.", ("kind", "reason")
    ),
    "skoupa_notices_total": Described("counter", "Notices given ahead of a deletion.", ("kind",)),
    "skoupa_stuck_total": Described(
        "counter",
        "Objects still terminating after stuckAfter: each once, and again when its finalizers are others.",
        ("kind",),
    ),
    "skoupa_stuck": Described("gauge", "Objects that are still terminating after stuckAfter at this moment."),
    "skoupa_trips_total": Described(
        "counter",
        "Brakes that Skoupa pulled itself, by why: a ceiling that was full, as `namespace-minute`, a limit on runs of rules, as `share`, a `backlog`, "
        "`kyverno`, or a `ledger` that is another one than before.",
        ("span",),
    ),
    "skoupa_brakes_released_total": Described(
        "counter", "Brakes that were released, by whether it is known who did.", ("by",)
    ),
    "skoupa_brakes": Described(
        "gauge",
        "Brakes, by whether they hold; `unknown` is 1 while it is not known which there are, which holds everything.",
        ("state",),
    ),
    "skoupa_kyverno": Described(
        "gauge",
        "Kyverno cleanup controllers in this cluster: `alive`, those of them beside which Skoupa may act (`accepted`); "
        "`unknown` is 1 while their Leases may not be listed.",
        ("state",),
    ),
    "skoupa_alive": Described(
        "gauge",
        "1 for the phase in which Alive is, 0 for the others; `Unknown`: there is none, or this replica does not look after it (only who "
        "leads and enforces, with `features.alive`).",
        ("phase",),
    ),
    "skoupa_alive_participants": Described(
        "gauge", "Who takes part in Alive, by the state that each is in.", ("state",)
    ),
    "skoupa_alive_remaining": Described(
        "gauge", "How many things all of them have left to clean up, as they say themselves."
    ),
    "skoupa_alive_unguarded": Described(
        "gauge", "1 while an admission policy that guards Alive is missing, altered, or may not be read."
    ),
    "skoupa_events_total": Described("counter", "Kubernetes Events, by what became of them.", ("outcome",)),
    "skoupa_notice_messages_total": Described(
        "counter", "Messages to a route, by what became of them.", ("route", "outcome")
    ),
    "skoupa_notice_queue": Described("gauge", "Messages that wait for their route.", ("route",)),
    "skoupa_notice_unknown_routes_total": Described(
        "counter", "Notices for a route that the settings do not have."
    ),
    "skoupa_ledger_changes_total": Described(
        "counter",
        "Changes of the ledger: written, transactions that failed, decisions without a row.",
        ("outcome",),
    ),
    "skoupa_requests_total": Described("counter", "Requests to the API server.", ("verb", "kind", "outcome")),
    "skoupa_holds": Described(
        "gauge",
        "Due objects that stay, by the reason that holds them; beside the codes of reasons: `observing`, `failing` (tried "
        "again), `hanging` (waits while deletes of its kind and namespace hang), `terminating`, `unseen` (known before the right to read them was lost).",
        ("reason",),
    ),
    "skoupa_oldest_overdue_seconds": Described(
        "gauge", "How long the longest overdue object has been due, by what holds it.", ("reason",)
    ),
    "skoupa_objects": Described("gauge", "Objects in the store."),
    "skoupa_agenda": Described("gauge", "Entries in the agenda."),
    "skoupa_queue": Described("gauge", "Work waiting, by queue.", ("queue",)),
    "skoupa_watches": Described(
        "gauge",
        "Watches, by their state: `following`, `listing` their first list, `behind` since they broke or failed.",
        ("state",),
    ),
    "skoupa_blind_kinds": Described(
        "gauge",
        "Kinds that can't be read, or not everywhere: `lost` could be read before, `never-read` not since the start. What "
        "is due among them stays.",
        ("state",),
    ),
    "skoupa_unread_kinds": Described(
        "gauge",
        "Kinds that could use what has the label skoupa.dev/ttl-after and are not known at this moment, which holds it; those of "
        "usage.ignoreKinds are not counted.",
    ),
    "skoupa_protect_empty": Described(
        "gauge", "Entries of protect that protect nothing, because no kind is called so.", ("setting",)
    ),
    "skoupa_clock_skew_seconds": Described("gauge", "The server's clock minus ours."),
    "skoupa_leading": Described("gauge", "1 while this replica leads."),
    "skoupa_build_info": Described("gauge", "Always 1; the version is in its label.", ("version", "mode")),
}

_LAG_BUCKETS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600, 3600, 86400)

# Counters that somebody keeps anyway, and that are asked for like gauges.
_COUNTED_ELSEWHERE: Final = frozenset(
    {
        "skoupa_requests_total",
        "skoupa_events_total",
        "skoupa_ledger_changes_total",
        "skoupa_notice_messages_total",
        "skoupa_notice_unknown_routes_total",
    }
)

# What a scrape asks for: metric -> label values -> value.
Present = Mapping[str, Mapping[tuple[str, ...], float]]


class Metrics:
    def __init__(self, present: Callable[[], Present] = dict) -> None:
        self.registry = CollectorRegistry()
        # Plain numbers until somebody asks: the library counts under a lock, and only the loop's thread counts here.
        self._counts: dict[str, dict[tuple[str, ...], float]] = {
            name: {} if about.labels else {(): 0.0}
            for name, about in METRICS.items()
            if about.type == "counter" and name not in _COUNTED_ELSEWHERE
        }
        lag = METRICS["skoupa_deletion_lag_seconds"]
        self._lag = Histogram(
            "skoupa_deletion_lag_seconds", lag.about, lag.labels, buckets=_LAG_BUCKETS, registry=self.registry
        )
        self._lags: dict[str, Histogram] = {}
        self.registry.register(_PresentCollector(lambda: self._counts))
        self.registry.register(_PresentCollector(present))

    def count(self, name: str, *labels: str, amount: float = 1) -> None:
        series = self._counts[name]
        series[labels] = series.get(labels, 0.0) + amount

    def lag(self, mechanism: str, seconds: float) -> None:
        lags = self._lags.get(mechanism)
        if lags is None:
            lags = self._lags[mechanism] = self._lag.labels(mechanism)
        lags.observe(max(0.0, seconds))

    def exposition(self) -> bytes:
        return generate_latest(self.registry)


class _PresentCollector(Collector):
    def __init__(self, present: Callable[[], Present]) -> None:
        self._present = present

    def collect(self) -> Iterator[Metric]:
        for name, samples in self._present().items():
            yield _family(name, samples.items())


def _family(name: str, samples: Iterable[tuple[tuple[str, ...], float]]) -> Metric:
    about = METRICS[name]
    family: GaugeMetricFamily | CounterMetricFamily
    if about.type == "counter":
        family = CounterMetricFamily(name.removesuffix("_total"), about.about, labels=about.labels)
    else:
        family = GaugeMetricFamily(name, about.about, labels=about.labels)
    for labels, value in samples:
        family.add_metric(list(labels), value)
    return family
