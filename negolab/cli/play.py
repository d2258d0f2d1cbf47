"""`negolab games | agents | watch | play`: list games and agents, and play one match in a terminal."""

from __future__ import annotations

import inspect
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import typer

from negolab import catalog
from negolab._internal.guide_pages import guide_pages, readings
from negolab.catalog import AnyGame, text_front
from negolab.cli.options import GameName, Group, Preset, Seed, Set, load_game, parse_seat
from negolab.events import Ended, Event, Forfeited, Rejected, Replied
from negolab.formatting import escape_control, first_paragraph, format_end, format_number
from negolab.game import SEATS, Ask, Invalid, Observation, Seat, other
from negolab.match import Match
from negolab.players import negmas as bridge
from negolab.players.lookup import list_players, resolve, resolve_players
from negolab.protocols import Player
from negolab.runs.driver import play, seat_players
from negolab.store import Store

app = Group()
_QUIT = "/quit"


def format_event(event: Event, game: AnyGame) -> str | None:
    """Format an event of a match of `game` for the experimenter; None for events that are not shown."""
    match event:
        case Replied(seat, reply):
            return f"{seat}: {printable(reply.text)}"
        case Rejected(seat, invalid):
            return f"   {seat} rejected ({', '.join(invalid.codes)}): {invalid.reason}"
        case Forfeited(seat):
            return f"   {seat} forfeits"
        case Ended(end, payoffs, reason):
            why = f" ({reason})" if reason else ""
            shares = ", ".join(f"{seat} {game.format_payoff(paid)}" for seat, paid in payoffs.items())
            return f"{format_end(end)}{why}: {shares}"
    return None


def escape_line(text: str) -> str:
    """Escape control characters and line breaks, so that text of others stays on its line."""
    return escape_control(text).replace("\n", r"\n")


MAX_NAMED = 10
"""Things of a long list that are named; further ones are counted."""


def print_some(lines: Sequence[str], more: str) -> None:
    """Print the first `MAX_NAMED` lines, and `more` with the number of the rest."""
    for line in lines[:MAX_NAMED]:
        print(escape_line(line))
    if len(lines) > MAX_NAMED:
        print(more.format(len(lines) - MAX_NAMED))


def printable(text: str) -> str:
    """Escape control characters and indent further lines, so that text cannot look like an event either."""
    return escape_control(text).replace("\n", "\n     ")


def print_events(events: list[Event], game: AnyGame) -> None:
    """Print events of a match of `game`, one line each, without those that are not shown."""
    for event in events:
        if (text := format_event(event, game)) is not None:
            print(escape_control(text), flush=True)


def print_details(details: dict[str, Any], game: AnyGame) -> None:
    """Print the details of an outcome, if there are any."""
    if details:
        print(f"\ndetails{', amounts in cents' if game.unit == 'cents' else ''}")
        print(escape_control("\n".join(format_details(details, words=game.seat_words))))


def format_details(value: Any, indent: str = "", words: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """Format nested data as indented lines; `words` stand for others that the rules fix and that mislead here."""
    if isinstance(value, dict):
        out = []
        for key, inner in value.items():
            small = not isinstance(inner, dict | list) or not inner or len(str(inner)) < 80
            line = f"{indent}{key}: {words.get(inner, inner) if isinstance(inner, str) else _format_seats(inner)}"
            out += [line] if small else [f"{indent}{key}:", *format_details(inner, indent + "  ", words)]
        return out
    if isinstance(value, list):
        return [text for inner in value for text in format_details(inner, indent + "- ", words)]
    return [f"{indent}{value}"]


def _format_seats(value: Any) -> str:
    """Format a number of each seat, such as `A 0.5392, B 3`; any other value as Python writes it."""
    is_of_seats = isinstance(value, dict) and bool(value) and set(value) <= {*SEATS}
    if is_of_seats and all(type(number) in (int, float) for number in value.values()):
        return ", ".join(f"{seat} {format_number(n, 4)}" for seat, n in value.items())
    return str(value)


class TerminalPlayer:
    """A person at the keyboard: prints what the seat may see and reads its replies.

    A game with a text front of its own is shown exactly as that front words it.
    """

    name = "person"

    def __init__(self, match: Match, seat: Seat) -> None:
        self._match, self._seat = match, seat
        self._front = text_front(match.game, seat)
        self._shown = 0
        self._told = 0
        self._since: Observation[Any, Any] | None = None

    def reply(self, told: catalog.AnyGame, ask: Ask) -> str:
        """Print what is new and read one line, in which a backslash followed by n stands for a line break.

        Raises:
            EOFError: The person entered /quit or closed the input.
        """
        self.catch_up()
        if self._front is None:
            again = ask.rejected and ask.seen is self._since
            refused = _refused(ask, told) if again else ""
            print(escape_control(refused or f"\n{told.prompt(ask.seen, self._since)}"), flush=True)
        self._since = ask.seen
        line = input(f"[{ask.seen.seat}] > ")
        if line.strip() == _QUIT:
            raise EOFError
        return line.replace("\\n", "\n")

    def catch_up(self) -> None:
        """Print what was not printed yet: texts of the game's own front, or that the rules decided for this seat."""
        if self._front is None:
            self._tell_forfeits()
        else:
            texts = self._front(self._match.events)
            for text in texts[self._shown :]:
                print(f"\n{escape_control(text)}", flush=True)
            self._shown = len(texts)

    def _tell_forfeits(self) -> None:
        """Print why this seat's last try was not accepted, since its next prompt tells only what the rules did then."""
        reason = ""
        for event in self._match.events[self._told :]:
            if isinstance(event, Rejected) and event.seat == self._seat:
                reason = event.invalid.reason
            elif isinstance(event, Forfeited) and event.seat == self._seat:
                print(f"   not accepted: {reason} No attempts are left: the rules decide.", flush=True)
        self._told = len(self._match.events)

    def close(self) -> None:
        """Print the end: the front's own text, or the end and this seat's payoff."""
        self.catch_up()
        ended = self._match.ended
        if self._front is None and ended is not None:
            paid = self._match.game.format_payoff(ended.payoffs[self._seat])
            print(f"\nThe end: {format_end(ended.end)}. You get {paid}.")


def _refused(ask: Ask, told: catalog.AnyGame) -> str:
    """Format the reason of the last rejection and, where replies are limited, how many may follow and what then is."""
    then = told.describe_forfeit(ask.seen)
    last = f"; after that {then}" if then else ""
    left = f" ({ask.retries_left} more may be refused{last})" if told.retries(ask.seen.seat) else ""
    invalid: Invalid = ask.rejected[-1]
    return f"   not accepted: {invalid.reason}{left}"


RUNS = Path("data/runs")


@app.command()
def games(
    game: Annotated[str | None, typer.Argument(metavar="GAME")] = None,
    preset: Preset = None,
    all_: Annotated[
        bool, typer.Option("--all", help="Show every preset and parameter, and every way to parse replies.")
    ] = False,
) -> None:
    """List the games, or describe GAME or a scenario.

    For a game, show its presets, parameters and players; for a scenario, its points and best agreements.
    """
    if game is not None:
        loaded = load_game(game, preset, None)
        overview = None if preset is None else catalog.part(loaded, "OVERVIEW")
        if overview is None:
            _describe(loaded, None if all_ else _SHOWN)
        else:
            print(escape_control(overview(loaded)))
        return
    for name, presets in catalog.list_games().items():
        print(f"{name:12} {first_paragraph(catalog.game_module(name).__doc__)}")
        print(f"{'':12} presets: {', '.join(presets)}")
    print("\nTo describe one game: negolab games GAME")


_SHOWN = (3, 8)
"""Presets and parameters that `games GAME` shows without `--all`; the guide's page lists the main ones first."""


def _describe(game: AnyGame, shown: tuple[int, int] | None) -> None:
    module, name = catalog.module_of(game), catalog.game_id(game)
    notes, meanings = catalog.preset_notes(module), catalog.parameter_meanings(game)
    presets, values = list(catalog.presets(module)), catalog.parameters(game)
    n, m = shown or (len(presets), len(values))
    print(f"{name}: {first_paragraph(module.__doc__)}\n\npresets (the first is the default)")
    for preset in presets[:n]:
        print(f"  {preset}{_explained(notes.get(preset))}")
    unit = "amounts in cents" if game.unit == "cents" else ""
    print(f"\nparameters (default{unit and f'; {unit}'})")
    listed = [each for each in dict.fromkeys([*meanings, *values]) if each in values][:m]
    for meaning, alike in groupby(listed, lambda each: meanings.get(each) or each):
        settings = ", ".join(f"{each} = {values[each]!r}" for each in alike)
        print(f"  {settings}{_explained(meaning if meaning not in values else None)}")
    if shown is None and (lines := readings(name)):
        print(f"\n{'replies':62}{'reading = fair':36}reading = literal", *lines, sep="\n  ")
    print(f"\nplayers{unit and f' ({unit})'}")
    players = list_players(game)
    for cls in dict.fromkeys(players[name] for name in sorted(players)):
        names = ", ".join(sorted(name for name, one in players.items() if one is cls))
        params = ", ".join(p for p in inspect.signature(cls).parameters if p != "seed")
        told = first_paragraph(cls.__doc__)
        print(f"  {names}{f' ({params})' if params else ''}{_explained(told.split(':')[0] if shown else told)}")
    if shown:
        print(f"\nall {len(presets)} presets, {len(values)} parameters and details: negolab games {name} --all")
    if name in guide_pages():
        print(f"{'' if shown else chr(10)}the guide: negolab guide {name}")


def _explained(text: str | None) -> str:
    return f": {text}" if text else ""


@app.command()
def agents() -> None:
    """List the agents in the NegMAS installation given by $NEGOLAB_NEGMAS; they can play agenda and bargaining."""
    found, versions = bridge.list_agents()
    print(", ".join(f"{name} {version}" for name, version in sorted(versions.items())), end="\n\n")
    print(*(f"negmas:negotiator={agent}" for agent in found), sep="\n")


@app.command()
def watch(
    game: GameName,
    preset: Preset = None,
    set_: Set = None,
    a: Annotated[
        str, typer.Option(help="Player in seat A, such as `time:beta=0.2`, or your own: `mine.py:Haggler,beta=2`.")
    ] = "random-legal",
    b: Annotated[str, typer.Option(help="Player in seat B.")] = "random-legal",
    seed: Seed = None,
    out: Annotated[Path | None, typer.Option(help="Folder or new .jsonl file for the record.")] = None,
) -> None:
    """Print a match between two scripted players."""
    loaded = load_game(game, preset, set_)
    players = resolve_players(loaded, a, b)
    names: dict[Seat, str] = {seat: player.name for seat, player in zip(SEATS, players, strict=True)}
    match = Match(loaded, seed=seed, players=names)
    seats = seat_players(match, factories={player.name: player for player in players})
    with _record_writer(out) as save:
        preset_name = f", preset {loaded.preset}" if loaded.preset else ""
        print(f"{game}{preset_name}, seed {match.seed}: A = {names['A']}, B = {names['B']}\n")
        try:
            play(match, seats, watch=lambda _, events: print_events(events, loaded))
        finally:
            save(match)
    assert match.outcome is not None
    print_details(match.outcome.details, loaded)


@app.command("play")
def play_(
    game: GameName,
    seat: Annotated[str, typer.Option(help="Your seat: A, B or its role, such as buyer.")] = "B",
    against: Annotated[str, typer.Option(help="Your opponent.")] = "random-legal",
    preset: Preset = None,
    set_: Set = None,
    seed: Seed = None,
    out: Annotated[Path, typer.Option(help="Folder for the record.")] = RUNS / "play",
) -> None:
    """Play one match yourself in the terminal. Type /quit or press Ctrl-D to stop; the record is kept."""
    loaded = load_game(game, preset, set_)
    mine = parse_seat(seat, loaded)
    away = other(mine)
    player = resolve(against, loaded)
    match = Match(loaded, seed=seed, players={mine: "person", away: player.name})
    opponent = seat_players(match, people={mine}, factories={player.name: player})[away]
    treat_signals_as_interrupt()
    with _record_writer(out) as save:
        print("Type one message per line (\\n for a line break), or /quit to stop.")
        try:
            _play_in_terminal(match, mine, opponent)
        except (EOFError, KeyboardInterrupt):
            match.abort("stopped by the person")
            print("\nstopped")
        except Exception as error:
            match.abort(f"{type(error).__name__} at {' and '.join(match.pending()) or 'the end'}")
            raise
        finally:
            save(match)


def treat_signals_as_interrupt() -> None:
    """Treat SIGTERM and SIGHUP like Ctrl-C, so that what was begun is kept or ended if the terminal is closed; what is
    ignored, as under `nohup`, stays ignored."""
    for name in ("SIGTERM", "SIGHUP"):
        if signal.getsignal(number := getattr(signal, name, signal.SIGTERM)) is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)


def _play_in_terminal(match: Match, seat: Seat, opponent: Player) -> None:
    person = TerminalPlayer(match, seat)
    play(match, {seat: person, other(seat): opponent})
    person.close()


@contextmanager
def _record_writer(out: Path | None) -> Iterator[Callable[[Match], None]]:
    """Open the place for the record before the match is played, and yield a function that saves the match there.

    A run's folder, or a new `.jsonl` file; None saves nothing.
    """
    if out is None:
        yield lambda match: None
    elif out.suffix == ".jsonl":
        out.parent.mkdir(parents=True, exist_ok=True)
        with out.open("xb") as file:

            def alone(match: Match) -> None:
                file.write(match.record().to_line())
                print(f"record {match.id} is in {out}")

            yield alone
    else:
        with Store(out).for_single_matches() as store:

            def among_others(match: Match) -> None:
                store.append(match.record())
                print(f"record {match.id} is in {store.file}")

            yield among_others
