"""A person plays a language model in a browser: it thinks, it can be left, and its prompts, replies and usage can be
inspected and branched from afterwards."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from negolab.events import Ended, Rejected, Replied
from negolab.record import Record
from negolab.store import read
from negolab.verification import replay_differences
from tests.conftest import SLOW, Served, serving
from tests.support.browser import (
    WIDE,
    Mouse,
    accessibility_violations,
    choose_game_card,
    fill_seed,
    fits_phone,
    is_turn,
    leave_match,
    open_lobby,
    screenshot,
)
from tests.support.local_model import LocalModel, serving_model

pytestmark = [pytest.mark.browser, pytest.mark.model]

MODEL = "a language model"
SETTINGS = "temperature=0,max_tokens=80"
EXCHANGES = 3 if SLOW else 1
"""Offers that the person makes."""


@pytest.fixture(scope="module")
def model() -> Iterator[LocalModel]:
    with serving_model("--slots=1", "--context=4096") as found:
        yield found


@pytest.fixture(scope="module")
def desk(model: LocalModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve the lobby with the model as its endpoint."""
    out = tmp_path_factory.mktemp("people")
    yield from serving([sys.executable, "-m", "negolab"], out, f"--base-url={model.url}")


@pytest.fixture(scope="module")
def page(desk: Served, chromium: Any) -> Iterator[Any]:
    """The tab of the lobby. Each test goes on where the one before stopped; no script may fail."""
    context = chromium.new_context(viewport=WIDE)
    errors: list[str] = []
    context.on("weberror", lambda failed: errors.append(str(failed.error)))
    yield context.new_page()
    context.close()
    assert errors == []


@pytest.fixture(scope="module")
def replay(page: Any, desk: Served) -> Any:
    """A second tab with the replay of the first one's match."""
    tab = page.context.new_page()
    tab.goto(f"{desk.base}replay")
    tab.get_by_role("slider").wait_for()
    return tab


def looked_at(page: Any, name: str) -> None:
    """Check accessibility and phone width, and save a picture of each."""
    assert accessibility_violations(page) == []
    screenshot(page, f"model-{name}-1280")
    assert fits_phone(page)
    screenshot(page, f"model-{name}-360")
    page.set_viewport_size(WIDE)


def answered(page: Any, before: str = "") -> None:
    """Wait until it is the person's turn or the match is over."""
    page.wait_for_function(
        """before => {
          const parts = ['.nl-head', '.nl-bar'].map((part) => document.querySelector(part)?.textContent);
          return parts.join() !== before && /your turn|is over/.test(parts[1] ?? 'The match is over.');
        }""",
        arg=before,
    )


def offered(page: Any, table: Any, dollars: int) -> None:
    """Offer a price and wait for the reply."""
    before = ",".join(str(table.locator(part).text_content()) for part in (".nl-head", ".nl-bar"))
    price = table.get_by_label("Price in dollars")
    price.fill(f"{dollars}.00")
    price.press("Tab")
    table.get_by_role("button", name=re.compile(r"^Offer \$")).click()
    answered(page, before)


def kept(desk: Served) -> Record:
    """The match of the lobby."""
    (record,) = (r for r in read(desk.out) if "forked_from" not in r.header.notes)
    return record


def test_a_person_bargains_with_a_model_that_is_seen_to_think_and_leaves(page: Any, desk: Served) -> None:
    hand = Mouse(page)
    page.goto(desk.url)
    open_lobby(page)
    choose_game_card(hand, "bargaining")
    hand.choose(page.get_by_label("Opponent"), MODEL.capitalize())
    page.wait_for_function("() => [...document.querySelectorAll('input')].some((one) => one.value === 'local')")
    hand.choose(page.get_by_label("It answers in"), "a form that lists the legal moves")
    hand.fill(page.get_by_label("More settings"), SETTINGS)
    fill_seed(hand, "5")
    looked_at(page, "lobby")
    hand.press(page.get_by_role("button", name="Start the match"))
    page.get_by_role("status").filter(has_text="local is thinking.").wait_for()
    table = page.locator(".nl-page .nl-page")
    screenshot(page, "model-thinking")
    answered(page)
    looked_at(page, "table")
    for number in range(EXCHANGES):
        if is_turn(table):
            offered(page, table, 42 + number)
    leave_match(Mouse(page))
    record = kept(desk)
    assert record.end is not None and replay_differences(record) == []
    assert record.header.players["B"] == "person"


def test_the_record_holds_what_the_model_was_told_wrote_and_took(desk: Served, model: LocalModel) -> None:
    record = kept(desk)
    notes = record.header.notes["models"]["A"]
    assert (notes["model"], notes["url"], notes["form"]) == ("local", model.url, "schema")
    said = [e.reply for e in record.events if isinstance(e, Replied) and e.seat == "A"]
    said += [e.said for e in record.events if isinstance(e, Rejected) and e.seat == "A" and e.said]
    assert said
    for reply in said:
        assert reply.via == "model" and reply.asked and reply.model
        assert reply.raw and reply.raw.startswith("{"), "a form was filled in, and the words are the game's"
        assert reply.usage and reply.usage["output"] <= 80 and reply.usage["latency"] > 0
    assert isinstance(record.events[-1], Ended)


def test_the_replay_shows_the_exchange(replay: Any, desk: Served) -> None:
    replay.locator(".nl-move").nth(1).click()
    card = replay.locator(".nl-card").first
    card.get_by_text("What the model was told").wait_for()
    first = next(e.reply for e in kept(desk).events if isinstance(e, Replied))
    facts = card.locator(".nl-who").inner_text()
    usage = first.usage or {}
    for told in (f"{usage['input']:,} tokens in", f"{usage['output']:,} tokens out", "s to answer", "cost unknown"):
        assert told in facts
    looked_at(replay, "replay")
    for summary in ("What the model was told", "What it wrote"):
        card.get_by_text(summary).click()
    assert "You are the seller" in card.inner_text()
    assert str(first.raw) in card.inner_text()
    screenshot(replay, "model-exchange")


def test_the_match_is_branched_to_the_model_from_a_step(replay: Any, desk: Served) -> None:
    """Depends on the test before, which leaves the page at the model's first offer."""
    record = kept(desk)
    replay.locator(".nl-move").nth(1).click()
    replay.wait_for_timeout(500)
    replay.get_by_role("button", name="Show: what if").click()
    replay.get_by_label("Seat A continues with").select_option(label="linear")
    replay.get_by_label("Seat B continues with").select_option(label=MODEL)
    replay.wait_for_function("() => [...document.querySelectorAll('input')].some((one) => one.value === 'local')")
    replay.get_by_label("It answers in").select_option(label="a form that lists the legal moves")
    Mouse(replay).fill(replay.get_by_label("More settings"), SETTINGS)
    replay.get_by_role("button", name="Branch from this step").click()
    replay.get_by_role("button", name="Stop this branch").wait_for()
    replay.get_by_text("Saved as record").wait_for()
    (branch,) = (r for r in read(desk.out) if "forked_from" in r.header.notes)
    assert branch.header.notes["forked_from"] == record.id
    assert branch.events[1:3] == record.events[1:3], "what was said before is in both"
    assert branch.header.players == {"A": "linear", "B": f"llm:local,form=schema,{SETTINGS}"}
    assert any(getattr(event, "seat", "") == "B" for event in branch.events[3:])
    assert replay_differences(branch) == []
    looked_at(replay, "branch")
