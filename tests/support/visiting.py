"""A hostile visitor: a real server to visit, a page that keeps every byte that came, and what must not be in it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import websockets
from jupyter_server.services.kernels.connection.base import deserialize_msg_from_ws_v1, serialize_msg_to_ws_v1
from typing_extensions import override

from negolab.match import replay_differences
from negolab.record import Record
from negolab.studies.database import Database, StoredMatch
from tests.conftest import LAUNCH, ROOT, free_port, launch_environment
from tests.support import processes
from tests.support.bots import Bot

V1 = "v1.kernel.websocket.jupyter.org"
CANARY = "sk-canary-5f1d0c"
"""A key in the launcher's environment."""
UNGUARDED = (
    "--Gate.self_test=False",
    "--Gate.kernel_websocket_connection_class="
    "jupyter_server.services.kernels.connection.channels.ZMQChannelsWebsocketConnection",
)
"""Options of a participants' server without its guard."""


class Site:
    """A running `negolab serve STUDY.toml`, and what its database and its log hold."""

    def __init__(self, folder: Path, text: str, *options: str) -> None:
        self.folder, self.file = folder, folder / "visited.toml"
        self.port, self.desk_port = free_port(), free_port()
        self.url, self.desk = f"http://127.0.0.1:{self.port}/", f"http://127.0.0.1:{self.desk_port}/"
        self.db, self.out = folder / "visited-people.db", folder / "records"
        self.file.write_text(text, "utf-8")
        self._log = folder / "log"
        env = launch_environment(
            study=self.file,
            port=self.port,
            desk_port=self.desk_port,
            out=self.out,
            db=str(self.db),
            gate_options=options,
        )
        env["OPENAI_API_KEY"] = CANARY
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                LAUNCH, stdout=log, stderr=log, env=env, start_new_session=True, preexec_fn=_limited
            )

    def wait(self) -> None:
        """Until it says that it is ready."""
        end = time.monotonic() + 90
        while "negolab is at" not in self.log():
            if self.process.poll() is not None or time.monotonic() > end:
                raise AssertionError("the server did not start: " + self.log()[-3000:])
            time.sleep(0.1)
        found = re.search(r"token=([\w-]+)", self.log())
        assert found is not None
        self.desk_token = found[1]

    def end(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGINT)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def log(self) -> str:
        return self._log.read_text("utf-8", "replace")

    def links(self, *options: str) -> list[str]:
        """What `negolab study links` prints."""
        command = [sys.executable, "-m", "negolab", "study", "links", str(self.file), f"--url={self.url}"]
        ran = subprocess.run([*command, f"--db={self.db}", *options], capture_output=True, text=True, timeout=60)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.split()

    def link(self) -> str:
        """A new one-person link."""
        return self.links("-n", "1")[0]

    @property
    def cookie(self) -> str:
        return f"negolab-gate-{self.port}"

    @contextmanager
    def database(self) -> Iterator[Database]:
        database = Database(self.db)
        try:
            yield database
        finally:
            database.close()

    def matches(self, link: str = "") -> list[tuple[StoredMatch, Record]]:
        """The matches of a link's participant, or all: each holds nothing but legal moves."""
        with self.database() as database:
            sats = database.matches(self.file.stem, participant=named(link) if link else None)
            found = [(sat, database.record(sat.id)) for sat in sats]
        for _, record in found:
            assert replay_differences(record) == []
        return found

    def events(self, link: str) -> int:
        """How many events the matches of a link's participant have in all."""
        return sum(len(record.events) for _, record in self.matches(link))

    def rows(self) -> dict[str, int]:
        """How much the study holds: people, matches, events, and notes of what people did."""
        with self.database() as database:
            matches = database.matches(self.file.stem)
            return {
                "people": len(database.participants(self.file.stem)),
                "matches": len(matches),
                "events": sum(len(database.record(sat.id).events) for sat in matches),
                "notes": len(database.notes(self.file.stem)),
            }

    def kernels(self) -> list[int]:
        """The participants' kernels, by process id."""
        (voila,) = (p for p in processes.parts(self.process.pid, "voila") if "spawn" not in processes.command(p))
        return processes.kernels_of(voila)

    def memory(self) -> int:
        """MiB that the host and the participants' Voila hold."""
        parts = processes.parts(self.process.pid, "host") + processes.parts(self.process.pid, "voila")
        return sum(processes.memory(pid)[0] for pid in parts)

    @property
    def sockets(self) -> Path:
        """The folder of the host's sockets."""
        commands = map(processes.command, processes.below(self.process.pid))
        return Path(next(found[1] for c in commands if (found := re.search(r"--seats=(\S+)/seats\.sock", c))))

    def host(self, socket: str) -> httpx.Client:
        """A client of the host itself, on one of its two sockets."""
        return httpx.Client(transport=httpx.HTTPTransport(uds=str(self.sockets / socket)), base_url="http://host")

    # What nobody may be sent.

    def secrets(self) -> set[str]:
        """Never to be received by any visitor, whoever it is: paths, keys, tokens of others than the visitor."""
        paths = {
            str(ROOT),
            str(self.folder),
            str(self.db),
            str(Path.home()) + "/",
            "/tmp/",
            "site-packages",
            str(self.sockets),
        }
        names = {"OPENAI_API_KEY", CANARY, "NEGOLAB_SEATS", "NEGOLAB_DESK", "seats.sock", "desk.sock", "Traceback"}
        return paths | names | {self.desk_token, self.db.name, "sqlite"}

    def others(self, link: str) -> set[str]:
        """Ids, leases and tokens of all but the one of this link, this one's own lease, and what signs links."""
        own = named(link)
        with self.database() as database:
            kept = database.kept(self.file.stem)
            people = database.participants(self.file.stem)
            matches = database.matches(self.file.stem)
        assert kept is not None
        found = {kept.secret, kept.salt}
        for who in people:
            found |= {(who.lease or "").partition(".")[2]}
            if who.id != own:
                found |= {who.id, (who.lease or "").partition(".")[0]}
        found |= {sat.id for sat in matches if own not in sat.people.values()}
        return found - {""}

    def seeds(self, link: str) -> set[str]:
        """Seeds of the study and of the matches of a link's participant."""
        study = re.search(r"^seed = (\d+)", self.file.read_text(), re.M)
        found = {str(record.header.seed) for _, record in self.matches(link)}
        return found | ({study[1]} if study else set())


def _limited() -> None:
    """A server that an attack makes take all memory shall end before the machine does."""
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))


def named(link: str) -> str:
    """The participant whom a link names."""
    return link.rpartition("/")[2].partition(".")[0]


@contextmanager
def visited(folder: Path, text: str, *options: str) -> Iterator[Site]:
    """A server until the caller is done with it; ended by its process id."""
    site = Site(folder, text, *options)
    try:
        site.wait()
        yield site
    finally:
        site.end()


class Wire:
    """A websocket to a kernel on one protocol, that keeps all that came."""

    def __init__(self, socket: Any, received: list[str]) -> None:
        self.socket, self.received = socket, received
        self.protocol = socket.subprotocol
        self.messages: list[dict[str, Any]] = []
        self._reader = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        with suppress(websockets.ConnectionClosed):
            async for raw in self.socket:
                self.received.append(raw if isinstance(raw, str) else raw.decode("utf-8", "replace"))
                self.messages.append(self._message(raw))

    def _message(self, raw: str | bytes) -> dict[str, Any]:
        if self.protocol == V1:
            channel, parts = deserialize_msg_from_ws_v1(raw)
            header, parent, _, content = (json.loads(part) for part in parts[:4])
            return {"channel": channel, "msg_type": header["msg_type"], "parent": parent, "content": content}
        found = json.loads(raw) if isinstance(raw, str) else {"msg_type": "binary", "content": {}}
        return {**found, "parent": found.get("parent_header", {})}

    async def send(self, kind: str, content: dict[str, Any], channel: str = "shell", **header: Any) -> str:
        """One message; its id."""
        message: dict[str, Any] = {
            "header": {
                "msg_id": uuid.uuid4().hex,
                "msg_type": kind,
                "session": "visitor",
                "username": "",
                "version": "5.4",
                "date": "2026-01-01T00:00:00Z",
                **header,
            },
            "parent_header": {},
            "metadata": {"version": "2.1.0" if content.get("target_name") == "jupyter.widget" else "1.0.0"},
            "content": content,
        }
        if self.protocol == V1:
            await self.socket.send(serialize_msg_to_ws_v1(message, channel, lambda part: json.dumps(part).encode()))
        else:
            await self.socket.send(json.dumps({**message, "channel": channel, "buffers": []}))
        return str(message["header"]["msg_id"])

    async def answered(self, within: float = 10) -> bool:
        """Whether the kernel still answers."""
        asked = await self.send("kernel_info_request", {})

        def came() -> bool:
            own = (m for m in self.messages if m["parent"].get("msg_id") == asked)
            return any(m["msg_type"] == "kernel_info_reply" for m in own)

        return await soon(came, within)

    def kinds(self) -> set[str]:
        """The types of all messages that came."""
        return {str(message["msg_type"]) for message in self.messages}

    async def close(self) -> None:
        await self.socket.close()
        self._reader.cancel()


class Visitor(Bot):
    """A bot that keeps every answer whole (status, headers, body), and listens on both protocols."""

    def __init__(self, link: str) -> None:
        super().__init__(link)
        self.wires: list[Wire] = []
        self.read = 0
        """How much of what came was looked through."""
        self.client.event_hooks["response"].append(self._kept)

    async def _kept(self, answer: httpx.Response) -> None:
        body = await answer.aread()
        head = "\n".join(f"{name}: {value}" for name, value in answer.headers.multi_items())
        self.received.append(f"{answer.status_code}\n{head}\n\n{body.decode('utf-8', 'replace')}")

    @override
    async def connect(self) -> None:
        """As a page does, with two more ears on the kernel, one for each protocol."""
        self.wires = [Wire(await self.opened(), self.received), Wire(await self.opened(V1), self.received)]
        await super().connect()
        await self.until(self.models.__len__)

    async def opened(self, protocol: str | None = None, kernel: str = "", **headers: str) -> Any:
        """A websocket to a kernel, this visitor's own if none is named."""
        url = f"ws{self.base[4:]}api/kernels/{kernel or self.kernel}/channels?session_id={uuid.uuid4()}"
        shown = {"Cookie": "; ".join(f"{c.name}={c.value}" for c in self.client.cookies.jar), **headers}
        named: Any = {"origin": self.origin, **({"subprotocols": [protocol]} if protocol else {})}
        return await websockets.connect(url, additional_headers=shown, max_size=None, open_timeout=20, **named)

    @override
    async def close(self) -> None:
        for wire in self.wires:
            await wire.close()
        await super().close()

    # What is on the page.

    @override
    async def join(self) -> httpx.Response:
        """Press the button; who is told to wait does."""
        while (answer := await self.client.post(self.link, follow_redirects=False)).status_code == 429:
            await asyncio.sleep(float(answer.headers["retry-after"]))
        assert answer.status_code == 303, answer.text[-500:]
        return answer

    async def dump(self) -> None:
        """Ask for the state of every widget, as any page may."""
        comm = uuid.uuid4().hex
        await self.send("comm_open", {"comm_id": comm, "target_name": "jupyter.widget.control", "data": {}})
        await self.send("comm_msg", {"comm_id": comm, "data": {"method": "request_states"}})
        came = len(self.received)
        await soon(lambda: any('"update_states"' in text for text in self.received[came:]), 10)

    async def begin(self) -> None:
        """Join, enter, and go on to the first table."""
        await self.join()
        await self.enter()
        await self.start()

    async def start(self) -> None:
        """From the first scene to the first table."""
        await self.click("I agree")
        await self.click("Start")
        await self.until(lambda: re.search('class="nl-(turn|wait)', self.text()))
        await self.dump()

    def ids(self, kind: str) -> list[str]:
        """The widgets of a kind, shown or not."""
        return [id for id, model in self.models.items() if model.get("_model_name") == f"{kind}Model"]

    def named(self, kind: str, description: str) -> str:
        """A widget of that description, shown or not, enabled or not."""
        return next(id for id in self.ids(kind) if str(self.models[id].get("description", "")).startswith(description))

    def holds(self, *secrets: str, since: int = 0) -> list[str]:
        """Which of these came, with what stood around; of all answers, or of those after the first `since`."""
        whole = "\n".join(self.received[since:])
        return [where for secret in secrets if secret in whole and (where := _within(secret, whole))]

    async def ask(self, path: str = "", method: str = "GET", **headers: str) -> httpx.Response:
        """One request with this visitor's cookie; nothing is followed."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.client.request(method, self.base + path, headers=named, follow_redirects=False)


_IDS = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{20,}(_\d+_\d+)?|\d{4}-\d\d-\d\dT[\d:.]+")
"""Ids of messages, which hold a process id and a count, and times: numbers in them mean nothing."""


def _is_number(secret: str) -> bool:
    return re.fullmatch(r"[\d.]+", secret) is not None


def _within(secret: str, text: str) -> str:
    """Where it stands, with what is around; "" if nowhere. A number counts only if it is no part of a longer one, such
    as the 437 of "23,437"."""
    number = _is_number(secret)
    longer = "".join(rf"(?<![> ]{digits},)" for digits in (r"\d", r"\d\d", r"\d\d\d"))
    pattern = rf"(?<![\w.#]){longer}{re.escape(secret)}(?!\w|\.\d)" if number else re.escape(secret)
    text = _IDS.sub("", text) if number else text
    found = re.search(pattern, text)
    return f"{secret!r} in {text[max(0, found.start() - 150) : found.end() + 150]!r}" if found else ""


async def soon(true: Callable[[], bool], within: float = 5, pause: float = 0.05) -> bool:
    """Whether it becomes true in that time."""
    end = time.monotonic() + within
    while not (found := true()) and time.monotonic() < end:
        await asyncio.sleep(pause)
    return found
