"""Options shared by several commands."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup
from typing_extensions import override

from negolab import catalog, user_code
from negolab._internal.validation import parse_value
from negolab.catalog import AnyGame
from negolab.game import SEATS, Seat
from negolab.players.code import check_offers
from negolab.record import Record, reading
from negolab.user_code import CodeSource

F = TypeVar("F", bound=Callable[..., Any])
Command = Callable[..., None]


_ADVANCED = "Advanced"


class _Command(TyperCommand):
    """A command whose help lists each panel's options in a separate section."""

    @override
    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for param in self.get_params(ctx):
            if (line := param.get_help_record(ctx)) is not None:
                panel = getattr(param, "rich_help_panel", None) or f"{param.param_type_name.title()}s"
                sections.setdefault(panel, []).append(line)
        for panel, lines in sorted(sections.items(), key=lambda section: section[0] == _ADVANCED):
            if lines:
                with formatter.section(panel):
                    formatter.write_dl(lines)


class Group(typer.Typer):
    """Commands with plain help; a named group shows it when called without a command."""

    def __init__(self, name: str | None = None, help: str | None = None, cls: type[TyperGroup] = TyperGroup) -> None:
        super().__init__(
            name=name,
            cls=cls,
            help=help,
            no_args_is_help=name is not None,
            rich_markup_mode=None,
            add_completion=False,
            pretty_exceptions_enable=False,
        )

    @override
    def command(self, name: str | None = None, **more: Any) -> Callable[[F], F]:
        return super().command(name, cls=_Command, **more)


def with_options(read: Callable[..., Any], name: str = "options") -> Callable[[Command], Command]:
    """Give a command the parameters of `read` as options, and pass it what `read` returns as the parameter `name`."""
    more = inspect.signature(read, eval_str=True).parameters

    def decorate(command: Command) -> Command:
        own = [each for each in inspect.signature(command, eval_str=True).parameters.values() if each.name != name]

        @wraps(command)
        def with_them(**given: Any) -> None:
            options = read(**{each: given.pop(each) for each in more})
            command(**given, **{name: options})

        with_them.__signature__ = inspect.Signature([*own, *more.values()])  # type: ignore[attr-defined]
        return with_them

    return decorate


def advanced(*names: str, **more: Any) -> Any:
    """Declare an option that few users need; help lists it last."""
    return typer.Option(*names, rich_help_panel=_ADVANCED, **more)


GameName = Annotated[str, typer.Argument(metavar="GAME", help="A game's name, module or .py file.")]
Preset = Annotated[
    str | None,
    typer.Option("--preset", "--scenario", help="Preset of the game (see `negolab games GAME`) or parameter file."),
]
Set = Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a parameter. Repeatable.")]
Seed = Annotated[
    int | None, typer.Option(help="Random seed for the match (default: chosen at random and stored in the record).")
]
DB = "NEGOLAB_DB"
"""Environment variable that names a database; unlike `--db`, it keeps a password out of the process list."""
Db = Annotated[
    str | None,
    advanced(
        "--db",
        envvar=DB,
        metavar="URL",
        help="Database: file or postgresql+psycopg://... (default: next to the study file).",
    ),
]
BaseUrls = Annotated[
    list[str] | None,
    typer.Option(
        "--base-url", metavar="URL[,key=NAME]", help="Endpoint for language models; $NAME holds its key. Repeatable."
    ),
]
PRICE_HELP = "US dollars per million tokens: MODEL=INPUT,OUTPUT or MODEL=INPUT,CACHED,OUTPUT. Repeatable."
PriceOption = Annotated[list[str] | None, typer.Option("--price", metavar="MODEL=PRICES", help=PRICE_HELP)]
Modules = Annotated[
    list[str] | None,
    typer.Option(
        "--module", metavar="MODULE", help="Module, .py file or folder with your own games or players. Repeatable."
    ),
]
Scheduler = Annotated[str | None, advanced(metavar="URL", help="Dask scheduler, tcp:// or tls://.")]
Trust = Annotated[bool, advanced("--trust", help="Don't ask before running code that the folder refers to.")]
TrustChanges = Annotated[bool, advanced("--trust", help="Continue even if your own code has changed.")]


def load_game(game: str, preset: str | None, changes: list[str] | None) -> AnyGame:
    """Load the game with the preset and parameters given in the options.

    Raises:
        ValueError: Unknown game, preset or parameter, or a malformed value.
    """
    return catalog.load(game, preset=preset, **parameter_changes(changes or []))


def parse_seat(text: str, game: AnyGame) -> Seat:
    """Parse `--seat`: A or B, or the game's name for a seat, such as buyer; `ValueError` for anything else."""
    roles = {seat: game.role(seat) for seat in SEATS}
    for seat, role in roles.items():
        if text.casefold() in (seat.casefold(), role.casefold()):
            return seat
    names = (seat if role.endswith(seat) else f"{seat} ({role})" for seat, role in roles.items())
    raise ValueError(f"--seat must be {' or '.join(names)}, not {text!r}")


def parse_seats(text: str | None, records: Sequence[Record]) -> list[Seat]:
    """Parse `--seat` for each record, because a role may be a different seat in another game; return [] if it was not
    given.

    Raises:
        ValueError: A record's game has no such seat.
    """
    found = []
    for record in records if text is not None else ():
        with reading(record):
            found.append(parse_seat(str(text), record.game))
    return found


def parameter_changes(changes: list[str]) -> dict[str, Any]:
    """Parse the values of `--set` into parameters by name."""
    pairs: dict[str, Any] = {}
    for change in changes:
        name, sign, value = change.partition("=")
        if not sign or not name:
            raise ValueError(f"--set must be NAME=VALUE, not {change!r}")
        if name.strip() in ("preset", "game"):
            raise ValueError(f"--set {change!r}: {name.strip()} is not a parameter; use its own option")
        pairs[name.strip()] = parse_value(value)
    return pairs


def import_modules(modules: list[str] | None) -> list[str]:
    """Import the modules that the user names, and return them with files and folders as absolute paths."""
    for module in modules or []:
        check_offers(catalog.game_module(module))
    return [str(Path(module).resolve()) if user_code.is_path(module) else module for module in modules or []]


def import_games(path: Path, modules: list[str] | None, trust: bool) -> list[str]:
    """Import the games, from outside the package, that records need.

    Args:
        path: A file of records, or the folder of a run, a sweep or an export.
        modules: Modules that the user names.
        trust: Run what the folder names even if the user has not run it before; False: ask.

    Returns:
        The imported modules, with files and folders as absolute paths; what the folder names is pinned to its hash.

    Raises:
        ValueError: The user does not trust the code, or it cannot be imported.
    """
    imported = import_modules(modules)
    named = {each.pinned: each for folder in _code_folders(path) for each in user_code.read(folder).values()}
    loaded: dict[str, str] = {}
    for source in sorted(named.values(), key=lambda source: source.reference):
        if source.reference not in (*imported, *loaded) and (now := user_code.current(source)) is not None:
            why = f"{path} contains games from {source.reference}, whose code you have not run on this machine"
            if now.sha256 != source.sha256:
                why = f"{user_code.describe_change(source, now)} has changed since the matches in {path} were played"
                if trust or user_code.is_trusted(now):
                    print(f"negolab: {why}", file=sys.stderr)
            ask_to_trust(now, why, trust)
            catalog.game_module(now.pinned)
            loaded[source.reference] = now.pinned
    return [*imported, *loaded.values()]


def _code_folders(path: Path) -> list[Path]:
    if path.is_file():
        return [path.parent]
    return [file.parent for file in sorted(path.rglob(user_code.FILE))]


def ask_to_trust(source: CodeSource, why: str, trust: bool) -> None:
    """Return if the code may run; raise `ValueError` if the user says no or cannot be asked."""
    if user_code.is_trusted(source):
        return
    if not trust and not sys.stdin.isatty():
        raise ValueError(f"{why}: to run it, add --trust")
    if not trust and not typer.confirm(f"{why}. Run it?", err=True):
        raise ValueError(f"{source.reference} was not run")
    user_code.trust(source)
