"""A relay between a browser and a server that adds a delay each way, as a slow line does, and keeps the order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Any


def unchanged(data: bytes) -> bytes:
    return data


async def _pass_on(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    delay: Callable[[], float],
    change: Callable[[bytes], bytes],
) -> None:
    loop, queue = asyncio.get_running_loop(), asyncio.Queue[tuple[float, bytes]]()

    async def send() -> None:
        while True:
            due, data = await queue.get()
            await asyncio.sleep(due - loop.time())
            if not data:
                break
            writer.write(data)
            await writer.drain()

    sending = asyncio.create_task(send())
    with suppress(OSError):
        while True:
            data = await reader.read(65_536)
            queue.put_nowait((loop.time() + delay(), change(data)))
            if not data:
                break
    with suppress(OSError):
        await sending
    writer.close()


def run_apart(work: Coroutine[Any, Any, None]) -> None:
    """Run in a thread of its own: the event loop of this one may be that of playwright's synchronous interface."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, work).result()


@asynccontextmanager
async def relay(
    own: int, port: int, delay: Callable[[], float] = float, *, change: Callable[[bytes], bytes] = unchanged
) -> AsyncIterator[None]:
    """Relay from a local port of its `own` to another `port`: `delay` seconds more each way, and a `change` of
    what is sent there."""
    running = set[asyncio.Task[None]]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection("127.0.0.1", port)
        running.add(asyncio.create_task(_pass_on(reader, there[1], delay, change)))
        running.add(asyncio.create_task(_pass_on(there[0], writer, delay, unchanged)))

    server = await asyncio.start_server(serve, "127.0.0.1", own)
    try:
        yield
    finally:
        server.close()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
