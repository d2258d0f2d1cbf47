"""Moves that a rule made in place of a player: laws for every game, then matches worked out by hand."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import negolab as nl
from negolab.analysis import estimates, models, summary, tables
from negolab.analysis.fallbacks import Cause, Fallbacks, cause_of, find_fallbacks, list_causes
from negolab.catalog import load
from negolab.events import Forfeited, Stepped
from negolab.game import SEATS, Invalid, Reply, Seat
from negolab.match import Match
from negolab.record import Record
from tests.engine.test_laws import cases
from tests.support.matches import said

PRESETS = [*cases("rules", "talk", "show")]
SEEDS = st.integers(0, 2**32 - 1)
JUNK = "%"


def mumbled(game: Any, seed: int, junk: dict[Seat, float], most: int = 60) -> tuple[Record, list[tuple[Seat, bool]]]:
    """Play with replies that are junk by chance; return the record and what each forfeit was seen to do.

    What a forfeit did is told by the match while it is played: True if it moved the match on.
    """
    rng, match = random.Random(seed), Match(game, seed=seed)
    did: list[tuple[Seat, bool]] = []
    for _ in range(most):
        asks = match.pending()
        if not asks:
            break
        seat = rng.choice(list(asks))
        options = match.told(seat).options(match.seen(seat))
        before = match.state.public
        text = JUNK if rng.random() < junk[seat] else game.say(rng.choice(options))
        events = match.submit(seat, text)
        did += [
            (seat, match.ended is not None or match.state.public != before)
            for event in events
            if isinstance(event, Forfeited)
        ]
    if match.ended is None:
        match.abort("enough")
    return match.record(), did


@pytest.mark.hypothesis
@pytest.mark.parametrize(("game", "preset"), PRESETS)
def test_what_is_read_from_the_events_is_what_happened_at_the_table(game: str, preset: str) -> None:
    loaded = load(game, preset=preset)

    @given(seed=SEEDS, a=st.sampled_from((0.0, 0.3, 0.7)), b=st.sampled_from((0.0, 0.3)))
    def holds(seed: int, a: float, b: float) -> None:
        record, did = mumbled(loaded, seed, {"A": a, "B": b})
        found = find_fallbacks(record)
        for seat, own in found.seats.items():
            steps = sum(seat in event.seats for event in record.events if isinstance(event, Stepped))
            assert len(own.causes) == sum(moved for of, moved in did if of == seat)
            assert own.moves == steps + len(own.causes)
        assert found.any or not found.decided
        if did and did[-1][1] and isinstance(record.events[-2], Forfeited):
            # In a match that was stopped, only a round that was settled before was decided.
            stopped = getattr(record.events[-1], "reason", None) is not None
            assert (not found.decided or loaded.pays_as_it_goes) if stopped else found.decided

    holds()


@pytest.mark.hypothesis
@pytest.mark.parametrize(("game", "preset"), PRESETS)
def test_a_player_without_a_usable_reply_made_no_move_of_its_own(game: str, preset: str) -> None:
    loaded = load(game, preset=preset)

    @given(seed=SEEDS)
    def holds(seed: int) -> None:
        own = find_fallbacks(mumbled(loaded, seed, {"A": 1.0, "B": 0.0})[0]).seats["A"]
        assert own.moves == len(own.causes)

    read = loaded.told("A").parse(JUNK, Match(loaded, seed=1).seen("A"))
    if isinstance(read, Invalid):
        holds()


@pytest.mark.hypothesis
@pytest.mark.parametrize(("game", "preset"), PRESETS)
def test_a_match_of_legal_replies_has_none(game: str, preset: str) -> None:
    loaded = load(game, preset=preset)

    @given(seed=SEEDS)
    def holds(seed: int) -> None:
        found = find_fallbacks(mumbled(loaded, seed, {"A": 0.0, "B": 0.0})[0])
        assert not found.any and not found.decided

    holds()


@given(
    st.dictionaries(st.builds(Cause, st.just("format"), st.from_regex(r"[a-z]_\d", fullmatch=True)), st.integers(1, 9))
)
def test_listed_causes_are_complete_and_the_commonest_comes_first(causes: dict[Cause, int]) -> None:
    if len(causes) > 1:
        listed = list_causes(causes, most=len(causes)).split(", ")
        listed_counts = [int(text.split()[0]) for text in listed]
        assert listed_counts == sorted(causes.values(), reverse=True)
        assert list_causes(causes, most=1) == f"{listed[0]}, ..."


# Examples.


def counts(found: Fallbacks) -> tuple[int, int, int, int, bool]:
    a, b = (found.seats[seat] for seat in SEATS)
    return len(a.causes), a.moves, len(b.causes), b.moves, found.decided


BARGAINING = nl.load("bargaining", buyer_retries=0)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("50", "accept"), (0, 1, 0, 1, False)),
        (("hm", "50", "accept"), (0, 1, 0, 1, False)),
        (("hm", "hm", "accept"), (1, 1, 0, 1, True)),
        (("hm", "hm", "45", "accept"), (1, 2, 0, 1, False)),
        (("50", "45", "hm", "hm", "accept"), (1, 2, 0, 2, True)),
        (("50", "hm"), (0, 1, 1, 1, True)),
        (("60", "41", "60", "41", "60", "41", "hm", "hm"), (1, 4, 0, 3, True)),
    ],
    ids=[
        "no fallback",
        "corrected in time",
        "B accepts the opening of a rule",
        "A takes an offer of B's later",
        "B accepts what a rule repeated",
        "B forfeits",
        "a rule rejects the last offer",
    ],
)
def test_a_bargain_is_decided_by_the_rule_whose_offer_is_accepted(texts: tuple[str, ...], expected: object) -> None:
    match = said(BARGAINING, *texts)
    assert match.ended is not None
    assert counts(find_fallbacks(match.record())) == expected


def test_a_move_before_the_match_was_stopped_decides_nothing() -> None:
    match = said(BARGAINING, "hm", "hm")
    match.abort("the host went home")
    assert counts(find_fallbacks(match.record())) == (1, 1, 0, 0, False)


def test_lost_patience_is_no_move() -> None:
    game = nl.load("balloon")
    match = said(game, "hm", "hm")
    assert sum(isinstance(event, Forfeited) for event in match.events) == 2
    assert counts(find_fallbacks(match.record())) == (0, 0, 0, 0, False)
    match.submit("A", "hm")
    assert counts(find_fallbacks(match.record())) == (1, 1, 0, 0, True)


@pytest.mark.parametrize(("rounds", "last"), [(1, True), (2, False)])
def test_a_division_that_was_filled_in_decides_even_in_an_earlier_round(rounds: int, last: bool) -> None:
    game = nl.load("split", rounds=rounds, quota=0, attempts=1, first="A")
    first = said(game, ("A", "hm"), ("B", game.say(game.options(Match(game, seed=1).seen("B"))[0])))
    assert (first.ended is not None) == last
    assert counts(find_fallbacks(first.record())) == (1, 1, 0, 1, True)


def test_a_message_that_was_filled_in_decides_no_division() -> None:
    game = nl.load("split", rounds=1, quota=1, attempts=1, first="A")
    match = said(game, "<message>one</message> <message>two</message>", "<message>hello</message>")
    for seat in SEATS:
        match.submit(seat, match.game.say(match.game.options(match.seen(seat))[0]))
    assert match.ended is not None
    assert counts(find_fallbacks(match.record())) == (1, 2, 0, 2, False)


def test_a_record_that_cannot_be_replayed_counts_every_forfeit() -> None:
    record = said(nl.load("balloon"), "hm", "hm").record()
    header = msgspec.structs.replace(record.header, game="somewhere.else")
    assert counts(find_fallbacks(Record(header, record.events))) == (2, 2, 0, 0, False)


def test_a_cut_answer_is_told_with_its_limit() -> None:
    cut = Invalid(("cut",), "Too long.")
    notes = {"models": {"A": {"parameters": {"max_tokens": 1000}}, "B": {"parameters": {}}}}
    assert str(cause_of(cut, notes, "A")) == "answers cut at 1,000 tokens"
    assert str(cause_of(cut, notes, "B")) == str(cause_of(cut, {}, "A")) == "answers cut at the token limit"
    assert list_causes({Cause("format", "empty"): 2, Cause("time", "late"): 3}) == "3 late replies, 2 empty answers"


# Where they are shown.


def cut_short(n: int, usable: int = 0) -> list[Record]:
    """Bargaining of a model at A, cut in all games but the first `usable`, whose offers are accepted."""
    records = []
    for at in range(n):
        match = Match(BARGAINING, seed=at, players={"A": "llm:short", "B": "taker"})
        match.notes["models"] = {"A": {"parameters": {"max_tokens": 1000}}}
        while match.ended is None:
            if at < usable or "A" not in match.pending():
                match.submit(*(("A", Reply("60", via="model")) if "A" in match.pending() else ("B", "accept")))
            else:
                match.reject("A", Invalid(("cut",), "Too long."), Reply("I th", via="model"))
        records.append(match.record())
    return records


def test_a_summary_says_first_that_a_model_made_no_move_and_gives_it_no_payoff() -> None:
    lines = summary.tally_lines(summary.tally_records(cut_short(12)), "cents")
    assert lines[1] == "llm:short: 12 of 12 moves were not the model's: answers cut at 1,000 tokens"
    assert "decided 12 of 12 matches" in lines[2]
    (own,) = [line for line in lines if line.startswith("llm:short ")]
    assert "no payoff: a rule made" in own and not any(character.isdigit() for character in own)
    agreed = next(at for at, line in enumerate(lines) if line.startswith("agreed"))
    assert lines[agreed + 1].split() == ["no", "fallback", "n", "=", "0"]


def test_means_over_all_games_stand_beside_those_without_fallback() -> None:
    lines = summary.tally_lines(summary.tally_records(cut_short(8, usable=3)), "cents")
    at = next(at for at, line in enumerate(lines) if line.startswith("llm:short "))
    assert "n = 8" in lines[at] and "n = 3" in lines[at + 1]
    assert f"${(3 * 20 + 5 * 12.5) / 8:.2f}" in lines[at] and " $20.00 " in lines[at + 1]


def test_a_clean_batch_says_nothing_of_them() -> None:
    records = nl.batch("bargaining", "linear", "boulware", n=4)
    assert "fallback" not in "\n".join(summary.tally_lines(summary.tally_records(records), "cents"))
    found = models.estimate_seats(models.seat_frame(records))
    assert not found.measure.str.contains("fallback|by a rule").any()


def test_tables_count_them_by_seat() -> None:
    frame = tables.matches(cut_short(4, usable=1))
    assert list(frame["fallbacks_a"]) == [0, 1, 1, 1] and list(frame["moves_a"]) == [1] * 4
    assert list(frame["fallback_codes_a"].fillna("")) == ["", "cut", "cut", "cut"]
    assert list(frame["decided_by_fallback"]) == [False, True, True, True]
    (row,) = estimates.fallbacks_by_player(frame).itertuples(index=False)
    assert tuple(row) == ("llm:short", 4, 3, "cut 3", 3, 4)


def test_the_table_of_models_has_both_means_and_no_payoff_of_a_silent_model() -> None:
    some = models.overview_table(models.estimate_seats(models.seat_frame(cut_short(8, usable=3)), "cents"))
    model = some.loc["llm:short", "taker"]
    assert model["moves by a rule"] == "5 of 8" and list(some.columns)[2:4] == [
        "moves by a rule",
        "decided by fallback (% of games)",
    ]
    assert model["own payoff (dollars)"].startswith("15.3")
    assert model["own payoff, no fallback (dollars)"].startswith("20")
    none = models.overview_table(models.estimate_seats(models.seat_frame(cut_short(4)), "cents"))
    assert none.loc["llm:short", "taker"]["own payoff (dollars)"] == "unknown, n = 0"
    assert none.loc["llm:short", "taker"]["agreement, no fallback (%)"] == "unknown, n = 0"
