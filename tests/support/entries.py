"""A page that takes entries at every table and form without end and keeps what arrived, for tests of what is sent."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ipywidgets as w
import msgspec
from negolab_widgets.page import Page
from negolab_widgets.play.seat import SeatWidget
from negolab_widgets.study.page import QuestionnaireView, QuizView

from negolab.catalog import AnyGame, load
from negolab.game import SEATS
from negolab.match import Match
from negolab.runs.driver import make_player, submit_reply
from negolab.studies.page_state import PageState, Questionnaire, Quiz, SeatView
from negolab.studies.questions import Question
from tests.conftest import ROOT

GAMES: dict[str, tuple[str, dict[str, Any]]] = {
    "bargaining": ("bargaining", {"preset": "cheap-talk-two-way", "price_hi": 10_000}),
    "trading": ("trading", {}),
    "split": ("split", {"preset": "no-press"}),
    "goods": ("agenda", {"preset": "casino"}),
    "options": ("agenda", {"preset": "hiring"}),
    "balloon": ("balloon", {}),
    **{own: (str(ROOT / f"tests/support/games/{own}.py"), {}) for own in ("hands", "job", "picnic")},
}
OFFERED: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"{n} issues": ("agenda", {"preset": "random", "issues": n}) for n in (2, 5)},
    "8 issues": ("agenda", {"preset": "hiring"}),
    **{f"{n} items": ("balloon", {"items": n}) for n in (15, 35)},
}
"""Matches in which both have offered once."""
QUESTIONS = (
    Question("age", "Your age", "number"),
    Question("often", "How often?", "choice", choices=("never", "sometimes", "often")),
    Question("games", "Which games?", "several", choices=("chess", "go", "bridge")),
    Question("trust", "Trust", "grid", rows={"a": "I trust people.", "b": "People trust me."}, choices=("no", "yes")),
    Question("town", "Your town", "choice", choices=tuple("abcdefghij")),
    Question("why", "Why?", "text"),
)
FORMS: dict[str, tuple[PageState, type[QuestionnaireView]]] = {
    "questions": (Questionnaire(title="T", questions=QUESTIONS, may_leave=True), QuestionnaireView),
    "quiz": (
        Quiz(title="T", text="", questions=QUESTIONS, attempt=1, attempts_left=None, right={}, wrong={}),
        QuizView,
    ),
}


def load_game(kind: str) -> AnyGame:
    name, params = {**GAMES, **OFFERED}[kind]
    return load(name, **params)


class Echo:
    """A seat that takes every reply, keeps it, and asks again."""

    seat, fronted = "A", False

    def __init__(self, game: AnyGame, keep: Callable[[Any], None], *, offered: bool = False) -> None:
        match, self._keep = Match(game, seed=1), keep
        for seat in SEATS if offered else ():
            made = make_player("boulware", game, 0, seat).reply(match.told(seat), match.pending()[seat])
            submit_reply(match, seat, made)
        self.game, self._turn = match.told("A"), 0
        self._view = SeatView(seen=match.seen("A"), asked=True, left=2, talk=(), rules="", closing=None, turn=0)

    def view(self) -> SeatView:
        return msgspec.structs.replace(self._view, turn=self._turn)

    def submit(self, text: str, turn: int) -> str:
        self._keep(text)
        self._turn += 1
        return ""

    def watch(self, changed: Callable[[], None]) -> None:
        pass


def open_page(folder: str) -> Page:
    """A page with a button for each kind of entry; what arrives is a line of the kind's file in the folder."""
    page = Page([])

    def keep(kind: str, said: Any) -> None:
        with (Path(folder) / f"{kind}.jsonl").open("a") as file:
            file.write(json.dumps(said) + "\n")

    def show(kind: str) -> None:
        part: w.Widget
        if kind in FORMS:
            state, view = FORMS[kind]
            taken = SimpleNamespace(state=state, act=lambda _, **details: keep(kind, details["answers"]))
            part = view(state, taken).box  # type: ignore[arg-type]
        else:
            echo = Echo(load_game(kind), partial(keep, kind), offered=kind in OFFERED)
            part = SeatWidget(echo)  # type: ignore[arg-type]
        page.children = [*page.children[:2], part]

    buttons = []
    for kind in (*GAMES, *OFFERED, *FORMS):
        button = w.Button(description=f"Try {kind}")
        button.on_click(lambda _, kind=kind: show(kind))
        buttons.append(button)
    page.children = [*page.children, *buttons]
    return page
