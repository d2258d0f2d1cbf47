"""Sessions: a seat's observations are the same live, resumed, and after a failed write."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Any

import pytest

from negolab.catalog import game_names, list_games, load
from negolab.events import Event
from negolab.game import SEATS, Seat, other
from negolab.match import Match
from negolab.players.lookup import list_players
from negolab.record import PERSON, parse_record
from negolab.runs.driver import make_player
from negolab.studies.page_state import LONGEST, NotDelivered
from negolab.studies.session import MatchSession
from negolab.studies.texts import texts
from negolab.verification import replay_differences

PRESETS = [(game, preset) for game in game_names() for preset in list_games()[game]]


def begin(game: Any, seat: Seat, seed: int, opponent: str = "random-legal", **options: Any) -> MatchSession:
    names: dict[Seat, str] = {seat: "person", other(seat): opponent}
    match = Match(game, seed=seed, players=names)
    found = MatchSession(match, {other(seat): make_player(opponent, game, seed, other(seat))}, **options)
    found.advance()
    return found


def speak(at: MatchSession, seat: Seat, rng: random.Random) -> None:
    """Reply legally, and sometimes illegally."""
    game, seen = at.match.told(seat), at.view(seat).seen
    text = "???" if rng.random() < 0.2 else game.say(rng.choice(game.options(seen)))
    at.submit(seat, text, at.view(seat).turn)


@pytest.mark.parametrize(("game", "preset"), PRESETS)
@pytest.mark.parametrize("seat", SEATS)
def test_a_resumed_seat_has_the_history_it_had_live(game: str, preset: str, seat: Seat) -> None:
    loaded = load(game, preset=preset)
    live = begin(loaded, seat, seed=3)
    rng = random.Random(f"{preset}{seat}")
    for _ in range(25):
        kept = parse_record(live.match.record().to_line())
        again = MatchSession.resumed(kept, live.players)
        assert again.view(seat) == live.view(seat)
        if live.match.ended is not None:
            break
        if live.match.asks(seat):
            speak(live, seat, rng)
    assert replay_differences(live.match.record()) == []


@pytest.mark.parametrize(("game", "preset"), PRESETS)
def test_two_people_in_one_session_take_turns_and_each_sees_its_own_side(game: str, preset: str) -> None:
    match = Match(load(game, preset=preset), seed=5, players={"A": "person", "B": "person"})
    live = MatchSession(match, {})
    live.advance()
    rng, unseen = random.Random(1), 0
    for seat in SEATS * 40:
        if live.match.asks(seat):
            before = live.view(other(seat))
            speak(live, seat, rng)
            changed = live.view(other(seat)) != before
            unseen += not changed
            assert (other(seat) in live.changed_seats) == changed, "what they cannot see does not wake their page"
    assert unseen or live.match.ended is not None
    again = MatchSession.resumed(parse_record(live.match.record().to_line()), {})
    for seat in SEATS:
        table = live.view(seat)
        assert table == again.view(seat)
        assert table.seen == live.match.seen(seat)


def test_in_a_study_no_text_of_the_game_says_that_all_is_over() -> None:
    game = load("bargaining")
    for closing, last in (("", "Thank you for participating!"), (texts.MATCH_OVER, texts.MATCH_OVER)):
        match = Match(game, seed=1, players={"B": PERSON, "A": "fair"})
        live = MatchSession(match, {"A": make_player("fair", game, 1, "A")}, closing=closing)
        live.advance()
        live.submit("B", "accept", live.view("B").turn)
        talk = live.view("B").talk[-1].text
        assert last in talk and "Deal reached at" in talk
        assert ("YOU ARE FINISHED" in talk) is (not closing)


def test_a_reply_that_cannot_be_kept_did_not_happen() -> None:
    full = False

    def save(match: Match, seq: int, news: Sequence[Event]) -> None:
        if full:
            raise OSError("no space left")

    live = begin(load("trading"), "A", seed=1, opponent="greedy-honest", save=save)
    before = live.view("A")
    full = True
    with pytest.raises(OSError, match="no space"):
        live.submit("A", "[Offer: 1 Wheat -> 1 Ore]", 0)
    assert live.view("A") == before
    full = False
    assert live.submit("A", "[Offer: 1 Wheat -> 1 Ore]", 0) == ""
    assert replay_differences(live.match.record()) == []


def test_an_answer_that_could_not_be_kept_is_asked_for_again() -> None:
    kept: list[Event] = []
    fails = [False, True]

    def save(match: Match, seq: int, news: Sequence[Event]) -> None:
        if fails and fails.pop(0):
            raise OSError("no space left")
        kept.extend(news)

    live = begin(load("trading"), "A", seed=1, opponent="greedy-honest", save=save)
    with pytest.raises(OSError, match="no space"):
        live.submit("A", "[Offer: 1 Wheat -> 1 Ore]", 0)
    assert not live.match.asks("A")
    live.retry()
    assert live.match.asks("A")
    assert live.match.events[1:] == kept


@pytest.mark.parametrize(
    ("text", "turn", "why"),
    [
        ("[Deny]", 1, "table has changed"),
        ("   ", 0, "nothing to send"),
        *(
            (sign * (LONGEST + 1), 0, f"{LONGEST + 1} characters; the maximum is {LONGEST}")
            for sign in ("x", "\N{GRINNING FACE}")
        ),
    ],
)
def test_words_that_do_not_reach_the_match_say_why(text: str, turn: int, why: str) -> None:
    live = begin(load("trading"), "A", seed=1)
    events = list(live.match.events)
    with pytest.raises(NotDelivered, match=why):
        live.submit("A", text, turn)
    assert live.match.events == events


def test_nobody_speaks_out_of_turn_or_after_the_end() -> None:
    live = MatchSession(Match(load("trading"), seed=1), {})
    with pytest.raises(NotDelivered, match="not your turn"):
        live.submit("B", "[Deny]", 0)
    live.stop("enough")
    with pytest.raises(NotDelivered, match="is over"):
        live.submit("A", "[Deny]", 0)


async def test_a_delayed_answer_comes_later_and_is_drawn_anew_from_the_same_seed() -> None:
    live = begin(load("trading"), "A", seed=1, opponent="greedy-honest", delay=lambda match: 0.02)
    live.submit("A", "[Offer: 1 Wheat -> 1 Ore]", 0)
    assert not live.match.asks("A")
    assert live.thinking is not None
    await live.thinking
    assert live.match.asks("A")


async def test_a_stopped_match_hears_no_late_answer() -> None:
    live = begin(load("trading"), "A", seed=1, opponent="greedy-honest", delay=lambda match: 0.02)
    live.submit("A", "[Offer: 1 Wheat -> 1 Ore]", 0)
    live.stop("time is up")
    events = list(live.match.events)
    await asyncio.sleep(0.05)
    assert live.match.events == events


def test_every_scripted_player_can_be_resumed_in_the_middle() -> None:
    for game in game_names():
        loaded = load(game)
        for name, cls in list_players(loaded).items():
            seat: Seat = "B" if "A" in cls.seats else "A"
            try:
                live = begin(loaded, seat, seed=2, opponent=name)
            except ValueError:
                continue
            if live.match.asks(seat):
                speak(live, seat, random.Random(0))
            again = MatchSession.resumed(live.match.record(), live.players)
            again.advance()
            assert again.match.events == live.match.events


def test_between_two_people_no_text_speaks_of_a_machine_and_who_waits_has_the_rules() -> None:
    live = MatchSession(Match(load("bargaining"), seed=1, players={"A": "person", "B": "person"}), {})
    live.advance()
    buyer = live.view("B")
    assert "at most 6 rounds" in buyer.rules
    assert "AI" not in buyer.rules + "".join(entry.text for entry in buyer.talk)
    assert not live.seat_sessions["B"].fronted
    machine = begin(load("bargaining"), "B", seed=1, opponent="fair").seat_sessions["B"]
    assert machine.fronted
