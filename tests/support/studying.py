"""A study on a real server with people in real browsers: what they do, what their pages say, what was kept of it."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from negolab.events import Replied
from negolab.game import Seat
from negolab.match import replay_differences
from negolab.record import Record
from negolab.studies import links
from negolab.studies.database import Database, Participant, StoredMatch
from negolab.studies.study_file import read_study
from tests.conftest import free_port, running
from tests.support.driving import MOVES, Mouse, ready
from tests.support.processes import Part, command, kernels_of, kill, parts

WIDE = {"width": 1280, "height": 900}
PHONE = {"width": 360, "height": 800}
LONG = 40_000
"""Milliseconds after which what is waited for will not come."""

_NOTED = """() => {
  const key = "told", all = () => JSON.parse(sessionStorage.getItem(key) ?? "[]");
  const note = () => {
    for (const one of document.querySelectorAll(".nl-lost, .nl-banner")) {
      const text = one.innerText.trim();
      if (text && all().at(-1) !== text) sessionStorage.setItem(key, JSON.stringify([...all(), text]));
    }
  };
  new MutationObserver(note).observe(document, { subtree: true, childList: true, characterData: true });
}"""
"""Notes every warning that the page shows, also those that a reload takes away a moment later."""


class Stand:
    """A served study: `base` is where its participants come to, `desk` the researcher's monitor."""

    def __init__(self, file: Path, database: Path, base: str, desk: str, launcher: int) -> None:
        self.study, self.base, self.desk, self.launcher = read_study(file), base, desk, launcher
        self._path = database

    # People.

    def invite(self) -> tuple[str, str]:
        """A new participant: their id and their link."""
        with self.database() as database:
            kept = database.study(self.study.name, self.study.text)
            (who,) = database.invite(self.study.name)
            token = links.make_token(kept.secret, self.study.name, who.id, created=who.created)
            return who.id, links.link_url(self.base, token)

    # Faults.

    def kill(self, part: Part, kernel: str = "") -> None:
        """End the host, the participants' Voila, or the kernel with that id as a crash would."""
        voilas = parts(self.launcher, "voila")
        found = kernels_of(voilas[0]) if part == "kernel" else parts(self.launcher, part)
        (pid,) = [pid for pid in found if kernel in command(pid)]
        kill(pid)

    # What is kept.

    @contextmanager
    def database(self) -> Iterator[Database]:
        database = Database(self._path)
        try:
            yield database
        finally:
            database.close()

    def participant(self, id: str) -> Participant:
        with self.database() as database:
            found = database.participant(id)
        assert found is not None
        return found

    def match(self, id: str) -> tuple[StoredMatch, Record]:
        """The one match of a participant, which replays to exactly what was kept."""
        with self.database() as database:
            (sat,) = [sat for sat in database.matches(self.study.name, participant=id) if not sat.practice]
            record = database.record(sat.id)
        assert replay_differences(record) == []
        return sat, record


@contextmanager
def standing(folder: Path, text: str, *options: str) -> Iterator[Stand]:
    """`negolab serve` on a study until the caller is done with it."""
    file, database, port = folder / "small.toml", folder / "people.db", free_port()
    file.write_text(text, "utf-8")
    serve = [sys.executable, "-m", "negolab", "serve", str(file), f"--port={port}", f"--desk-port={free_port()}"]
    serve += [f"--out={folder / 'out'}", f"--db={database}", "--no-browser", "--pool=2", *options]
    with running(serve, "negolab is at") as (line, launcher):
        yield Stand(file, database, f"http://127.0.0.1:{port}/", line.split()[3], launcher)


class Person:
    """A participant in a browser of their own. `said` is what they said and saw to stand in the talk."""

    def __init__(self, chromium: Any, stand: Stand, size: dict[str, int] = WIDE, **options: Any) -> None:
        self.stand = stand
        self.id, self.link = stand.invite()
        self.context = chromium.new_context(viewport=size, **options)
        self.context.add_init_script(f"({_NOTED})()")
        self.errors: list[str] = []
        self.page = self.tab()
        self.said: list[str] = []

    def tab(self) -> Any:
        page = self.context.new_page()
        page.set_default_timeout(LONG)
        page.on("pageerror", lambda error: self._note(str(error)))
        return page

    def _note(self, error: str) -> None:
        # A page that is loaded anew while a figure still loads gives that up.
        if "Failed to initialize model" not in error:
            self.errors.append(error)

    # On the way to the table.

    def come(self) -> Person:
        """Open the link, press its button, and wait for the first page of the study."""
        self.page.goto(self.link)
        self.press("Continue")
        self.page.get_by_role("button", name=re.compile("^(I agree|Send answers|Start$)")).first.wait_for()
        return self

    def begin(self) -> Person:
        """Agree to what there is to agree to, and start."""
        if self.button("I agree and take part").is_visible():
            self.press("I agree and take part")
        self.press("Start")
        return self

    def button(self, name: str) -> Any:
        return self.page.get_by_role("button", name=name, exact=True)

    def press(self, name: str) -> None:
        self.button(name).click()

    def sees(self, text: str, seconds: float = LONG / 1000) -> None:
        """Wait until the page says it."""
        self.page.get_by_text(text).first.wait_for(timeout=seconds * 1000)

    # At the table.

    @property
    def table(self) -> Any:
        return self.page.locator(".nl-page .nl-page")

    def seated(self) -> Person:
        self.table.locator(".nl-bar").wait_for()
        return self

    def is_over(self) -> bool:
        return bool(self.table.locator(".nl-result").count())

    def has_turn(self) -> bool:
        """Whether the page asks for something; its controls are drawn a moment after it says so."""
        asked = self.table.count() == 1 and ready(self.table)
        if asked:
            self.page.wait_for_timeout(150)
        return asked

    def waits(self) -> bool:
        """Whether the page says that the other one is awaited."""
        return "Waiting for " in self.table.locator(".nl-bar").inner_text()

    def is_told(self) -> bool:
        """Whether the page says who is awaited: the other one, oneself, or nobody any more."""
        return self.waits() or ready(self.table) or self.is_over()

    def turn(self) -> bool:
        """Wait until there is something to do: False if the match is over."""
        self.until(lambda: self.is_over() or self.has_turn())
        return not self.is_over()

    def own(self) -> list[str]:
        """What stands as said by oneself in the talk, word for word."""
        entries = self.table.locator(".nl-log").last.locator(".nl-you")
        found: list[str] = entries.evaluate_all(
            "all => all.map(one => [...one.querySelectorAll('.nl-said')].map(said => said.textContent).join('\\n'))"
        )
        return found

    def move(self, move: Callable[[Any, Any], None] | None = None) -> None:
        """Say the next thing and see it stand: once, after all that stood there before."""
        (move or MOVES[self.stand.study.game])(Mouse(self.page), self.table)
        self.until(lambda: len(self.own()) > len(self.said))
        self.sees_what_was_said(1)
        self.said = self.own()
        self.page.wait_for_timeout(450)  # sooner it would be the second press of a double click

    def sees_what_was_said(self, more: int = 0) -> None:
        """All that was said stands in the talk, nothing twice; `more`: so many new entries after it."""
        own = self.own()
        assert own[: len(self.said)] == self.said, "what was said before does not stand in the talk as it was"
        assert len(own) == len(self.said) + more

    def until(self, true: Callable[[], Any], why: str = "it did not come", seconds: float = LONG / 1000) -> None:
        """Wait until something holds of the page, which may be loaded anew meanwhile."""
        from playwright.sync_api import Error

        for _ in range(int(seconds * 10)):
            try:
                if true():
                    return
            except Error:
                pass  # the page is just being replaced
            self.page.wait_for_timeout(100)
        raise AssertionError(f"{why}; it warned of {self.told()}; the page says: {self.page.inner_text('body')[:1500]}")

    # What the page itself says.

    def told(self) -> list[str]:
        """Every warning the page has shown in this tab, in order."""
        found: list[str] = self.page.evaluate("() => JSON.parse(sessionStorage.getItem('told') ?? '[]')")
        return found

    def forget_what_was_told(self) -> None:
        self.page.evaluate("() => sessionStorage.removeItem('told')")

    def warnings(self) -> list[str]:
        """The warnings that stand there now."""
        texts: list[str] = self.page.locator(".nl-lost, .nl-banner:visible").all_inner_texts()
        return [text for text in texts if text.strip()]

    def kernel(self) -> str:
        """The id of the page's kernel."""
        data = self.page.locator("#jupyter-config-data").text_content()
        found = re.search(r'"kernelId":\s*"([0-9a-f-]{36})"', data or "")
        assert found, "the page has no kernel"
        return found[1]

    def code(self) -> str:
        """The completion code on the last page."""
        self.page.locator(".nl-code").wait_for()
        return str(self.page.locator(".nl-code").inner_text())

    def close(self) -> None:
        self.context.close()

    # What was kept of it.

    def seat(self) -> Seat:
        """Where they sat at their match."""
        sat, _ = self.stand.match(self.id)
        return next(seat for seat, id in sat.people.items() if id == self.id)

    def agrees_with_the_record(self) -> Record:
        """The log of the match holds what the page showed as said, in that order and nothing twice."""
        _, record = self.stand.match(self.id)
        seat = self.seat()
        assert [e.reply.text for e in record.events if isinstance(e, Replied) and e.seat == seat] == self.said
        return record

    def shows_the_result_of(self, record: Record) -> None:
        """The result on the page is the record's."""
        paid = record.game.format_payoff(record.payoffs[self.seat()])
        assert f"Your result: {paid}." in self.table.locator(".nl-result").inner_text()
