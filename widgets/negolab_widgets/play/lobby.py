"""The lobby: choose a game, an opponent and a seat, and play; the record is kept when the match ends."""

from __future__ import annotations

import atexit
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import ipywidgets as w

from negolab import catalog
from negolab.catalog import AnyGame
from negolab.game import SEATS, Seat, other
from negolab.players.code import PlayerClass
from negolab.players.lookup import compatible_players, list_players
from negolab.record import PERSON, Header, Record
from negolab.scenarios import SUFFIX
from negolab.studies.texts import table_texts, texts
from negolab_widgets import html, page
from negolab_widgets.faults import FaultGuard
from negolab_widgets.fields import Cards, Choice
from negolab_widgets.layout import box, column, row, set_visible, warning
from negolab_widgets.page import ADMIN, OUT, Arrival, Page
from negolab_widgets.play.ending import EndScreen
from negolab_widgets.play.matchmaking import (
    HostMatchmaker,
    LocalMatchmaker,
    Matchmaker,
    MatchRequest,
)
from negolab_widgets.play.models import MODEL_CHOICE, MODEL_DESCRIPTION, ModelChoice
from negolab_widgets.play.pictures import picture
from negolab_widgets.tables import table as table_of
from negolab_widgets.tables.controls import AskFirst, Collapsible
from negolab_widgets.tables.decision import person_name

REPLICATIONS = "Replications"
LEAVE_MATCH, CHOOSE_ANOTHER = "Leave this match", "Choose another match"
MAX_SUMMARY = 40
"""Characters of the words that say what a player does, where its docstring begins with them."""
SEED_FAULT = "The seed must be a whole number of up to 18 digits, or empty."
LEAVE_QUESTION = "Leave? The match stops, and its record is saved."


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
        self._scenarios: dict[str, tuple[str, str]] = {}
        self._request: MatchRequest | None = None
        self._ended: tuple[str, Record | None] | None = None
        self._form = self._build_form(list(catalog.list_games()) if game is None else [game])
        children = [self._guard.notice, self._form, self._table]
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
                self._game.value = next(iter(self._scenarios.values()))[0]
            self._choose_game()
        if preset is not None:
            self._choose_preset(preset)

    def _build_form(self, names: Sequence[str]) -> w.Box:
        """Make the widgets and return the form."""
        self._chosen: dict[str, tuple[str, Seat, str]] = {}
        self._game = Cards(description="Game", options=_cards(names), value=names[0])
        lists = ("Preset", "Opponent", "Your seat")
        self._preset, self._opponent, self._seat = (Choice(description=each) for each in lists)
        self._seed = w.Text(description="Seed of the draw", placeholder="random if empty")
        self._seed_fault = w.HTML()
        self._start_button = self._guard.button("Start the match", self._start_match, cls="nl-primary")
        self._leave_button = AskFirst(LEAVE_MATCH, LEAVE_QUESTION, "Leave", "Stay", lambda: self._guard(self._leave))
        self._another = self._guard.button(CHOOSE_ANOTHER, self._leave)
        self._aim, self._sides, self._table = w.HTML(), w.HTML(), column()
        self._models = ModelChoice(self._matchmaker.list_endpoints)
        self._guard.on_change(self._choose_game, self._game)
        self._guard.on_change(self._update_opponents, self._seat, self._preset)
        self._guard.on_change(self._describe, self._opponent)
        self._seed.observe(lambda _: self._check_seed(), "value")
        fields = box(self._seat, w.VBox([self._seed, self._seed_fault]), cls="nl-form")
        self._more = Collapsible(self._guard.button, "seat and seed", fields, ("More: {part}", "Hide: {part}"))
        parts = self._aim, self._preset, self._opponent, self._models.widget, self._more.widget, self._sides
        alone = len(names) == 1
        heading = catalog.title(names[0]) if alone else "Choose a game"
        games = column(w.HTML(html.element("h1", heading)), self._game, cls="nl-games")
        set_visible(self._game, not alone)
        card = column(column(*parts, cls="nl-setup"), row(self._start_button, cls="nl-actions"), cls="nl-start")
        return box(games, card, cls=f"nl-body nl-lobby {'nl-alone' if alone else ''}")

    def _offer_scenarios(self, paths: Sequence[str]) -> None:
        """Offer scenario files among the presets of their games, and say what is wrong with one."""
        for path in paths:
            with self._guard:
                self._offer_scenario(catalog.scenario_game(path), path)

    def _offer_scenario(self, game: str, path: str) -> None:
        """Offer a scenario file by its title."""
        title = getattr(catalog.load(game, preset=path), "title", "")
        self._scenarios[path] = game, title or Path(path).name

    def _choose_preset(self, preset: str) -> None:
        """Choose a preset or a scenario file; `ValueError` says what is wrong with it."""
        if preset.endswith(SUFFIX):
            preset = str(Path(preset).resolve())  # the host may stand in another folder
            self._offer_scenario(self._game.value, preset)
        catalog.load(self._game.value, preset=preset)
        self._choose_game()
        self._preset.value = preset

    def _choose_game(self) -> None:
        """Show a game as it was chosen last, or with its first preset and opponent."""
        name = self._game.value
        presets = self._offered_presets(name)
        preset, seat, opponent = self._chosen.get(name, (presets[0][0], catalog.front_seat(name) or "A", ""))
        self._preset.options = presets
        self._preset.value = preset
        self._name_seats(catalog.load(name, preset=preset))
        self._seat.value = seat
        self._update_opponents(opponent)

    def _offered_presets(self, name: str) -> list[tuple[str, str, str]]:
        """Return the presets of a game with their titles and groups: scenario files, others, and replications."""
        module = catalog.game_module(name)
        replications = catalog.replications(module)
        files = [(path, title, "") for path, (game, title) in self._scenarios.items() if game == name]
        own = sorted(catalog.presets(module), key=replications.__contains__)
        titles = ((key, catalog.preset_title(module, key)) for key in own)
        return [*files, *((key, title, REPLICATIONS if key in replications else "") for key, title in titles)]

    def _update_opponents(self, chosen: str | None = None) -> None:
        """Offer who can sit across; another seat or preset keeps the opponent that was chosen, where it fits."""
        game = catalog.load(self._game.value, preset=self._preset.value)
        chosen = self._opponent.value if chosen is None else chosen
        self._name_seats(game)
        names = compatible_players(game, other(self._seat.value))
        players = list_players(game)
        labels = {name: f"{does} ({name})" if (does := _summary(players[name])[0]) else name for name in names}
        labels[MODEL_CHOICE] = MODEL_CHOICE.capitalize()
        self._opponent.options = [(name, label, "") for name, label in labels.items()]
        self._opponent.value = chosen if chosen in labels else next(iter(labels))
        self._describe()

    def _name_seats(self, game: AnyGame) -> None:
        """Offer the seats by what the game calls them."""
        names = ((seat, _role(game, seat).removeprefix("the ").capitalize()) for seat in SEATS)
        self._seat.options = [(seat, name or f"Seat {seat}", "") for seat, name in names]

    def _describe(self) -> None:
        """Say what the chosen game, preset and opponent are, and who sits where; remember them for this game."""
        name, preset, seat, opponent = (part.value for part in (self._game, self._preset, self._seat, self._opponent))
        game = catalog.load(name, preset=preset)
        module, is_model = catalog.module_of(game), opponent == MODEL_CHOICE
        does, how = ("", MODEL_DESCRIPTION) if is_model else _summary(list_players(game)[opponent])
        self._chosen[name] = preset, seat, opponent
        self._models.show(is_model)
        self._preset.about = _in_short(catalog.preset_notes(module).get(preset))
        self._opponent.about = how
        title = html.element("b", catalog.title(name).partition(": ")[0])
        self._aim.value = html.element("p", title, ". ", _in_short(module.__doc__), cls="nl-aim")
        self._sides.value = _render_sides(game, seat, does or f"is {opponent}")

    def _check_seed(self) -> bool:
        """Say beside its field what is wrong with the seed; return True if nothing is."""
        is_seed = _is_seed(self._seed.value)
        self._seed_fault.value = "" if is_seed else warning(SEED_FAULT)
        return is_seed

    def _start_match(self) -> None:
        if not self._check_seed():
            self._more.show()
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
        set_visible(self._form, False)
        if self._ended is not None:
            self._show_end(*self._ended)

    def _on_drawn(self) -> None:
        """Resume the match that runs, or show the end that was not left, now that a browser shows the page."""
        try:
            if not self._table.children and (table := self._matchmaker.resume_match()) is not None:
                self._show(table)
        finally:
            set_visible(self._form, not self._table.children)

    def _leave(self) -> None:
        self._matchmaker.leave()
        self._table.children, self._ended = [], None
        set_visible(self._form, True)
        self._shield.focus()

    def _on_ended(self, stopped: str, record: Record | None) -> None:
        self._ended = stopped, record
        if self._table.children:
            self._show_end(stopped, record)

    def _show_end(self, stopped: str, record: Record | None) -> None:
        """Offer the ways on, above the table as it stands at the end."""
        self._guard.notice.value = warning(stopped)
        table = self._table.children[0]
        if record is None or self._matchmaker.seat is None:
            self._table.children = [table, self._another]
            return
        seat: Seat = "A" if record.header.players["A"] == PERSON else "B"
        if self._request is None:
            self._choose_played(record.header, seat)
        reveal = partial(self._shield.reveal, ".nl-replay")
        end = EndScreen(record, seat, partial(self._rematch, record), self._leave, reveal)
        self._matchmaker.seat.show_end(end, end.plane)
        self._table.children = [table, end.replay]
        self._shield.focus()

    def _choose_played(self, header: Header, seat: Seat) -> None:
        """Choose in the form what was played on an earlier page."""
        if header.game in [name for name, *_ in self._game.options]:
            presets = [name for name, *_ in self._offered_presets(header.game)]
            preset = header.preset if header.preset in presets else presets[0]
            self._chosen[header.game] = preset, seat, header.players[other(seat)]
            self._game.value = header.game
            self._choose_game()

    def _rematch(self, record: Record, seat: Seat) -> None:
        """Play the same game against the same player from a seat, on a new deal."""
        header = record.header
        (across,) = (name for name in header.players.values() if name != PERSON)
        again = self._request or MatchRequest(header.game, header.preset or "", across, seat, None)
        self._leave()
        self._show(self._matchmaker.start_match(again._replace(seat=seat, seed=None)))


def _cards(names: Sequence[str]) -> list[tuple[str, str, str, str]]:
    """Return games with the parts of their cards; a title that several games have is followed by the name."""
    titles = [catalog.title(name) for name in names]
    parted = [title.partition(": ") for title in titles]
    return [
        (name, head if titles.count(title) == 1 else f"{head} ({name})", line.capitalize(), picture(name))
        for name, title, (head, _, line) in zip(names, titles, parted, strict=True)
    ]


def _role(game: AnyGame, seat: Seat) -> str:
    """Return what the game calls a seat, such as `the seller`; "" if that is only its letter."""
    try:
        role = " ".join(table_of(game).role(game, seat).split())
    except Exception:  # a fault of a table of one's own is told where it is played
        return ""
    return role if person_name(role, seat) == role else ""


def _summary(player: PlayerClass) -> tuple[str, str]:
    """Return what a player does in a few words, with which its docstring begins before a colon, and how it does so."""
    said = _in_short(player.__doc__)
    does, colon, how = said.partition(": ")
    return (does, html.capitalised(how)) if colon and len(does) <= MAX_SUMMARY else ("", said)


def _render_sides(game: AnyGame, seat: Seat, does: str) -> html.Markup:
    """Render who the person is and who sits across."""
    own, away = _role(game, seat), other(seat)
    names = texts.YOU_ARE.format(role=own) if own else texts.YOU, _role(game, away) or table_texts.THE_OTHER
    you, they = (
        html.element("span", html.capitalised(name), cls=f"nl-person nl-person-{at.lower()}")
        for name, at in zip(names, (seat, away), strict=True)
    )
    kept = html.element("p", "The match is saved, and you can replay it.")
    return html.join([html.element("p", you), html.element("p", they, f" {does[:1].lower()}{does[1:]}."), kept])


def _in_short(text: str | None) -> str:
    """Return the first sentence."""
    said = " ".join((text or "").split("\n\n")[0].replace("`", "").split())
    return f"{said.partition('. ')[0].removesuffix('.')}." if said else ""


def _is_seed(text: str) -> bool:
    text = text.strip()
    return not text or (text.isascii() and text.isdigit() and len(text) <= 18)
