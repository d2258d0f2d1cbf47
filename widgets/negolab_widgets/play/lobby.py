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
from negolab.record import Record
from negolab.scenarios import SUFFIX
from negolab.studies.seat_session import PERSON
from negolab_widgets import html, page
from negolab_widgets.faults import FaultGuard
from negolab_widgets.page import ADMIN, OUT, Arrival, Page
from negolab_widgets.play.ending import EndScreen
from negolab_widgets.play.matchmaking import (
    HostMatchmaker,
    LocalMatchmaker,
    Matchmaker,
    MatchRequest,
)
from negolab_widgets.play.models import MODEL_CHOICE, MODEL_DESCRIPTION, ModelChoice
from negolab_widgets.tables import table as table_of
from negolab_widgets.tables.controls import AskFirst, box, column, set_visible, warning

LEAVE_MATCH, CHOOSE_ANOTHER = "Leave this match", "Choose another match"
MAX_ABOUT = 200
"""Characters up to which a description is shown whole."""
SEED_FAULT = "The seed is a whole number of up to 18 digits, or nothing."
LEAVE_QUESTION = "Leave? The match is stopped, and what was played is kept as a record."


class Lobby(Page):
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
        self._request: MatchRequest | None = None
        self._form = self._build_form(list(catalog.list_games()) if game is None else [game])
        children = [self._form, self._table, self._guard.notice]
        if at_host:
            # Until a browser draws the page nobody may be here, and whoever goes on with a running match takes it
            # from the page that has it.
            children.append(Arrival(lambda: self._guard(self._on_drawn)))
            set_visible(self._form, False)
        else:
            # A page that is closed ends its kernel: what was played until then is kept.
            atexit.register(self._guard, self._leave)
        super().__init__(children, self._guard.show)
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
        self._seed_fault = w.HTML()
        self._start_button = self._guard.button("Start the match", self._start_match, cls="nl-primary")
        self._leave_button = AskFirst(LEAVE_MATCH, LEAVE_QUESTION, "Leave", "Stay", lambda: self._guard(self._leave))
        self._another = self._guard.button(CHOOSE_ANOTHER, self._leave)
        self._about, self._table = w.HTML(), column()
        self._models = ModelChoice(self._matchmaker.list_endpoints)
        self._guard.on_change(self._update_presets, self._game)
        self._guard.on_change(self._update_opponents, self._seat, self._preset)
        self._guard.on_change(self._describe, self._opponent)
        self._seed.observe(lambda _: self._check_seed(), "value")
        fields = box(
            self._game,
            self._preset,
            self._opponent,
            self._seat,
            w.VBox([self._seed, self._seed_fault]),
            cls="nl-form nl-roomy",
        )
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
                html.element("p", html.element("b", f"{name}. "), _in_short(text))
                for name, text in about.items()
                if text
            ),
        )

    def _check_seed(self) -> bool:
        """Say beside its field what is wrong with the seed; return True if nothing is."""
        is_seed = _is_seed(self._seed.value)
        self._seed_fault.value = "" if is_seed else warning(SEED_FAULT)
        return is_seed

    def _start_match(self) -> None:
        if not self._check_seed():
            return
        self._leave()  # a press of a button that is not shown any more
        opponent = self._models.name() if self._opponent.value == MODEL_CHOICE else self._opponent.value
        seed = int(text) if (text := self._seed.value.strip()) else None
        request = MatchRequest(self._game.value, self._preset.value, opponent, self._seat.value, seed)
        self._request = request
        self._show(self._matchmaker.start_match(request))

    def _show(self, table: w.Widget) -> None:
        self._guard.notice.value = ""
        self._leave_button.reset()
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

    def _on_ended(self, stopped: str, record: Record | None) -> None:
        """Offer the ways on, above the table as it stands at the end."""
        self._guard.notice.value = warning(stopped)
        if not self._table.children:
            return
        table = self._table.children[0]
        if record is None or self._matchmaker.seat is None:
            self._table.children = [table, self._another]
            return
        seat: Seat = "A" if record.header.players["A"] == PERSON else "B"
        end = EndScreen(record, seat, lambda again: self._rematch(record, again), self._leave)
        self._matchmaker.seat.show_end(end, end.plane)
        self._table.children = [table]
        self._shield.focus()

    def _rematch(self, record: Record, seat: Seat) -> None:
        """Play the same game against the same player from a seat, on a new deal."""
        header = record.header
        (across,) = (name for name in header.players.values() if name != PERSON)
        again = self._request or MatchRequest(header.game, header.preset or "", across, seat, None)
        self._leave()
        self._show(self._matchmaker.start_match(again._replace(seat=seat, seed=None)))


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


def _in_short(text: str) -> str:
    """Return the first paragraph, or only its first sentence where it is long."""
    said = " ".join(text.split("\n\n")[0].replace("`", "").split())
    return said if len(said) <= MAX_ABOUT else f"{said.partition('. ')[0].removesuffix('.')}."


def _is_seed(text: str) -> bool:
    text = text.strip()
    return not text or (text.isascii() and text.isdigit() and len(text) <= 18)
