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
from tests.support.study_server import Person, serving_study
from tests.support.study_visit import OPTIONS, PAGES, TEMPLATE, Visit

pytestmark = pytest.mark.browser

GERMAN = flatten(tomllib.loads((Path(__file__).parents[1] / "support/german.toml").read_text("utf-8"))["texts"])
"""The German texts by key."""

OPEN, CLOSE = "\N{MATHEMATICAL LEFT WHITE SQUARE BRACKET}", "\N{MATHEMATICAL RIGHT WHITE SQUARE BRACKET}"

GREEK = {
    "title": "Μια μικρή μελέτη",
    "consent": "Συμφωνείτε;",
    "instructions": "Παίξτε.",
    "closing": "Ευχαριστούμε.",
    "experience": "Πόσο συχνά;",
    "never": "ποτέ",
    "once": "μία φορά",
    "often": "συχνά",
    "age": "Ηλικία;",
    "group": "Ομάδα;",
    "quiz": "Δύο ερωτήσεις.",
    "paid": "Πόσο;",
    "right": "μηδέν",
    "wrong": "μισό",
    "turns": "Πόσοι γύροι;",
    "results": "Τέλος.",
    "felt": "Συμφωνείτε τώρα;",
    "fair": "Ήταν δίκαιο.",
    "again": "Ξανά.",
    "not_at_all": "καθόλου",
    "partly": "λίγο",
    "mostly": "πολύ",
    "how": "Πώς;",
    "feeling": "αίσθηση",
    "numbers": "αριθμοί",
    "remarks": "Σχόλια;",
}

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


class Look:
    """What is looked at in a marked German study."""

    def __init__(self, defaults: dict[str, str]) -> None:
        german = words_of(iter(GERMAN.values()))
        self.english = {word for word in words_of(iter(defaults.values())) - german if len(word) > 2}
        self.met: list[str] = []

    def __call__(self, page: Any, name: str) -> None:
        """Check everything that a page shows."""
        page.wait_for_timeout(700)
        assert page.locator("html").get_attribute("lang") == "de", name
        found = page.evaluate(VISIBLE)
        assert outside_marks(found["texts"]) == [], f"{name}: {found['texts']}"
        shown = words_of(iter(found["texts"])) | (words_of(iter(found["loose"])) - words_of(iter(found["said"])))
        english = shown & self.english
        assert english == set(), f"{name}: {found}"
        self.met.append(name)

    def move(self, person: Person, match: str) -> None:
        """Offer something in the first two turns, then accept what there is to accept; look before and after."""
        number = sum(name.startswith(f"{match} ") for name in self.met) // 2
        assert number < 40, "no end"
        self(person.page, f"{match} {number}")
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
        self(person.page, f"{match} {number}, moved")


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


def write_study(folder: Path, game: str) -> tuple[str, dict[str, str]]:
    """Return a study in German with marks, and the default texts in whose place these are."""
    params, player = PLAYED[game]
    (folder / "job.toml").write_text(SCENARIO, "utf-8")
    parts = {"game": game, "params": params, "player": player, "practised": player, "practice": params}
    text = TEMPLATE.format(**GREEK, **parts)
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
    look = Look(defaults)
    with serving_study(tmp_path, text, *OPTIONS) as server:
        Visit(chromium, server, look, look.move, GREEK).pass_through().close()
    assert [name for name in look.met if " " not in name] == list(PAGES)
    assert {"practice 0", "match 0, moved"} <= set(look.met)
