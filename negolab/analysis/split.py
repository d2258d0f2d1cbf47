"""Measures of a split match: how the rounds were divided, and the truth of what was announced before."""

from __future__ import annotations

from typing import Any

from negolab.analysis.claims import Claim, truth
from negolab.analysis.measures import flat
from negolab.analysis.said import accepted
from negolab.games.split.position import Schedule
from negolab.games.split.statements import heard
from negolab.record import Record, final, start

_MEANS = ("agreement_rate", "overclaim_rate", "overclaim_units", "unallocated_units", "winner_share", "pareto_rate")
_BY_SEAT = ("ask_low", "ask_high", "honesty_rate")


def measures(record: Record) -> dict[str, Any]:
    """What `measures.of` says of split besides, from `Game.details`: means over the rounds that were played.

    `_rate` and `winner_share` (units received by the seat that values them more) are from 0 to 1, `_units` and the asks
    count units, `ask_high` and `ask_low` those of types that the seat values more or less than the other does.
    `mean_efficiency` is the mean over rounds of points paid per points possible; `efficiency` pools them, and counts
    rounds that a forfeit cut off. `honesty_rate` is the share of rounds in which the seat's last statement was true,
    `truth` that of all its statements. A mean of nothing is None."""
    told = record.game.details(final(record))["measures"]
    return {
        "rounds": told["rounds_played"],
        "mean_efficiency": told["efficiency"],
        **{name: told[name] for name in _MEANS},
        **flat({**{name: told[name] for name in _BY_SEAT}, "truth": truth(claims(record))}),
        "forfeited_turns": told["forfeited_turns"],
    }


def claims(record: Record) -> tuple[Claim, ...]:
    """Every readable statement of a hand (Trust-and-Split) or of own values, in order, with the truth of its round; ()
    where both seats see both values."""
    game: Any = record.game
    schedule = start(record).hidden
    assert isinstance(schedule, Schedule)
    if game.show == "both":
        return ()
    hands = game.show == "hand"
    found = []
    for at, seat, _, action, before in accepted(record):
        if before.public.phase == "talk":
            stated = heard(action.text, game.items, hands)
            drawn = schedule.rounds[before.public.round - 1]
            true = drawn.hands[seat] if hands and drawn.hands is not None else drawn.values[seat]
            if stated is not None:
                found.append(Claim(at, seat, "hand" if hands else "values", stated, true))
    return tuple(found)
