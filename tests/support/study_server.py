"""A study on a real server with participants in real browsers: their actions, their pages, and the stored data."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from negolab.events import Replied
from negolab.game import Seat
from negolab.record import Record
from negolab.studies.database import Database, Participant, StoredMatch
from negolab.studies.study_file import read_study
from negolab.studies.trial.browsers import invite_links
from negolab.verification import replay_differences
from tests.conftest import PATIENCE, free_port, running
from tests.support.browser import MOVES, Mouse, is_turn
from tests.support.processes import ProcessKind, command_line, kernels_of, kill, processes_of

WIDE = {"width": 1280, "height": 900}
PHONE = {"width": 360, "height": 800}

_RECORD_WARNINGS = """() => {
  const key = "told", all = () => JSON.parse(sessionStorage.getItem(key) ?? "[]");
  const note = () => {
    for (const one of document.querySelectorAll(".nl-lost, .nl-banner")) {
      const text = one.innerText.trim();
      if (text && all().at(-1) !== text) sessionStorage.setItem(key, JSON.stringify([...all(), text]));
    }
  };
  new MutationObserver(note).observe(document, { subtree: true, childList: true, characterData: true });
}"""
"""Keeps every warning that the page shows, also those that a reload removes a moment later."""


class StudyServer:
    """A served study: `base` is the participants' address, `desk` the researcher's monitor."""

    def __init__(self, file: Path, database: str | Path, base: str, desk: str, launcher: int) -> None:
        self.study, self.base, self.desk, self.launcher = read_study(file), base, desk, launcher
        self._path = database

    # Participants

    def invite(self) -> tuple[str, str]:
        """Add a participant; return their id and their link."""
        with self.database() as database:
            ((id, link),) = invite_links(database, self.study, 1, self.base).items()
            return id, link

    # Faults

    def kill(self, part: ProcessKind, kernel: str = "") -> None:
        """Kill the host, the participants' Voila, or the kernel with that id."""
        voilas = processes_of(self.launcher, "voila")
        pids = kernels_of(voilas[0]) if part == "kernel" else processes_of(self.launcher, part)
        (pid,) = [pid for pid in pids if kernel in command_line(pid)]
        kill(pid)

    # Stored data

    def database(self) -> closing[Database]:
        return closing(Database(self._path))

    def participant(self, id: str) -> Participant:
        with self.database() as database:
            stored = database.participant(id)
        assert stored is not None
        return stored

    def match(self, id: str) -> tuple[StoredMatch, Record]:
        """The one match of a participant, after checking that it replays to its record."""
        with self.database() as database:
            (match,) = [match for match in database.matches(self.study.name, participant=id) if not match.practice]
            record = database.record(match.id)
        assert replay_differences(record) == []
        return match, record


@contextmanager
def serving_study(
    folder: Path, text: str, *options: str, database: str | Path = "", prefix: Sequence[str] = (), **popen: Any
) -> Iterator[StudyServer]:
    """Run `negolab serve` on a study until the block ends."""
    file, database, port = folder / "small.toml", database or folder / "people.db", free_port()
    file.write_text(text, "utf-8")
    serve = [*prefix, sys.executable, "-m", "negolab", "serve", str(file), f"--port={port}"]
    serve += [f"--desk-port={free_port()}", f"--out={folder / 'out'}", f"--db={database}", "--no-browser", "--pool=2"]
    with running([*serve, *options], "negolab is at", **popen) as (line, launcher):
        yield StudyServer(file, database, f"http://127.0.0.1:{port}/", line.split()[3], launcher)


class Person:
    """A participant in a browser of their own. `said` is what they said and saw to server in the talk."""

    def __init__(self, chromium: Any, server: StudyServer, size: dict[str, int] = WIDE, **options: Any) -> None:
        self.server = server
        self.id, self.link = server.invite()
        self._new_context = partial(chromium.new_context, viewport=size, **options)
        self.errors: list[str] = []
        self.messages: list[str] = []
        self.open_browser()

    def open_browser(self) -> None:
        """Open a browser without cookies."""
        self.context = self._new_context()
        self.context.add_init_script(f"({_RECORD_WARNINGS})()")
        self.page = self.tab()

    def tab(self) -> Any:
        page = self.context.new_page()
        page.on("pageerror", lambda error: self._note(str(error)))
        return page

    def _note(self, error: str) -> None:
        # A reload aborts the loading of figures.
        if "Failed to initialize model" not in error:
            self.errors.append(error)

    # Before the match

    def join(self) -> Person:
        """Open the link, press Continue, and wait for the first page of the study."""
        self.page.goto(self.link)
        self.press("Continue")
        self.page.get_by_role("button", name=re.compile("^(I agree|Send answers|Start$)")).first.wait_for()
        return self

    def begin(self) -> Person:
        """Give consent if it is asked for, and start."""
        if self.button("I agree to take part").is_visible():
            self.press("I agree to take part")
        self.press("Start")
        return self

    def button(self, name: str) -> Any:
        return self.page.get_by_role("button", name=name, exact=True)

    def press(self, name: str) -> None:
        self.button(name).click()

    def wait_for_text(self, text: str) -> None:
        self.page.get_by_text(text).first.wait_for()

    # At the table

    @property
    def table(self) -> Any:
        return self.page.locator(".nl-page .nl-page")

    def seated(self) -> Person:
        self.table.locator(".nl-bar").wait_for()
        return self

    def is_over(self) -> bool:
        return bool(self.table.locator(".nl-result").count())

    def has_turn(self) -> bool:
        """Return True if it is this person's turn; the controls are drawn a moment after the page says so."""
        asked = self.table.count() == 1 and is_turn(self.table)
        if asked:
            self.page.wait_for_timeout(150)
        return asked

    def is_waiting(self) -> bool:
        return "Waiting for " in self.table.locator(".nl-bar").inner_text()

    def shows_turn(self) -> bool:
        """Return True if the page says whose turn it is or that the match is over."""
        return self.is_waiting() or is_turn(self.table) or self.is_over()

    def wait_for_turn(self) -> bool:
        """Wait for this person's turn; return False if the match is over."""
        self.wait_until(lambda: self.is_over() or self.has_turn())
        return not self.is_over()

    def own_messages(self) -> list[str]:
        """This person's messages in the page's log, word for word."""
        entries = self.table.locator(".nl-help .nl-log .nl-you")
        messages: list[str] = entries.evaluate_all(
            "all => all.map(one => [...one.querySelectorAll('.nl-said')].map(said => said.textContent).join('\\n'))"
        )
        return messages

    def move(self, move: Callable[[Any, Any], None] | None = None) -> None:
        """Make a move and check that its message appears once, after all earlier ones."""
        (move or MOVES[self.server.study.game])(Mouse(self.page), self.table)
        self.wait_until(lambda: len(self.own_messages()) > len(self.messages))
        self.check_messages(1)
        self.messages = self.own_messages()
        self.page.wait_for_timeout(450)  # sooner it would be the second press of a double click

    def check_messages(self, more: int = 0) -> None:
        """Check that the log holds the earlier messages unchanged, then `more` new ones."""
        own = self.own_messages()
        assert own[: len(self.messages)] == self.messages, "earlier messages have changed in the log"
        assert len(own) == len(self.messages) + more

    def wait_until(
        self, condition: Callable[[], Any], why: str = "timed out", seconds: float = PATIENCE / 1000
    ) -> None:
        """Wait until `condition()` is true; the page may reload meanwhile."""
        from playwright.sync_api import Error

        end = time.monotonic() + seconds  # a condition may itself wait for something on the page
        while time.monotonic() < end:
            try:
                if condition():
                    return
            except Error:
                pass  # the page is reloading
            self.page.wait_for_timeout(100)
        body = self.page.inner_text("body")[:1500]
        focus = self.page.evaluate("() => document.activeElement.outerHTML.slice(0, 120)")
        warned = self.warnings_shown()
        raise AssertionError(f"{why}; the focus is on {focus}; it warned of {warned}; the page says: {body}")

    # The page

    def warnings_shown(self) -> list[str]:
        """Every warning that was shown in this tab, in order."""
        warnings: list[str] = self.page.evaluate("() => JSON.parse(sessionStorage.getItem('told') ?? '[]')")
        return warnings

    def clear_warnings(self) -> None:
        self.page.evaluate("() => sessionStorage.removeItem('told')")

    def current_warnings(self) -> list[str]:
        texts: list[str] = self.page.locator(".nl-lost, .nl-banner:visible").all_inner_texts()
        return [text for text in texts if text.strip()]

    def kernel(self) -> str:
        data = self.page.locator("#jupyter-config-data").text_content()
        match = re.search(r'"kernelId":\s*"([0-9a-f-]{36})"', data or "")
        assert match, "the page has no kernel"
        return match[1]

    def completion_code(self) -> str:
        self.page.locator(".nl-code").wait_for()
        return str(self.page.locator(".nl-code").inner_text())

    def close(self) -> None:
        self.context.close()

    # Stored data

    def seat(self) -> Seat:
        match, _ = self.server.match(self.id)
        return next(seat for seat, id in match.people.items() if id == self.id)

    def check_record(self) -> Record:
        """Check that the record's replies are the messages on the page, in order; return the record."""
        _, record = self.server.match(self.id)
        seat = self.seat()
        assert [e.reply.text for e in record.events if isinstance(e, Replied) and e.seat == seat] == self.messages
        return record

    def check_result(self, record: Record) -> None:
        """Check that the page shows the record's payoff."""
        paid = record.game.format_payoff(record.payoffs[self.seat()])
        assert f"Your result: {paid}." in self.table.locator(".nl-result").inner_text()
