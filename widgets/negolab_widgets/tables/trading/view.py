"""A seat's table of trading as HTML: its goods and gain, the waiting offer, the conversation and the trades."""

from __future__ import annotations

from negolab.game import Seat
from negolab.games.trading import GOODS, Entry, Goods, Offer, Trading
from negolab.games.trading.state import Private, Seen, format_goods, gain, is_trade, subtract, worth
from negolab_widgets import html
from negolab_widgets.html import Markup, element
from negolab_widgets.tables.conversation import ConversationEntry, render_conversation


def role(game: Trading, seat: Seat) -> str:
    return f"player {seat}"


def total_turns(game: Trading) -> int:
    """Return how many turns are played: TextArena's rules play one more than they say."""
    return game.max_turns + game.lenient


def clock(game: Trading, seen: Seen) -> str:
    public = seen.public
    if public.to_move is None:
        return f"{public.turn} turn{'' if public.turn == 1 else 's'} played"
    left = total_turns(game) - public.turn
    own = (left + 1) // 2 if public.to_move == seen.seat else left // 2
    return f"Turn {public.turn + 1} of {total_turns(game)}, {own} left for you"


def is_last(game: Trading, seen: Seen) -> bool:
    """Return True in the last turn, after which nothing can be answered."""
    return seen.public.to_move is not None and seen.public.turn == total_turns(game) - 1


def render(game: Trading, seen: Seen) -> Markup:
    return element(
        "div",
        render_gain(seen),
        render_waiting(seen) if seen.public.end is None else "",
        render_goods(seen.private),
        render_trades(seen),
        html.panel("What was said", render_conversation(conversation_entries(seen), whole=seen.public.end is not None)),
        cls="nl-stack",
    )


def format_signed(number: int) -> str:
    """Format a gain with its sign, a loss with a real minus."""
    return f"+{number:,}" if number > 0 else f"{number:,}".replace("-", "\N{MINUS SIGN}")


def render_change(number: int, words: str) -> Markup:
    """Render a gain or loss in words, not by colour alone."""
    cls = "nl-loss" if number < 0 else "nl-gain" if number > 0 else "nl-even-out"
    return element("span", element("b", format_signed(number)), f" {words}", cls=cls)


def render_gain(seen: Seen) -> Markup:
    """Render the seat's gain so far, or at the end."""
    own, over = seen.private, seen.public.end is not None
    now, start = worth(own.holdings, own.values), worth(own.start, own.values)
    how = element("p", _how_it_ended(seen)) if over else ""
    return html.panel(
        "Your gain" if over else "Your gain so far",
        element("div", format_signed(gain(own)), cls="nl-big"),
        element("div", f"Your goods are worth {now:,} to you; at the start they were worth {start:,}.", cls="nl-soft"),
        how,
        cls="nl-standing-gain nl-deal" if over else "nl-standing-gain",
    )


def _how_it_ended(seen: Seen) -> str:
    public = seen.public
    if public.loser is not None:
        whose = "One of your messages was" if public.loser == seen.seat else f"A message of player {public.loser} was"
        return f"{whose} against the rules, which ended the match."
    count = sum(map(is_trade, public.messages))
    return f"All turns were played, with {'no trade' if not count else '1 trade' if count == 1 else f'{count} trades'}."


def give_and_get(offer: Offer, seat: Seat) -> tuple[Goods, Goods]:
    """Return what `seat` gives and gets by an offer."""
    return (offer.give, offer.want) if offer.by == seat else (offer.want, offer.give)


def trade_value(own: Private, give: Goods, get: Goods) -> int:
    """Return the value of a trade at the seat's own values."""
    return worth(subtract(get, give), own.values)


def render_trade(own: Private, give: Goods, get: Goods) -> Markup:
    """Render a trade from the seat's side, with the value of each half."""
    rows = (("You get", get), ("You give", give))
    drawn = (
        element(
            "div",
            element("dt", word),
            element("dd", format_goods(goods) or "nothing", element("span", f"worth {worth(goods, own.values):,}")),
        )
        for word, goods in rows
    )
    return element("dl", *drawn, cls="nl-swap")


def trade_sentence(own: Private, give: Goods, get: Goods) -> str:
    """Describe the same in one line; "" for nothing at all."""
    parts = (("give", give), ("get", get))
    said = [
        f"{word} {format_goods(goods)}, worth {worth(goods, own.values):,} to you"
        for word, goods in parts
        if any(goods)
    ]
    return f"You {', and '.join(said)}." if said else ""


def render_waiting(seen: Seen) -> Markup:
    """Render the waiting offer and its value to this seat."""
    offer = seen.public.waiting
    if offer is None:
        return html.panel("Waiting offer", element("div", "No offer is waiting.", cls="nl-soft"))
    return html.panel(waiting_title(seen), *waiting_parts(seen, offer))


def waiting_title(seen: Seen) -> str:
    offer = seen.public.waiting
    if offer is None:
        return "No offer is waiting"
    return "Your offer waits for an answer" if offer.by == seen.seat else f"Player {offer.by} offers"


def waiting_parts(seen: Seen, offer: Offer) -> tuple[Markup, ...]:
    own = seen.private
    give, get = give_and_get(offer, seen.seat)
    held = _missing_goods(own.holdings, give) if offer.by != seen.seat else ""
    if held:
        return render_trade(own, give, get), element(
            "div", f"You cannot accept it: you hold only {held}.", cls="nl-due"
        )
    return render_trade(own, give, get), element("div", render_change(trade_value(own, give, get), "for you"))


def _missing_goods(holdings: Goods, wanted: Goods) -> str:
    """Say what is held of the goods of which there are not enough."""
    return " and ".join(
        f"{have:,} {name}" for name, have, want in zip(GOODS, holdings, wanted, strict=True) if want > have
    )


HEAD = ("Good", "You hold", "Net so far", "Worth each", "Together")


def render_goods(own: Private) -> Markup:
    """Render the seat's goods: how many, the change since the start, and their value."""
    net = subtract(own.holdings, own.start)
    rows = [
        (name, f"{held:,}", format_signed(more), f"{value:,}", f"{held * value:,}")
        for name, held, more, value in zip(GOODS, own.holdings, net, own.values, strict=True)
    ]
    return html.panel("Your goods", html.table(HEAD, rows, "Your goods", cls="nl-goods-table"))


def render_trades(seen: Seen) -> Markup:
    """Render the trades from this seat's side; empty before the first."""
    own = seen.private
    rows = []
    for number, entry in enumerate(seen.public.messages, 1):
        if entry.trade is not None and is_trade(entry):
            give, get = give_and_get(entry.trade, seen.seat)
            rows.append(
                (str(number), format_goods(give), format_goods(get), format_signed(trade_value(own, give, get)))
            )
    head = ("Turn", "You gave", "You got", "For you")
    return html.panel("Trades", html.table(head, rows, "Trades", cls="nl-trades")) if rows else Markup("")


def conversation_entries(seen: Seen) -> list[ConversationEntry]:
    """List the messages and what each of them did."""
    return [_conversation_entry(seen, entry) for entry in seen.public.messages]


def _conversation_entry(seen: Seen, entry: Entry) -> ConversationEntry:
    own = entry.seat == seen.seat
    done = []
    if entry.trade is not None and is_trade(entry):
        done.append(f"accepted: you {_describe_trade(seen, entry.trade, 'gave', 'got')}")
    if entry.denied:
        done.append("refused the waiting offer")
    if entry.offer is not None:
        done.append(f"offered: you {_describe_trade(seen, entry.offer, 'give', 'get')}")
    return ConversationEntry(
        "you" if own else f"player {entry.seat}", entry.text, "; ".join(done), "own" if own else "other"
    )


def _describe_trade(seen: Seen, offer: Offer, gives: str, gets: str) -> str:
    give, get = give_and_get(offer, seen.seat)
    gain = format_signed(trade_value(seen.private, give, get))
    return f"{gives} {format_goods(give)} and {gets} {format_goods(get)} ({gain} for you)"
