"""The lobby: choose a game, an opponent and a seat, and play; the record is kept when the match ends."""

from __future__ import annotations

import atexit
import os
from collections.abc import Sequence
from pathlib import Path

import ipywidgets as w

from negolab import catalog
from negolab.catalog import AnyGame
from negolab.game import SEATS, Seat, other
from negolab.players.lookup import compatible_players, list_players
from negolab.protocols import Scripted
from negolab.scenarios import SUFFIX
from negolab_widgets import html, page
from negolab_widgets.faults import FaultGuard
from negolab_widgets.page import ADMIN, OUT, Arrival
from negolab_widgets.play.matchmaking import (
    HostMatchmaker,
    LocalMatchmaker,
    Matchmaker,
    MatchRequest,
)
from negolab_widgets.play.models import MODEL_CHOICE, MODEL_DESCRIPTION, ModelChoice
from negolab_widgets.tables import table as table_of
from negolab_widgets.tables.controls import column, set_visible, warning

LEAVE_MATCH, CHOOSE_ANOTHER = "Leave this match", "Choose another match"


class Lobby(w.VBox):  # type: ignore[misc]
    """Choose a game and play it against a scripted player or a language model.

    On the served page the host plays the match, and a page that is loaded again resumes the match that runs.

    Args:
        game: The only game to choose; None offers all.
        preset: The preset that is chosen at first, or a scenario file.
        out: Folder of the records (default: `$NEGOLAB_OUT`, else `data/runs/people`).

    Raises:
        ValueError: There is no such game or preset.
    """

    def __init__(self, game: str | None = None, *, preset: str | None = None, out: str | Path | None = None) -> None:
        page.import_modules()
        folder, socket = Path(out or os.environ.get(OUT) or "data/runs/people"), os.environ.get(ADMIN)
        at_host = bool(socket) and out is None
        self._guard = FaultGuard("the lobby")
        self._matchmaker: Matchmaker = (
            HostMatchmaker(str(socket), self._on_ended) if at_host else LocalMatchmaker(folder, self._on_ended)
        )
        self._scenarios: dict[str, str] = {}
        self._form, (style, self._shield) = (
            self._build_form(list(catalog.list_games()) if game is None else [game]),
            page.page_head(),
        )
        children = [style, self._shield, self._form, self._table, self._guard.notice]
        if at_host:
            # Until a browser draws the page nobody may be here, and whoever goes on with a running match takes it
            # from the page that has it.
            children.append(Arrival(lambda: self._guard(self._on_drawn)))
            set_visible(self._form, False)
        else:
            # A page that is closed ends its kernel: what was played until then is kept.
            atexit.register(self._guard, self._leave)
        super().__init__(children=children)
        self.add_class("nl-page")
        with self._guard:
            self._offer_scenarios(page.scenario_files())
            if game is None and self._scenarios:
                self._game.value = next(iter(self._scenarios.values()))
            self._update_presets()
        if preset is not None:
            self._choose_preset(preset)

    def _build_form(self, names: Sequence[str]) -> w.VBox:
        """Make the widgets and return the form."""
        self._game = w.Dropdown(description="Game", options=_titled(names))
        self._preset = w.Dropdown(description="Preset")
        self._opponent = w.Dropdown(description="Opponent")
        self._seat = w.Dropdown(description="Your seat", options=["A", "B"], value="B")
        self._seed = w.Text(description="Seed of the deal", placeholder="drawn if empty")
        self._start_button = w.Button(description="Start the match")
        self._start_button.add_class("nl-primary")
        self._leave_button = w.Button(description=LEAVE_MATCH)
        self._about, self._table = w.HTML(), column()
        self._models = ModelChoice(self._matchmaker.list_endpoints)
        self._game.observe(lambda _: self._guard(self._update_presets), "value")
        self._seat.observe(lambda _: self._guard(self._update_opponents), "value")
        self._opponent.observe(lambda _: self._guard(self._describe), "value")
        self._preset.observe(lambda _: self._guard(self._update_opponents), "value")
        self._start_button.on_click(lambda _: self._guard(self._start_match))
        self._leave_button.on_click(lambda _: self._guard(self._leave))
        fields = w.Box([self._game, self._preset, self._opponent, self._seat, self._seed])
        fields.add_class("nl-form")
        fields.add_class("nl-roomy")
        intro = "Choose a game and who sits across the table. What you play is kept as a record."
        head = html.join([html.element("h1", "Play a negotiation game"), html.element("p", intro)])
        return column(w.HTML(head), fields, self._models.widget, self._about, self._start_button)

    def _offer_scenarios(self, paths: Sequence[str]) -> None:
        """Offer scenario files among the presets of their games, and say what is wrong with one."""
        for path in paths:
            with self._guard:
                self._scenarios[path] = catalog.scenario_game(path)

    def _choose_preset(self, preset: str) -> None:
        """Choose a preset or a scenario file; `ValueError` says what is wrong with it."""
        if preset.endswith(SUFFIX):
            preset = str(Path(preset).resolve())  # the host may stand in another folder
            self._scenarios[preset] = self._game.value
        catalog.load(self._game.value, preset=preset)
        self._update_presets()
        self._preset.value = preset

    def _update_presets(self) -> None:
        name = self._game.value
        files = [(Path(path).name, path) for path, game in self._scenarios.items() if game == name]
        presets = [*files, *((each, each) for each in catalog.presets(catalog.game_module(name)))]
        self._preset.options = presets
        self._preset.value = presets[0][1]
        self._seat.value = catalog.front_seat(self._game.value) or "A"
        self._update_opponents(keep=False)

    def _update_opponents(self, *, keep: bool = True) -> None:
        """Offer who can sit across; another seat or preset keeps the opponent that was chosen, where it fits."""
        game = catalog.load(self._game.value, preset=self._preset.value)
        chosen = self._opponent.value
        self._name_seats(game)
        offered = [*compatible_players(game, other(self._seat.value)), MODEL_CHOICE]
        self._opponent.options = offered
        self._opponent.value = chosen if keep and chosen in offered else offered[0]
        self._describe()

    def _name_seats(self, game: AnyGame) -> None:
        """Offer the seats by what the game calls them, and keep the one that was chosen."""
        names = _seat_names(game)
        if list(self._seat.options) != names:
            seat = self._seat.value
            self._seat.options = names
            self._seat.value = seat

    def _describe(self) -> None:
        """Say what the chosen game, preset and opponent are."""
        game = catalog.load(self._game.value, preset=self._preset.value)
        is_model = self._opponent.value == MODEL_CHOICE
        opponent = (
            MODEL_DESCRIPTION if is_model else list_players(game).get(self._opponent.value or "", Scripted).__doc__
        )
        module = catalog.module_of(game)
        note = catalog.preset_notes(module).get(self._preset.value)
        about = {"The game": module.__doc__, "The preset": note, "Your opponent": opponent}
        self._models.show(is_model)
        self._about.value = html.element(
            "div",
            *(
                html.element("p", html.element("b", f"{name}. "), _first_paragraph(text))
                for name, text in about.items()
                if text
            ),
        )

    def _start_match(self) -> None:
        self._leave()  # a press of a button that is not shown any more
        opponent = self._models.name() if self._opponent.value == MODEL_CHOICE else self._opponent.value
        request = MatchRequest(
            self._game.value, self._preset.value, opponent, self._seat.value, _parse_seed(self._seed.value)
        )
        self._leave_button.description = LEAVE_MATCH
        self._show(self._matchmaker.start_match(request))

    def _show(self, table: w.Widget) -> None:
        self._guard.notice.value = ""
        self._table.children = [table, self._leave_button]
        self._form.layout.display = "none"

    def _on_drawn(self) -> None:
        """Resume the match that runs already, if there is one, now that a browser shows the page."""
        try:
            if not self._table.children and (table := self._matchmaker.resume_match()) is not None:
                self._show(table)
        finally:
            set_visible(self._form, not self._table.children)

    def _leave(self) -> None:
        self._matchmaker.leave()
        self._table.children = []
        self._form.layout.display = None
        self._shield.focus()

    def _on_ended(self, stopped: str) -> None:
        self._leave_button.description = CHOOSE_ANOTHER
        self._guard.notice.value = warning(stopped)


def _titled(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return games with their titles, which are unlike: a title that several games have is followed by the name."""
    titles = [catalog.title(name) for name in names]
    return [
        (title if titles.count(title) == 1 else f"{title} ({name})", name)
        for title, name in zip(titles, names, strict=True)
    ]


def _seat_names(game: AnyGame) -> list[tuple[str, Seat]]:
    """Return the seats with their roles, such as `A: the seller`; only the letter if the game gives none."""
    try:
        role = table_of(game).role
        named = {seat: " ".join(role(game, seat).split()) for seat in SEATS}
    except Exception:  # a fault of a table of one's own is told where it is played
        named = {}
    plain = {seat: (None, "", f"seat {seat}", f"player {seat}") for seat in SEATS}
    return [(seat if named.get(seat) in plain[seat] else f"{seat}: {named[seat]}", seat) for seat in SEATS]


def _first_paragraph(text: str | None) -> str:
    return " ".join((text or "").split("\n\n")[0].replace("`", "").split())


def _parse_seed(text: str) -> int | None:
    text = text.strip()
    if text and not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise ValueError("The seed is a whole number of up to 18 digits, or nothing.")
    return int(text) if text else None
