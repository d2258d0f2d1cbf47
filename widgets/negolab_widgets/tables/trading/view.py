"""A seat's table for trading as HTML: its goods and gain, the waiting offer, the conversation and the trades."""

from __future__ import annotations

import re

from negolab.formatting import format_number
from negolab.game import Seat
from negolab.games.trading import GOODS, Entry, Goods, Offer, Trading
from negolab.games.trading.offers import canonical_text
from negolab.games.trading.state import Private, Seen, gain, is_trade, subtract, worth
from negolab.games.trading.words import WORDS
from negolab.studies.texts import table_texts
from negolab.texts import are_overridden
from negolab_widgets import html
from negolab_widgets.html import Markup, element
from negolab_widgets.tables.conversation import ConversationEntry
from negolab_widgets.tables.decision import Decision, pay_class
from negolab_widgets.tables.timeline import Timeline


def role(game: Trading, seat: Seat) -> str:
    return WORDS.ROLE.format(seat=seat)


def clock(game: Trading, seen: Seen) -> str:
    public = seen.public
    if public.to_move is None:
        return WORDS.PLAYED_1 if public.turn == 1 else WORDS.PLAYED.format(count=public.turn)
    left = game.total_turns() - public.turn
    own = (left + 1) // 2 if public.to_move == seen.seat else left // 2
    return WORDS.AT.format(turn=public.turn + 1, turns=game.total_turns(), left=own)


def known(game: Trading, seen: Seen) -> list[object]:
    return [render_goods(seen.private), render_trades(seen)]


def ending(game: Trading, seen: Seen) -> Markup:
    """Render the gain and how the match ended; empty while it is running."""
    if seen.public.end is None:
        return Markup()
    own = seen.private
    now, start = worth(own.holdings, own.values), worth(own.start, own.values)
    return html.panel(
        WORDS.GAIN,
        element("div", format_signed(gain(own)), cls="nl-big"),
        element("div", WORDS.WORTH_NOW.format(now=f"{now:,}", start=f"{start:,}"), cls="nl-soft"),
        element("p", outcome(game, seen)),
        cls="nl-standing-gain",
    )


def format_signed(number: float) -> str:
    """Format a gain with its sign, using a true minus sign for a loss."""
    return f"{'+' if number > 0 else ''}{format_number(number)}"


def good_name(at: int) -> str:
    """Return the name of a good by its index."""
    return WORDS["goods"][GOODS[at].lower()]


def list_goods(goods: Goods) -> str:
    """List the goods that are not zero as `2 Wheat, 1 Ore`; "nothing" for none."""
    some = [WORDS.SOME.format(count=count, good=good_name(at)) for at, count in enumerate(goods) if count]
    return ", ".join(some) or WORDS.NOTHING


def render_change(number: int, text: str) -> Markup:
    """Render a change in the seat's own gain; `text` has a placeholder for the {amount}.

    A plus is not colored as a gain, because the larger gain wins and the other's is hidden.
    """
    cls = pay_class(min(number, 0))
    return element("span", html.fill(text, amount=element("b", format_signed(number))), cls=cls)


def outcome(game: Trading, seen: Seen) -> str:
    """Return how many trades there were, or why the match ended early."""
    public = seen.public
    if public.loser is not None:
        return WORDS.ENDED_BY_YOU if public.loser == seen.seat else WORDS.ENDED_BY_THEM.format(seat=public.loser)
    count = sum(map(is_trade, public.messages))
    return (WORDS.TRADE_COUNT if count > 1 else WORDS.TRADE_1 if count else WORDS.NO_TRADE).format(count=count)


def facts(game: Trading, seen: Seen) -> list[tuple[str, object]]:
    """Return the gain so far, what the goods are worth, and that the other's gain is hidden."""
    own = seen.private
    now = worth(own.holdings, own.values)
    values = {"gain": format_signed(gain(own)), "goods": f"{now:,}", "theirs": WORDS["facts"]["hidden"]}
    return [(WORDS["facts"][name], value) for name, value in values.items()]


def give_and_get(offer: Offer, seat: Seat) -> tuple[Goods, Goods]:
    """Return what `seat` gives and gets under an offer."""
    return (offer.give, offer.want) if offer.by == seat else (offer.want, offer.give)


def trade_value(own: Private, give: Goods, get: Goods) -> int:
    """Return the value of a trade at the seat's own values."""
    return worth(subtract(get, give), own.values)


def trade_sentence(own: Private, give: Goods, get: Goods) -> str:
    """Describe a trade and its value in one line; "" for nothing at all."""
    given, got = list_goods(give), list_goods(get)
    given_worth, got_worth = f"{worth(give, own.values):,}", f"{worth(get, own.values):,}"
    if any(give) and any(get):
        return WORDS.GIVES_AND_GETS.format(given=given, given_worth=given_worth, got=got, got_worth=got_worth)
    if any(give):
        return WORDS.GIVES.format(goods=given, worth=given_worth)
    return WORDS.GETS.format(goods=got, worth=got_worth) if any(get) else ""


def rules(game: Trading, seen: Seen) -> list[str]:
    """State the rules for a person: the goal, no trade, offers and answers, and what a mistake costs."""
    words = WORDS["rules"]
    turns = words["turns"].format(turns=game.total_turns())
    return [words["goal"], words["draw"], turns, words[mistakes(game, seen.seat)]]


def mistakes(game: Trading, seat: Seat) -> str:
    """Return what a reply against the rules does: "lenient", "strict" or "mended"."""
    return "lenient" if game.lenient else "mended" if game.retries(seat) else "strict"


def offer_value(seen: Seen, offer: Offer) -> int:
    """Return how much an offer changes for the seat, at its own values."""
    return trade_value(seen.private, *give_and_get(offer, seen.seat))


def decision(game: Trading, seen: Seen) -> Decision:
    """Return the waiting offer, its value to the seat, and what the other's last message did."""
    offer = seen.public.waiting
    theirs = [entry for entry in seen.public.messages if entry.seat != seen.seat]
    told = _conversation_entry(seen, theirs[-1]) if theirs else None
    what = "" if told is None else told.note or " ".join(told.text.split()) or table_texts.NO_WORDS
    last = WORDS.PLAYER.format(seat=theirs[-1].seat, what=what) if what else ""
    if offer is None:
        return Decision(WORDS.NONE_WAITS_LAST if game.is_last(seen.public) else WORDS.NONE_WAITS, last=last)
    give, get = give_and_get(offer, seen.seat)
    words = WORDS.SWAP.format(get=list_goods(get), give=list_goods(give))
    pay = element("div", render_change(offer_value(seen, offer), WORDS.CHANGE), cls="nl-pays")
    if offer.by == seen.seat:
        return Decision(WORDS.YOURS_WAITS_TITLE, words, pay, last, seen.seat)
    short = _missing_goods(seen.private.holdings, give)
    pays = element("span", WORDS.CANNOT_ACCEPT.format(goods=short), cls="nl-due") if short else pay
    caution = _caution(game, seen) if theirs[-1].offer == offer else last
    return Decision(WORDS.OFFERS_TITLE.format(seat=offer.by), words, pays, caution, offer.by)


def _caution(game: Trading, seen: Seen) -> str:
    """Say what no trade brings, and that accepting does not end the match."""
    no_trade = WORDS.DRAW if seen.private.holdings == seen.private.start else ""
    return " ".join(filter(None, (no_trade, "" if game.is_last(seen.public) else WORDS.GOES_ON)))


def _missing_goods(holdings: Goods, wanted: Goods) -> str:
    """Say how much is held of each good that is short."""
    short = [
        WORDS.SOME.format(count=f"{have:,}", good=good_name(at))
        for at, (have, want) in enumerate(zip(holdings, wanted, strict=True))
        if want > have
    ]
    whole, *others = short or [""]
    for each in others:
        whole = WORDS.AND.format(before=whole, last=each)
    return whole


def render_goods(own: Private) -> Markup:
    """Render the seat's goods: how many, the change since the start, and their value."""
    net = subtract(own.holdings, own.start)
    rows = [
        (good_name(at), f"{held:,}", format_signed(more), f"{value:,}", f"{held * value:,}")
        for at, (held, more, value) in enumerate(zip(own.holdings, net, own.values, strict=True))
    ]
    return html.panel(
        WORDS.YOUR_GOODS, html.table(list(WORDS["head"].values()), rows, WORDS.YOUR_GOODS, cls="nl-goods-table")
    )


def render_trades(seen: Seen) -> Markup:
    """Render the trades from this seat's side; empty before the first."""
    own = seen.private
    rows = []
    for number, entry in enumerate(seen.public.messages, 1):
        if entry.trade is not None and is_trade(entry):
            give, get = give_and_get(entry.trade, seen.seat)
            rows.append((str(number), list_goods(give), list_goods(get), format_signed(trade_value(own, give, get))))
    head = list(WORDS["trades_head"].values())
    return html.panel(WORDS.TRADES, html.table(head, rows, WORDS.TRADES, cls="nl-trades")) if rows else Markup("")


def timeline(game: Trading, seen: Seen) -> Timeline:
    """Return what both sides' offers would change for the seat, over the turns."""
    said = enumerate(seen.public.messages, 1)
    made = [(turn, entry.seat, offer_value(seen, entry.offer)) for turn, entry in said if entry.offer is not None]
    now = "{amount}" if seen.public.waiting is None else table_texts.STANDS
    lines = {WORDS.NO_TRADE_LINE: 0.0}
    return Timeline(seen.seat, WORDS.COURSE, made, table_texts.TURN, lines, format_signed, now=now)


def talk(game: Trading, seen: Seen) -> list[ConversationEntry]:
    """List the messages and what each of them did."""
    return [_conversation_entry(seen, entry) for entry in seen.public.messages]


def _conversation_entry(seen: Seen, entry: Entry) -> ConversationEntry:
    who, kind = (WORDS.YOU, "own") if entry.seat == seen.seat else (WORDS.THEY, "other")
    done = (
        _describe_trade(seen, entry.trade, WORDS.ACCEPTED) if entry.trade is not None and is_trade(entry) else "",
        WORDS.REFUSED if entry.denied else "",
        "" if entry.offer is None else _describe_trade(seen, entry.offer, WORDS.OFFERED),
    )
    return ConversationEntry(who, spoken_text(entry.text, acted=any(done)), "; ".join(filter(None, done)), kind)


_TOKENS = re.compile(r"\[(?:offer[^\[\]]*|accept|deny)\]", re.IGNORECASE)
_PASS = canonical_text("", None)


def spoken_text(text: str, *, acted: bool) -> str:
    """Return what is shown of a message: without tokens if a note says what they did, or if a study has its own texts
    and shows no protocol."""
    if not (acted or are_overridden()):
        return text
    words = _TOKENS.sub("", text).strip()
    return "" if words == _PASS else words


def _describe_trade(seen: Seen, offer: Offer, text: str) -> str:
    give, get = give_and_get(offer, seen.seat)
    gain = format_signed(trade_value(seen.private, give, get))
    return text.format(given=list_goods(give), got=list_goods(get), gain=gain)
