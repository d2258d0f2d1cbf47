"""Players of any game with agreements, in agenda and in a game of a stranger."""

from __future__ import annotations

import random
from typing import Any

import pytest

import negolab as nl
from negolab.match import Match
from negolab.players import agreements
from negolab.players.agreements import distance, nearest_at, rank_agreements
from negolab.scaffolds.ultimatum import Answer, Offer, Ultimatum
from tests.support.agenda import FOOD, PAY, game, issue

OPPOSED = game(issue("pay", [0, 10, 20, 30, 40], [40, 30, 20, 10, 0]), turns=10)


def play(told: Any, a: str, b: str, seed: int = 1) -> Match:
    match = Match(told, seed=seed)
    seats = {"A": nl.player(a, told, seed=1), "B": nl.player(b, told, seed=2)}
    while match.pending():
        for seat, ask in match.pending().items():
            match.act(seat, seats[seat].reply(match.told(seat), ask))
    return match


def offers(match: Match, seat: str) -> list[int]:
    """Own points of a seat's offers, in order."""
    table = match.state.private[seat].points  # type: ignore[index]
    made = [entry.offer for entry in match.state.public.messages if entry.seat == seat and entry.offer is not None]
    return [sum(row[at] for row, at in zip(table, offer, strict=True)) for offer in made]


def test_time_concedes_from_the_best_to_no_deal_as_messages_run_out() -> None:
    assert offers(play(OPPOSED, "linear", "stubborn"), "A") == [40, 30, 20, 10]
    assert offers(play(OPPOSED, "boulware", "stubborn"), "A") == [40, 40, 40, 40]
    assert offers(play(OPPOSED, "conceder", "stubborn"), "A") == [40, 10, 10, 10]
    assert offers(play(OPPOSED, "time:beta=1", "stubborn"), "A") == [40, 30, 20, 10]
    ended = play(OPPOSED, "linear", "stubborn").ended
    assert ended is not None and ended.payoffs == {"A": 0, "B": 40}


def test_micro_offers_something_new_only_while_the_other_has_offered_as_much() -> None:
    assert set(offers(play(OPPOSED, "micro", "stubborn"), "A")) == {40, 30}, "one offer was heard, so it makes a second"
    assert offers(play(OPPOSED, "micro", "micro"), "A") == [40, 30, 20]
    assert offers(play(OPPOSED, "micro", "micro"), "B") == [40, 30]
    ended = play(OPPOSED, "micro", "micro").ended
    assert ended is not None and (ended.end, ended.payoffs) == ("AGREED", {"A": 20, "B": 20})
    told = game(issue("pay", [0, 10, 20, 30], [30, 20, 10, 0]), turns=12, reservation={"A": 15, "B": 0})
    assert set(offers(play(told, "micro", "linear"), "A")) <= {30, 20}, "it never offers below no deal"
    assert offers(play(game(PAY, FOOD, reservation={"A": 99, "B": 99}), "micro", "micro"), "A") == []


def test_nobody_goes_below_its_reservation_value() -> None:
    firm = game(issue("pay", [0, 10, 20, 30, 40], [40, 30, 20, 10, 0]), turns=10, reservation={"A": 15, "B": 0})
    assert offers(play(firm, "linear", "stubborn"), "A") == [40, 40, 30, 30, 20]
    hopeless = game(PAY, FOOD, reservation={"A": 99, "B": 99})
    for name in ("linear", "tft"):
        match = play(hopeless, name, name)
        assert offers(match, "A") == offers(match, "B") == []
        assert match.ended is not None and match.ended.end != "AGREED"


def test_a_player_accepts_what_reaches_its_next_target_and_at_the_end_what_is_not_below_no_deal() -> None:
    ended = play(OPPOSED, "linear", "linear").ended
    assert ended is not None and (ended.end, ended.payoffs) == ("AGREED", {"A": 20, "B": 20})
    ended = play(OPPOSED, "stubborn", "boulware").ended
    assert ended is not None and ended.payoffs == {"A": 40, "B": 0}
    ended = play(OPPOSED, "stubborn", "stubborn").ended
    assert ended is not None and ended.end == "OUT_OF_TIME"


def test_of_equal_points_the_offer_nearest_to_the_others_last_is_made() -> None:
    alike = game(issue("x", [0, 5], [0, 0]), issue("y", [0, 5], [0, 0]), issue("z", [0, 9], [9, 0]))
    seen = Match(alike, seed=1).seen("A")
    ranking = rank_agreements(alike.told("A"), seen)
    assert nearest_at(ranking, 5, None) == (0, 1, 0)
    assert nearest_at(ranking, 5, (1, 0, 1)) == (1, 0, 0)
    assert nearest_at(ranking, 99, None) is None
    assert distance((1, 2, 3), (1, 4, 0)) == (2, 5)
    assert distance("deal", "none") == (1, 0)


def test_tit_for_tat_repays_concessions_in_proportion() -> None:
    scale = [*range(101)]
    fine = game(issue("pay", scale, scale[::-1], options=[str(k) for k in scale]), turns=10, reservation={"B": 20})
    match = Match(fine, seed=1)
    tft = nl.player("tft", fine)
    for claim in (100, 75, 90, 45):  # leaves B 0, 25, 10 and 55 points, short of its best by 100, 75, 90 and 45
        match.submit("A", f"[Offer: pay = {claim}]")
        match.act("B", tft.reply(match.told("B"), match.pending()["B"]))  # type: ignore[arg-type]
    assert offers(match, "B") == [100, 80, 92, 56]


def test_players_draw_nothing_and_use_no_secret() -> None:
    told = nl.load(game(PAY, FOOD))
    match = Match(told, seed=1)
    twin = Match(told, start=told.vary(match.state, "B", random.Random(5)))  # type: ignore[arg-type]
    for name in agreements.PLAYERS:
        acts = [
            nl.player(name, told, seed=seed).reply(m.told("A"), m.pending()["A"]) for seed, m in ((1, match), (2, twin))
        ]  # type: ignore[arg-type]
        assert acts[0] == acts[1]
        assert nl.player(name, told).deterministic or name == "micro"


def test_a_million_agreements_are_weighed_and_more_refused() -> None:
    many = nl.load(game(*(issue(f"i{k}", 1, 1, units=99) for k in range(4))))
    match = Match(many, seed=1)
    with pytest.raises(ValueError, match="more than 1,000,000"):
        nl.player("linear", many).reply(match.told("A"), match.pending()["A"])  # type: ignore[arg-type]


def test_beta_must_be_positive() -> None:
    with pytest.raises(ValueError, match="beta must be above 0"):
        nl.player("time:beta=0", OPPOSED)


class Shares(Ultimatum, frozen=True, kw_only=True):
    """A stranger's game that offers the methods of agreements, which are A's shares."""

    def agreements(self, seen: Any) -> Any:
        return range(self.pie + 1)

    def worth(self, seen: Any, agreement: Any) -> Any:
        if agreement is None:
            return seen.private.outside
        return agreement if seen.seat == "A" else self.pie - agreement

    def offers(self, seen: Any) -> Any:
        return () if seen.public.offer is None else (("A", self.pie - seen.public.offer),)

    def propose(self, seen: Any, agreement: Any) -> Any:
        if seen.seat == "A":
            return Offer(self.pie - agreement)
        return Answer(True) if self.pie - agreement == seen.public.offer else None


def test_a_strangers_game_is_played_through_the_same_methods() -> None:
    ended = play(Shares(outside=0), "stubborn", "linear").ended
    assert ended is not None and ended.payoffs == {"A": 10, "B": 0}
    ended = play(Shares(outside=0), "stubborn", "stubborn").ended
    assert ended is not None and ended.end != "AGREED"


def test_they_are_listed_for_games_that_offer_agreements_alone() -> None:
    assert "boulware" in nl.list_players(OPPOSED)
    assert "boulware" not in nl.list_players("trading")
    assert "boulware" not in nl.list_players("negolab.scaffolds.ultimatum")
