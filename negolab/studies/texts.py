"""All texts of a study that a participant reads, but a game's own: its pages, its tables, the small pages of its link.

Change or translate them in a study file (`[texts]`); `negolab study texts STUDY` lists them. `str.format` fills in the
names in braces. A game's own are its part `WORDS`.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from negolab import catalog
from negolab.formatting import format_money, format_number
from negolab.game import Game, Invalid
from negolab.texts import Texts, are_overridden

if TYPE_CHECKING:
    from negolab.catalog import AnyGame
    from negolab.game import End
    from negolab.studies.study_config import Study


texts = Texts("page", __file__)
"""Texts of a participant's page around a game: its pages, its buttons, the reasons for what was not done."""
gate_texts = Texts("gate", __file__)
"""The small pages before a participant has a kernel, and the banners of a page that has lost its own."""
table_texts = Texts("table", __file__)
"""Texts that the tables of all games share, and of the table of a game that has none of its own."""


_RENAMED = {
    "agenda.choose": "table.no_option",
    "agenda.marked": "table.marked",
    "agenda.not_as_meant": "table.not_now",
    "agenda.option": "table.option",
    "split.cannot_propose": "table.not_now",
    "bargaining.enter_one": "table.enter_price",
    "bargaining.price_hint": "table.price_range",
    **{f"bargaining.steps.{name}": f"table.price_steps.{name}" for name in table_texts["price_steps"]},
}
"""Keys that texts had in earlier versions."""


def rename(overrides: dict[str, str]) -> dict[str, str]:
    """Return texts by the keys that they have now, with a warning for each that had another."""
    for old in overrides.keys() & _RENAMED:
        logging.getLogger("negolab.studies").warning("texts: %s is called %s now", old, _RENAMED[old])
    new = {_RENAMED.get(key, key): text for key, text in overrides.items()}
    if "agenda.option" in overrides:
        new["table.option"] = overrides["agenda.option"].replace("{points}", "{note}")
    return new


def catalogue(study: Study) -> dict[str, str]:
    """Return the default texts of a study by key: of any study, of its game, and of what its parameters name."""
    games = [study.loaded(settings) for settings, _ in study.matches()]
    found = gate_texts.defaults() | texts.defaults() | table_texts.defaults()
    own = catalog.part(games[0], "WORDS")
    if isinstance(own, Texts):
        found |= own.defaults()
        for game in games:
            found |= own.names(game)
    return found


def needed_texts(study: Study) -> dict[str, str]:
    """Return those default texts of the catalogue that somebody in this study may read, by key."""
    unused: list[str] = []
    if not study.consent:
        unused += ["page.consent", "page.agree", "page.decline", "page.endings.declined"]
    kinds = study.kinds()
    if not kinds & {"questions", "quiz"}:
        unused += [f"page.{name}" for name in _QUESTION_TEXTS]
    if not study.paired:
        unused += [f"page.{name}" for name in _WAITING_TEXTS]
    if "practice" not in kinds:
        unused += ["page.practice", "page.result_practice"]
    if "quiz" not in kinds:
        unused += [f"page.{name}" for name in _QUIZ_TEXTS]
    if "results" not in kinds:
        unused += ["page.results", "page.no_results", "page.result_columns"]
    if catalog.part(study.loaded(study.treatments[0]), "TABLE") is not None:
        unused += [f"table.{name}" for name in _PLAIN_TEXTS]
    return {
        key: text
        for key, text in catalogue(study).items()
        if not any(key == name or key.startswith(f"{name}.") for name in unused)
    }


_QUESTION_TEXTS = (
    *("questions", "send_answers", "some_required", "required", "optional", "no_choice", "number"),
    *("one_wrong", "several_wrong", "wrong_answers"),
)
_QUIZ_TEXTS = (
    "quiz",
    "check",
    "not_right",
    "some_wrong",
    "attempts_left",
    "last_attempt",
    "endings.quiz",
)
_WAITING_TEXTS = (
    "please_wait",
    "waiting",
    "waiting_hint",
    "waited",
    "wait_over",
    "endings.partner",
    "endings.unpaired",
)
_PLAIN_TEXTS = ("role", "facts", "yes", "no", "told", "choose", "find", "find_hint", "options", "play", "last_try")


def refusal_text(game: AnyGame, invalid: Invalid) -> str:
    """Return why a reply was refused: the game's own words, or the study's for the fault's first code."""
    group = catalog.part(game, "WORDS")
    if not are_overridden() or not isinstance(group, Texts):
        return invalid.reason
    own = group.get("refusals")
    return next(filter(None, (own.get(code, "") for code in invalid.codes)), invalid.reason)


def match_end(game: AnyGame, end: End) -> str:
    """Return the sentence for how a match ended; where rounds pay by themselves the last one is no agreement."""
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
