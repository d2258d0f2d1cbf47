"""A study host in a process of its own: its study, its participants' pages, and its database."""

from __future__ import annotations

import asyncio
import tempfile
import threading
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import ipywidgets as w
import msgspec
from negolab_widgets.study import StudyPage

from negolab.studies import links, server
from negolab.studies.client import HostClient, PageClient
from negolab.studies.database import Database, Participant, StoredMatch
from negolab.studies.host_config import HostConfig
from negolab.verification import replay_differences
from tests.support.forked import ForkedProcess

TIMEOUT = 20.0
"""Seconds before a wait fails."""

STUDY = """
title = "A small study"
game = "{game}"
instructions = "Read this.\\n\\nThen press Start."
closing = "That was all."
seed = 3
{more}
[codes]
complete = "DONE4242"
timeout = "LATE4242"
partner = "LEFT4242"
unpaired = "ALONE4242"
withdrawn = "GONE4242"
declined = "NO4242"
ended = "STOP4242"
error = "FAULT4242"
{tables}
"""
PAIR_TREATMENT = '[[treatments]]\nname = "pairs"'


def solo_treatment(opponent: str, seat: str = "A", more: str = "") -> str:
    """A treatment in which a participant plays against `opponent`."""
    return f'[[treatments]]\nname = "alone"\nopponent = "{opponent}"\nseat = "{seat}"\n{more}'


class HostProcess:
    """A running host with one study or none, and with the models that `config` names."""

    def __init__(self, folder: Path, text: str = "", config: HostConfig | None = None) -> None:
        self.folder, self.out, self.config = folder, folder / "out", config
        self.sockets = Path(tempfile.mkdtemp(prefix="nl-", dir="/tmp"))
        self.file = folder / "small.toml" if text else None
        if self.file is not None:
            self.file.write_text(text)
        self.start()

    def start(self, *options: str) -> None:
        db = self.folder / "people.db" if self.config is None else "-"
        args = [f"--db={db}", f"--admin={self.desk}", f"--seats={self.seats}", f"--out={self.out}", *options]
        args += [] if self.file is None else [f"--study={self.file}"]
        self.process = ForkedProcess(server.main, *args)
        if self.config is not None:
            config = msgspec.structs.replace(self.config, db=str(self.folder / "people.db"))
            self.process.stdin.write(config.line().decode())
            self.process.stdin.flush()
        self.stderr: deque[str] = deque(maxlen=1000)
        self._reader = threading.Thread(target=self.stderr.extend, args=(self.process.stderr,), daemon=True)
        self._reader.start()
        if self.process.stdout.readline().strip() != "ready":
            self._reader.join(5)
            raise AssertionError("the host did not start: " + "".join(self.stderr))

    def kill(self) -> None:
        """Kill the process, as a power cut would."""
        self.process.kill()
        self._ended()

    def close(self) -> None:
        """End the process as its launcher does: by closing its standard input."""
        self._ended()
        for socket in self.sockets.iterdir():
            socket.unlink()
        self.sockets.rmdir()

    def _ended(self) -> None:
        self.process.stdin.close()
        self.process.wait(20)
        self._reader.join(5)
        self.process.stdout.close()

    @property
    def desk(self) -> str:
        return str(self.sockets / "admin.sock")

    @property
    def seats(self) -> str:
        return str(self.sockets / "seats.sock")

    # Participants

    def invite(self) -> tuple[Participant, str]:
        with self.database() as database:
            (who,) = database.invite("small")
        return who, self.token(who)

    def token(self, who: Participant) -> str:
        with self.database() as database:
            stored = database.kept("small")
        assert stored is not None
        return links.make_token(stored.secret, "small", who.id, created=who.created)

    def lease(self, token: str) -> str:
        """Bind a new kernel to the token; return the kernel's lease."""
        host, kernel = HostClient(self.seats), uuid.uuid4().hex
        host.ask("/bind", token=token, kernel=kernel)
        return asyncio.run(host.arrival(kernel))[0]

    def page(self, token: str) -> PageClient:
        return PageClient(HostClient(self.seats), self.lease(token))

    def join(self) -> tuple[StudyPage, Participant, str]:
        """Add a participant and open their page."""
        who, token = self.invite()
        return self.open(token), who, token

    def begin(self) -> tuple[StudyPage, Participant, str]:
        """Add a participant, open their page, and press Start."""
        page, who, token = self.join()
        press_button(page, "Start")
        return page, who, token

    def open(self, token: str) -> StudyPage:
        page = StudyPage()
        page.show(self.page(token))
        return page

    # Stored data

    def database(self) -> closing[Database]:
        return closing(Database(self.folder / "people.db"))

    def participant(self, who: Participant) -> Participant:
        with self.database() as database:
            stored = database.participant(who.id)
        assert stored is not None
        return stored

    def matches(self) -> list[StoredMatch]:
        """The matches of the study, after checking that each replays to its record."""
        with self.database() as database:
            matches = database.matches("small" if self.file else None)
            for match in matches:
                assert replay_differences(database.record(match.id)) == []
        return matches

    def matches_of(self, status: str) -> list[StoredMatch]:
        """The matches of participants with this status, without replaying them: deleted words cannot be replayed."""
        with self.database() as database:
            ended = {who.id for who in database.participants("small") if who.status == status}
            return [match for match in database.matches("small") if ended & set(match.people.values())]

    def replies(self, match: str, seat: str) -> list[str]:
        """The texts of a seat's stored replies."""
        with self.database() as database:
            record = database.record(match)
        return [e.reply.text for e in record.events if getattr(e, "seat", "") == seat and hasattr(e, "reply")]


@contextmanager
def running_host(folder: Path, text: str = "", config: HostConfig | None = None) -> Iterator[HostProcess]:
    """Run a host until the block ends."""
    hosted = HostProcess(folder, text, config)
    try:
        yield hosted
    finally:
        hosted.close()


def study_toml(game: str, tables: str, more: str = "") -> str:
    return STUDY.format(game=game, tables=tables, more=more)


def follow_until(done: Callable[[], Any], *pages: StudyPage, seconds: float = TIMEOUT) -> None:
    """Let pages follow the host until `done()` is true."""
    asyncio.run(_follow_until(done, [page._page for page in pages if page._page is not None], seconds))


async def _follow_until(done: Callable[[], Any], pages: list[PageClient], seconds: float) -> None:
    tasks = [asyncio.ensure_future(page.follow()) for page in pages]
    try:
        async with asyncio.timeout(seconds):
            while not done():
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError("timed out") from None
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


# Widgets of a page


def descendants(widget: w.Widget) -> list[w.Widget]:
    return [widget, *(inner for part in getattr(widget, "children", ()) for inner in descendants(part))]


def shown_widgets(widget: w.Widget) -> list[w.Widget]:
    """A widget and all widgets in it that are displayed."""
    if widget.layout.display == "none":
        return []
    return [widget, *(inner for part in getattr(widget, "children", ()) for inner in shown_widgets(part))]


def page_text(page: w.Widget) -> str:
    """The text of all displayed widgets: HTML, descriptions and words."""
    parts = shown_widgets(page)
    return "\n".join(str(getattr(part, name, "")) for part in parts for name in ("value", "description", "words"))


def button_labels(page: w.Widget) -> list[str]:
    return [part.description for part in shown_widgets(page) if isinstance(part, w.Button)]


def press_button(page: w.Widget, name: str) -> None:
    """Press the one displayed button of that name."""
    (button,) = [p for p in shown_widgets(page) if isinstance(p, w.Button) and p.description == name]
    button.click()
