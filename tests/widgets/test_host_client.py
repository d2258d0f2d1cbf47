"""The gate's view of a host that comes and goes."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest
from negolab_widgets.server.host_client import Denied, HostClient, Unreachable

from tests.support.gate_server import fake_host


def test_a_token_stays_good_while_the_host_is_away_and_a_new_one_waits() -> None:
    async def scene(folder: Path) -> None:
        client = HostClient(f"{folder}/seats.sock")
        with fake_host(folder):
            known = await client.admit("good-ann")
            await client.ask("/health")
            with pytest.raises(Denied):
                await client.admit("bad-eve")
        assert await client.admit("good-ann") == known
        bound = client.ask("/bind", token="good-ann", kernel="k")
        for asked in (client.admit("good-ben"), client.admit("bad-eve"), client.ask("/health"), bound):
            with pytest.raises(Unreachable):
                await asked

    with tempfile.TemporaryDirectory(prefix="nl-") as name:
        asyncio.run(scene(Path(name)))
