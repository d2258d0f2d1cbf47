"""Attacks on availability, each a process of low priority: `python -m tests.support.overload KIND LINK`."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx2
import websockets

from tests.conftest import ROOT
from tests.support import processes
from tests.support.bots import Bot, framed, message
from tests.support.hostile_visitor import Site, Wire

ADDRESS = "127.0.0.2"
"""Where attackers come from; honest participants are at 127.0.0.1."""
PATHS = ("static/.", "static/..", "static/%00", "static/a%00b", "static/", "static/x/../../..", "%2e%2e/%2e%2e/etc")
LONG_TEXT = "no, " * 2_490


async def hold_sockets(link: str) -> None:
    """Open two thousand sockets, say nothing, and open those again that are closed."""
    parts = urlsplit(link)
    held: list[asyncio.StreamWriter] = []
    while True:
        held = [writer for writer in held if not writer.transport.is_closing()]
        for _ in range(2000 - len(held)):
            with suppress(OSError):
                held.append((await asyncio.open_connection(parts.hostname, parts.port, local_addr=(ADDRESS, 0)))[1])
        await asyncio.sleep(0.1)


async def join(link: str) -> Bot:
    bot = Bot(link)
    bot.client = httpx2.AsyncClient(
        timeout=60, headers={"Origin": bot.origin}, transport=httpx2.AsyncHTTPTransport(local_address=ADDRESS)
    )
    await bot.arrive()
    await bot.until(bot.models.__len__, 120)
    return bot


async def opened(bot: Bot) -> Any:
    """Open one more websocket to a bot's kernel; tried again until it is open."""
    while True:
        try:
            return await bot.opened(open_timeout=20, ping_interval=None, local_addr=(ADDRESS, 0))
        except (OSError, TimeoutError, websockets.WebSocketException):
            await asyncio.sleep(0.2)
            with suppress(httpx2.HTTPError):
                bot.kernel = await bot.page() or bot.kernel


async def send_lists(link: str) -> None:
    """Send frames of 720 KB, 240,000 empty lists each, on two websockets."""
    bot = await join(link)
    lists = {"comm_id": "nobody", "data": [[] for _ in range(240_000)]}

    async def flood() -> None:
        while True:
            socket = await opened(bot)
            with suppress(websockets.ConnectionClosed):
                while True:
                    await socket.send(framed(message("comm_msg", lists)))
                    await asyncio.sleep(0.5)

    await asyncio.gather(flood(), flood())


async def read_nothing(link: str) -> None:
    """Write 900 KB into widgets, stop reading, and ask for the state of all widgets six hundred times."""
    bot = await join(link)
    texts = [id for id, model in bot.models.items() if isinstance(model.get("value"), str)][:12]
    ask = {"comm_id": "ear", "data": {"method": "request_states"}}
    while True:
        socket = await opened(bot)
        with suppress(websockets.ConnectionClosed, TimeoutError):
            await socket.send(
                framed(message("comm_open", {"comm_id": "ear", "target_name": "jupyter.widget.control", "data": {}}))
            )
            for id in texts:
                state = {"method": "update", "state": {"value": "x" * 75_000}, "buffer_paths": []}
                await socket.send(framed(message("comm_msg", {"comm_id": id, "data": state})))
            socket.transport.pause_reading()
            for _ in range(600):
                await asyncio.wait_for(socket.send(framed(message("comm_msg", ask))), 5)
                await asyncio.sleep(0.02)
            await asyncio.sleep(5)
        socket.transport.abort()


async def ask_for_no_file(link: str) -> None:
    """Request paths that name no file, eight at a time."""
    base = link.split("join/")[0] + "voila/templates/negolab/"
    parts = urlsplit(base)

    async def flood() -> None:
        while True:
            with suppress(OSError, asyncio.IncompleteReadError):
                reader, writer = await asyncio.open_connection(parts.hostname, parts.port, local_addr=(ADDRESS, 0))
                for path in PATHS * 100:
                    writer.write(f"GET {parts.path}{path} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode())
                    head = (await reader.readuntil(b"\r\n\r\n")).decode()
                    length = next(
                        int(row[15:]) for row in head.splitlines() if row.lower().startswith("content-length")
                    )
                    await reader.readexactly(length)
                writer.close()

    await asyncio.gather(*(flood() for _ in range(8)))


async def _request_again(url: str, *headers: str) -> None:
    """Send a request again and again, on one connection as long as it is open."""
    parts = urlsplit(url)
    request = "\r\n".join([f"GET {parts.path} HTTP/1.1", f"Host: {parts.netloc}", *headers, "", ""]).encode()
    while True:
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            reader, writer = await asyncio.open_connection(
                parts.hostname, parts.port, local_addr=(ADDRESS, 0), limit=1 << 24
            )
            length = "0"
            while length:  # an answer without one ends its connection
                await reader.readexactly(int(length.split()[0]))
                writer.write(request)
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = head.lower().partition("content-length:")[2]
            writer.close()


async def come_in_a_crowd(link: str) -> None:
    """Request the page on all connections of a visitor, and look at the link on 200 more, without a pause."""
    bot = await join(link)
    cookie = "; ".join(f"{c.name}={c.value}" for c in bot.client.cookies.jar)
    own = (_request_again(bot.base, f"Cookie: {cookie}") for _ in range(46))
    await asyncio.gather(*own, *(_request_again(link) for _ in range(200)))


async def send_many_headers(link: str) -> None:
    """Send requests of 3,000 header lines, 15 KB in all, on 250 connections."""
    await asyncio.gather(*(_request_again(link, *["A:b"] * 3000) for _ in range(250)))


async def write_too_much(link: str) -> None:
    """Answer as long as an answer may be, again and again."""
    bot = await join(link)

    def named(*descriptions: str) -> str:
        labelled = ((id, str(model.get("description", ""))) for id, model in bot.models.items())
        return next((id for id, label in labelled if label.startswith(descriptions)), "")

    while not named("Send answer", "Send reply"):
        if onward := bot.find("Button", "I agree") or bot.find("Button", "Start"):
            await bot.press(onward)
        await asyncio.sleep(1)
    while True:
        try:
            await bot.fill(named("Or type", "Your reply"), value=f"{LONG_TEXT}{random.random()}")
            await bot.press(named("Send answer", "Send reply"))
            await asyncio.sleep(0.55)  # sooner it would be the second press of a double click
        except websockets.ConnectionClosed:
            await bot.back()


async def press_everything(link: str) -> None:
    """Press every button and write every field as fast as frames can be sent."""
    bot = await join(link)
    while True:
        socket = await opened(bot)
        with suppress(websockets.ConnectionClosed):
            while True:
                for id in list(bot.models):
                    data = {"method": "custom", "content": {"event": "click"}}
                    await socket.send(framed(message("comm_msg", {"comm_id": id, "data": data})))


async def split_frames(link: str) -> None:
    """Send a message in empty parts without end, as fast as the network takes them."""
    bot = await join(link)
    while True:
        socket = await opened(bot)
        with suppress(websockets.ConnectionClosed, OSError):

            async def parts() -> AsyncIterator[bytes]:
                while True:
                    yield b""

            await socket.send(parts())


async def ping(link: str) -> None:
    """Send empty pings without reading, as fast as the network takes them."""
    bot = await join(link)
    while True:
        socket = await opened(bot)
        with suppress(websockets.ConnectionClosed, OSError):
            while True:
                await socket.ping()


ATTACKS = {
    attack.__name__: attack
    for attack in (
        hold_sockets, send_lists, read_nothing, ask_for_no_file, come_in_a_crowd, send_many_headers,
        write_too_much, press_everything, split_frames, ping
    )
}  # fmt: skip


@contextmanager
def attacking(kind: str, link: str) -> Iterator[None]:
    """Run an attack in a process of the lowest priority until the block ends."""
    command = ["nice", "-n", "19", sys.executable, "-m", "tests.support.overload", kind, link]
    process = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
    try:
        yield
        assert process.poll() is None, "the attack ended by itself"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class Honest:
    """A participant who plays while others attack, and the seconds that each request and each event took."""

    def __init__(self, link: str) -> None:
        self.link, self.pages, self.events = link, list[float](), list[float]()

    async def measure(self, seconds: float) -> None:
        """Ask for the page's state and send a message to the kernel in turns."""
        bot = Bot(self.link)
        await bot.join()
        await bot.enter()
        await bot.until(bot.models.__len__)
        wire = Wire(await opened(bot), bot.received)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            began = time.monotonic()
            assert await bot.alive() == "here", "an honest participant's kernel is gone"
            self.pages.append(time.monotonic() - began)
            began = time.monotonic()
            assert await wire.answered(60)
            self.events.append(time.monotonic() - began)
            await asyncio.sleep(0.05)
        await wire.close()
        await bot.close()


def worst(seconds: list[float]) -> tuple[float, float]:
    """Return the 99th percentile and the largest of latencies."""
    ordered = sorted(seconds)
    return ordered[int(0.99 * (len(ordered) - 1))], ordered[-1]


class Usage(NamedTuple):
    """Resident MiB of the gate, of the host and of the largest kernel, and bytes of log and database."""

    gate: int
    host: int
    kernel: int
    log: int
    database: int


def usage(site: Site) -> Usage:
    gate, host, kernel = (_largest(site.process.pid, part) for part in ("voila", "host", "kernel"))
    database = sum(path.stat().st_size for path in site.db.parent.glob(f"{site.db.name}*"))
    return Usage(gate, host, kernel, len(site.log()), database)


def _largest(launcher: int, part: processes.ProcessKind) -> int:
    return max((processes.memory(pid)[0] for pid in processes.processes_of(launcher, part)), default=0)


if __name__ == "__main__":
    asyncio.run(ATTACKS[sys.argv[1]](sys.argv[2]))
