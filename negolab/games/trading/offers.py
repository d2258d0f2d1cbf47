"""Canonical messages, and a neutral sample of legal ones: single-good offers around parity at the base values."""

from __future__ import annotations

from collections.abc import Iterator

from negolab.games.trading.parameters import Parameters
from negolab.games.trading.state import (
    Deal,
    Goods,
    Seen,
    can_accept,
    format_goods,
    holdings_after,
    incoming_offer,
    single_good,
)

Parts = tuple[str, bool, bool, Deal | None]
"""The first fields of a `Move`: text, accept, deny, offer."""


def canonical_text(reply: str, deal: Deal | None) -> str:
    """Join the reply token and the offer with one space; `Pass.` for neither."""
    if deal is None:
        return reply or "Pass."
    give, want = deal
    offer = f"[Offer: {format_goods(give)} -> {format_goods(want)}]"
    return f"{reply} {offer}" if reply else offer


def message_options(game: Parameters, seen: Seen) -> Iterator[Parts]:
    """Yield the canonical messages for the seat on turn: replies first, then each reply with each offer."""
    incoming = incoming_offer(seen)
    replies = ["" if incoming is None else "[Deny]", *(["[Accept]"] if can_accept(seen) else [])]
    for reply in replies:
        yield _parts(reply, None)
    if not game.is_last(seen.public):
        for reply in replies:
            accepts = reply == "[Accept]"
            # In a fair reading, the waiting offer beside its acceptance is quoted, not made.
            quotes = accepts and game.reading == "fair"
            repeated = (incoming.give, incoming.want) if quotes and incoming else None
            held = holdings_after(seen, accepted=accepts)
            for deal in single_good_offers(held, seen.private.values, game.base_values):
                if deal != repeated:
                    yield _parts(reply, deal)


def _parts(reply: str, deal: Deal | None) -> Parts:
    return canonical_text(reply, deal), reply == "[Accept]", reply == "[Deny]", deal


def single_good_offers(holdings: Goods, values: Goods, base: Goods) -> Iterator[Deal]:
    """Yield offers of k units of one good for m of another: one for one, parity at base values, and those from which
    the other gains at base values while the speaker gains at its own."""
    for r in range(5):
        for s in range(5):
            if r != s:
                yield from (
                    (single_good(r, k), single_good(s, m))
                    for k, m in dict.fromkeys(_amounts(base[r], base[s], values[r], values[s]))
                    if 1 <= k <= holdings[r] and m >= 1
                )


def _amounts(base_r: int, base_s: int, value_r: int, value_s: int) -> Iterator[tuple[int, int]]:
    yield 1, 1
    for k in (1, 2, 3, -(-base_s // base_r)):
        yield k, k * base_r // base_s
        yield k, -(-k * base_r // base_s)
    for m in (1, 2, 3):
        k = m * base_s // base_r + 1
        if m * value_s > k * value_r:
            yield k, m
