"""The match: pending seats, replies, simultaneous moves, and replays."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction

import msgspec
import pytest
from typing_extensions import override

from negolab import laws
from negolab.catalog import load
from negolab.events import Dealt, Ended, Forfeited, Rejected, Replied, Stepped
from negolab.game import SEATS, Game, Invalid, Observation, Outcome, Reply, Seat, State
from negolab.match import Match
from negolab.record import parse_record
from negolab.scaffolds.ultimatum import Answer, Offer, Ultimatum
from negolab.verification import replay_differences

GAME = Ultimatum(outside=3)
WRONG = Invalid(("late",), "Too late.", "time")


class Table(msgspec.Struct, frozen=True):
    bids: dict[Seat, int] = {}
    closed: bool = False


class Sealed(Game[Table, None, int], frozen=True, kw_only=True):
    """Both bid at once; a seat that forfeits bids 0 and the other's bid goes on waiting."""

    limit: int = 9

    @override
    def deal(self, rng: random.Random) -> State[Table, None]:
        return State(Table(), {"A": None, "B": None})

    @override
    def turn(self, public: Table) -> tuple[Seat, ...]:
        return tuple(seat for seat in SEATS if seat not in public.bids)

    @override
    def parse(self, text: str, seen: Observation[Table, None]) -> int | Invalid:
        return int(text) if text.isascii() and text.isdigit() and len(text) < 3 else Invalid(("bid",), "Bid a number.")

    @override
    def say(self, action: int) -> str:
        return str(action)

    @override
    def step(self, state: State[Table, None], actions: Mapping[Seat, int]) -> State[Table, None]:
        return State(Table({**state.public.bids, **actions}), state.private)

    @override
    def outcome(self, state: State[Table, None]) -> Outcome:
        over = not self.turn(state.public)
        return Outcome("AGREED" if over else "ABORTED", {seat: state.public.bids.get(seat) for seat in SEATS})

    @override
    def retries(self, seat: Seat) -> int:
        return 0

    @override
    def forfeit(self, state: State[Table, None], seat: Seat, invalid: Invalid) -> State[Table, None]:
        return self.step(state, {seat: 0})


def test_a_seat_is_asked_with_its_own_observation_and_allowance() -> None:
    match = Match(GAME, seed=1)
    ((seat, ask),) = match.pending().items()
    assert (seat, ask.seen, ask.rejected, ask.retries_left) == ("A", match.seen("A"), (), 2)
    assert match.seen("A") is match.seen("A"), "an observation is built once"


def test_words_and_typed_actions_make_the_same_events() -> None:
    said, typed = Match(GAME, seed=1), Match(GAME, seed=1)
    assert (
        said.submit("A", "offer 4")
        == typed.act("A", Offer(4))
        == [
            Replied("A", Reply("offer 4")),
            Stepped(("A",)),
        ]
    )
    assert said.submit("B", "yes") == typed.act("B", Answer(True))
    assert said.events == typed.events
    assert isinstance(said.events[0], Dealt)
    assert said.events[-1] == Ended("AGREED", {"A": 6, "B": 4})


def test_a_seat_that_is_not_asked_cannot_speak() -> None:
    match = Match(GAME, seed=1)
    with pytest.raises(ValueError, match="seat 'B' is not being asked now: A is"):
        match.submit("B", "yes")
    match.abort("enough")
    with pytest.raises(ValueError, match="nobody is"):
        match.submit("A", "4")


def test_the_allowance_counts_down_and_then_the_match_is_forfeited() -> None:
    match = Match(GAME, seed=1)
    for left in (1, 0):
        match.submit("A", "x")
        assert match.pending()["A"].retries_left == left
    assert [type(event) for event in match.submit("A", "x")] == [Replied, Rejected, Forfeited, Ended]
    outside = match.state.private["B"].outside
    assert match.ended == Ended("FORFEIT", {"A": 0, "B": outside})


def test_an_accepted_reply_restores_the_allowance() -> None:
    match = Match(GAME, seed=1)
    match.submit("A", "x")
    match.submit("A", "3")
    assert match.pending()["B"].retries_left == 2


def test_a_time_out_is_a_rejection_without_words() -> None:
    match = Match(GAME, seed=1)
    assert match.reject("A", WRONG) == [Rejected("A", WRONG, wordless=True)]
    match.submit("A", "3")
    assert not replay_differences(parse_record(match.record().to_line()))


def test_the_first_of_two_bids_waits_unseen() -> None:
    match = Match(Sealed(), seed=1)
    before = match.seen("B")
    assert match.submit("A", "5") == [Replied("A", Reply("5"))]
    assert match.seen("B") is before
    assert list(match.pending()) == ["B"]
    assert match.submit("B", "7")[1] == Stepped(("A", "B"))


def test_a_waiting_bid_goes_on_waiting_when_the_other_seat_forfeits() -> None:
    match = Match(Sealed(), seed=1)
    match.submit("A", "5")
    events = match.submit("B", "nonsense")
    assert [type(event) for event in events] == [Replied, Rejected, Forfeited, Stepped, Ended]
    assert events[3] == Stepped(("A",))
    assert match.state.public.bids == {"B": 0, "A": 5}
    assert not replay_differences(match.record())


def test_an_illegal_first_of_two_actions_is_refused_at_once() -> None:
    match = Match(Sealed(), seed=1)
    with pytest.raises(ValueError, match="seat A cannot play 999 now"):
        match.act("A", 999)
    assert len(match.events) == 1
    match.act("A", 5)
    match.act("B", 7)
    assert match.ended is not None


def test_what_a_player_is_shown_cannot_be_changed() -> None:
    match = Match(load("split", preset="no-press"), seed=1)
    for restored in (match, Match.replay(parse_record(match.record().to_line()))):
        with pytest.raises(TypeError, match="cannot be changed"):
            restored.seen("B").public.values["B"] = (1000,)


@pytest.mark.parametrize("wrong", [{"seed": "7"}, {"seed": True}, {"id": 5}, {"players": {"C": "x"}}])
def test_what_could_not_be_written_down_is_refused_before_the_deal(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Match(GAME, **wrong)  # type: ignore[arg-type]


def test_a_reply_with_a_field_of_the_wrong_type_is_refused() -> None:
    match = Match(GAME, seed=1)
    with pytest.raises(TypeError, match="must be a string, not int"):
        match.submit("A", Reply(4))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="cannot be recorded"):
        match.submit("A", Reply("4", cost="much"))  # type: ignore[arg-type]
    match.submit("A", Reply("4", usage={"prompt_tokens": 5, "details": None}, model="m\ud800"))
    assert parse_record(match.record().to_line()).events[1:] == tuple(match.events[1:])


def test_lone_surrogates_are_replaced_before_they_are_recorded() -> None:
    match = Match(GAME, seed=1)
    match.submit("A", "\ud800 4 \ud83c\udf88")
    replied = match.events[1]
    assert isinstance(replied, Replied)
    assert replied.reply.text == "\ufffd 4 \U0001f388"
    assert parse_record(match.record().to_line()).events[1] == replied


def test_an_aborted_match_pays_nothing_and_says_why() -> None:
    match = Match(GAME, seed=1)
    assert match.abort("the power went") == [Ended("ABORTED", {"A": None, "B": None}, "the power went")]
    assert match.abort("again") == []
    assert not replay_differences(match.record())


def test_a_reply_that_is_too_long_is_kept_by_its_beginning_and_length_and_replays() -> None:
    match = Match(load("bargaining"), seed=1)
    match.submit("A", "52.50")
    replied, rejected = match.submit("B", "no, " * 25_000)
    assert isinstance(replied, Replied) and isinstance(rejected, Rejected)
    assert (len(replied.reply.text), replied.reply.length) == (4000, 100_000)
    assert rejected.invalid.codes == ("too_long",)
    match.submit("B", "I accept")
    assert replay_differences(parse_record(match.record().to_line())) == []
    assert match.ended is not None


def test_who_may_be_refused_without_limit_is_out_after_a_hundred_times_in_a_row() -> None:
    match = Match(load("bargaining"), seed=1)
    match.submit("A", "52.50")
    for _ in range(99):
        match.submit("B", "perhaps")
    assert match.ended is None
    *_, ended = match.submit("B", "perhaps")
    assert ended == Ended("ABORTED", {"A": None, "B": None}, "seat B was refused 100 times in a row")
    assert replay_differences(match.record()) == []


def test_what_was_played_without_a_limit_of_refusals_replays_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as before:
        before.setattr("negolab.match.MAX_REFUSALS", 1000)
        before.setattr("negolab.match.KEPT_CHARACTERS", 1_000_000)
        match = Match(load("bargaining"), seed=1)
        match.submit("A", "52.50")
        for _ in range(150):
            match.submit("B", "no, " * 2_000)
        match.submit("B", "I accept")
    assert replay_differences(match.record()) == []
    assert match.ended is not None and match.ended.end == "AGREED"


def test_a_match_can_be_branched_at_any_event() -> None:
    match = laws.playout(load("trading"), 3)
    for at in range(1, len(match.events) + 1):
        branch = match.fork(at)
        assert branch.events == match.events[: len(branch.events)]
        assert len(branch.events) <= at
        assert branch.notes["forked_from"] == match.id
    with pytest.raises(ValueError, match="at must be 1 to"):
        match.fork(0)


def test_a_branch_goes_on_by_itself() -> None:
    match = Match(GAME, seed=1)
    match.submit("A", "4")
    branch = match.fork()
    match.submit("B", "yes")
    branch.submit("B", "no")
    assert (match.outcome.end, branch.outcome.end) == ("AGREED", "NO_DEAL")  # type: ignore[union-attr]


def test_a_branch_of_a_game_that_was_stopped_is_not_stopped() -> None:
    match = Match(GAME, seed=1, notes={"of": "a study", "models": {"A": {"model": "m"}}})
    match.submit("A", "4")
    match.notes["stopped"], at = "failed", len(match.events)
    match.abort("no answer")
    branch = match.fork(at)
    branch.submit("B", "yes")
    assert branch.notes == {"of": "a study", "forked_from": match.id, "at": at}


@pytest.mark.parametrize(
    ("true", "false", "said"),
    [(b'"payoffs":{"A":6', b'"payoffs":{"A":9', "stored Ended"), (b'"seed":1', b'"seed":6', "not what seed 6 draws")],
)
def test_a_falsified_record_is_found_out(true: bytes, false: bytes, said: str) -> None:
    match = Match(GAME, seed=1)
    match.submit("A", "4")
    match.submit("B", "yes")
    line = match.record().to_line()
    assert true in line
    assert said in replay_differences(parse_record(line.replace(true, false)))[0]


def test_a_seats_view_holds_its_own_faults_and_not_the_others() -> None:
    match = Match(GAME, seed=1, players={"A": "a person", "B": "secret strategy"})
    match.submit("A", "my secret is 12")
    match.submit("A", "4")
    match.submit("B", "hm")
    mine, theirs = (repr(match.record().seen_by(seat)) for seat in SEATS)
    assert "my secret is 12" in mine
    assert "my secret is 12" not in theirs
    assert "hm" in theirs
    assert "'hm'" not in mine
    assert "strategy" not in theirs + mine
    assert match.id not in theirs
    assert "seed" not in theirs


@pytest.mark.parametrize(
    ("payoff", "text"),
    [
        (12, "12"),
        (1234567, "1,234,567"),
        (-2500000.5, "\N{MINUS SIGN}2,500,000.5"),
        (1 / 3, "0.33"),
        (0.1 + 0.2, "0.3"),
        (100.0, "100"),
    ],
)
def test_a_payoff_is_written_in_whole(payoff: float, text: str) -> None:
    assert GAME.format_payoff(payoff) == f"{text} points"


@pytest.mark.parametrize(
    "payoff",
    [10**400, -(10**5000), float("inf"), float("nan"), Fraction(10**400, 3)],
    ids=["huge", "unprintable", "inf", "nan", "fraction"],
)
def test_a_payoff_that_no_float_holds_is_refused_as_not_finite(payoff: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ultimatum, "outcome", lambda *_: Outcome("AGREED", {"A": payoff, "B": 10**300}))
    with pytest.raises(ValueError, match="the payoff of seat A must be a finite number or None, not "):
        laws.playout(GAME, 1)
