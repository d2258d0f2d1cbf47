"""A page without a browser: its HTTP requests and websocket messages, so that thirty fit on one machine."""

from __future__ import annotations

import asyncio
import json
import re
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, cast
from urllib.parse import urlsplit

import httpx2
import websockets
from jupyter_server.services.kernels.connection.base import deserialize_msg_from_ws_v1, serialize_msg_to_ws_v1

Model = dict[str, Any]
V1 = "v1.kernel.websocket.jupyter.org"
"""The one protocol that the gate offers."""


def message(kind: str, content: dict[str, Any], **header: Any) -> dict[str, Any]:
    """Make a message; a kernel drops one whose id it has had before."""
    named = {"msg_id": uuid.uuid4().hex, "msg_type": kind, "session": "bot", "username": "", "version": "5.3"}
    version = "2.1.0" if content.get("target_name") == "jupyter.widget" else "1.0.0"
    return {
        "header": {**named, "date": "2026-01-01T00:00:00Z", **header},
        "parent_header": {},
        "metadata": {"version": version},
        "content": content,
    }


def framed(message: dict[str, Any], channel: Any = "shell") -> bytes:
    """Encode a message as a websocket frame, as a page does."""
    parts = [json.dumps(message[part]).encode() for part in ("header", "parent_header", "metadata", "content")]
    return cast(bytes, serialize_msg_to_ws_v1(parts, str(channel)))


def read_frame(frame: bytes) -> dict[str, Any]:
    """Decode a frame from a kernel."""
    channel, parts = deserialize_msg_from_ws_v1(frame)
    header, parent, metadata, content = map(json.loads, parts[:4])
    message = {"header": header, "parent_header": parent, "metadata": metadata, "content": content}
    return {"channel": channel, "msg_type": header["msg_type"], **message}


class Bot:
    """One visitor: `join` a link, `enter` the page, then `find`, `click` and `fill` its widgets."""

    def __init__(self, link: str) -> None:
        self.link = link
        self.base = link.split("join/")[0]
        parts = urlsplit(self.base)
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self.client = httpx2.AsyncClient(timeout=60, headers={"Origin": self.origin})
        self.models: dict[str, Model] = {}
        self.received: list[str] = []
        """All received answers and messages, as text."""
        self.sent: list[str] = []
        self.seen: list[str] = []
        """The sent messages that appeared in the log."""
        self.spoke = 0.0
        """When the last of them did."""
        self.reloads = 0
        self.kernel = ""
        self.queued = 0.0
        self.admitted = 0.0
        self._socket: Any = None
        self._reader: asyncio.Task[None] | None = None
        self._news = asyncio.Event()

    # Joining

    async def join(self) -> httpx2.Response:
        answer = await self.client.post(self.link, follow_redirects=False)
        assert answer.status_code == 303, answer.text[-500:]
        return answer

    async def arrive(self) -> None:
        """Join and enter, retrying while processes are down."""
        while True:
            try:
                await self.join()
                return await self.enter()
            except (httpx2.TransportError, AssertionError, OSError, websockets.WebSocketException):
                await asyncio.sleep(0.5)

    async def enter(self) -> None:
        """Load the page, waiting in the queue as long as it takes; connect to its kernel and read its widgets."""
        began = time.monotonic()
        while not (page := await self.page()):
            await asyncio.sleep(1)
            with suppress(httpx2.TransportError):
                await self.client.get(self.base + "waiting")
        self.admitted = time.monotonic()
        self.queued = self.admitted - began
        self.kernel = page
        await self.connect()

    async def page(self) -> str:
        """Load the page and return its kernel's id; "" if it is the waiting page, or the server is down."""
        try:
            answer = await self.client.get(self.base)
        except httpx2.TransportError:
            return ""
        self.received.append(answer.text)
        if answer.status_code in (429, 502, 503):
            return ""
        assert answer.status_code == 200, (answer.status_code, answer.text[-500:])
        match = re.search(r'"kernelId":\s*"([0-9a-f-]{36})"', answer.text)
        return match[1] if match else ""

    async def connect(self) -> None:
        """Open the kernel's websocket and request the state of all widgets, as the front end does."""
        self._socket = await self.opened()
        self._reader = asyncio.ensure_future(self._read())
        comm = uuid.uuid4().hex
        await self.send("comm_open", {"comm_id": comm, "target_name": "jupyter.widget.control", "data": {}})
        await self.send("comm_msg", {"comm_id": comm, "data": {"method": "request_states"}})

    async def opened(self, protocol: str | None = V1, **options: Any) -> Any:
        """Open a websocket to the kernel; `options` are those of `websockets.connect`."""
        url = f"ws{self.base[4:]}api/kernels/{self.kernel}/channels?session_id={uuid.uuid4()}"
        headers = {"Cookie": "; ".join(f"{c.name}={c.value}" for c in self.client.cookies.jar)}
        options |= {"origin": self.origin, "subprotocols": protocol and [protocol], "max_size": None}
        return await websockets.connect(url, additional_headers=headers, **options)

    async def send(self, kind: str, content: dict[str, Any], channel: str = "shell", **header: Any) -> None:
        await self._socket.send(framed(message(kind, content, **header), channel))

    async def _read(self) -> None:
        with suppress(websockets.ConnectionClosed):
            async for raw in self._socket:
                message = read_frame(raw)
                self.received.append(json.dumps(message))
                self._take(message["msg_type"], message["content"])
                self._news.set()
                self._news = asyncio.Event()

    def _take(self, kind: str, content: dict[str, Any]) -> None:
        data = content.get("data") or {}
        if kind == "comm_open":
            self.models[content["comm_id"]] = dict(data.get("state", {}))
        elif kind == "comm_msg" and data.get("method") in ("update", "echo_update"):
            self.models.setdefault(content["comm_id"], {}).update(data.get("state", {}))
        elif kind == "comm_msg" and data.get("method") == "update_states":
            for id, model in data["states"].items():
                self.models[id] = dict(model["state"])
        elif kind == "comm_close":
            self.models.pop(content["comm_id"], None)

    async def close(self) -> None:
        """Close the tab: shut down its kernel and the connections."""
        if self._socket is not None:
            with suppress(httpx2.HTTPError):
                await self.client.post(f"{self.base}voila/api/shutdown/{self.kernel}")
            await self._socket.close()
        if self._reader is not None:
            self._reader.cancel()
        await self.client.aclose()

    # The page

    def shown(self) -> Iterator[tuple[str, Model]]:
        """The displayed widgets: below a root, with no hidden ancestor."""
        inner = {id for model in self.models.values() for id in _below(model)}
        stack = [id for id in self.models if id not in inner and self.models[id].get("_model_name") != "LayoutModel"]
        while stack:
            id = stack.pop()
            model = self.models.get(id)
            if model is None or self._hidden(model):
                continue
            yield id, model
            stack += _below(model)

    def _hidden(self, model: Model) -> bool:
        layout = self.models.get(str(model.get("layout", "")).removeprefix("IPY_MODEL_"), {})
        return layout.get("display") == "none"

    def find(self, kind: str, description: str) -> str | None:
        """The id of a displayed and enabled widget of a kind whose description starts with `description`."""
        for id, model in self.shown():
            label = str(model.get("description", ""))
            matches = model.get("_model_name") == f"{kind}Model" and label.startswith(description)
            if matches and not model.get("disabled"):
                return id
        return None

    def text(self) -> str:
        """All markup on the page."""
        kinds = ("HTMLModel", "AnyModel")
        return "\n".join(str(m.get("value", "")) for _, m in self.shown() if m.get("_model_name") in kinds)

    def words(self) -> str:
        return " ".join(re.sub(r"(?s)<style>.*?</style>|<[^>]*>", " ", self.text()).split())

    async def until(self, condition: Callable[[], Any], seconds: float = 180) -> Any:
        """Wait until `condition()` is true and return its value."""
        async with asyncio.timeout(seconds):
            while not (value := condition()):
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), 1)
        return value

    async def click(self, description: str, seconds: float = 180) -> None:
        """Press a button as soon as it is displayed and enabled."""
        try:
            id = await self.until(lambda: self.find("Button", description), seconds)
        except TimeoutError:
            raise AssertionError(f"no button {description!r} among {self.buttons()}: {self.text()[-2000:]}") from None
        await self.press(id)

    def buttons(self) -> list[str]:
        found = [m for _, m in self.shown() if m.get("_model_name") == "ButtonModel"]
        return [m["description"] + " (disabled)" * bool(m.get("disabled")) for m in found]

    async def press(self, id: str) -> None:
        """Send a click to a widget, even if it is hidden or disabled."""
        data = {"method": "custom", "content": {"event": "click"}}
        await self.send("comm_msg", {"comm_id": id, "data": data})

    async def fill(self, id: str, **state: Any) -> None:
        """Write a widget's state, even if it is hidden or disabled; a field of ours is told its value."""
        if "shown" in self.models.get(id, {}) and state.keys() == {"value"}:
            await self.send("comm_msg", {"comm_id": id, "data": {"method": "custom", "content": state}})
            return
        self.models.setdefault(id, {}).update(state)
        await self.send("comm_msg", {"comm_id": id, "data": {"method": "update", "state": state, "buffer_paths": []}})

    # Playing a study of the tolerant trading game, where a message without an offer is a legal reply

    async def play(self, pace: Callable[[], float] = lambda: 0.0) -> str:
        """Play the study to its completion code with `pace()` seconds a reply, reloading a lost page."""
        while True:
            try:
                await self._step(pace)
            except (websockets.ConnectionClosed, TimeoutError):
                await self.back()
            if code := self.code():
                return code

    async def _step(self, pace: Callable[[], float]) -> None:
        onward = next((id for label in ("I agree", "Start", "Continue") if (id := self.find("Button", label))), None)
        box = self.find("Textarea", "Your reply with its tokens")
        if onward is not None:
            await self.press(onward)
            await self.until(lambda: self.models.get(onward, {}) not in [m for _, m in self.shown()], 10)
        elif box is not None:
            await asyncio.sleep(max(pace(), 0.5))  # sooner it would be the second press of a double click
            answer = " [Deny]" if self.find("Button", "Deny") else ""
            await self.speak(box, f"word-{uuid.uuid4().hex[:8]}{answer}")
        else:
            news = len(self.received)
            with suppress(TimeoutError):
                await self.until(lambda: len(self.received) > news, 4)
            if not await self.is_connected():
                await self.back()

    async def speak(self, box: str, text: str) -> None:
        """Send a message and wait until it appears in the log."""
        send = self.find("Button", "Send reply")
        if send is None:
            return  # the page has changed since
        self.sent.append(text)
        await self.fill(box, value=text)
        await self.press(send)
        await self.until(lambda: self.shows(text) or self.code(), 10)
        self.seen.append(text)
        self.spoke = time.monotonic()

    def shows(self, text: str) -> bool:
        """Return True if the page shows a reply, by its first word: a table says tokens such as [Deny] in words."""
        return text.split()[0] in self.text()

    def code(self) -> str:
        """The completion code, once the page shows it."""
        return next((str(model["code"]) for _, model in self.shown() if model.get("code")), "")

    async def alive(self) -> str:
        """The kernel's state by the heartbeat; "" without an answer."""
        try:
            answer = await self.client.get(f"{self.base}alive/{self.kernel}")
        except httpx2.TransportError:
            return ""
        return str(answer.json()["state"]) if answer.status_code == 200 else ""

    async def is_connected(self) -> bool:
        """Return True if the kernel is there and the page hears of it; raise what ended its reading."""
        assert self._reader is not None
        if self._reader.done():
            self._reader.result()
            return False
        return await self.alive() == "here"

    async def back(self) -> None:
        """Reload as a page does that lost its kernel: poll until there is an answer, then enter again."""
        while not await self.alive():
            await asyncio.sleep(0.5)
        self.reloads += 1
        if self._socket is not None:
            await self._socket.close()
        self.models.clear()
        while True:
            try:
                return await self.enter()
            except (OSError, httpx2.TransportError, websockets.WebSocketException):
                await asyncio.sleep(0.5)  # the kernel is down again


class Reader(Bot):
    """A page that also answers questions: `answers` by how their labels begin."""

    answers: dict[str, Any] = {}

    async def _step(self, pace: Callable[[], float]) -> None:
        await asyncio.sleep(0.6)  # sooner a press would be the second of a double click
        send = self.find("Button", "Check my answers") or self.find("Button", "Send answers")
        if send is None:
            await super()._step(pace)
            return
        await self.fill_in(self.answers)
        await self.press(send)
        with suppress(TimeoutError):
            await self.until(lambda: send not in [id for id, _ in self.shown()], 10)

    async def fill_in(self, answers: dict[str, Any]) -> None:
        """Enter answers into the fields whose labels begin so."""
        for id, model in list(self.shown()):
            for label, answer in answers.items():
                if str(model.get("description", "")).startswith(label):
                    await self.fill(id, value=answer)


def _below(model: Model) -> list[str]:
    return [str(child).removeprefix("IPY_MODEL_") for child in model.get("children") or ()]
