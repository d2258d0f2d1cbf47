"""The parameters of split; each check names the parameter and its value."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from typing_extensions import override

from negolab._internal.validation import Name
from negolab.game import Game
from negolab.games.split.allocation import Rule
from negolab.games.split.reading import name_table
from negolab.games.split.state import Action, Private, Public
from negolab.reading import Reading

Source = Literal["uniform", "rps", "fixed", "ten_one_ties", "ten_one_exclusive", "dond", "corpus", "contexts"]
Roles = Literal["fixed", "alternate", "random"]
Redraw = Literal["all", "stock", "none"]
Show = Literal["own", "both", "hand"]
First = Literal["random", "A", "B"]
Talk = Literal["quota", "free"]
Fallback = Literal["zero", "end"]

MAX_WHOLE = 2**53
"""Points are floats, which are exact for whole numbers up to this one."""
Whole = Annotated[int, Meta(ge=0, le=MAX_WHOLE)]
Positive = Annotated[int, Meta(ge=1, le=MAX_WHOLE)]
Row = tuple[Whole, ...]
"""`Units` with their bounds."""

_DRAWN_STOCK = ("dond", "corpus", "contexts")


class Parameters(Game[Public, Private, Action], frozen=True, kw_only=True):
    """Parameters for all variants.

    `reading` says whether a text is read as meant or literally. `stock` is the units per type (None: drawn with the
    values); `source` says where values come from (from `low` to `high`, the rows of `fixed`, or `contexts`), and
    `roles` who gets which row or hand. `equal_totals` and `conflict` keep only some draws; `redraw` says how often
    there is one. `show` is what a seat sees of the round; `reveal` says whether its summary publishes values and
    points. With `talk="quota"`, each seat sends `quota` messages per round; with `talk="free"`, either seat may end the
    talk in its turn, and there are at most `talk_limit` messages. `max_chars` limits the characters of a message and
    `attempts` the replies per turn, after which the `fallback` is filed or the match ends.
    """

    reading: Reading = "fair"
    items: tuple[Name, ...] = ("coins",)
    stock: Row | None = (10,)
    source: Source = "uniform"
    low: Whole = 1
    high: Whole = 20
    fixed: tuple[Row, Row] = ((10,), (1,))
    roles: Roles = "fixed"
    equal_totals: bool = False
    conflict: bool = False
    redraw: Redraw = "all"
    show: Show = "own"
    reveal: bool = True
    rule: Rule = "proportional"
    rounds: Annotated[int, Meta(ge=1, le=100_000)] = 10
    talk: Talk = "quota"
    quota: Whole = 1
    talk_limit: Positive = 20
    max_chars: Positive = 500
    first: First = "random"
    attempts: Positive = 3
    fallback: Fallback = "zero"
    contexts: tuple[tuple[Row, Row, Row], ...] | None = ()

    @override
    def __post_init__(self) -> None:
        for name in ("items", "stock", "fixed", "contexts"):
            msgspec.structs.force_setattr(self, name, _to_tuples(getattr(self, name)))
        super().__post_init__()
        require(self.low <= self.high, "low", self.low, f"at most high = {self.high}")
        name_table(self.items)
        _check_stock(self)
        _check_source(self)
        _check_redraw(self)
        _check_support(self)

    @property
    def is_free(self) -> bool:
        """True if either seat may end the talk."""
        return self.talk == "free"

    @property
    def messages_each(self) -> int:
        """The most messages that a seat can send in a round; 0 if there is no talk."""
        return (self.talk_limit + 1) // 2 if self.is_free else self.quota


def require(fits: bool, name: str, value: Any, must: str) -> None:
    """Raise a `ValueError` saying that `name` must be `must`, unless the value fits."""
    if not fits:
        raise ValueError(f"{name} must be {must}, not {value!r}")


def _to_tuples(rows: Any) -> Any:
    """Convert lists, including nested ones, to tuples."""
    return tuple([_to_tuples(row) for row in rows]) if type(rows) in (list, tuple) else rows


def _check_stock(game: Parameters) -> None:
    if game.source in _DRAWN_STOCK:
        require(game.stock is None, "stock", game.stock, f"None with source {game.source!r}, which draws it")
    else:
        fits = game.stock is not None and len(game.stock) == len(game.items)
        require(fits, "stock", game.stock, "one whole number per type")


def _check_source(game: Parameters) -> None:
    width, source = len(game.items), game.source
    require((game.show == "hand") == (source == "rps"), "show", game.show, "hand with source rps, and only there")
    require(source != "rps" or game.roles != "fixed", "roles", game.roles, "random or alternate with source rps")
    require(source != "corpus" or width == 3, "items", game.items, "three types with source corpus")
    require(source != "dond" or width >= 2, "items", game.items, "at least two types with source dond")
    if source == "fixed":
        rows = all(len(row) == width for row in game.fixed)
        require(rows, "fixed", game.fixed, "a high row and a low row with one whole number per type")
    if source == "contexts" and game.contexts is not None:
        fit = bool(game.contexts) and all(len(row) == width for context in game.contexts for row in context)
        require(fit, "contexts", game.contexts, "rows of (stock, values A, values B)")


def _check_redraw(game: Parameters) -> None:
    redraw, source = game.redraw, game.source
    if redraw == "all":
        return
    require(source not in ("rps", "fixed"), "redraw", redraw, f"all with source {source!r}")
    require(redraw == "none" or source not in ("corpus", "contexts"), "redraw", redraw, f"all or none with {source!r}")
    published = game.show == "own" and game.reveal
    require(not published, "redraw", redraw, "all where reveal is on: a summary would publish values that stay private")


def _check_support(game: Parameters) -> None:
    """Require that some pair of values is allowed; otherwise, drawing until one is would never end."""
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
