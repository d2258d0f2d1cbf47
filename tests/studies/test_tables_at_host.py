"""Tables over a host process: whole games, two people, restarts, limits, and forged messages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import ipywidgets as w
import pytest
from negolab_widgets import Lobby
from negolab_widgets.fields import PriceField
from negolab_widgets.page import Arrival, take
from negolab_widgets.study import StudyPage
from negolab_widgets.study.last_page import CompletionCode

from negolab.store import read
from negolab.studies.client import PageClient
from negolab.studies.page_state import LONGEST, NotDelivered, Playing
from negolab.studies.texts import texts
from negolab.verification import replay_differences
from tests.support.host_process import (
    PAIR_TREATMENT,
    HostProcess,
    button_labels,
    descendants,
    follow_until,
    page_text,
    press_button,
    running_host,
    solo_treatment,
    study_toml,
)
from tests.widgets.test_study_page import seated

EVIL = "<img src=x onerror=alert(1)>"
AGAINST = solo_treatment("greedy-honest")

Hosts = Callable[..., HostProcess]


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("negolab_widgets.play.seat.DOUBLE_CLICK", 0)


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Hosts]:
    """A function that starts a host with a study of these parts."""
    with ExitStack() as stack:
        yield lambda tables=AGAINST, more="", game="trading": stack.enter_context(
            running_host(tmp_path, study_toml(game, tables, more))
        )


def is_playing(*pages: StudyPage) -> bool:
    return all(isinstance(page._page.state, Playing) for page in pages)  # type: ignore[union-attr]


def code(page: StudyPage) -> str:
    return "".join(part.code for part in descendants(page) if isinstance(part, CompletionCode))


def state(page: w.Widget) -> str:
    """Everything that a browser can request."""
    parts = descendants(page)
    inner = [getattr(part, name) for part in parts for name in ("layout", "style") if hasattr(part, name)]
    return json.dumps([part.get_state() for part in [*parts, *inner]], default=str)


def say_an_option(page: w.Widget, at: int = 0) -> str:
    """Reply with one of the options and return its text."""
    table = seated(page)
    options = table._handle.game.options(table._view.seen)
    words = str(table._handle.game.say(options[at % len(options)]))
    table._submit(words)
    assert "nl-notice" not in page_text(page) or "went wrong" not in page_text(page)
    return words


def play(*pages: StudyPage) -> list[list[str]]:
    """Play a match to its end; return the texts sent from each page."""
    said: list[list[str]] = [[] for _ in pages]
    tables = [seated(page) for page in pages]
    for number in range(200):
        if all(table._view.closing for table in tables):
            return said
        turn = [at for at, table in enumerate(tables) if table._view.asked]
        for at in turn:
            if tables[at]._view.asked:
                said[at].append(say_an_option(pages[at], number))
        follow_until(lambda: all(t._view.closing for t in tables) or any(t._view.asked for t in tables), *pages)
    raise AssertionError("200 moves and no end")


def meet(hosted: HostProcess) -> tuple[StudyPage, StudyPage]:
    """Seat two people at one match."""
    pages = hosted.join()[0], hosted.join()[0]
    for page in pages:
        press_button(page, "Start")
    follow_until(lambda: is_playing(*pages), *pages)
    return pages


# Whole games.


def test_a_game_against_a_player_is_kept_as_it_was_played(host: Hosts) -> None:
    hosted = host(game="bargaining", tables=solo_treatment("linear", "B"))
    page, who, _ = hosted.begin()
    (said,) = play(page)
    press_button(page, "Continue")
    assert code(page) == "DONE4242"
    (match,) = hosted.matches()
    assert (match.people, match.treatment) == ({"B": who.id}, "alone")
    assert hosted.replies(match.id, "B") == said
    assert match.ended is not None
    assert read(hosted.out) == [], "what people of a study wrote is in its database alone"
    assert not hosted.stderr


def test_two_people_play_a_game_to_its_end(host: Hosts) -> None:
    hosted = host(game="split", tables=PAIR_TREATMENT)
    pages = meet(hosted)
    said = dict(zip((seated(page)._seat for page in pages), play(*pages), strict=True))
    for page in pages:
        press_button(page, "Continue")
        assert code(page) == "DONE4242"
    (match,) = hosted.matches()
    assert {seat: hosted.replies(match.id, seat) for seat in said} == said
    assert not hosted.stderr


def test_what_one_types_is_not_lost_when_the_other_moves(host: Hosts) -> None:
    pages = meet(host(tables=PAIR_TREATMENT))
    first, second = sorted(pages, key=lambda page: not seated(page)._view.asked)
    table = seated(second)
    (box,) = [p for p in descendants(second) if isinstance(p, w.Textarea) and p.description == "Your message"]
    box.value = "I was about to say"
    say_an_option(first)
    follow_until(lambda: table._view.asked, second)
    assert seated(second) is table
    assert box.value == "I was about to say"


# Pages, kernels and hosts that end.


def test_a_second_page_goes_on_where_the_first_was_which_plays_nothing_more(host: Hosts) -> None:
    hosted = host()
    page, _, token = hosted.begin()
    say_an_option(page)
    before = seated(page)._view
    newer = hosted.open(token)
    assert seated(newer)._view == before
    seated(page)._submit("Pass.")  # before it has heard that it was replaced
    follow_until(lambda: page._page.replaced, page)  # type: ignore[union-attr]
    assert "This page was opened in another tab and continues there." in page_text(page)
    assert button_labels(page) == []
    say_an_option(newer)
    (match,) = hosted.matches()
    assert len(hosted.replies(match.id, "A")) == 2


def test_a_killed_host_is_waited_for_and_the_match_goes_on(host: Hosts) -> None:
    hosted = host()
    page, _, _ = hosted.begin()
    said = [say_an_option(page)]
    before = seated(page)._view
    hosted.kill()
    follow_until(lambda: page._page.error == texts.AWAY, page)  # type: ignore[union-attr]
    assert texts.AWAY in page_text(page)
    seated(page)._submit("Pass.")
    assert texts.UNSURE in page_text(page)
    assert seated(page)._view == before, "nothing is heard, and nothing is lost"
    hosted.start()
    follow_until(lambda: not page._page.error, page)  # type: ignore[union-attr]
    assert texts.AWAY not in page_text(page).replace(seated(page)._controls.notice.value, "")
    assert seated(page)._view == before
    said += play(page)[0]
    (match,) = hosted.matches()
    assert hosted.replies(match.id, "A") == said


def test_a_host_watches_the_time_by_itself_and_its_pages_follow(host: Hosts) -> None:
    page, _, _ = host(tables=f"{PAIR_TREATMENT}\n[pairing]\nwait = 0.1").begin()
    follow_until(lambda: code(page), page)
    assert code(page) == "ALONE4242"


# Hostile visitors.


def acting(page: StudyPage) -> PageClient:
    assert page._page is not None
    return page._page


def test_any_text_up_to_the_longest_is_heard_and_a_longer_one_refused_with_its_length(host: Hosts) -> None:
    hosted, heard = host(), []
    for words in ("a \ud800 b \0 \u202e Pass.", "\N{GRINNING FACE}" * LONGEST):
        page, who, _ = hosted.begin()
        seated(page)._submit("x" * 3_000_000)
        assert f"has 3000000 characters; the maximum is {LONGEST}" in page_text(page)
        seated(page)._submit(words)
        (match,) = [match for match in hosted.matches() if match.people == {"A": who.id}]
        heard.append(hosted.replies(match.id, "A") == [words.replace("\ud800", "\ufffd")])
    assert heard == [True] * 2
    assert not hosted.stderr


def test_rewritten_widgets_play_nothing_that_the_rules_forbid(host: Hosts) -> None:
    hosted = host()
    page, _, _ = hosted.begin()
    for part in descendants(page):
        if hasattr(part, "value") and hasattr(part, "max"):
            part.set_state({"min": -(10**9), "max": 10**9})
            take(part, 10**6)
        elif isinstance(part, w.Text | PriceField):
            take(part, "1000000")
        elif isinstance(part, w.Button):
            part.set_state({"disabled": False})
    for name in ("Make this offer", "Accept", "Deny"):
        for button in [p for p in descendants(page) if isinstance(p, w.Button) and p.description.startswith(name)]:
            button.click()
    (match,) = hosted.matches()
    assert match.ended is None
    assert "went wrong" not in page_text(page)
    with pytest.raises(NotDelivered, match="moved on"):
        acting(page).act("start")


def test_no_widget_holds_what_the_seat_may_not_know(host: Hosts) -> None:
    secret = "buyer_values = [6173], seller_costs = [3719], default_opening = 5555"
    hosted = host(
        game="bargaining", tables=solo_treatment("conceder", "B", f'preset = "none"\nparams = {{ {secret} }}')
    )
    page, who, token = hosted.begin()
    seated(page)._submit("51.10")
    known = state(page)
    assert "61.73" in known, "their own value"
    hidden = ("37.19", "3719", "conceder", who.id, token, acting(page)._lease, str(hosted.folder), "small.toml")
    assert [word for word in hidden if re.search(rf"\b{re.escape(word)}\b", known)] == []


def test_who_has_no_lease_learns_nothing(host: Hosts) -> None:
    hosted = host()
    page, _, _ = hosted.begin()
    for lease in ("", "kernel1", "kernel1.", acting(page)._lease[:-1], "%", "_" * 40):
        with pytest.raises(NotDelivered):
            PageClient(acting(page)._host, lease)


# The lobby.


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HostProcess]:
    """A host without a study, as the lobby finds it."""
    with running_host(tmp_path) as hosted:
        monkeypatch.setenv("NEGOLAB_ADMIN", hosted.desk)
        yield hosted


def opened_lobby(game: str | None = None) -> Lobby:
    lobby = Lobby(game)
    (arrival,) = [part for part in descendants(lobby) if isinstance(part, Arrival)]
    arrival._handle_custom_msg({"here": True}, [])
    return lobby


def sit_down(game: str) -> Lobby:
    lobby = opened_lobby(game)
    lobby._seed.value = "7"
    press_button(lobby, "Start the match")
    return lobby


def test_the_lobby_plays_a_game_at_the_host(desk: HostProcess) -> None:
    lobby = sit_down("split")
    table = seated(lobby)
    for number in range(200):
        if table._view.closing is None:
            say_an_option(lobby, number)
    (match,) = desk.matches()
    assert f"Saved as record {match.id[:12]}." in page_text(lobby)
    assert "Another game" in button_labels(lobby)
    (record,) = read(desk.out)
    assert (record.id, record.header.seed) == (match.id, 7)
    assert replay_differences(record) == []
    again = opened_lobby()
    assert f"Saved as record {match.id[:12]}." in page_text(again) and "Rematch" in button_labels(again)
    press_button(again, "Another game")
    assert again._game.value == "split"
    assert "Start the match" in button_labels(opened_lobby()), "the end was left"


def test_a_lobby_that_is_loaded_again_goes_on_with_the_match(desk: HostProcess) -> None:
    first = sit_down("trading")
    say_an_option(first)
    again = opened_lobby()
    assert seated(again)._view == seated(first)._view
    desk.kill()
    desk.start()
    once_more = opened_lobby()
    assert seated(once_more)._view == seated(first)._view
    say_an_option(once_more)
    (match,) = desk.matches()
    assert match.ended is None


def test_a_lobby_that_nobody_has_opened_takes_no_match_over(desk: HostProcess) -> None:
    first = sit_down("trading")
    Lobby()
    say_an_option(first)
    assert "opened in another tab" not in page_text(first)


def test_a_match_at_the_host_that_is_left_is_kept_as_stopped(desk: HostProcess) -> None:
    lobby = sit_down("trading")
    press_button(lobby, "Leave this match")
    press_button(lobby, "Leave")
    assert "Start the match" in button_labels(lobby)
    (record,) = read(desk.out)
    assert record.end == "ABORTED"
    assert "Start the match" in button_labels(opened_lobby()), "nothing runs any more"


def test_the_lobby_says_what_the_host_refuses(desk: HostProcess) -> None:
    lobby = opened_lobby("trading")
    lobby._opponent.options = [("nobody", "nobody", "")]
    lobby._opponent.value = "nobody"
    press_button(lobby, "Start the match")
    assert "nobody" in lobby._guard.notice.value
    assert desk.matches() == []


def test_a_folder_named_to_the_lobby_is_a_match_in_this_process(desk: HostProcess, tmp_path: Path) -> None:
    lobby = Lobby("trading", out=tmp_path / "mine")
    press_button(lobby, "Start the match")
    press_button(lobby, "Leave this match")
    press_button(lobby, "Leave")
    assert len(read(tmp_path / "mine")) == 1
    assert desk.matches() == []
