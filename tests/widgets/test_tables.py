"""Laws for the table of every game: it shows no more than its seat may see, and is played by its controls alone."""

from __future__ import annotations

import random
from typing import Any, ClassVar

import ipywidgets as w
import pytest
from negolab_widgets import HumanSeat
from negolab_widgets.faults import FaultGuard
from negolab_widgets.page import take
from negolab_widgets.tables import PlainTable, table
from negolab_widgets.tables.controls import ControlsContext

from negolab.catalog import game_names, list_games, load
from negolab.events import Rejected
from negolab.game import SEATS, Invalid, Seat, other
from negolab.match import Match
from negolab.scaffolds.ultimatum import Ultimatum
from tests.support.tables import SeatPage, below, press, stable_state, visible
from tests.support.twins import twins

EVIL = "<img onerror>"


def press_all(page: SeatPage, text: str) -> str:
    """Press every button there is, and send `text` from the box for typed replies; return what was said to it."""
    said = ""
    for button in [part for part in below(page.widget) if isinstance(part, w.Button)]:
        take(page.table._typed.box, text)
        button.click()
        said += page.drawn()
    return said


class GameTable:
    """Laws of a game's own table. A game's tests say how it is used: `move` by controls alone, `hear_markup`, a reply
    with a `fault` and what is said of it, and a good `reply`."""

    game: ClassVar[str]
    fault: ClassVar[tuple[str, str]]
    reply: ClassVar[str]
    offering: ClassVar[str] = "_offering"
    """Name of what an own offer is made with."""

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "preset" in metafunc.fixturenames:
            metafunc.parametrize("preset", list_games()[self.game])

    def new_match(self, **params: Any) -> Match:
        return Match(load(self.game, **params), seed=3)

    def move(self, page: SeatPage) -> None:
        """Make a move that leads to an end."""
        raise NotImplementedError

    def hear_markup(self) -> SeatPage:
        """A page on which `EVIL` is the name of all that has one, and the other player says it."""
        raise NotImplementedError

    def typing_page(self) -> SeatPage:
        return SeatPage(self.new_match())

    def test_every_preset_is_played_by_controls_alone(self, preset: str) -> None:
        self.play(self.new_match(preset=preset))

    def play(self, match: Match) -> list[SeatPage]:
        """Play a match to its end by the controls of both seats, and return their pages."""
        pages = [SeatPage(match, seat) for seat in SEATS]
        for _ in range(60):
            for page in pages:
                page.widget._session.advance()
                if match.asks(page.seat):
                    self.move(page)
            if match.ended is not None:
                break
        assert match.ended is not None and match.ended.end in ("AGREED", "NO_DEAL")
        assert not [event for event in match.events if isinstance(event, Rejected)]
        for page in pages:
            page.widget._session.advance()
            controls = page.card._buttons, getattr(page.table, self.offering), page.table._typing
            assert not any(map(visible, controls)) and "went wrong" not in page.state()
        return pages

    def test_presses_after_the_end_do_nothing_and_say_so(self) -> None:
        for page in self.play(self.new_match()):
            events = len(page.match.events)
            assert "The match is over." in press_all(page, self.reply) and "went wrong" not in page.state()
            assert len(page.match.events) == events

    def test_a_press_out_of_turn_does_nothing_and_says_why(self) -> None:
        match = Match(load(self.game), seed=1)
        page = SeatPage(match, next(seat for seat in SEATS if not match.asks(seat)))
        assert "It is not your turn." in press_all(page, self.reply)
        assert len(match.events) == 1

    def test_markup_in_names_and_words_is_text(self) -> None:
        page = self.hear_markup()
        for drawn in (page.drawn(), page.widget._table.render(*page.told)):
            assert EVIL not in drawn and "&lt;img onerror&gt;" in drawn

    def test_a_typed_reply_stays_to_be_mended_until_it_is_accepted(self) -> None:
        page = self.typing_page()
        text, reason = self.fault
        typed = page.type(text)
        assert reason in typed.notice.value and typed.box.value == text and self.reply not in page.replies()
        page.type(self.reply)
        assert self.reply in page.replies()
        assert typed.box.value == "" and reason not in typed.notice.value


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
        controls = looks(told, seen, ControlsContext(lambda text: None, FaultGuard("a test"), w.HTML()))
        controls.update(seen, asked=False)
        parts = [controls.past, controls.composer]
    views = [looks.role(told, seat), looks.clock(told, seen), looks.render(told, seen)]
    return "".join(map(str, [*views, *map(stable_state, parts)]))


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
