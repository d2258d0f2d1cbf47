"""A study in German by `[texts]` alone: no default text is visible on any page, at any table.

Every text of the German catalogue stands in the marks of `marked`, and what the study itself says is Greek. So words
outside marks come from a literal in the code, and English words inside them from another text that was filled in.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from negolab.studies.study_file import catalogue, read_study
from negolab.texts import flatten, format_texts
from tests.conftest import SLOW
from tests.support.study_server import Person, StudyServer, serving_study

pytestmark = pytest.mark.browser

GERMAN = flatten(tomllib.loads((Path(__file__).parents[1] / "support/german.toml").read_text("utf-8"))["texts"])
"""The German texts by key."""

OPEN, CLOSE = "\N{MATHEMATICAL LEFT WHITE SQUARE BRACKET}", "\N{MATHEMATICAL RIGHT WHITE SQUARE BRACKET}"

STUDY = """
title = "Μια μικρή μελέτη"
game = "{game}"
seed = 3
consent = "Συμφωνείτε;"
instructions = "Παίξτε."
closing = "Ευχαριστούμε."
[[treatments]]
name = "pairs"
{params}
[pairing]
wait = 4
then = "{player}"
[limits]
reply = 200
[codes]
complete = "4242"
[[steps]]
kind = "consent"
[[steps]]
kind = "questions"
seconds = 300
[[steps.questions]]
name = "age"
label = "Ηλικία;"
kind = "number"
required = true
[[steps.questions]]
name = "often"
label = "Πόσο συχνά;"
kind = "choice"
choices = ["ποτέ", "συχνά"]
[[steps]]
kind = "instructions"
[[steps]]
kind = "quiz"
attempts = 3
[[steps.questions]]
name = "half"
label = "Πόσο;"
kind = "choice"
choices = ["μηδέν", "μισό"]
answer = "μηδέν"
[[steps]]
kind = "practice"
opponent = "{player}"
{params}
[[steps]]
kind = "match"
[[steps]]
kind = "results"
[[steps]]
kind = "questions"
[[steps.questions]]
name = "remarks"
label = "Σχόλια;"
[payment]
currency = "EUR"
rate = 0.01
show_up = 2.0
"""

SCENARIO = """
title = "Μια δουλειά"
turns = 6
[roles]
A = "η μία πλευρά"
B = "η άλλη πλευρά"
[brief]
A = "Θέλετε δουλειά."
B = "Δίνετε δουλειά."
[reservation]
A = 10
B = 10
[[issues]]
name = "μισθός"
options = ["πολύ", "λίγο", "καθόλου"]
A = [40, 20, 0]
B = [0, 30, 60]
[[issues]]
name = "μέρες"
units = 3
A = 5
B = 4
"""

PLAYED = {
    "agenda": ('preset = "job.toml"', "conceder"),
    "balloon": ("params = { items = 6 }", "conceder"),
    "bargaining": ("params = { rounds = 4 }", "fair"),
    "split": ("params = { rounds = 2 }", "truthful"),
    "trading": ("params = { max_turns = 6 }", "fair-split"),
}
"""Parameters, and who sits across."""

VISIBLE = """() => {
  const apart = ".nl-said, .nl-code, .nl-keys dt, bdi, script, style, noscript, #jupyter-config-data";
  const texts = [], loose = [], said = [...document.querySelectorAll(".nl-said")].map((el) => el.textContent);
  const shown = (el) => el.checkVisibility({ visibilityProperty: true, opacityProperty: false });
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, parent = node.parentElement;
    if (!node.nodeValue.trim() || !parent || parent.closest(apart) || !shown(parent)) continue;
    (parent.closest(".nl-last") ? loose : texts).push(node.nodeValue);
  }
  for (const el of document.body.querySelectorAll("[aria-label], [title], [placeholder], [aria-valuetext]")) {
    if (el.closest(apart) || !shown(el)) continue;
    for (const name of ["aria-label", "title", "placeholder", "aria-valuetext"]) {
      if (el.getAttribute(name)) texts.push(el.getAttribute(name));
    }
  }
  return { texts, loose, said };
}"""
"""The texts of a page, `said` what players wrote; `loose` may quote that, cut off."""

_INNERMOST = re.compile(f"{OPEN}[^{OPEN}{CLOSE}]*{CLOSE}")
_WORD = re.compile(r"[^\W\d_]{2,}")
_GREEK = re.compile(r"[\u0370-\u03ff\u1f00-\u1fff]+")


def outside_marks(texts: list[str]) -> list[str]:
    """The words of a page that stand in no mark and are not the study's own, in Greek."""
    whole = "\n".join(texts)
    while (inner := _INNERMOST.sub("", whole)) != whole:
        whole = inner
    return [word for word in _WORD.findall(whole) if not _GREEK.fullmatch(word)] + re.findall(f"[{OPEN}{CLOSE}]", whole)


def words_of(texts: Iterator[str]) -> set[str]:
    """The words of texts, without placeholders."""
    return {word.lower() for text in texts for word in _WORD.findall(re.sub(r"\{\w+\}", " ", text))}


class Visit:
    """A visit of a marked German study in a browser; `met` are the pages that were looked at."""

    def __init__(self, server: StudyServer, defaults: dict[str, str]) -> None:
        self.server = server
        self.english = {
            word for word in words_of(iter(defaults.values())) - words_of(iter(GERMAN.values())) if len(word) > 2
        }
        self.met: list[str] = []

    def text(self, key: str) -> str:
        return self.server.study.texts[key]

    def look(self, page: Any, name: str) -> None:
        """Check everything that a page shows."""
        page.wait_for_timeout(250)
        found = page.evaluate(VISIBLE)
        assert outside_marks(found["texts"]) == [], f"{name}: {found['texts']}"
        shown = words_of(iter(found["texts"])) | (words_of(iter(found["loose"])) - words_of(iter(found["said"])))
        english = shown & self.english
        assert english == set(), f"{name}: {found}"
        self.met.append(name)

    def press(self, page: Any, key: str) -> None:
        button = page.get_by_role("button", name=self.text(key), exact=True)
        button.first.wait_for()
        button.first.click()

    def wait_for(self, page: Any, key: str) -> None:
        page.get_by_text(self.text(key)).first.wait_for()


def write_study(folder: Path, game: str) -> tuple[str, dict[str, str]]:
    """Return a study in German with marks, and the default texts in whose place these are."""
    params, player = PLAYED[game]
    (folder / "job.toml").write_text(SCENARIO, "utf-8")
    text = STUDY.format(game=game, params=params, player=player)
    (folder / "small.toml").write_text(text, "utf-8")
    defaults = catalogue(read_study(folder / "small.toml"))
    named = {key: "Dinge" for key in defaults if key.startswith(("split.items.", "split.one."))}
    german = {key: text for key, text in (GERMAN | named).items() if key in defaults}
    assert german.keys() == defaults.keys()
    marked = {key: text if key == "gate.language" else f"{OPEN}{text}{CLOSE}" for key, text in german.items()}
    return f"{text}\n{format_texts(marked, {})}\n", defaults


@pytest.mark.long
@pytest.mark.parametrize("game", PLAYED if SLOW else ("agenda", "trading"))
def test_no_word_of_the_default_texts_is_visible_in_a_german_study(game: str, tmp_path: Path, chromium: Any) -> None:
    text, defaults = write_study(tmp_path, game)
    with serving_study(tmp_path, text, "--max-kernels=1") as server:
        visit = Visit(server, defaults)
        without_a_link(visit, chromium)
        person = Person(chromium, server)
        prepare(visit, person, chromium)
        play(visit, person, "practice")
        visit.press(person.page, "page.continue")
        visit.wait_for(person.page, "page.waiting")
        visit.look(person.page, "waiting")
        person.seated()
        in_between(visit, person)
        play(visit, person, "match")
        finish(visit, person)
        assert {"join", "queue", "faults", "quiz", "results", "practice 0", "match 0", "match over", "closed"} <= set(
            visit.met
        )
        person.close()


def without_a_link(visit: Visit, chromium: Any) -> None:
    page = chromium.new_page()
    for path in ("", "join/abc.def.ghi", "tree"):
        page.goto(visit.server.base + path)
        assert page.locator("html").get_attribute("lang") == "de"
        visit.look(page, f"small page {path}")
    page.close()


def prepare(visit: Visit, person: Person, chromium: Any) -> None:
    """From the link to the Start button, with a second visitor in the queue."""
    page = person.page
    page.goto(person.link)
    visit.look(page, "join")
    visit.press(page, "gate.continue")
    visit.wait_for(page, "page.agree")
    visit.look(page, "consent")
    assert page.locator("html").get_attribute("lang") == "de"
    later = Person(chromium, visit.server)
    later.page.goto(later.link)
    visit.press(later.page, "gate.continue")
    visit.wait_for(later.page, "gate.next")
    later.page.wait_for_timeout(1000)
    visit.look(later.page, "queue")
    later.close()
    visit.press(page, "page.agree")
    visit.wait_for(page, "page.send_answers")
    visit.look(page, "questions")
    visit.press(page, "page.send_answers")
    visit.wait_for(page, "page.one_wrong")
    visit.look(page, "faults")
    page.locator("input[type=text]").first.fill("36")
    page.get_by_text("συχνά", exact=True).click()
    visit.press(page, "page.send_answers")
    visit.wait_for(page, "page.instructions")
    visit.look(page, "instructions")
    page.locator(".nl-primary:visible").first.click()
    visit.wait_for(page, "page.check")
    page.get_by_text("μισό", exact=True).click()
    visit.press(page, "page.check")
    visit.wait_for(page, "page.not_right")
    visit.look(page, "quiz")
    page.get_by_text("μηδέν", exact=True).click()
    visit.press(page, "page.check")


def play(visit: Visit, person: Person, name: str) -> None:
    """Play a match to its end, looking at the table at each turn and after each move."""
    person.seated()
    for number in range(40):
        person.wait_until(lambda: person.is_over() or person.table.locator(".nl-bar .nl-turn").count())
        if person.is_over():
            break
        visit.look(person.page, f"{name} {number}")
        move(person, number)
        person.page.wait_for_timeout(700)
        visit.look(person.page, f"{name} {number}, moved")
    else:
        raise AssertionError("40 moves and no end")
    person.page.wait_for_timeout(500)
    visit.look(person.page, f"{name} over")


def move(person: Person, number: int) -> None:
    """Offer something in the first two turns, then accept what there is to accept."""
    table = person.table
    accept = table.locator(".nl-accept:visible:enabled")
    primary = table.locator(".nl-primary:visible:enabled:not(.nl-accept)")
    if number > 1 and accept.count():
        accept.first.click()
    elif primary.count():
        compose(table)
        primary.first.click()
    else:
        table.locator(".nl-refuse:visible:enabled").first.click()
        if (sure := table.locator(".nl-leaving .nl-refuse:visible:enabled")).count() > 1:
            sure.last.click()


def compose(table: Any) -> None:
    """Fill whatever the table has to fill."""
    for box in table.locator("textarea:visible:enabled").all():
        box.fill("Καλημέρα")
    for price in table.locator(".nl-price input:visible:enabled").all():
        price.fill("50")
    for row in table.locator(".nl-segments-row:visible").all():
        row.locator(".nl-segment").first.click()
    for item in table.locator("input[type=checkbox]:visible:enabled").all()[:2]:
        item.check()
    for stepper in table.locator(".nl-stepper:visible").all():
        if (more := stepper.locator("button:enabled").last).count():
            more.click()
    table.page.wait_for_timeout(400)


def in_between(visit: Visit, person: Person) -> None:
    """The question before leaving, the keys, a second tab, and a lost connection."""
    page = person.page
    visit.press(page, "page.leave")
    visit.look(page, "leaving")
    visit.press(page, "page.leave_no")
    page.locator(".nl-keys summary").last.click()
    visit.look(page, "keys")
    older, person.page = page, person.tab()
    person.page.goto(person.link)
    person.seated()
    older.locator(".nl-away").wait_for(state="attached")
    visit.look(older, "second tab")
    older.close()
    person.context.set_offline(True)
    visit.wait_for(person.page, "gate.banners.lost")
    visit.look(person.page, "lost")
    person.context.set_offline(False)
    person.wait_until(lambda: person.current_warnings() == [] and person.table.count() == 1)


def finish(visit: Visit, person: Person) -> None:
    visit.press(person.page, "page.continue")
    visit.wait_for(person.page, "page.results")
    visit.look(person.page, "results")
    visit.press(person.page, "page.continue")
    visit.wait_for(person.page, "page.send_answers")
    visit.look(person.page, "questions after")
    visit.press(person.page, "page.send_answers")
    visit.wait_for(person.page, "page.completion_code")
    visit.look(person.page, "closed")
