"""The fixed text front of bargaining: front.py drives a match, texts.py is what it says, manager.md its document."""

from __future__ import annotations

from negolab.fronts.bargaining.boxes import DONE, game_over, reprompt, status
from negolab.fronts.bargaining.front import AskSeller, Front, played_by
from negolab.fronts.bargaining.manager import manager_prompt
from negolab.fronts.bargaining.rules_text import rules_text
from negolab.fronts.bargaining.texts import answer, opening, texts

SEAT = "B"
"""Who reads it: the human buyer."""

__all__ = [
    "DONE",
    "SEAT",
    "AskSeller",
    "Front",
    "answer",
    "game_over",
    "manager_prompt",
    "opening",
    "played_by",
    "reprompt",
    "rules_text",
    "status",
    "texts",
]
