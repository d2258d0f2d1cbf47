"""The user's own spreadsheets as records: a map says what the columns mean, and each match is replayed turn by turn.

Nothing is guessed. A row that the map or the rules do not accept is left out and listed by number, with what is wrong.
"""

from __future__ import annotations

import io
import json
import random
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeVar

import msgspec

from negolab import catalog
from negolab._internal.files import read_text
from negolab._internal.validation import located, read_toml, suggest
from negolab.catalog import AnyGame
from negolab.formats.casino import submit
from negolab.game import SEATS, Seat, other
from negolab.games.agenda.reading import reads_as_token
from negolab.games.agenda.scenario import fold
from negolab.games.split.reading import write_proposal
from negolab.match import Match
from negolab.record import Record

if TYPE_CHECKING:
    import pandas as pd

LEFT_OUT = "left-out.csv"
"""File in an import's folder that lists the rows that are not part of any record, each with its match and the
reason."""
SOURCE = "csv"
"""The note `source` in an imported record, and the `via` of its replies."""
Action = Literal["offer", "accept", "reject", "walk_away", "no_deal"]
Made = TypeVar("Made")
_ENDS = ("accept", "walk_away", "no_deal")
ACTIONS: dict[Action, tuple[str, ...]] = {
    "offer": ("offer", "propose", "counter", "submit-deal"),
    "accept": ("accept", "accepted", "accept-deal"),
    "reject": ("reject", "rejected", "reject-deal"),
    "walk_away": ("walk away", "walk-away", "quit"),
    "no_deal": ("no deal", "no_deal"),
}
"""Words for each action, unless a map has others."""


class ImportMap(msgspec.Struct, frozen=True, kw_only=True):
    """A map of the meanings of a spreadsheet's columns.

    Attributes:
        columns: Columns that say who acts in a row (`party`), in which match and round, what the party does (`action`),
            how the other side answers (`answer`), what the party says, the player's name, and the match's treatment.
        parties: Words for each seat in the column of parties, and those whose rows are left out.
        offer: The column for each part of an offer (a price, a good, an issue), or one column for each seat's rows.
        game: Parameters of the game; a string such as "{cost}" stands for the number in this column.
        actions: Words for actions, instead of those in `ACTIONS`.
        decimal: The decimal mark.
        delimiter: The mark between cells; None: the one most frequent in the header.
        empty: Words for an empty cell.
        unfinished: How to treat a match that has no end.
    """

    columns: dict[Literal["party", "match", "round", "action", "answer", "message", "player", "treatment"], str]
    parties: dict[Literal["A", "B", "skip"], tuple[str, ...]]
    offer: dict[str, str | dict[Seat, str]]
    game: dict[str, Any] = {}
    actions: dict[Action, tuple[str, ...]] = {}
    decimal: Literal[".", ","] = "."
    delimiter: Annotated[str, msgspec.Meta(min_length=1, max_length=1)] | None = None
    empty: tuple[str, ...] = ("", "None", "NA", "N/A", "NaN", "null")
    unfinished: Literal["leave out", "no deal"] = "leave out"


_COLUMN = re.compile(r"\{(.+)\}")
_CURRENCIES = r"(?:USD|EUR|GBP|dollars?|euros?)?"
_NUMBERS = {
    decimal: re.compile(
        rf"{_CURRENCIES} ?(\d{{1,3}}(?:[{mark} '’]\d{{3}})+|\d+)(?:[{decimal}](\d+))? ?{_CURRENCIES}", re.I
    )
    for decimal, mark in ((".", ","), (",", "."))
}


_DIGITS = 100


def read_number(text: str, decimal: str = ".") -> str:
    """Return a number in plain digits, without a currency or thousands separators.

    >>> read_number("$ 1,050.50"), read_number("1.050,00 EUR", ",")
    ('1050.5', '1050')

    Raises:
        ValueError: The text is not a number, or the number is negative.
    """
    plain = " ".join("".join(char for char in text if unicodedata.category(char) != "Sc").split())
    found = _NUMBERS[decimal].fullmatch(plain)
    if found is None or len(plain) > _DIGITS:
        what = f"{text!r:.60} is not a number of 0 or more with decimal = {decimal!r}"
        raise ValueError(f"{what}: correct it, or list it under empty")
    whole, fraction = re.sub(r"\D", "", found[1]).lstrip("0") or "0", (found[2] or "").rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole


def read_map(path: Path) -> ImportMap:
    """Read a map; a scenario that it names must be next to it. A `ValueError` names the place of a mistake."""
    plan = read_toml(path, ImportMap)
    preset = plan.game.get("preset", "")
    if not isinstance(preset, str) or not preset.isprintable() or "{" in preset:
        raise ValueError(f"{path}: game.preset must be a preset's name or a file beside the map, not {preset!r:.60}")
    if preset.endswith(".toml"):
        scenario = path.parent / preset
        if not scenario.resolve().is_relative_to(path.parent.resolve()):
            raise ValueError(f"{path}: preset is outside the map's folder: copy {preset} next to the map")
        plan.game["preset"] = str(scenario)
    if halves := [part for part, by in plan.offer.items() if not isinstance(by, str) and len(by) < len(SEATS)]:
        raise ValueError(f"{path}: offer.{halves[0]} must name one column, or a column each for A and B")
    for part, meanings in (("parties", plan.parties.values()), ("actions", plan.actions.values())):
        counts = Counter(word for words in meanings for word in {*map(fold, words)})
        if twice := [word for word, count in counts.items() if count > 1]:
            raise ValueError(f"{path}: {part}: {twice[0]!r} has two meanings: list it under one name")
    return plan


MAX_COLUMNS, MAX_CELLS = 10_000, 10_000_000
"""Most columns and cells in a spreadsheet; no program writes more columns in a reasonable time."""


def read_sheet(path: Path, delimiter: str | None = None) -> pd.DataFrame:
    """Read a spreadsheet, with every cell as text and rows by number.

    Raises:
        ValueError: There is no file, or it is not a text table in UTF-8.
    """
    import pandas as pd

    text = read_text(path)
    mark = delimiter or max(",;\t|", key=text.partition("\n")[0].count)
    # Rows may have more cells than the header: they are reported later, and do not affect other rows.
    counts = [line.count(mark) + 1 for line in text.split("\n")]
    widest = max(counts)
    if not text.strip():
        raise ValueError(f"{path} has no rows")
    if widest > MAX_COLUMNS or widest * len(counts) > MAX_CELLS:
        raise ValueError(f"{path}: too large: {len(counts):,} rows, the widest with {widest:,} cells")
    options: dict[str, Any] = {"header": None, "names": range(widest), "index_col": False, "skip_blank_lines": False}
    with located(f"{path} is not a table with {mark!r} between its cells"):
        sheet: pd.DataFrame = pd.read_csv(io.StringIO(text), sep=mark, dtype=str, keep_default_na=False, **options)
    sheet = sheet.fillna("").map(str.strip)
    sheet.index += 1
    head = int(bool(re.match(r"sep=.\n(?=.)", text, re.IGNORECASE)))  # tells Excel the delimiter: not yet the header
    sheet.columns = [*sheet.iloc[head]]
    return sheet[head + 1 :]


class Turn(NamedTuple):
    """A party's move before the other's; `row` is the last of its rows, and `theirs` is what its offer leaves the
    other, as far as the file says."""

    row: int
    seat: Seat
    action: Action | None
    offer: dict[str, str]
    words: str
    theirs: dict[str, str] = {}


class Log(NamedTuple):
    """A match as described by its rows; `end` says why it is over if no turn ends it."""

    rows: dict[int, dict[str, str]]
    players: dict[Seat, str]
    turns: list[Turn]
    end: str


_ZEROS = re.compile(r"[\W0]*")
_REPLIES = {"accept": "[Accept]", "reject": "[Reject]", "walk_away": "[Walk away]"}
_OPENS: dict[str, dict[Seat, dict[str, str]]] = {
    "agenda": {"A": {"opens": "A"}, "B": {"opens": "B"}},
    "bargaining": {"A": {"opener": "seller"}, "B": {"opener": "buyer"}},
    "split": {"A": {"first": "A"}, "B": {"first": "B"}},
}


class Importer:
    """Reads the rows of one match after another, and replays them.

    Attributes:
        left_out: The match and the reason for each row that is not part of any record, by row number.
        lost: The matches that could not be imported.
    """

    def __init__(self, plan: ImportMap, game: str) -> None:
        self.plan, self.game = plan, game
        self.left_out: dict[int, tuple[str, str]] = {}
        self.lost: list[str] = []
        self._row = 0
        self._treatments: dict[str, str] = {}
        self._seats: dict[str, Any] = {fold(word): seat for seat, words in plan.parties.items() for word in words}
        self._actions = {fold(word): name for name, words in (ACTIONS | plan.actions).items() for word in words}

    def attempt(self, match: str, rows: dict[int, dict[str, str]], make: Callable[[], Made | None]) -> Made | None:
        """Return what `make` makes of a match; None if that fails, in which case its rows are left out."""
        try:
            return make()
        except ValueError as error:
            self.left_out |= dict.fromkeys(rows, (match, f"row {self._row}: {error}"))
            self.lost.append(match)
            return None

    # Rows to turns.

    def log(self, match: str, rows: dict[int, dict[str, str]]) -> Log | None:
        """Read the rows of a match; return None if all are skipped. A `ValueError` says what is wrong with one of
        them."""
        players: dict[Seat, str] = {seat: (*self.plan.parties.get(seat, ()), seat)[0] for seat in SEATS}
        turns: list[Turn] = []
        seen: set[tuple[str, ...]] = set()
        standing: dict[str, str] = {}
        end, why = 0, "the file has no more rows"
        for number in sorted(rows, key=lambda number: self._round(number, rows[number])):
            self._row, row = number, rows[number]
            if row[""]:
                raise ValueError(f"has {row['']!r} beyond the last column: quote values that contain delimiters")
            if (cells := tuple(row.values())) in seen:
                self.left_out[number] = match, "repeats a row of this match"
                continue
            if "round" not in self.plan.columns:  # only a row that repeats the one before it is a copy
                seen.clear()
            seen.add(cells)
            if (seat := self._meaning(self._seats, row, "party")) == "skip":
                self.left_out[number] = match, "belongs to a party that the map skips"
                continue
            players[seat] = self._cell(row, "player") or players[seat]
            for turn in self._acts(row, seat, standing):
                if end and turn.action in _ENDS:
                    raise ValueError(f"ends the match again, after row {end}: give each match its own ID")
                if end:
                    self.left_out[number] = match, f"comes after the end in row {end}"
                elif turn.action == "no_deal" and (self.game == "bargaining" or not turn.words):
                    why = turn.words or "the file says that there was no deal"
                elif turns and turns[-1].seat == turn.seat and self.game != "split":
                    turns[-1] = _joined(turns[-1], turn)
                else:
                    turns.append(turn)
                standing = (turns and turns[-1].offer) or standing
                end = number if turn.action in _ENDS else end
        if rows.keys() <= self.left_out.keys():
            return None
        if not turns:
            raise ValueError("nothing comes before it: the match has no turns")
        counts = Counter(self._round(turn.row, rows[turn.row]) for turn in turns)
        if self.game == "split" and "round" in self.plan.columns and (odd := [r for r, n in counts.items() if n != 2]):
            raise ValueError(
                f"round {odd[0]} of its match needs one claim from each party: add it, or correct the rounds"
            )
        is_over = end or (turns[-1].action == "reject" and not turns[-1].offer) or self.plan.unfinished == "no deal"
        if not is_over and self.game != "split":
            raise ValueError(
                "does not end the match, and no row follows: add one that accepts or walks away, or set "
                'unfinished = "no deal"'
            )
        return Log({number: row for number, row in rows.items() if number not in self.left_out}, players, turns, why)

    def _cell(self, row: dict[str, str], name: Any) -> str:
        return row[self.plan.columns[name]] if name in self.plan.columns else ""

    def _round(self, number: int, row: dict[str, str]) -> Fraction:
        self._row = number
        return Fraction(read_number(self._cell(row, "round"))) if "round" in self.plan.columns else Fraction(number)

    def _meaning(self, known: dict[str, Any], row: dict[str, str], name: str) -> Any:
        text = fold(self._cell(row, name))
        if text in known:
            return known[text]
        if not text and name != "party":
            return None
        if not text:
            raise ValueError('names no party: fill in the cell, or skip such rows with skip = [""] under [parties]')
        places = f"A, B or skip of [parties]: {suggest(text, known)}" if name == "party" else "a list of [actions]"
        raise ValueError(f"the {name} {text!r} is unknown: correct it, or add it to {places}")

    def _acts(self, row: dict[str, str], seat: Seat, standing: dict[str, str]) -> Iterator[Turn]:
        """Yield the turns in a row: its party's turn, and the other party's answer to the standing offer."""
        action, answer = (self._meaning(self._actions, row, name) for name in ("action", "answer"))
        offer = {part: row[by if isinstance(by, str) else by[seat]] for part, by in self.plan.offer.items()}
        words = self._cell(row, "message")
        # With an answer, zeros and the offer being answered are not an offer: no deal is not a price of 0.
        is_answer = action not in (None, "offer")
        if not any(offer.values()) or (is_answer and (all(map(_ZEROS.fullmatch, offer.values())) or offer == standing)):
            offer = {}
        if missing := [part for part, text in offer.items() if not text]:
            raise ValueError(f"its offer has no {missing[0]}: fill in the cell")
        if action == "offer" and not offer:
            raise ValueError("makes an offer, but its cells are empty: fill them in")
        if offer and action in _ENDS:
            raise ValueError("ends the match and makes an offer: clear the offer, or correct the action")
        if not (action or answer or offer or words):
            raise ValueError("is empty: enter an offer, an action or a message")
        away = {
            part: row[by[other(seat)]] for part, by in self.plan.offer.items() if part in offer and isinstance(by, dict)
        }
        yield Turn(self._row, seat, action, offer, words, {part: text for part, text in away.items() if text})
        if answer:
            yield Turn(self._row, other(seat), answer, {}, "")

    # Turns to records.

    def play(self, match: str, log: Log, name: str, most: int) -> Record:
        """Replay a match; its file is called `name`, and the file's longest match has `most` turns."""
        self._row = next(iter(log.rows))
        game = self._game(log, most)
        start = game.deal(random.Random(0))
        if any(game.deal(random.Random(seed)) != start for seed in range(1, 9)):
            raise ValueError("the game draws values at random: set the drawn values in [game]")
        id = f"{Path(name).stem}-{match}"
        notes = {"source": SOURCE, "file": name, "match": match, "rows": [*log.rows], "draw": id}
        played = Match(game, start=start, players=log.players, id=id, notes=notes | self._treatment(log))
        for turn, following in zip_longest(log.turns, log.turns[1:]):
            self._row = turn.row
            submit(played, turn.seat, self._words(game, turn), SOURCE)
            if played.ended and following:
                raise ValueError(
                    f"ends the match without an offer, but row {following.row} continues it: fill in the offer"
                )
        if self.game != "split":
            played.abort(log.end, no_deal=True)
        if played.ended is None:
            raise ValueError("the rules do not end the match after it: add the missing rows")
        return played.record(created="")

    def _treatment(self, log: Log) -> dict[str, str]:
        """Return the note with a match's treatment, as first written in the file; {} without such a column."""
        if "treatment" not in self.plan.columns:
            return {}
        found = self._only(self.plan.columns["treatment"], log, str)
        return {"treatment": self._treatments.setdefault(fold(found), found)}

    def _game(self, log: Log, most: int) -> AnyGame:
        """Return a match's game, with limits that fit the longest match."""
        usual: dict[str, dict[str, Any]] = {
            "agenda": {
                "turns": most + 1,  # the last message cannot be an offer
                "max_chars": max(1000, *(len(turn.words) for turn in log.turns)),
                **({} if "preset" in self.plan.game else {"title": "Imported"}),
            },
            "bargaining": {
                "treatment": "imported",
                "rounds": most,
                **dict.fromkeys(("walk_away", "allow_no_zopa"), True),
                "buyer_told": ["none"],
                "seller_told": ["none"],
                "talk": "both",
                "default_opening": 0,
                "examples": [0, 0],
            },
            "split": {
                "items": [*self.plan.offer],
                "stock": None,
                "source": "contexts",
                "quota": 0,
                "rounds": max(1, len(log.turns) // 2),
            },
        }
        cls = catalog.game_class(catalog.game_module(self.game))
        given = {
            name: self._fill(value, log, 100 if cls.measure_units.get(name) == "cents" else 1)
            for name, value in self.plan.game.items()
        }
        params = {**usual[self.game], "reading": "literal", **given, **_OPENS[self.game][log.turns[0].seat]}
        return catalog.load(self.game, **params) if "preset" in params else catalog.make_game(cls, params)

    def _fill(self, value: Any, log: Log, scale: int) -> Any:
        """Return a parameter in which column names are replaced with their numbers in a match."""
        if isinstance(value, list):
            return [self._fill(each, log, scale) for each in value]
        if isinstance(value, dict):
            return {name: self._fill(each, log, scale) for name, each in value.items()}
        if not (isinstance(value, str) and (column := _COLUMN.fullmatch(value))):
            return value
        number = scale * Fraction(self._only(column[1], log, partial(read_number, decimal=self.plan.decimal)))
        return int(number) if number.denominator == 1 else float(number)

    def _only(self, column: str, log: Log, read: Callable[[str], str]) -> str:
        """Return what the nonempty cells in a column say about a match; all must say the same."""
        found: dict[str, int] = {}
        for self._row, row in log.rows.items():
            if row[column]:
                found.setdefault(read(row[column]), self._row)
        self._row = max(found.values(), default=next(iter(log.rows)))
        if len({fold(text) for text in found}) != 1:
            raise ValueError(f"its match has {' and '.join(found) or 'nothing'} in {column!r}: fill in one value")
        return next(iter(found))

    def _words(self, game: Any, turn: Turn) -> str:
        """Write a turn in the form that the game reads."""
        units = {issue.name: issue.units for issue in game.agenda} if self.game == "agenda" else {}
        offer = {
            part: text if part in units and units[part] is None else read_number(text, self.plan.decimal)
            for part, text in turn.offer.items()
        }
        if self.game == "agenda":
            for part, text in turn.theirs.items():
                if units[part] not in (None, Fraction(offer[part]) + Fraction(read_number(text, self.plan.decimal))):
                    raise ValueError(f"its shares of {part} do not add up to {units[part]}: correct these values")
            if reads_as_token(turn.words):
                raise ValueError("its message contains an answer or offer in brackets: move it to its own cells")
            listed = "; ".join(f"{part} = {told}" for part, told in offer.items())
            return " ".join(
                filter(None, (_REPLIES.get(turn.action or ""), turn.words, listed and f"[Offer: {listed}]"))
            )
        if not offer and (turn.action is None or self.game == "split"):
            raise ValueError(
                "has words but no offer, which is not a move in this game: skip the row, or import the file as agenda"
            )
        if self.game == "split":
            # Both claim simultaneously, so words that come with a claim are too late to be heard: they stay in the
            # reply.
            return f"{turn.words}\n{write_proposal(tuple(offer), tuple(offer.values()))}".strip()
        said = offer.get("price") or ("accept" if turn.action == "accept" else "walk away")
        return f"{said}\nMESSAGE: {turn.words}" if turn.words else said


def _joined(one: Turn, two: Turn) -> Turn:
    """Join what a party wrote in two rows before the other party wrote."""
    if (one.offer and (two.offer or two.action)) or (one.action and two.action not in (None, "offer")):
        raise ValueError(f"acts again before the other side answers row {one.row}: correct the order of the rows")
    return Turn(
        two.row,
        one.seat,
        one.action or two.action,
        two.offer or one.offer,
        f"{one.words}\n{two.words}".strip(),
        two.theirs or one.theirs,
    )


class Imported(NamedTuple):
    """Records by id; rows that are not part of any, with match and reason; columns that the map does not name; and
    matches without a record."""

    records: dict[str, Record]
    left_out: dict[int, tuple[str, str]]
    unused: list[str]
    lost: list[str]


def import_sheet(path: Path, map_path: Path, game: str) -> Imported:
    """Read a spreadsheet with a map, and replay its matches.

    Args:
        path: The spreadsheet.
        map_path: The map.
        game: The game's name.

    Raises:
        ValueError: Spreadsheets cannot be imported as this game, the spreadsheet or the map cannot be read, or they do
            not fit together.
    """
    if game not in _OPENS:
        raise ValueError(f"spreadsheets are imported as {', '.join(_OPENS)}, not as {game!r}")
    plan = read_map(map_path)
    sheet = read_sheet(path, plan.delimiter)
    named = _named_columns(plan)
    if "party" not in plan.columns:
        raise ValueError(f"{map_path}: columns has no party: name the column that says which side acts in a row")
    for place, column in named:
        if (count := [*sheet.columns].count(column)) != 1:
            why = f"twice in {path}" if count else f"not in {path}: {suggest(column, filter(None, sheet.columns))}"
            raise ValueError(f"{map_path}: {place} names the column {column!r}, which is {why}")
    importer, empty = Importer(plan, game), set(map(fold, plan.empty))
    matches: dict[str, dict[int, dict[str, str]]] = {}
    for number, *cells in sheet.itertuples(name=None):
        row = {name: "" if fold(text) in empty else text for name, text in zip(sheet.columns, cells, strict=True)}
        row[""] = "".join(text for name, text in zip(sheet.columns, cells, strict=True) if not name)
        match = row[plan.columns["match"]] if "match" in plan.columns else "1"
        if match and any(row.values()):
            matches.setdefault(match, {})[number] = row
        else:
            importer.left_out[number] = "", "names no match: fill in its cell" if any(row.values()) else "is empty"
    logs = {match: importer.attempt(match, rows, partial(importer.log, match, rows)) for match, rows in matches.items()}
    most = max((len(log.turns) for log in logs.values() if log), default=0)
    made = [
        importer.attempt(match, log.rows, partial(importer.play, match, log, path.name, most))
        for match, log in logs.items()
        if log
    ]
    used = {"", *(column for _, column in named)}
    return Imported(
        {record.id: record for record in made if record},
        dict(sorted(importer.left_out.items())),
        [column for column in sheet.columns if column not in used],
        importer.lost,
    )


def _named_columns(plan: ImportMap) -> list[tuple[str, str]]:
    """Return the columns that a map names, each with its place in the map."""
    offered = ((part, (by,) if isinstance(by, str) else by.values()) for part, by in plan.offer.items())
    return [
        *((f"columns.{name}", column) for name, column in plan.columns.items()),
        *((f"offer.{part}", column) for part, columns in offered for column in columns),
        *(("game", column) for column in re.findall(r'"\{([^"]+)\}"', json.dumps(plan.game, default=str))),
    ]
