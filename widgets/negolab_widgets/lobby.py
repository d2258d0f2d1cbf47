"""The lobby: choose a game, an opponent and a seat, and play; the record is kept when the match ends."""

from __future__ import annotations

import atexit
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ipywidgets as w

from negolab import catalog
from negolab.game import other
from negolab.people.room import Unheard
from negolab.players.player import Scripted, players
from negolab_widgets import html, page
from negolab_widgets.arrival import Arrival
from negolab_widgets.matchmaking import AtHost, Local, Matchmaker, Wish, title
from negolab_widgets.models import ABOUT, MODEL, ModelChoice
from negolab_widgets.places import DESK, OUT
from negolab_widgets.suitable import suitable
from negolab_widgets.tables.controls import column, shown_if, warning

log = logging.getLogger("negolab.widgets")

LEAVE, AGAIN = "Leave this match", "Choose another match"


class Lobby(w.VBox):  # type: ignore[misc]
    """Pick one of the games and play it against a scripted player or a language model. `game` fixes the choice,
    `preset` is chosen at first; `out` is the folder of the records (default: `$NEGOLAB_OUT`, else `data/runs/people`).
    On the served page the host plays, and a page that is loaded again goes on with the match that runs."""

    def __init__(self, game: str | None = None, *, preset: str | None = None, out: str | Path | None = None) -> None:
        folder, desk = Path(out or os.environ.get(OUT) or "data/runs/people"), os.environ.get(DESK)
        at_host = bool(desk) and out is None
        self._maker: Matchmaker = AtHost(str(desk), self._over) if at_host else Local(folder, self._over)
        self._form, (style, self._shield) = self._built(catalog.names() if game is None else [game]), page.head()
        children = [style, self._shield, self._form, self._table, self._notice]
        if at_host:
            # Until a browser draws the page nobody may be here, and whoever goes on with a running match takes it
            # from the page that has it.
            children.append(Arrival(lambda: self._guarded(self._come)))
            shown_if(self._form, False)
        else:
            # A page that is closed ends its kernel: what was played until then is kept.
            atexit.register(self._guarded, self._leave)
        super().__init__(children=children)
        self.add_class("nl-page")
        self._guarded(self._choices)
        if preset is not None:
            catalog.load(self._game.value, preset=preset)  # says what is wrong with it
            self._preset.value = preset

    def _built(self, names: Sequence[str]) -> w.VBox:
        """Make the widgets; the form."""
        self._game = w.Dropdown(description="Game", options=[(title(name), name) for name in names])
        self._preset = w.Dropdown(description="Preset")
        self._opponent = w.Dropdown(description="Opponent")
        self._seat = w.Dropdown(description="Your seat", options=["A", "B"], value="B")
        self._seed = w.Text(description="Seed of the deal", placeholder="drawn if empty")
        self._start = w.Button(description="Start the match")
        self._start.add_class("nl-primary")
        self._again = w.Button(description=LEAVE)
        self._about, self._notice, self._table = w.HTML(), w.HTML(), column()
        self._models = ModelChoice(self._maker.models)
        self._game.observe(lambda _: self._guarded(self._choices), "value")
        self._seat.observe(lambda _: self._guarded(self._opponents), "value")
        self._opponent.observe(lambda _: self._guarded(self._describe), "value")
        self._preset.observe(lambda _: self._guarded(self._opponents), "value")
        self._start.on_click(lambda _: self._guarded(self._sit))
        self._again.on_click(lambda _: self._guarded(self._leave))
        fields = w.Box([self._game, self._preset, self._opponent, self._seat, self._seed])
        fields.add_class("nl-form")
        said = "Choose a game and who sits across the table. What you play is kept as a record."
        head = html.join([html.element("h1", "Play a negotiation game"), html.element("p", said)])
        return column(w.HTML(head), fields, self._models.widget, self._about, self._start)

    def _choices(self) -> None:
        presets = catalog.games().get(self._game.value) or tuple(catalog.presets(catalog.module(self._game.value)))
        self._preset.options = presets
        self._preset.value = presets[0]
        self._seat.value = "B" if self._game.value == "bargaining" else "A"
        self._opponents()

    def _opponents(self) -> None:
        game = catalog.load(self._game.value, preset=self._preset.value)
        self._opponent.options = [*suitable(game, other(self._seat.value)), MODEL]
        self._opponent.value = self._opponent.options[0]

    def _describe(self) -> None:
        """Say what was chosen, in the words of the game's and the opponent's own documentation."""
        game = catalog.load(self._game.value, preset=self._preset.value)
        is_model = self._opponent.value == MODEL
        opponent = ABOUT if is_model else players(game).get(self._opponent.value or "", Scripted).__doc__
        told = {"The game": catalog.home(game).__doc__, "Your opponent": opponent}
        self._models.show(is_model)
        self._about.value = html.element(
            "div",
            *(html.element("p", html.element("b", f"{name}. "), _first_paragraph(text)) for name, text in told.items()),
        )

    def _sit(self) -> None:
        self._leave()  # a press of a button that is not shown any more
        opponent = self._models.name() if self._opponent.value == MODEL else self._opponent.value
        wish = Wish(self._game.value, self._preset.value, opponent, self._seat.value, _seed(self._seed.value))
        self._again.description = LEAVE
        self._show(self._maker.sit(wish))

    def _show(self, table: w.Widget) -> None:
        self._notice.value = ""
        self._table.children = [table, self._again]
        self._form.layout.display = "none"

    def _come(self) -> None:
        """Somebody is here: go on with the match that runs already, if there is one."""
        try:
            if not self._table.children and (table := self._maker.resumed()) is not None:
                self._show(table)
        finally:
            shown_if(self._form, not self._table.children)

    def _leave(self) -> None:
        self._maker.leave()
        self._table.children = []
        self._form.layout.display = None
        self._shield.focus()

    def _over(self, stopped: str) -> None:
        self._again.description = AGAIN
        self._notice.value = warning(stopped)

    def _guarded(self, work: Any) -> None:
        """Run a callback; what the person can mend is said, anything else only in the log."""
        try:
            work()
        except (ValueError, Unheard) as error:
            self._notice.value = warning(str(error))
        except Exception:
            log.exception("the lobby failed")
            self._notice.value = warning("Something went wrong on our side.")


def _first_paragraph(text: str | None) -> str:
    return " ".join((text or "").split("\n\n")[0].replace("`", "").split())


def _seed(text: str) -> int | None:
    text = text.strip()
    if text and not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise ValueError("The seed is a whole number of up to 18 digits, or nothing.")
    return int(text) if text else None
