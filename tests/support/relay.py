"""A relay between a browser and a server that adds a delay each way, as a slow line does, and keeps the order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float) -> None:
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
            queue.put_nowait((loop.time() + seconds, data))
            if not data:
                break
    with suppress(OSError):
        await sending
    writer.close()


@asynccontextmanager
async def relay(own: int, port: int, seconds: float) -> AsyncIterator[None]:
    """Relay from a local port of its `own` to another `port`, with `seconds` more each way."""
    running = set[asyncio.Task[None]]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection("127.0.0.1", port)
        for ends in ((reader, there[1]), (there[0], writer)):
            running.add(asyncio.create_task(_pass_on(*ends, seconds)))

    server = await asyncio.start_server(serve, "127.0.0.1", own)
    try:
        yield
    finally:
        server.close()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
