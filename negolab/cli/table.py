"""One match: `games`, `watch`, `play`."""

from __future__ import annotations

import inspect
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from negolab import catalog
from negolab.catalog import AnyGame
from negolab.cli import terminal
from negolab.cli.options import GameName, Preset, Seed, Set, chosen, seat_of
from negolab.game import Seat, other
from negolab.match import Match
from negolab.play import made, play
from negolab.players.player import Player, players
from negolab.store import Store

RUNS = Path("data/runs")


def games(game: Annotated[str | None, typer.Argument(metavar="GAME")] = None) -> None:
    """List the games and their presets; with GAME, its parameters and players."""
    if game is not None:
        _describe(catalog.load(game))
        return
    for name, presets in catalog.games().items():
        print(f"{name:12} {_first_line(catalog.module(name).__doc__)}")
        print(f"{'':12} presets: {', '.join(presets)}")


def _describe(game: AnyGame) -> None:
    print(f"{catalog.game_id(game)}: {_first_line(catalog.home(game).__doc__)}")
    print(f"presets: {', '.join(catalog.presets(catalog.home(game)))}\n\nparameters (default)")
    for name, value in catalog.parameters(game).items():
        print(f"  {name} = {value!r}")
    print("\nplayers")
    for name, cls in sorted(players(game).items()):
        params = ", ".join(p for p in inspect.signature(cls).parameters if p != "seed")
        print(f"  {name}{f' ({params})' if params else ''}: {_first_line(cls.__doc__)}")


def _first_line(text: str | None) -> str:
    return " ".join((text or "").split("\n\n")[0].split())


def watch(
    game: GameName,
    preset: Preset = None,
    set_: Set = None,
    a: Annotated[str, typer.Option(help="Player at seat A, such as `time:beta=0.2`.")] = "random-legal",
    b: Annotated[str, typer.Option(help="Player at seat B.")] = "random-legal",
    seed: Seed = None,
    out: Annotated[Path | None, typer.Option(help="Folder, or new .jsonl file, to keep the record in.")] = None,
) -> None:
    """Let two scripted players play one match and print it as it happens."""
    loaded = chosen(game, preset, set_)
    match = Match(loaded, seed=seed, players={"A": a, "B": b})
    seats = {seat: made(name, loaded, match.seed or 0, seat) for seat, name in match.players.items()}
    with _place(out) as keep:
        print(f"{game}, preset {loaded.preset}, seed {match.seed}: A = {a}, B = {b}\n")
        try:
            play(match, seats, watch=lambda _, events: terminal.show(events))
        finally:
            keep(match)
    assert match.outcome is not None
    print(f"\npayoffs in {loaded.unit}")
    print("\n".join(terminal.details(match.outcome.details)))


def play_(
    game: GameName,
    seat: Annotated[str, typer.Option(help="Where you sit: A or B.")] = "B",
    against: Annotated[str, typer.Option(help="The scripted player across the table.")] = "random-legal",
    preset: Preset = None,
    set_: Set = None,
    seed: Seed = None,
    out: Annotated[Path, typer.Option(help="Folder to keep the record in.")] = RUNS / "play",
) -> None:
    """Play one match yourself, in the terminal. /quit or Ctrl-D stops; the record is kept either way."""
    mine = seat_of(seat)
    loaded = chosen(game, preset, set_)
    away = other(mine)
    match = Match(loaded, seed=seed, players={mine: "person", away: against})
    opponent = made(against, loaded, match.seed or 0, away)
    _stop_kindly()
    with _place(out) as keep:
        print("You play in this terminal: one line a message (\\n for a line break), /quit to stop.")
        try:
            _sit(match, mine, opponent)
        except (EOFError, KeyboardInterrupt):
            match.abort("stopped by the person")
            print("\nstopped")
        except Exception as error:
            match.abort(f"{type(error).__name__} at {' and '.join(match.pending()) or 'the end'}")
            raise
        finally:
            keep(match)


def _stop_kindly() -> None:
    """A terminal that is closed, or a polite kill, stops the match like Ctrl-C: it is kept."""
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.default_int_handler)


def _sit(match: Match, seat: Seat, opponent: Player) -> None:
    person = terminal.Person(match, seat)
    play(match, {seat: person, other(seat): opponent})
    person.close()


@contextmanager
def _place(out: Path | None) -> Iterator[Callable[[Match], None]]:
    """Where a match will be kept, opened before it is played: a run's folder, or a new `.jsonl` file of its own."""
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
        with Store(out).free() as store:

            def among_others(match: Match) -> None:
                store.append(match.record())
                print(f"record {match.id} is in {store.file}")

            yield among_others


def add_to(app: typer.Typer) -> None:
    app.command()(games)
    app.command()(watch)
    app.command("play")(play_)
