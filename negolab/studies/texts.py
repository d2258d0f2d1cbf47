"""All texts in a study that a participant reads, except the game's: on its pages, its tables and its link's small
pages.

Change or translate them in a study file (`[texts]`); `negolab study texts STUDY` lists them. `str.format` fills in the
names in braces. A game's own texts are in its `WORDS`.
"""

from __future__ import annotations

import logging

from negolab import catalog
from negolab.catalog import AnyGame
from negolab.formatting import format_money, format_number
from negolab.game import End, Game, Invalid
from negolab.texts import Texts, are_overridden

texts = Texts("page", __file__)
"""Texts of a participant's page around a game: its pages, its buttons, and the reasons why something was not done."""
gate_texts = Texts("gate", __file__)
"""The small pages shown before a participant has a kernel, and the banners on a page that has lost its kernel."""
table_texts = Texts("table", __file__)
"""Texts that the tables of all games share, and those of the table for a game that has none of its own."""


_RENAMED = {
    "agenda.choose": "table.no_option",
    "agenda.marked": "table.marked",
    "agenda.not_as_meant": "table.not_now",
    "agenda.option": "table.option",
    "split.cannot_propose": "table.not_now",
    "bargaining.enter_one": "table.enter_price",
    "bargaining.price_hint": "table.price_range",
    **{f"bargaining.steps.{name}": f"table.price_steps.{name}" for name in ("dollar_less", "dollar_more")},
}
"""Keys that texts had in earlier versions."""
_GONE = {
    "agenda": "brief no_deal_line their_offers your_offers",
    "bargaining": (
        "by_for_you filled_in final_in.a final_in.b "
        "head.by head.pays head.price head.round "
        "head.state messages none_left none_made "
        "none_stands offers_in.a offers_in.b role_you "
        "states.accepted states.open states.rejected "
        "with_offer yours_waits steps.cent_less steps.cent_more"
    ),
    "split": "talk_of",
    "trading": ("gain_so_far none_waiting none_waiting_title waiting worth"),
    "table": (
        "asked asked_and_received at_message at_round message_axis no_deal points_axis price_axis "
        "price_steps.cent_less price_steps.cent_more received round_axis standing_offer units_axis"
    ),
}
"""Texts of earlier versions that no longer exist, by group."""
_REWORDED = {
    **{f"{group}.{key}": "" for group, keys in _GONE.items() for key in keys.split()},
    **dict.fromkeys(("agenda.term_units", "balloon.no_agreement", "bargaining.you_offer"), ""),
    **dict.fromkeys(("trading.gain_hidden", "trading.offers", "trading.yours_waits", "table.typed"), ""),
    **dict.fromkeys(("agenda.worth", "agenda.discount", "agenda.alone"), ""),
    **dict.fromkeys(("bargaining.prices", "bargaining.price_range", "bargaining.no_deal_pays"), ""),
    **dict.fromkeys(("balloon.their_latest", "balloon.their_earlier", "balloon.player", "balloon.proposes"), "seat"),
    **dict.fromkeys(("split.says", "split.theirs", "split.leaves", "split.leaves_worth"), "seat"),
    **{f"split.they_asked.{how}": "seat" for how in ("asked", "no_deal", "hand_asked", "hand_no_deal")},
    **dict.fromkeys(("trading.player", "trading.offers_title"), "seat"),
    **{f"bargaining.{kind}.{seat}": "amount" for kind in ("offers", "final_offer") for seat in ("a", "b")},
    "split.to_divide": "stock",
}
"""Texts of earlier versions that now say something else, with the placeholder that they had then; "": they are gone."""


def rename(overrides: dict[str, str]) -> dict[str, str]:
    """Return texts by their current keys, with a warning for each that had another key or is no longer used."""
    for old in overrides.keys() & _RENAMED:
        logging.getLogger("negolab.studies").warning("texts: %s is now called %s", old, _RENAMED[old])
    new = {_RENAMED.get(key, key): text for key, text in overrides.items()}
    if "agenda.option" in overrides:
        new["table.option"] = overrides["agenda.option"].replace("{points}", "{note}")
    for key in [key for key, slot in _REWORDED.items() if key in new and (not slot or f"{{{slot}}}" in new[key])]:
        logging.getLogger("negolab.studies").warning(
            "texts: %s has a new meaning, so the study's wording is not used", key
        )
        del new[key]
    return new


def refusal_text(game: AnyGame, invalid: Invalid) -> str:
    """Return why a reply was refused: the game's own words, or the study's words for the fault's first code."""
    group = catalog.part(game, "WORDS")
    if not are_overridden() or not isinstance(group, Texts):
        return invalid.reason
    own = group.get("refusals")
    return next(filter(None, (own.get(code, "") for code in invalid.codes)), invalid.reason)


def match_end(game: AnyGame, end: End) -> str:
    """Return the sentence for how a match ended; if rounds pay separately, the last one is not an agreement."""
    return texts.ROUNDS_PLAYED if end == "AGREED" and game.has_paid_rounds else texts["match_ends"][end]


def format_payoff(game: AnyGame, payoff: float | None) -> str:
    """Write a payoff as a participant reads it."""
    if payoff is None:
        return table_texts.NOTHING
    group = catalog.part(game, "WORDS")
    words = group.get("payoffs") if isinstance(group, Texts) else {}
    if f"{payoff:g}" in words:
        return words[f"{payoff:g}"]
    if type(game).format_payoff is not Game.format_payoff:
        return game.format_payoff(payoff)
    return format_units(payoff, game.unit)


def format_units(amount: float, unit: str) -> str:
    """Write an amount with its unit as a participant reads it."""
    if unit == "cents":
        return format_money(amount)
    return table_texts.AMOUNT.format(amount=format_number(amount), unit=table_texts["units"].get(unit, unit))
