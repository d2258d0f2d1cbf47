"""Scripted traders. They use the observation and the game's public parameters, and make no offer on the last turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Literal

from typing_extensions import override

from negolab.games.trading.offers import canonical_text
from negolab.games.trading.rules import Trading
from negolab.games.trading.state import (
    NOTHING,
    Deal,
    Entry,
    Goods,
    Move,
    Offer,
    Seen,
    add,
    can_accept,
    exchange,
    incoming_offer,
    is_trade,
    single_good,
    subtract,
)
from negolab.protocols import Scripted

Estimate = Literal["base", "mean"]
Value = int | Fraction


def responder_gain(deal: Offer, values: Sequence[Value]) -> Value:
    """Return what the seat that answers an offer gains by accepting it, at these `values`."""
    return sum(value * n for value, n in zip(values, subtract(deal.give, deal.want), strict=True))


class _Trader(Scripted):
    """Base class: replies to the waiting offer, then may make one."""

    deterministic = True

    @override
    def act(self, game: Trading, seen: Seen) -> Move:
        offer = incoming_offer(seen)
        accept = offer is not None and can_accept(seen) and self.accepts(game, seen, offer)
        deal = None if game.is_last(seen.public) else self.offers(game, seen, offer if accept else None)
        reply = "" if offer is None else "[Accept]" if accept else "[Deny]"
        return Move(canonical_text(reply, deal), accept, offer is not None and not accept, deal)

    def accepts(self, game: Trading, seen: Seen, offer: Offer) -> bool:
        """Return True to accept an offer that it can cover."""
        raise NotImplementedError

    def offers(self, game: Trading, seen: Seen, accepted: Offer | None) -> Deal | None:
        """Return the offer to make after accepting `accepted`, or None."""
        raise NotImplementedError


class Chat(Scripted):
    """Never trades: talks, refuses every offer and makes none. The always-deny baseline, against which every strategy
    must come out at zero gain."""

    deterministic = True

    @override
    def act(self, game: Trading, seen: Seen) -> Move:
        deny = incoming_offer(seen) is not None
        return Move("[Deny] Let us just talk." if deny else "Let us just talk.", False, deny)


class RandomLegal(_Trader):
    """Acts at random: accepts a covered offer with probability 1/2, then makes an offer with probability 1/2 (3/4 if
    nothing was waiting) of one or two goods per side, up to five of each. The lower baseline; it draws from its own
    generator and never lists the options."""

    deterministic = False

    @override
    def accepts(self, game: Trading, seen: Seen, offer: Offer) -> bool:
        return self.rng.random() < 0.5

    @override
    def offers(self, game: Trading, seen: Seen, accepted: Offer | None) -> Deal | None:
        draw = self.rng.random
        held = _holdings_after(seen, accepted)
        goods = [r for r in range(5) if held[r]]
        if draw() >= (0.75 if incoming_offer(seen) is None else 0.5) or not goods:
            return None
        given = self._sample(goods)
        wanted = self._sample([0, 1, 2, 3, 4])
        return self._lots({r: min(held[r], 5) for r in given}), self._lots(dict.fromkeys(wanted, 5))

    def _sample(self, goods: list[int]) -> list[int]:
        return self.rng.sample(goods, min(len(goods), 1 + (self.rng.random() < 0.5)))

    def _lots(self, most: dict[int, int]) -> Goods:
        rows = [single_good(r, 1 + int(self.rng.random() * n)) for r, n in most.items()]
        return rows[0] if len(rows) == 1 else add(rows[0], rows[1])


class GreedyHonest(_Trader):
    """Takes any gain: accepts any trade that is a gain at its own values, and offers the one with the largest gain for
    itself among those from which the other gains by estimate and whose goods the other certainly holds. Greedy in its
    share, honest in that it believes every offer it makes to be good for both. With `estimate` base, it takes the base
    values for the other's values; with mean, the means of the ranges from which they are drawn."""

    def __init__(self, *, estimate: Estimate = "base", seed: int = 0) -> None:
        super().__init__(seed=seed)
        self.estimate = estimate

    def others_values(self, game: Trading) -> Sequence[Value]:
        """Return the estimate of the other's values."""
        if self.estimate == "base":
            return game.base_values
        return [Fraction(low + high, 2) for low, high in game.value_ranges()]

    @override
    def accepts(self, game: Trading, seen: Seen, offer: Offer) -> bool:
        return responder_gain(offer, seen.private.values) > 0

    @override
    def offers(self, game: Trading, seen: Seen, accepted: Offer | None) -> Deal | None:
        best: tuple[Value, ...] | None = None
        found: Deal | None = None
        held, said = _holdings_after(seen, accepted), open_own_offers(seen)
        for r, s, m, k, mine, theirs in self._lots(game, seen, held, _certain_holdings(game, seen, accepted)):
            if mine > 0 and theirs > 0:
                rank = self.rank(mine, theirs)
                # Candidates come in rising order of goods and amounts, so the first of equals is kept.
                if (best is None or rank > best) and (single_good(r, k), single_good(s, m)) not in said:
                    best, found = rank, (single_good(r, k), single_good(s, m))
        return found

    def rank(self, mine: int, theirs: Value) -> tuple[Value, ...]:
        """Rank a trade by its gains; the highest is offered."""
        return mine, theirs

    def amounts(self, m: int, worth_r: tuple[int, Value], worth_s: tuple[int, Value]) -> tuple[int, ...]:
        """Return the amounts of the given good to try for `m` of the wanted one; worths are (own, estimated)."""
        return (m * worth_s[1] // worth_r[1] + 1,)

    def _lots(
        self, game: Trading, seen: Seen, held: Goods, sure: Goods
    ) -> Iterator[tuple[int, int, int, int, int, Value]]:
        values, theirs = seen.private.values, self.others_values(game)
        for r in range(5):
            v_r, b_r = values[r], theirs[r]
            for s in range(5):
                if r == s:
                    continue
                v_s, b_s = values[s], theirs[s]
                for m in range(1, sure[s] + 1):
                    for k in self.amounts(m, (v_r, b_r), (v_s, b_s)):
                        if 1 <= k <= held[r]:
                            yield r, s, m, k, m * v_s - k * v_r, k * b_r - m * b_s


class FairSplit(GreedyHonest):
    """Trades evenly: accepts a trade whose gain for itself is at least the other's by estimate, and offers the trade
    whose smaller gain, by its own values or its estimate, is largest: split as evenly as whole goods allow."""

    @override
    def accepts(self, game: Trading, seen: Seen, offer: Offer) -> bool:
        mine = responder_gain(offer, seen.private.values)
        return mine > 0 and mine >= -responder_gain(offer, self.others_values(game))

    @override
    def rank(self, mine: int, theirs: Value) -> tuple[Value, ...]:
        return min(mine, theirs), mine + theirs

    @override
    def amounts(self, m: int, worth_r: tuple[int, Value], worth_s: tuple[int, Value]) -> tuple[int, ...]:
        even = m * sum(worth_s) // sum(worth_r)
        return even, even + 1


class TitForTat(FairSplit):
    """Trades evenly and retaliates: plays `fair-split` until the other is hostile, that is, until its latest message
    executed no trade and made an offer that gains this player nothing, or refused and made none. Then it refuses or
    passes, for one turn only (after Axelrod's tit for tat, which forgives at once)."""

    @override
    def accepts(self, game: Trading, seen: Seen, offer: Offer) -> bool:
        return not self._provoked(seen) and super().accepts(game, seen, offer)

    @override
    def offers(self, game: Trading, seen: Seen, accepted: Offer | None) -> Deal | None:
        return None if self._provoked(seen) else super().offers(game, seen, accepted)

    def _provoked(self, seen: Seen) -> bool:
        latest = next((e for e in reversed(seen.public.messages) if e.seat != seen.seat), None)
        return latest is not None and is_hostile(latest, seen.private.values)


def is_hostile(entry: Entry, values: Goods) -> bool:
    """Return True if a message executed no trade and made an offer without a gain, or refused and made none."""
    if entry.trade is not None:
        return False
    return entry.denied if entry.offer is None else responder_gain(entry.offer, values) <= 0


def open_own_offers(seen: Seen) -> set[Deal]:
    """Return the seat's own offers that the other seat has not accepted since they were last made."""
    said: set[Deal] = set()
    for entry in seen.public.messages:
        if entry.seat == seen.seat:
            if entry.offer is not None:
                said.add((entry.offer.give, entry.offer.want))
        elif entry.trade is not None and entry.trade.by == seen.seat:
            said.discard((entry.trade.give, entry.trade.want))
    return said


def _holdings_after(seen: Seen, accepted: Offer | None) -> Goods:
    held = seen.private.holdings
    return held if accepted is None else exchange(held, accepted.want, accepted.give)


def _certain_holdings(game: Trading, seen: Seen, accepted: Offer | None) -> Goods:
    """Return the units of each good that the other certainly holds in a dealt game: the least it can have been dealt
    plus the net flow of trades since."""
    flow = NOTHING if accepted is None else subtract(accepted.want, accepted.give)
    for entry in seen.public.messages:
        if entry.trade is not None and is_trade(entry):
            to_other = subtract(entry.trade.give, entry.trade.want)
            flow = add(flow, to_other) if entry.trade.by == seen.seat else subtract(flow, to_other)
    low = game.holdings_range[0]
    a, b, c, d, e = (max(0, low + net) for net in flow)
    return a, b, c, d, e


PLAYERS: dict[str, type[Scripted]] = {
    "fair-split": FairSplit,
    "greedy-honest": GreedyHonest,
    "chat": Chat,
    "random-legal": RandomLegal,
    "tit-for-tat": TitForTat,
}
