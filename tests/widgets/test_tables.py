"""Laws for the table of every game: it shows no more than its seat may see, and is found by the game's name."""

from __future__ import annotations

import random
import re
from typing import Any

import ipywidgets as w
import pytest
from negolab_widgets import HumanSeat
from negolab_widgets.tables import PlainTable, table
from negolab_widgets.tables.controls import ControlsContext

from negolab.catalog import game_names, list_games, load
from negolab.game import SEATS, Invalid, Seat, other
from negolab.match import Match
from negolab.scaffolds.ultimatum import Ultimatum
from tests.support.twins import twins
from tests.widgets.test_widgets import below, press, state

SHORT = ("casino", "seed", "range", "classic")
"""A preset of each game in which a seat does not know all of the other's; `-m long` tests all presets."""
PRESETS = [
    pytest.param(game, preset, marks=[] if preset in SHORT else [pytest.mark.long])
    for game, presets in list_games().items()
    for preset in presets
]


def everything(seated: HumanSeat) -> str:
    """Everything that a table shows at this moment: pure views and every widget's state, without widget ids."""
    match, seat = seated._match, seated._seat
    told, seen, parts = match.told(seat), match.seen(seat), [seated]
    looks = table(told)
    if match.ended is not None:  # beside the table, the payoffs of both stand there then
        controls = looks(told, seen, ControlsContext(lambda text: None, lambda work: work(), w.HTML()))
        controls.update(seen, asked=False)
        parts = [controls.past, controls.composer]
    views = [looks.role(told, seat), looks.clock(told, seen), looks.render(told, seen)]
    return re.sub(r"IPY_MODEL_[0-9a-f]+", "IPY_MODEL", "".join(map(str, [*views, *map(state, parts)])))


def same_words(one: Match, two: Match, rng: random.Random) -> bool:
    """Play one reply that both matches accept; return False if there is none."""
    for seat in one.pending():
        options = [one.told(seat).say(action) for action in one.told(seat).options(one.seen(seat))]
        rng.shuffle(options)
        for text in options[:20]:
            if not isinstance(two.told(seat).parse(text, two.seen(seat)), Invalid):
                one.submit(seat, text)
                two.submit(seat, text)
                return True
    return False


def blind(game: Any, seat: Seat, seed: int) -> int:
    """Compare the tables of `seat` in two deals that differ only in the other's secret; return how many positions."""
    rng = random.Random(seed)
    start = game.deal(random.Random(seed))
    changed = game.vary(start, other(seat), random.Random(seed + 1))
    if changed is None:
        return 0
    return blind_matches(Match(game, start=start), Match(game, start=changed), seat, rng)


def blind_matches(one: Match, two: Match, seat: Seat, rng: random.Random) -> int:
    """Compare the tables of `seat` in two matches in which the same is said; return in how many positions."""
    seats = [HumanSeat(match, seat, {}) for match in (one, two)]
    for compared in range(8):
        if one.game.revealed(one.state.public):
            return compared
        if one.seen(seat) != two.seen(seat):  # the rules let something show, such as a trade that could not be
            return compared
        assert everything(seats[0]) == everything(seats[1])
        if not same_words(one, two, rng):
            return compared + 1
        for seated in seats:
            seated._session.advance()
    assert "went wrong" not in everything(seats[0])
    return 8


@pytest.mark.parametrize(("name", "preset"), PRESETS)
@pytest.mark.parametrize("seat", SEATS)
def test_a_table_is_the_same_whatever_the_other_knows(name: str, preset: str, seat: Seat) -> None:
    game = load(name, preset=preset)
    compared = sum(blind(game, seat, seed) for seed in range(2))
    start = game.deal(random.Random(0))
    assert compared or game.vary(start, other(seat), random.Random(1)) is None or game.revealed(start.public)


@pytest.mark.parametrize(("name", "preset"), PRESETS)
def test_a_table_is_the_same_in_games_that_differ_only_in_what_the_other_is_told(name: str, preset: str) -> None:
    for game, twin, seat in twins(load(name, preset=preset), 4)[:3]:
        blind_matches(Match(game, seed=1), Match(twin, seed=1), seat, random.Random(1))


def press_all(seated: Any, text: str) -> str:
    """Press every button there is, and send `text` from the box for typed replies; return what was said to it."""
    said = ""
    for button in [part for part in below(seated) if isinstance(part, w.Button)]:
        seated._controls._typed.box.set_state({"value": text})
        button.click()
        said += "".join(part.value for part in below(seated) if isinstance(part, w.HTML))
    return said


@pytest.mark.parametrize("game", game_names())
def test_a_press_out_of_turn_does_nothing_and_says_why(game: str) -> None:
    match = Match(load(game), seed=1)
    seat = next(seat for seat in SEATS if not match.asks(seat))
    asked = other(seat)
    text = match.told(asked).say(match.told(asked).options(match.seen(asked))[0])
    seated = HumanSeat(match, seat, {})
    events = len(match.events)
    assert "It is not your turn." in press_all(seated, text)
    assert len(match.events) == events


@pytest.mark.parametrize("game", game_names())
def test_presses_after_the_end_do_nothing_and_say_so(game: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("negolab_widgets.play.seat.DOUBLE_CLICK", 0)
    match, rng = Match(load(game), seed=1), random.Random(1)
    seats: list[Any] = [HumanSeat(match, seat, {}) for seat in SEATS]
    text = ""
    while match.ended is None:
        for seated in seats:
            seated._session.advance()
            if match.asks(seated._seat):
                told, seen = match.told(seated._seat), match.seen(seated._seat)
                text = told.say(rng.choice(told.options(seen)))
                match.submit(seated._seat, text)
    events = len(match.events)
    for seated in seats:
        seated._session.advance()
        said = press_all(seated, text)
        assert "The match is over." in said and "went wrong" not in said
    assert len(match.events) == events


def test_the_plain_table_obeys_the_same_law() -> None:
    assert blind(Ultimatum(), "A", 1) + blind(Ultimatum(), "B", 1) >= 0
    assert table(Ultimatum()) is PlainTable


def test_a_game_without_a_table_shows_its_aim_and_what_its_numbers_mean() -> None:
    match = Match(Ultimatum(), seed=1)
    seated = HumanSeat(match, "A", {})
    assert '<p class="nl-strong">Get as many of the 10 units as you can.</p>' in seated._facts.value
    assert "A offers B some of them" in seated._rules.value
    assert "If B says no, you get" in seated._controls._own.value
    share = seated._controls.panels[0].inputs.inputs["share"].stepper
    assert (share.name, share.min, share.max) == ("Share", 0, 10)


def test_rules_in_short_are_the_first_paragraph_of_a_prompt_if_it_is_short() -> None:
    def shown(text: str) -> list[str]:
        class Game(Ultimatum, frozen=True, kw_only=True):
            def prompt(self, seen: Any, since: Any) -> str:
                return text

        return list(PlainTable.rules(Game(), None))

    assert shown("Sell.\nOffer a price.\n\nThe other offers 4.") == ["Sell.", "Offer a price."]
    assert shown("Sell. The other offers 4.") == [], "what is due now is no rule"
    assert shown(f"{'Sell. ' * 50}\n\nThe other offers 4.") == []
    assert shown("Sell.\n" * 9 + "\nThe other offers 4.") == []


def test_the_box_for_a_typed_reply_is_open_where_there_is_no_option() -> None:
    class Silent(Ultimatum, frozen=True, kw_only=True):
        def options(self, seen: Any) -> tuple[Any, ...]:
            return ()

    for game, shown in ((Ultimatum(), False), (Silent(), True)):
        table_ = HumanSeat(Match(game, seed=1), "A", {})._controls
        assert (table_._typed.widget in table_.composer.children) is shown


def test_the_end_at_the_plain_table_tells_what_each_said_last() -> None:
    match = Match(Ultimatum(), seed=1)
    seated = HumanSeat(match, "A", {})
    seated._controls.panels[0].inputs.inputs["share"].stepper.take(4)
    press(seated, "Offer")
    match.submit("B", "no")
    seated._session.advance()
    assert "A offered 4 units and B said no." in seated._log.value


@pytest.mark.parametrize("game", game_names())
def test_every_game_has_a_table_of_its_own(game: str) -> None:
    assert table(load(game)) is not PlainTable
