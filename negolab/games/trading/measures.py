"""What a match of trading amounted to: gains and how much of the possible surplus was found."""

from __future__ import annotations

from typing import Any

from negolab.game import SEATS
from negolab.games.trading.goods import worth
from negolab.games.trading.position import Position, crossed, gain
from negolab.theory.surplus import mutual_surplus, possible_surplus


def details(state: Position) -> dict[str, Any]:
    """Gains in worth units, surplus shares (None where there is nothing to share), and counts per seat."""
    own, messages = state.private, state.public.messages
    gains = {seat: gain(own[seat]) for seat in SEATS}
    joint = gains["A"] + gains["B"]
    endowment = own["A"].values, own["B"].values, own["A"].start, own["B"].start
    possible, mutual = possible_surplus(*endowment), mutual_surplus(*endowment)
    return {
        "gain": gains,
        "joint": joint,
        "trades": sum(crossed(entry) for entry in messages),
        "possible": possible,
        "share": joint / possible if possible else None,
        "mutual": float(mutual),
        "mutual_share": float(joint / mutual) if mutual else None,
        "loser": state.public.loser,
        "worth_start": {seat: worth(own[seat].start, own[seat].values) for seat in SEATS},
        "worth_end": {seat: worth(own[seat].holdings, own[seat].values) for seat in SEATS},
        "offers": {seat: sum(e.offer is not None for e in messages if e.seat == seat) for seat in SEATS},
        "refusals": {seat: sum(e.denied for e in messages if e.seat == seat) for seat in SEATS},
    }
