"""The lobby: choose a game, an opponent and a seat, and play; the record is kept when the match ends."""

from __future__ import annotations

import atexit
import logging
import os
from pathlib import Path
from typing import Any

import ipywidgets as w

from negolab import catalog
from negolab.game import Seat, other
from negolab.match import Match
from negolab.play import made
from negolab.players.player import Scripted, players
from negolab.store import Store
from negolab_widgets import html, page
from negolab_widgets.places import OUT
from negolab_widgets.seat import HumanSeat
from negolab_widgets.suitable import suitable
from negolab_widgets.tables.controls import column, warning

log = logging.getLogger("negolab.widgets")

LEAVE, AGAIN = "Leave this match", "Choose another match"

TITLES = {
    "balloon": "Balloon: agree on a set of items",
    "bargaining": "Bargaining: agree on a price",
    "split": "Split: divide what is there",
    "trading": "Trading: exchange goods",
}


class Lobby(w.VBox):  # type: ignore[misc]
    """Pick one of the games and play it against a scripted opponent. `game` fixes the choice, `preset` is chosen at
    first; `out` is the folder of the records (default: `$NEGOLAB_OUT`, else `data/runs/people`)."""

    def __init__(self, game: str | None = None, *, preset: str | None = None, out: str | Path | None = None) -> None:
        self._out = Path(out or os.environ.get(OUT) or "data/runs/people")
        names = catalog.names() if game is None else [game]
        self._game = w.Dropdown(description="Game", options=[(title(name), name) for name in names])
        self._preset = w.Dropdown(description="Preset")
        self._opponent = w.Dropdown(description="Opponent")
        self._seat = w.Dropdown(description="Your seat", options=["A", "B"], value="B")
        self._seed = w.Text(description="Seed of the deal", placeholder="drawn if empty")
        self._start = w.Button(description="Start the match")
        self._start.add_class("nl-primary")
        self._again = w.Button(description=LEAVE)
        self._about, self._notice, self._table = w.HTML(), w.HTML(), column()
        self._game.observe(lambda _: self._guarded(self._choices), "value")
        self._seat.observe(lambda _: self._guarded(self._opponents), "value")
        self._opponent.observe(lambda _: self._guarded(self._describe), "value")
        self._preset.observe(lambda _: self._guarded(self._opponents), "value")
        self._start.on_click(lambda _: self._guarded(self._sit))
        self._again.on_click(lambda _: self._guarded(self._leave))
        form = w.Box([self._game, self._preset, self._opponent, self._seat, self._seed])
        form.add_class("nl-form")
        head = html.join(
            [
                html.element("h1", "Play a negotiation game"),
                html.element("p", "Choose a game and who sits across the table. What you play is kept as a record."),
            ]
        )
        self._match: Match | None = None
        self._kept: set[str] = set()
        # A page that is closed ends its kernel: what was played until then is kept.
        atexit.register(self._guarded, self._leave)
        self._form = column(w.HTML(head), form, self._about, self._start)
        style, self._shield = page.head()
        super().__init__(children=[style, self._shield, self._form, self._table, self._notice])
        self.add_class("nl-page")
        self._guarded(self._choices)
        if preset is not None:
            catalog.load(self._game.value, preset=preset)  # says what is wrong with it
            self._preset.value = preset

    def _choices(self) -> None:
        presets = catalog.games().get(self._game.value) or tuple(catalog.presets(catalog.module(self._game.value)))
        self._preset.options = presets
        self._preset.value = presets[0]
        self._seat.value = "B" if self._game.value == "bargaining" else "A"
        self._opponents()

    def _opponents(self) -> None:
        game = catalog.load(self._game.value, preset=self._preset.value)
        self._opponent.options = suitable(game, other(self._seat.value))
        self._opponent.value = self._opponent.options[0]

    def _describe(self) -> None:
        """Say what was chosen, in the words of the game's and the opponent's own documentation."""
        game = catalog.load(self._game.value, preset=self._preset.value)
        opponent = players(game).get(self._opponent.value or "", Scripted)
        told = {"The game": catalog.home(game).__doc__, "Your opponent": opponent.__doc__}
        self._about.value = html.element(
            "div",
            *(html.element("p", html.element("b", f"{name}. "), _first_paragraph(text)) for name, text in told.items()),
        )

    def _sit(self) -> None:
        self._leave()  # a press of a button that is not shown any more
        game = catalog.load(self._game.value, preset=self._preset.value)
        seat: Seat = self._seat.value
        names = {seat: "person", other(seat): self._opponent.value}
        match = Match(game, seed=_seed(self._seed.value), players=names)
        opponent = made(self._opponent.value, game, match.seed or 0, other(seat))
        table = HumanSeat(match, seat, {other(seat): opponent}, title=title(self._game.value), keep=self._keep)
        self._notice.value = ""
        self._match = match
        self._again.description = AGAIN if match.ended else LEAVE
        self._table.children = [table, self._again]
        self._form.layout.display = "none"

    def _leave(self) -> None:
        if self._match is not None:
            self._match.abort("left by the person")
            if self._match.id not in self._kept:
                self._keep(self._match)
        self._match = None
        self._table.children = []
        self._form.layout.display = None
        self._shield.focus()

    def _keep(self, match: Match) -> str:
        with Store(self._out, wait=3).free() as store:
            store.append(match.record())
        self._kept.add(match.id)
        self._again.description = AGAIN
        return f"Kept as record {match.id[:12]}."

    def _guarded(self, work: Any) -> None:
        """Run a callback; what the person can mend is said, anything else only in the log."""
        try:
            work()
        except ValueError as error:
            self._notice.value = warning(str(error))
        except Exception:
            log.exception("the lobby failed")
            self._notice.value = warning("Something went wrong on our side.")


def title(game: str) -> str:
    """What a game is called on screen."""
    return TITLES.get(game, game)


def _first_paragraph(text: str | None) -> str:
    return " ".join((text or "").split("\n\n")[0].replace("`", "").split())


def _seed(text: str) -> int | None:
    text = text.strip()
    if text and not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise ValueError("The seed is a whole number of up to 18 digits, or nothing.")
    return int(text) if text else None
