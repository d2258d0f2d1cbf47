"""Metrics of a running study for Prometheus, and those that the gate reports to the monitor. They name nobody."""

from __future__ import annotations

from collections import Counter as Tally

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from negolab.studies.database import TEST
from negolab.studies.status import Status

_HOST = CollectorRegistry()
OPERATIONS = Histogram(
    "negolab_host_seconds",
    "Seconds the host took to answer a page's operation, excluding long polls.",
    ["operation"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
    registry=_HOST,
)


class GateNumbers(msgspec.Struct, frozen=True, kw_only=True):
    """Report of the participants' server.

    Attributes:
        kernels: Participants with a kernel.
        max_kernels: Largest number of them at the same time.
        warm: Kernels waiting for a participant.
        queue: Participants waiting for a kernel.
        connections: Open connections.
        refused: Requests refused since it started, by status or reason.
    """

    kernels: int
    max_kernels: int
    warm: int
    queue: int
    connections: int
    refused: dict[str, int]


def render(seen: Status | None, gate: GateNumbers | None, *, database_up: bool = True) -> str:
    """Render the metrics in Prometheus's text format.

    Args:
        seen: Status of the study; None: no study is served.
        gate: Last report of the participants' server; None: nothing yet.
        database_up: True if the host has its database.
    """
    registry = CollectorRegistry()
    gauges: dict[str, tuple[str, float]] = {"database_up": ("1 while the host has its database.", database_up)}
    if seen is not None:
        people = Tally(person.status for person in seen.people if person.link != TEST)
        _labelled(registry, "participants", "status", "Participants.", people)
        _labelled(registry, "matches_ended", "end", "Finished matches, excluding practice.", seen.ended)
        gauges |= {
            "matches_running": ("Matches in progress, including practice.", seen.running),
            "errors": ("Errors logged.", sum(person.errors for person in seen.people)),
        }
    if gate is not None:
        gauges |= {
            "kernels": ("Participants with a kernel.", gate.kernels),
            "kernels_max": ("Maximum number of participants with a kernel.", gate.max_kernels),
            "kernels_warm": ("Kernels waiting for a participant.", gate.warm),
            "queue": ("Participants waiting for a kernel.", gate.queue),
            "connections": ("Open connections from participants and strangers.", gate.connections),
        }
        refused = Counter("negolab_refused", "Refused requests, by status or reason.", ["reason"], registry=registry)
        for reason, n in gate.refused.items():
            refused.labels(reason).inc(n)
    for name, (about, value) in gauges.items():
        Gauge(f"negolab_{name}", about, registry=registry).set(value)
    return (generate_latest(registry) + generate_latest(_HOST)).decode()


def _labelled(registry: CollectorRegistry, name: str, label: str, about: str, values: dict[str, int]) -> None:
    gauge = Gauge(f"negolab_{name}", about, [label], registry=registry)
    for key, n in values.items():
        gauge.labels(key).set(n)
