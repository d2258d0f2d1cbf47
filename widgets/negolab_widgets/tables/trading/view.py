"""A seat's table of trading as a picture: its goods and gain, the offer that waits, what was said and traded."""

from __future__ import annotations

from negolab.game import Seat
from negolab.games.trading import GOODS, Entry, Goods, Offer, Trading
from negolab.games.trading.goods import listed, minus, worth
from negolab.games.trading.position import Private, Seen, crossed, gain
from negolab_widgets import html
from negolab_widgets.html import Markup, element
from negolab_widgets.tables.talk import Said, talk


def role(game: Trading, seat: Seat) -> str:
    return f"player {seat}"


def turns(game: Trading) -> int:
    """How many turns are played: TextArena's rules play one more than they say."""
    return game.max_turns + game.lenient


def clock(game: Trading, seen: Seen) -> str:
    public = seen.public
    if public.to_move is None:
        return f"{public.turn} turn{'' if public.turn == 1 else 's'} played"
    left = turns(game) - public.turn
    own = (left + 1) // 2 if public.to_move == seen.seat else left // 2
    return f"Turn {public.turn + 1} of {turns(game)}, {own} left for you"


def is_last(game: Trading, seen: Seen) -> bool:
    """Whether this is the last turn, after which nothing can be answered."""
    return seen.public.to_move is not None and seen.public.turn == turns(game) - 1


def render(game: Trading, seen: Seen) -> Markup:
    return element(
        "div",
        standing(seen),
        waiting(seen) if seen.public.end is None else "",
        goods_table(seen.private),
        trades(seen),
        html.panel("What was said", talk(entries(seen), whole=seen.public.end is not None)),
        cls="nl-stack",
    )


def signed(number: int) -> str:
    """A gain with its sign, a loss with a real minus."""
    return f"+{number:,}" if number > 0 else f"{number:,}".replace("-", "\N{MINUS SIGN}")


def change(number: int, words: str) -> Markup:
    """A gain or loss in words; not by colour alone."""
    cls = "nl-loss" if number < 0 else "nl-gain" if number > 0 else "nl-even-out"
    return element("span", element("b", signed(number)), f" {words}", cls=cls)


def standing(seen: Seen) -> Markup:
    """The seat's gain so far, or in the end."""
    own, over = seen.private, seen.public.end is not None
    now, start = worth(own.holdings, own.values), worth(own.start, own.values)
    how = element("p", _how_it_ended(seen)) if over else ""
    return html.panel(
        "Your gain" if over else "Your gain so far",
        element("div", signed(gain(own)), cls="nl-big"),
        element("div", f"Your goods are worth {now:,} to you; at the start they were worth {start:,}.", cls="nl-soft"),
        how,
        cls="nl-standing-gain nl-deal" if over else "nl-standing-gain",
    )


def _how_it_ended(seen: Seen) -> str:
    public = seen.public
    if public.loser is not None:
        whose = "One of your messages was" if public.loser == seen.seat else f"A message of player {public.loser} was"
        return f"{whose} against the rules, which ended the match."
    count = sum(map(crossed, public.messages))
    return f"All turns were played, with {'no trade' if not count else '1 trade' if count == 1 else f'{count} trades'}."


def from_side(offer: Offer, seat: Seat) -> tuple[Goods, Goods]:
    """What `seat` gives and gets by an offer."""
    return (offer.give, offer.want) if offer.by == seat else (offer.want, offer.give)


def brings(own: Private, give: Goods, get: Goods) -> int:
    """What a trade brings at the seat's own values."""
    return worth(minus(get, give), own.values)


def sides(own: Private, give: Goods, get: Goods) -> Markup:
    """A trade from the seat's side, with what each half is worth to it."""
    rows = (("You get", get), ("You give", give))
    drawn = (
        element(
            "div",
            element("dt", word),
            element("dd", listed(goods) or "nothing", element("span", f"worth {worth(goods, own.values):,}")),
        )
        for word, goods in rows
    )
    return element("dl", *drawn, cls="nl-swap")


def halves(own: Private, give: Goods, get: Goods) -> str:
    """The same in one line; "" for nothing at all."""
    parts = (("give", give), ("get", get))
    said = [f"{word} {listed(goods)}, worth {worth(goods, own.values):,} to you" for word, goods in parts if any(goods)]
    return f"You {', and '.join(said)}." if said else ""


def waiting(seen: Seen) -> Markup:
    """The offer that waits, with what it brings this seat."""
    offer = seen.public.waiting
    if offer is None:
        return html.panel("Waiting offer", element("div", "No offer is waiting.", cls="nl-soft"))
    return html.panel(waiting_title(seen), *waiting_body(seen, offer))


def waiting_title(seen: Seen) -> str:
    offer = seen.public.waiting
    if offer is None:
        return "No offer is waiting"
    return "Your offer waits for an answer" if offer.by == seen.seat else f"Player {offer.by} offers"


def waiting_body(seen: Seen, offer: Offer) -> tuple[Markup, ...]:
    own = seen.private
    give, get = from_side(offer, seen.seat)
    held = _too_few(own.holdings, give) if offer.by != seen.seat else ""
    if held:
        return sides(own, give, get), element("div", f"You cannot accept it: you hold only {held}.", cls="nl-due")
    return sides(own, give, get), element("div", change(brings(own, give, get), "for you"))


def _too_few(holdings: Goods, wanted: Goods) -> str:
    """What is held of the goods of which there are not enough."""
    return " and ".join(
        f"{have:,} {name}" for name, have, want in zip(GOODS, holdings, wanted, strict=True) if want > have
    )


HEAD = ("Good", "You hold", "Net so far", "Worth each", "Together")


def goods_table(own: Private) -> Markup:
    """The seat's goods: how many, how many more than at the start, what they are worth to it."""
    net = minus(own.holdings, own.start)
    rows = [
        (name, f"{held:,}", signed(more), f"{value:,}", f"{held * value:,}")
        for name, held, more, value in zip(GOODS, own.holdings, net, own.values, strict=True)
    ]
    return html.panel("Your goods", html.table(HEAD, rows, "Your goods", cls="nl-goods-table"))


def trades(seen: Seen) -> Markup:
    """The trades that were made, as this seat made them; "" before the first."""
    own = seen.private
    rows = []
    for number, entry in enumerate(seen.public.messages, 1):
        if entry.trade is not None and crossed(entry):
            give, get = from_side(entry.trade, seen.seat)
            rows.append((str(number), listed(give), listed(get), signed(brings(own, give, get))))
    head = ("Turn", "You gave", "You got", "For you")
    return html.panel("Trades", html.table(head, rows, "Trades", cls="nl-trades")) if rows else Markup("")


def entries(seen: Seen) -> list[Said]:
    """What was said, and what each message did."""
    return [_entry(seen, entry) for entry in seen.public.messages]


def _entry(seen: Seen, entry: Entry) -> Said:
    own = entry.seat == seen.seat
    done = []
    if entry.trade is not None and crossed(entry):
        done.append(f"accepted: you {_swap(seen, entry.trade, 'gave', 'got')}")
    if entry.denied:
        done.append("refused the waiting offer")
    if entry.offer is not None:
        done.append(f"offered: you {_swap(seen, entry.offer, 'give', 'get')}")
    return Said("you" if own else f"player {entry.seat}", entry.text, "; ".join(done), "own" if own else "other")


def _swap(seen: Seen, offer: Offer, gives: str, gets: str) -> str:
    give, get = from_side(offer, seen.seat)
    return f"{gives} {listed(give)} and {gets} {listed(get)} ({signed(brings(seen.private, give, get))} for you)"
