"""A host process of its own for tests of the screen: its study, its pages, and what its database holds."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import threading
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ipywidgets as w
import msgspec
from negolab_widgets.study import StudyPage

from negolab.match import replay_differences
from negolab.studies import links
from negolab.studies.client import HostClient, PageClient
from negolab.studies.database import Database, Participant, StoredMatch
from negolab.studies.host_config import HostConfig

LONG = 20.0
"""Seconds after which what is waited for will not come."""

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
PAIRS = '[[treatments]]\nname = "pairs"'


def alone(opponent: str, seat: str = "A", more: str = "") -> str:
    """A treatment against a player."""
    return f'[[treatments]]\nname = "alone"\nopponent = "{opponent}"\nseat = "{seat}"\n{more}'


class Hosted:
    """A running host with one study, or without one; with the models that `briefing` names."""

    def __init__(self, folder: Path, text: str = "", briefing: HostConfig | None = None) -> None:
        self.folder, self.out, self.briefing = folder, folder / "out", briefing
        self.sockets = Path(tempfile.mkdtemp(prefix="nl-", dir="/tmp"))
        self.file = folder / "small.toml" if text else None
        if self.file is not None:
            self.file.write_text(text)
        self.start()

    def start(self) -> None:
        db = self.folder / "people.db" if self.briefing is None else "-"
        command = [sys.executable, "-m", "negolab.studies.server", f"--db={db}"]
        command += [f"--desk={self.desk}", f"--seats={self.seats}", f"--out={self.out}"]
        command += [] if self.file is None else [f"--study={self.file}"]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(command, text=True, **pipes)
        assert self.process.stdout is not None and self.process.stderr is not None
        if self.briefing is not None:
            told = msgspec.structs.replace(self.briefing, db=str(self.folder / "people.db"))
            assert self.process.stdin is not None
            self.process.stdin.write(told.line().decode())
            self.process.stdin.flush()
        self.said: deque[str] = deque(maxlen=1000)
        self._reader = threading.Thread(target=self.said.extend, args=(self.process.stderr,), daemon=True)
        self._reader.start()
        if self.process.stdout.readline().strip() != "ready":
            self._reader.join(5)
            raise AssertionError("the host did not start: " + "".join(self.said))

    def kill(self) -> None:
        """End it at once, as a power cut would."""
        self.process.kill()
        self._ended()

    def close(self) -> None:
        """End it as its launcher does: by letting go of its standard input."""
        self._ended()
        for left in self.sockets.iterdir():
            left.unlink()
        self.sockets.rmdir()

    def _ended(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(20)
        self._reader.join(5)
        self.process.stdout.close()

    @property
    def desk(self) -> str:
        return str(self.sockets / "desk.sock")

    @property
    def seats(self) -> str:
        return str(self.sockets / "seats.sock")

    # People.

    def invite(self) -> tuple[Participant, str]:
        """A new participant with the token of their link."""
        with self.database() as database:
            (who,) = database.invite("small")
        return who, self.token(who)

    def token(self, who: Participant) -> str:
        """The token of a participant's link."""
        with self.database() as database:
            kept = database.kept("small")
        assert kept is not None
        return links.make_token(kept.secret, "small", who.id, created=who.created)

    def lease(self, token: str) -> str:
        """A new kernel for whoever holds the token."""
        host, kernel = HostClient(self.seats), uuid.uuid4().hex
        host.ask("/bind", token=token, kernel=kernel)
        return asyncio.run(host.arrival(kernel))[0]

    def page(self, token: str) -> PageClient:
        return PageClient(HostClient(self.seats), self.lease(token))

    def come(self) -> tuple[StudyPage, Participant, str]:
        """A new participant with an open page."""
        who, token = self.invite()
        return self.open(token), who, token

    def open(self, token: str) -> StudyPage:
        shown = StudyPage()
        shown.show(self.page(token))
        return shown

    # What is kept.

    @contextmanager
    def database(self) -> Iterator[Database]:
        database = Database(self.folder / "people.db")
        try:
            yield database
        finally:
            database.close()

    def participant(self, who: Participant) -> Participant:
        with self.database() as database:
            found = database.participant(who.id)
        assert found is not None
        return found

    def matches(self) -> list[StoredMatch]:
        """The matches of the study, each of which replays to what was kept."""
        with self.database() as database:
            found = database.matches("small" if self.file else None)
            for sat in found:
                assert replay_differences(database.record(sat.id)) == []
        return found

    def matches_of(self, status: str) -> list[StoredMatch]:
        """The matches of those who ended so; words that were deleted cannot be replayed."""
        with self.database() as database:
            ended = {who.id for who in database.participants("small") if who.status == status}
            return [sat for sat in database.matches("small") if ended & set(sat.people.values())]

    def words(self, match: str, seat: str) -> list[str]:
        """What a seat said, as it was kept."""
        with self.database() as database:
            record = database.record(match)
        return [e.reply.text for e in record.events if getattr(e, "seat", "") == seat and hasattr(e, "reply")]


@contextmanager
def hosting(folder: Path, text: str = "", briefing: HostConfig | None = None) -> Iterator[Hosted]:
    """A host until the caller is done with it; what it says on its error output is no part of a test that passes."""
    hosted = Hosted(folder, text, briefing)
    try:
        yield hosted
    finally:
        hosted.close()


def study(game: str, tables: str, more: str = "") -> str:
    return STUDY.format(game=game, tables=tables, more=more)


def until(done: Callable[[], Any], *pages: StudyPage, seconds: float = LONG) -> None:
    """Let pages follow the host until something is so."""
    asyncio.run(_until(done, [page._page for page in pages if page._page is not None], seconds))


async def _until(done: Callable[[], Any], pages: list[PageClient], seconds: float) -> None:
    tasks = [asyncio.ensure_future(page.follow()) for page in pages]
    try:
        async with asyncio.timeout(seconds):
            while not done():
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError("what was waited for did not come") from None
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


# What is on a page.


def below(widget: w.Widget) -> list[w.Widget]:
    """A widget and everything in it."""
    return [widget, *(inner for part in getattr(widget, "children", ()) for inner in below(part))]


def visible(widget: w.Widget) -> list[w.Widget]:
    """A widget and everything in it that is not taken off the page."""
    if widget.layout.display == "none":
        return []
    return [widget, *(inner for part in getattr(widget, "children", ()) for inner in visible(part))]


def text(page: w.Widget) -> str:
    """All that stands on the page, as HTML and descriptions."""
    parts = visible(page)
    return "\n".join(str(getattr(part, name, "")) for part in parts for name in ("value", "description", "words"))


def buttons(page: w.Widget) -> list[str]:
    return [part.description for part in visible(page) if isinstance(part, w.Button)]


def press(page: w.Widget, name: str) -> None:
    """Press the one button that is shown and called so."""
    (button,) = [p for p in visible(page) if isinstance(p, w.Button) and p.description == name]
    button.click()
