"""An honest participant goes on at their pace, whatever a stranger or another participant does."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest

from tests.long.test_visitor import PRICES
from tests.support import overload
from tests.support.hostile_visitor import Site, serving_site

pytestmark = pytest.mark.visitor

SECONDS = 15.0
"""Length of each attack that is measured."""
MAX_GATE_MIB, MAX_LOG_BYTES = 400, 1_000_000


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with serving_site(tmp_path_factory.mktemp("attacked"), PRICES) as site:
        yield site


@pytest.fixture(scope="module")
def quiet(site: Site) -> float:
    """The 99th percentile of latencies without an attack, in seconds."""
    honest = overload.Honest(site.link())
    asyncio.run(honest.measure(SECONDS))
    return overload.worst(honest.pages + honest.events)[0]


@pytest.mark.parametrize("kind", overload.ATTACKS)
def test_an_attack_slows_no_honest_participant(site: Site, quiet: float, kind: str) -> None:
    honest, log, memory = overload.Honest(site.link()), overload.log_bytes(site), [overload.gate_memory(site)]
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.2):
            memory.append(overload.gate_memory(site))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        with overload.attacking(kind, site.link()):
            time.sleep(2)
            asyncio.run(honest.measure(SECONDS))
    finally:
        over.set()
        watcher.join()
    p99, most = overload.worst(honest.pages + honest.events)
    written = overload.log_bytes(site) - log
    n = len(honest.pages) + len(honest.events)
    print(f"\n{kind}: p99 {p99:.3f} s, most {most:.3f} s (n = {n}; quiet p99 {quiet:.3f} s); "
          f"gate {max(memory)} MiB; log {written:,} bytes")  # fmt: skip
    assert p99 <= max(3 * quiet, 0.3) and most <= 2
    assert max(memory) < MAX_GATE_MIB and written < MAX_LOG_BYTES
