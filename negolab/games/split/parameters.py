"""Checks of split's parameters; each names the parameter and its value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

from negolab.games.split.allocation import Rule
from negolab.games.split.reading import name_table

if TYPE_CHECKING:
    from negolab.games.split.rules import Split

Source = Literal["uniform", "rps", "fixed", "ten_one_ties", "ten_one_exclusive", "dond", "corpus", "contexts"]
Roles = Literal["fixed", "alternate", "random"]
Redraw = Literal["all", "stock", "none"]
Show = Literal["own", "both", "hand"]
First = Literal["random", "A", "B"]
Talk = Literal["quota", "free"]
Fallback = Literal["zero", "end"]

_CHOICES: dict[str, tuple[Any, ...]] = {
    "source": get_args(Source),
    "roles": get_args(Roles),
    "redraw": get_args(Redraw),
    "show": get_args(Show),
    "rule": get_args(Rule),
    "talk": get_args(Talk),
    "first": get_args(First),
    "fallback": get_args(Fallback),
    "equal_totals": (False, True),
    "conflict": (False, True),
    "reveal": (False, True),
}
_MINIMA = {"low": 0, "high": 0, "rounds": 1, "quota": 0, "talk_limit": 1, "max_chars": 1, "attempts": 1}
_DRAWN_STOCK = ("dond", "corpus", "contexts")
_MAX_WHOLE = 2**53
"""Points are floats, which hold whole numbers exactly up to here."""


def check_parameters(game: Split) -> None:
    """Raise `ValueError` for the first invalid parameter."""
    for name, choices in _CHOICES.items():
        if getattr(game, name) not in choices:
            raise parameter_error(name, getattr(game, name), "one of " + ", ".join(map(str, choices)))
    for name, least in _MINIMA.items():
        value = getattr(game, name)
        if not is_whole(value) or value < least:
            raise parameter_error(name, value, f"a whole number from {least}")
    require(game.low <= game.high, "low", game.low, f"at most high = {game.high}")
    require(type(game.items) is tuple, "items", game.items, "a tuple of names")
    name_table(game.items)
    _check_stock(game)
    _check_source(game)
    _check_redraw(game)
    _check_support(game)


def parameter_error(name: str, value: Any, wanted: str) -> ValueError:
    """Return the error that names the parameter, what it must be and what it was."""
    return ValueError(f"{name} must be {wanted}, not {value!r}")


def require(ok: bool, name: str, value: Any, wanted: str) -> None:
    """Raise a `parameter_error` unless `ok`."""
    if not ok:
        raise parameter_error(name, value, wanted)


def is_whole(value: Any) -> bool:
    """Return True for an integer from 0 to the largest that points can count."""
    return type(value) is int and 0 <= value <= _MAX_WHOLE


def is_units(row: Any, width: int) -> bool:
    """Return True for a tuple of one whole number per type."""
    return isinstance(row, tuple) and len(row) == width and all(map(is_whole, row))


def to_tuples(rows: Any) -> Any:
    """Convert lists, and lists in them, to tuples."""
    return tuple([to_tuples(row) for row in rows]) if type(rows) in (list, tuple) else rows


def _check_stock(game: Split) -> None:
    if game.source in _DRAWN_STOCK:
        require(game.stock is None, "stock", game.stock, f"None with source {game.source!r}, which draws it")
    else:
        require(is_units(game.stock, len(game.items)), "stock", game.stock, "one whole number per type")


def _check_source(game: Split) -> None:
    width, source = len(game.items), game.source
    require((game.show == "hand") == (source == "rps"), "show", game.show, "hand with source rps, and only there")
    require(source != "rps" or game.roles != "fixed", "roles", game.roles, "random or alternate with source rps")
    require(source != "corpus" or width == 3, "items", game.items, "three types with source corpus")
    require(source != "dond" or width >= 2, "items", game.items, "at least two types with source dond")
    if source == "fixed":
        fixed: Any = game.fixed
        rows = isinstance(fixed, tuple) and len(fixed) == 2 and all(is_units(row, width) for row in fixed)
        require(rows, "fixed", game.fixed, "a high row and a low row with one whole number per type")
    if source == "contexts" and game.contexts is not None:
        require(_are_contexts(game.contexts, width), "contexts", game.contexts, "rows of (stock, values A, values B)")


def _are_contexts(contexts: Any, width: int) -> bool:
    return bool(contexts) and all(
        isinstance(context, tuple) and len(context) == 3 and all(is_units(row, width) for row in context)
        for context in contexts
    )


def _check_redraw(game: Split) -> None:
    redraw, source = game.redraw, game.source
    if redraw == "all":
        return
    require(source not in ("rps", "fixed"), "redraw", redraw, f"all with source {source!r}")
    require(redraw == "none" or source not in ("corpus", "contexts"), "redraw", redraw, f"all or none with {source!r}")
    published = game.show == "own" and game.reveal
    require(not published, "redraw", redraw, "all where reveal is on: a summary would publish values that stay private")


def _check_support(game: Split) -> None:
    """Require that some pair of values is allowed: drawing again until one is would never end."""
    source, width = game.source, len(game.items)
    restricted = game.equal_totals or game.conflict
    allowed = source in ("uniform", "ten_one_ties", "ten_one_exclusive")
    require(allowed or not restricted, "equal_totals and conflict", True, f"False with source {source!r}")
    if source == "uniform":
        require(not (game.conflict and game.low == game.high), "conflict", True, "False where low equals high")
    if source in ("uniform", "ten_one_ties"):
        both = game.equal_totals and game.conflict
        require(not (both and width == 1), "equal_totals and conflict", True, "not both True with one type")
    if source == "ten_one_exclusive":
        require(not (game.equal_totals and width % 2), "equal_totals", True, f"False with {width} types, an odd number")
