"""An honest participant goes on at their pace, whatever a stranger or another participant does."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from negolab.studies.page_state import LONGEST
from tests.conftest import SLOW
from tests.long.test_visitor import BREATH, PAIRS, PRICES, both, turn, visitor_on_turn
from tests.support import overload
from tests.support.gate_server import wait_until
from tests.support.hostile_visitor import Site, serving_site

pytestmark = [pytest.mark.visitor, pytest.mark.alone]

SECONDS = 15.0 if SLOW else 8.0
"""Length of each attack that is measured."""
MAX_GATE_MIB, MAX_KERNEL_MIB = 400, 250
MAX_LOG_BYTES, MAX_STORED_BYTES = 1_000_000, 2_000_000


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


def test_the_researchers_port_tells_programs_how_it_is(site: Site) -> None:
    assert httpx2.get(f"{site.desk}healthz").text == "ok\n"
    # The participants' server reports every two seconds.
    assert wait_until(lambda: "negolab_kernels_max" in httpx2.get(f"{site.desk}metrics").text, 30)
    metrics = httpx2.get(f"{site.desk}metrics").text
    assert "negolab_database_up 1.0" in metrics
    assert site.desk_token not in metrics
    assert httpx2.get(f"{site.url}metrics").status_code == 404, "not at the participants' port"


@pytest.mark.parametrize("kind", overload.ATTACKS)
def test_an_attack_slows_no_honest_participant(site: Site, quiet: float, kind: str) -> None:
    honest, before, seen, over = overload.Honest(site.link()), overload.usage(site), [], threading.Event()

    def watch() -> None:
        while not over.wait(0.2):
            seen.append(overload.usage(site))

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
    used = overload.Usage(*map(max, zip(*seen, strict=True)))
    written, stored = used.log - before.log, used.database - before.database
    n = len(honest.pages) + len(honest.events)
    print(
        f"\n{kind}: p99 {p99:.3f} s, most {most:.3f} s (n = {n}; quiet p99 {quiet:.3f} s); gate {used.gate} MiB, host "
        f"{used.host} MiB, largest kernel {used.kernel} MiB; log {written:,} bytes, database {stored:,} bytes"
    )
    assert p99 <= max(3 * quiet, 0.3) and most <= 2
    assert used.gate < MAX_GATE_MIB and written < MAX_LOG_BYTES
    assert used.kernel < MAX_KERNEL_MIB and stored < MAX_STORED_BYTES


def test_a_partner_who_writes_as_much_as_may_be_said_ends_nobodys_page(tmp_path: Path) -> None:
    async def play(site: Site) -> None:
        async with both(site) as players:
            honest, _ = players
            for _ in range(8):
                one = await visitor_on_turn(*players)
                words = "No. [Deny]" if one is honest else "'" * LONGEST  # no character takes more room on a page
                await one.fill(one.named("Textarea", "Your reply"), value=words)
                await one.press(one.named("Button", "Send reply"))
                await one.until(lambda one=one: not turn(one), 10)
                assert await honest.alive() == "here"
                await asyncio.sleep(BREATH)

    with serving_site(tmp_path, PAIRS) as site:
        asyncio.run(play(site))
