"""A hostile visitor: a real server, a client that keeps every byte it received, and the secrets it must not receive."""

from __future__ import annotations

import asyncio
import os
import re
import resource
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import websockets
from typing_extensions import override

from negolab.record import Record
from negolab.studies.database import Database, StoredMatch
from negolab.studies.study_file import read_study
from negolab.studies.trial.browsers import invite_links
from negolab.verification import replay_differences
from tests.conftest import LAUNCH, ROOT, free_port, launch_environment
from tests.support import processes
from tests.support.bots import V1, Bot, framed, message, read_frame

CANARY = "sk-canary-5f1d0c"
"""A key in the launcher's environment."""


class Site:
    """A running `negolab serve STUDY.toml`, its database and its log."""

    def __init__(self, folder: Path, text: str, **options: Any) -> None:
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
            **options,
        )
        env["OPENAI_API_KEY"] = CANARY
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                LAUNCH, stdout=log, stderr=log, env=env, start_new_session=True, preexec_fn=_limit_resources
            )

    def wait(self) -> None:
        end = time.monotonic() + 90
        while "negolab is at" not in self.log():
            if self.process.poll() is not None or time.monotonic() > end:
                raise AssertionError("the server did not start: " + self.log()[-3000:])
            time.sleep(0.1)
        token = re.search(r"token=([\w-]+)", self.log())
        assert token is not None
        self.desk_token = token[1]

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

    def link(self) -> str:
        with self.database() as database:
            (link,) = invite_links(database, read_study(self.file), 1, self.url).values()
        return link

    def database(self) -> closing[Database]:
        return closing(Database(self.db))

    def matches(self, link: str = "") -> list[tuple[StoredMatch, Record]]:
        """The matches of a link's participant, or all, after checking that each replays to its record."""
        with self.database() as database:
            stored = database.matches(self.file.stem, participant=participant_id(link) if link else None)
            matches = [(match, database.record(match.id)) for match in stored]
        for _, record in matches:
            assert replay_differences(record) == []
        return matches

    def events(self, link: str = "") -> int:
        """The number of events in all matches of a link's participant, or of all."""
        return sum(len(record.events) for _, record in self.matches(link))

    def rows(self) -> dict[str, int]:
        """The study's row counts: people, matches, events, notes, pages reached, attempts at quizzes, and answers."""
        with self.database() as database:
            matches, people = database.matches(self.file.stem), database.participants(self.file.stem)
            return {
                "people": len(people),
                "matches": len(matches),
                "events": sum(len(database.record(match.id).events) for match in matches),
                "notes": len(database.notes(self.file.stem)),
                "pages": sum(len(database.reached(who.id)) for who in people),
                "attempts": sum(len(database.attempts(who.id)) for who in people),
                "answers": sum(len(database.answers(who.id)) for who in people),
            }

    @property
    def sockets(self) -> Path:
        commands = map(processes.command_line, processes.descendants(self.process.pid))
        return Path(next(match[1] for c in commands if (match := re.search(r"--seats=(\S+)/seats\.sock", c))))

    def host(self, socket: str) -> httpx2.Client:
        """Connect to one of the host's two sockets."""
        return httpx2.Client(transport=httpx2.HTTPTransport(uds=str(self.sockets / socket)), base_url="http://host")

    # Secrets

    def secrets(self) -> set[str]:
        """Strings that no visitor may receive: paths, keys, the researcher's token."""
        paths = set(map(str, (ROOT, self.folder, self.db, f"{Path.home()}/", "/tmp/", "site-packages", self.sockets)))
        names = {"OPENAI_API_KEY", CANARY, "NEGOLAB_SEATS", "NEGOLAB_ADMIN", "seats.sock", "admin.sock", "Traceback"}
        return paths | names | {self.desk_token, self.db.name, "sqlite"}

    def others(self, link: str) -> set[str]:
        """Ids and leases of all others, the participant's own lease secret, and the secrets that sign links."""
        own = participant_id(link)
        with self.database() as database:
            stored = database.kept(self.file.stem)
            people = database.participants(self.file.stem)
            matches = database.matches(self.file.stem)
        assert stored is not None
        secrets = {stored.secret, stored.salt}
        for who in people:
            secrets |= {(who.lease or "").partition(".")[2]}
            if who.id != own:
                secrets |= {who.id, (who.lease or "").partition(".")[0]}
        secrets |= {match.id for match in matches if own not in match.people.values()}
        return secrets - {""}

    def seeds(self, link: str) -> set[str]:
        """The seeds of the study and of the matches of a link's participant."""
        study = re.search(r"^seed = (\d+)", self.file.read_text(), re.M)
        seeds = {str(record.header.seed) for _, record in self.matches(link)}
        return seeds | ({study[1]} if study else set())


def _limit_resources() -> None:
    """Limit the address space to 8 GiB, so that an attack on memory ends the server and not the machine, and set the
    usual soft limit of descriptors."""
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


def participant_id(link: str) -> str:
    return link.rpartition("/")[2].partition(".")[0]


@contextmanager
def serving_site(folder: Path, text: str, **options: Any) -> Iterator[Site]:
    """Run a `Site` until the block ends, with options of the launcher."""
    site = Site(folder, text, **options)
    try:
        site.wait()
        yield site
    finally:
        site.end()


class Wire:
    """A websocket to a kernel, with all received messages."""

    def __init__(self, socket: Any, received: list[str]) -> None:
        self.socket, self.received = socket, received
        self.messages: list[dict[str, Any]] = []
        self._reader = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        with suppress(websockets.ConnectionClosed):
            async for raw in self.socket:
                self.received.append(raw if isinstance(raw, str) else raw.decode("utf-8", "replace"))
                self.messages.append(read_frame(raw))

    async def send(self, kind: str, content: dict[str, Any], channel: str = "shell", **header: Any) -> str:
        """Send one message and return its id."""
        sent = message(kind, content, **header)
        await self.socket.send(framed(sent, channel))
        return str(sent["header"]["msg_id"])

    async def answered(self, within: float = 10) -> bool:
        """Return True if the kernel answers a kernel_info_request in time."""
        asked = await self.send("kernel_info_request", {})

        def came() -> bool:
            own = (m for m in self.messages if m["parent_header"].get("msg_id") == asked)
            return any(m["msg_type"] == "kernel_info_reply" for m in own)

        return await wait_until(came, within)

    def kinds(self) -> set[str]:
        return {str(message["msg_type"]) for message in self.messages}

    async def close(self) -> None:
        await self.socket.close()
        self._reader.cancel()


class Visitor(Bot):
    """A bot that keeps every HTTP answer (status, headers, body) and every websocket message."""

    def __init__(self, link: str) -> None:
        super().__init__(link)
        self.wires: list[Wire] = []
        self.read = 0
        """The number of received texts that were searched already."""
        self.client.event_hooks["response"].append(self._kept)

    async def _kept(self, answer: httpx2.Response) -> None:
        body = await answer.aread()
        head = "\n".join(f"{name}: {value}" for name, value in answer.headers.multi_items())
        self.received.append(f"{answer.status_code}\n{head}\n\n{body.decode('utf-8', 'replace')}")

    @override
    async def connect(self) -> None:
        """Connect as a page does, with two more websockets."""
        self.wires = [Wire(await self.opened(), self.received), Wire(await self.opened(), self.received)]
        await super().connect()
        await self.until(self.models.__len__)

    @override
    async def opened(self, protocol: str | None = V1, **options: Any) -> Any:
        """Open a websocket, waiting as long as Retry-After says."""
        while True:
            try:
                return await super().opened(protocol, open_timeout=20, **options)
            except websockets.InvalidStatus as refused:
                if refused.response.status_code != 429:
                    raise
                await asyncio.sleep(float(refused.response.headers["retry-after"]))

    @override
    async def close(self) -> None:
        for wire in self.wires:
            await wire.close()
        await super().close()

    # The page

    @override
    async def join(self) -> httpx2.Response:
        """Press the join button, waiting as long as Retry-After says."""
        while (answer := await self.client.post(self.link, follow_redirects=False)).status_code == 429:
            await asyncio.sleep(float(answer.headers["retry-after"]))
        assert answer.status_code == 303, answer.text[-500:]
        return answer

    async def dump(self) -> None:
        """Request the state of every widget, as any page may."""
        comm = uuid.uuid4().hex
        await self.send("comm_open", {"comm_id": comm, "target_name": "jupyter.widget.control", "data": {}})
        await self.send("comm_msg", {"comm_id": comm, "data": {"method": "request_states"}})
        came = len(self.received)
        await wait_until(lambda: any('"update_states"' in text for text in self.received[came:]), 10)

    async def begin(self) -> None:
        """Join, enter, and go on to the first table."""
        await self.join()
        await self.enter()
        await self.start()

    async def start(self) -> None:
        """Go from the first page to the first table."""
        await self.click("I agree")
        await self.click("Start")
        await self.until(lambda: re.search('class="nl-(turn|wait)', self.text()))
        await self.dump()

    def ids(self, kind: str) -> list[str]:
        """The ids of all widgets of a kind, displayed or not."""
        return [id for id, model in self.models.items() if model.get("_model_name") == f"{kind}Model"]

    def fields(self) -> list[str]:
        """The ids of all fields of ours, displayed or not."""
        return [id for id, model in self.models.items() if "shown" in model]

    def named(self, kind: str, description: str) -> str:
        """The id of a widget with that description, displayed or not, enabled or not."""
        return next(id for id in self.ids(kind) if str(self.models[id].get("description", "")).startswith(description))

    def holds(self, *secrets: str, since: int = 0) -> list[str]:
        """Excerpts around each of these secrets that was received, after the first `since` answers."""
        whole = "\n".join(self.received[since:])
        return [where for secret in secrets if secret in whole and (where := _excerpt(secret, whole))]

    async def ask(self, path: str = "", method: str = "GET", **headers: str) -> httpx2.Response:
        """Send one request with this visitor's cookie; redirects are not followed."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.client.request(method, self.base + path, headers=named, follow_redirects=False)


_IDS = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{20,}(_\d+_\d+)?|\d{4}-\d\d-\d\dT[\d:.]+")
"""Message ids (with a process id and a counter) and times, whose digits are no secret numbers."""


def _excerpt(secret: str, text: str) -> str:
    """Return `secret` with the text around it, "" if it is absent. A number counts only if it is not part of a longer
    one, such as the 437 of "23,437"."""
    number = re.fullmatch(r"[\d.]+", secret) is not None
    longer = "".join(rf"(?<![> ]{digits},)" for digits in (r"\d", r"\d\d", r"\d\d\d"))
    pattern = rf"(?<![\w.#]){longer}{re.escape(secret)}(?!\w|\.\d)" if number else re.escape(secret)
    text = _IDS.sub("", text) if number else text
    match = re.search(pattern, text)
    return f"{secret!r} in {text[max(0, match.start() - 150) : match.end() + 150]!r}" if match else ""


async def wait_until(condition: Callable[[], bool], within: float = 5) -> bool:
    """Poll `condition` for at most `within` seconds; return its last value."""
    end = time.monotonic() + within
    while not (holds := condition()) and time.monotonic() < end:
        await asyncio.sleep(0.05)
    return holds
