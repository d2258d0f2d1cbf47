"""Measures of a trading match: gains, the share of the possible surplus, and the truth of what seats stated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from negolab.analysis.measures import flatten_by_seat
from negolab.analysis.replies import Claim, claim_truth, iter_accepted
from negolab.game import SEATS
from negolab.games.trading.state import GOODS, Position, gain, is_trade, worth
from negolab.record import Record, final_state
from negolab.theory.surplus import mutual_surplus, possible_surplus


def details(state: Position) -> dict[str, Any]:
    """Return gains in each seat's own values, shares of the surplus (None if there is none), and counts per seat."""
    own, messages = state.private, state.public.messages
    gains = {seat: gain(own[seat]) for seat in SEATS}
    joint = gains["A"] + gains["B"]
    endowment = own["A"].values, own["B"].values, own["A"].start, own["B"].start
    possible, mutual = possible_surplus(*endowment), mutual_surplus(*endowment)
    return {
        "gain": gains,
        "joint": joint,
        "trades": sum(is_trade(entry) for entry in messages),
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


# Statements about holdings and values.

_GOOD = rf"(?:{'|'.join(GOODS)})s?"
_COUNT = rf"(?:[0-9]{{1,9}}|no)\s+{_GOOD}\b"
_HOLDINGS_STATEMENT = re.compile(
    rf"(?<!if )(?<!when )\bI(?:'ve got| have| hold| own)(?: only| just| exactly| now)?\s+"
    rf"((?>{_COUNT}(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+){_COUNT})*))(?!\s+to\s+(?:offer|spare|trade|sell|give))",
    re.IGNORECASE,
)
_COUNT_AND_GOOD = re.compile(rf"([0-9]{{1,9}}|no)\s+({'|'.join(GOODS)})", re.IGNORECASE)
_NAME = f"({'|'.join(GOODS)})"
_VALUE_STATEMENTS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{_NAME}s? (?:is|are) worth ([0-9]{{1,9}})(?: points)?(?: each)? to me\b",
        rf"\bI value {_NAME}s? at ([0-9]{{1,9}})\b",
        rf"\bmy value (?:of|for) {_NAME}s? is ([0-9]{{1,9}})\b",
    )
)
_TOKEN = re.compile(r"\[[^\[\]]*\]")


def measures(record: Record) -> dict[str, Any]:
    """Return the measures of a trading match beyond those common to all games.

    `share` and `mutual_share` are at most 1, although a trade in which one seat loses may gain more than those in which
    neither does.

    Returns:
        share: joint gain / largest possible one; negative if both together lost; empty: nothing could be gained
        mutual: largest joint gain without a loss to either seat
        trades: trades made
        mutual_share: joint gain / largest one without a loss to either seat
        first_trade: messages from both seats up to and including the first trade; empty: none
        offers: offers by the seat
        refusals: offers that the seat refused
        truth: share of the seat's claims about its goods and values that were true
    """
    told = record.game.details(final_state(record))
    mutual_share = told["mutual_share"]
    by_seat = {"offers": told["offers"], "refusals": told["refusals"], "truth": claim_truth(claims(record))}
    return {
        **{name: told[name] for name in ("share", "mutual", "trades")},
        "mutual_share": None if mutual_share is None else min(mutual_share, 1.0),
        "first_trade": first_trade(record),
        **flatten_by_seat(by_seat),
    }


def first_trade(record: Record) -> int | None:
    """Count messages from both seats up to and including the first trade between them; None if there was none."""
    messages = final_state(record).public.messages
    return next((turn for turn, entry in enumerate(messages, 1) if is_trade(entry)), None)


def claims(record: Record) -> tuple[Claim, ...]:
    """Return what the seats stated about their holdings and values, good by good, with the truth at that moment.

    Only plain forms are read: "I have 5 Wheat and 2 Ore", "Wheat is worth 6 to me", "I value Ore at 33", "my value for
    Ore is 33". Offers and other tokens in brackets are not statements.
    """
    stated: list[Claim] = []
    for at, seat, _, action, before in iter_accepted(record):
        own = before.private[seat]
        text = _TOKEN.sub(" ", action.text)
        stated += (Claim(at, seat, f"{GOODS[r]} held", units, own.holdings[r]) for r, units in _stated_holdings(text))
        stated += (Claim(at, seat, f"value of {GOODS[r]}", worth, own.values[r]) for r, worth in _stated_values(text))
    return tuple(stated)


def _stated_holdings(text: str) -> Iterator[tuple[int, int]]:
    for listed in _HOLDINGS_STATEMENT.finditer(text):
        for count, good in _COUNT_AND_GOOD.findall(listed[1]):
            yield _index(good), 0 if count.lower() == "no" else int(count)


def _stated_values(text: str) -> Iterator[tuple[int, int]]:
    for pattern in _VALUE_STATEMENTS:
        for good, value in pattern.findall(text):
            yield _index(good), int(value)


def _index(good: str) -> int:
    return GOODS.index(good.capitalize())


MEASURES = measures
"""All measures of a match together, because they share one replay."""
