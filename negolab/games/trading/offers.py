"""A neutral sample of legal messages: single-good offers around parity at the base values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from negolab.games.trading.goods import GOODS, Deal, Goods, covers, one, swap
from negolab.games.trading.position import Seen

if TYPE_CHECKING:
    from negolab.games.trading.rules import Trading

Parts = tuple[str, bool, bool, Deal | None]
"""Text, accept, deny, offer: the first fields of a `Move`."""


def canonical(reply: str, deal: Deal | None) -> str:
    """Reply token and offer joined by one blank; `Pass.` for neither."""
    if deal is None:
        return reply or "Pass."
    give, want = deal
    offer = f"[Offer: {_listed(give)} -> {_listed(want)}]"
    return f"{reply} {offer}" if reply else offer


def _listed(goods: Goods) -> str:
    return ", ".join([f"{n} {GOODS[r]}" for r, n in enumerate(goods) if n])


def options(game: Trading, seen: Seen) -> Iterator[Parts]:
    """The canonical messages of the seat on turn: replies first, then each reply with each offer."""
    own, waiting = seen.private, seen.public.waiting
    replies = [("", own.holdings)]
    if waiting is not None and waiting.by != seen.seat:
        replies = [("[Deny]", own.holdings)]
        if covers(own.holdings, waiting.want):
            replies.append(("[Accept]", swap(own.holdings, waiting.want, waiting.give)))
    last = seen.public.turn >= (game.max_turns if game.lenient else game.max_turns - 1)
    for reply, _ in replies:
        yield _parts(reply, None)
    if not last:
        for reply, holdings in replies:
            for deal in singles(holdings, own.values, game.base_values):
                yield _parts(reply, deal)


def _parts(reply: str, deal: Deal | None) -> Parts:
    return canonical(reply, deal), reply == "[Accept]", reply == "[Deny]", deal


def singles(holdings: Goods, values: Goods, base: Goods) -> Iterator[Deal]:
    """Offers of k of one good for m of another: one for one, parity at base values, and those from which the other
    gains at base values while the speaker gains at its own."""
    for r in range(5):
        for s in range(5):
            if r != s:
                yield from (
                    (one(r, k), one(s, m))
                    for k, m in dict.fromkeys(_lots(base[r], base[s], values[r], values[s]))
                    if 1 <= k <= holdings[r] and m >= 1
                )


def _lots(base_r: int, base_s: int, value_r: int, value_s: int) -> Iterator[tuple[int, int]]:
    yield 1, 1
    for k in (1, 2, 3, -(-base_s // base_r)):
        yield k, k * base_r // base_s
        yield k, -(-k * base_r // base_s)
    for m in (1, 2, 3):
        k = m * base_s // base_r + 1
        if m * value_s > k * value_r:
            yield k, m
