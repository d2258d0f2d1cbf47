"""Small working examples that `negolab new` writes for a user to change, such as a game, a scenario or a study."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from fractions import Fraction
from functools import partial
from importlib.resources import files
from keyword import iskeyword
from math import ceil
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from negolab import catalog, user_code
from negolab._internal.validation import check_name
from negolab.game import SEATS, other
from negolab.games.agenda.scenario import fold
from negolab.players.lookup import compatible_players
from negolab.studies.endings import ENDINGS

if TYPE_CHECKING:
    import pandas as pd

_HERE = files(__name__)
_COMMENTS = 53
"""Column at which the comments of a study file begin."""
Files = dict[Path, str]
"""Texts of files by the paths at which they are written."""


def write_scaffold(kind: str, name: str, folder: Path, game: str = "trading", text: str | None = None) -> list[Path]:
    """Write an example with its test.

    Args:
        kind: "game", "player", "scenario", "codebook", "sweep", "tournament", "study" or "import-map".
        name: Its name; for a map, the spreadsheet.
        folder: The folder to write to.
        game: The game for a study.
        text: The text of a file that was read from elsewhere (None: the example).

    Returns:
        The files that were written.

    Raises:
        ValueError: The name is not valid, or a file already exists or cannot be written.
    """
    texts = SCAFFOLDS[kind](name, folder, game)
    if text is not None:
        texts = dict.fromkeys(texts, text)
    for path in texts:
        if os.path.lexists(path) or path.parent.is_symlink():
            raise ValueError(f"{path} already exists and was not changed: choose another name")
    for path, text in texts.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        except OSError as error:
            raise ValueError(f"{path} cannot be written: {error.strerror}") from None
    return list(texts)


def _module(example: str, name: str, folder: Path, game: str) -> Files:
    """Return a module and its test, with the example's name replaced in words, classes and file names."""
    if not name.isidentifier() or iskeyword(name) or not name.islower():
        raise ValueError(f"{name!r} cannot be the name of a module: use lower-case letters, digits and _")
    in_class = "".join(word.capitalize() for word in name.split("_"))
    return {
        folder / file.replace(example, name): _read(file).replace(example.capitalize(), in_class).replace(example, name)
        for file in (f"{example}.py", f"test_{example}.py")
    }


def _file(kind: str, name: str, folder: Path, game: str) -> Files:
    check_name(name, f"the {kind}'s name")
    title = name.replace("-", " ").replace("_", " ").capitalize()
    return {folder / f"{name}.toml": _read(f"{kind}.toml").replace(kind.upper(), title)}


def _sweep(name: str, folder: Path, game: str) -> Files:
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*", name):
        raise ValueError(f"{name!r} cannot be the name of a folder: use letters, digits, -, . and _")
    texts = {file: _read(f"sweep/{file}") for file in ("plan.toml", "experiment.ipynb", "test_sweep.py")}
    return {folder / name / file: text for file, text in texts.items()}


def _study(name: str, folder: Path, game: str) -> Files:
    check_name(name, "the study's name")
    file = folder / f"{name}.toml"
    test = _read("test_study.py").replace("study.toml", file.name)
    return {file: study_text(file, game), folder / f"test_{name.replace('-', '_')}.py": test}


def study_text(path: Path, game: str) -> str:
    """Return the text of a new study file that can be served as is.

    Args:
        path: The file that will hold it; its stem becomes the study's name.
        game: Name of a game, or a .py file relative to the folder of `path`.

    Raises:
        ValueError: There is no such game.
    """
    loaded = catalog.load(user_code.beside(game, path.parent))
    seat = catalog.front_seat(catalog.game_id(loaded))
    first, second = compatible_players(loaded, other(seat or "A"))[:2]
    template = Template(_read("study.toml"))
    text = template.substitute(
        {ending: _code() for ending in ENDINGS},
        name=path.stem,
        game=game,
        preset=loaded.preset,
        unit=loaded.unit,
        first=first,
        second=second,
        seat=seat or "random",
        seed=secrets.randbits(62),
    )
    return "".join(map(_aligned, text.splitlines(keepends=True)))


def _aligned(line: str) -> str:
    """Move a line's trailing comment to column `_COMMENTS`."""
    code, comment = re.fullmatch(r"(.*?)(\s{2,}# .*\n)?", line, re.DOTALL).groups()  # type: ignore[union-attr]
    return line if comment is None else f"{code:<{_COMMENTS - 2}}  {comment.lstrip()}"


def _code() -> str:
    """Draw a random completion code of eight characters, without 0, 1, I and O, which are easily confused."""
    return "".join(secrets.choice("ABCDEFGHJKLMNPQRSTUVWXYZ23456789") for _ in range(8))


_COLUMNS = {
    "match": r"(match|game|neg|negotiation|dialogue|dialog|episode|session|pair|dyad|conversation)?_?(id|number|no)?",
    "round": r"(round|turn|iteration|step|period)s?(_?(id|number|no))?",
    "party": r"(my_)?role|party|player(_name)?|agent(_name)?|speaker|side|subject|sender|who",
    "action": r"act|action|decision|(player_)?answer|response|accept(ed)?",
    "message": r"message|text|utterance|chat|words",
    "player": r"name|person|participant(_(id|name))?|model",
    "treatment": r"treatment|condition",
    "price": r".*(price|offer|bid).*",
    "cost": r".*(cost|reservation_a).*",
    "value": r".*(valu|willing|budget).*",
}
"""Names of the columns with each meaning, in lowercase and with _ for everything but letters and digits."""
_AMOUNTS = ("price", "cost", "value")
_WORDED, _MAX_WORDS = ("party", "action", "treatment"), 6
"""Columns whose words a draft lists, and how many of them at most."""
_PARAMETERS = {
    "bargaining": """\
price_hi = $highest # the highest price that could be offered, in cents
seller_costs = [$cost]
buyer_values = [$value]""",
    "agenda": """\
# preset = "my-issues.toml"         # a scenario: negolab new scenario my-issues
# issues = [{ name = "money", units = "{total}", A = 1, B = 1 }]   # or goods: what a unit is worth to A and to B""",
}


def _import_map(name: str, folder: Path, game: str) -> Files:
    """Draft the map for a spreadsheet from its header and its parties."""
    from negolab.formats.spreadsheet import read_sheet  # with numpy: no other command waits for it

    sheet, path = read_sheet(Path(name)), Path(name)
    header = [column for column in sheet.columns if column]
    plain = {column: re.sub(r"[\W_]+", "_", column.lower()).strip("_") for column in header}
    found = {
        meaning: column
        for meaning, names in _COLUMNS.items()
        if (column := next((column for column in header if re.fullmatch(names, plain[column])), None))
    }
    words = {meaning: _words(sheet.iloc[:, [*sheet.columns].index(column)]) for meaning, column in found.items()}
    parties = sorted(words.get("party", ()), key=lambda word: "buy" in word.lower())
    others = [column for column in header if column not in found.values()]
    kind = "bargaining" if "price" in found else "agenda"
    issues = "\n".join(f"# {json.dumps(column)} = {json.dumps(column)}" for column in others)
    parameters = Template(_PARAMETERS[kind]).substitute(
        {name: json.dumps(f"{{{found[name]}}}") if name in found else "0" for name in ("cost", "value")},
        highest=f"{_highest_cents(text for name in _AMOUNTS for text in words.get(name, ())):<24}",
    )
    text = Template(_read("import_map.toml")).substitute(
        {seat: json.dumps([party]) for seat, party in zip(SEATS, [*parties, "?", "?"], strict=False)},
        file=path,
        map=path.with_suffix(".toml").name,
        stem=path.stem,
        game=kind,
        others=" ".join(", ".join(others).split()) or "none",
        columns="\n".join(
            f"{meaning} = {json.dumps(found[meaning])}{_listed(words[meaning]) if meaning in _WORDED else ''}"
            if meaning in found
            else f'# {meaning} = "?"'
            for meaning in _COLUMNS
            if meaning not in _AMOUNTS
        ),
        offer=f"price = {json.dumps(found['price'])}" if kind == "bargaining" else issues,
        parameters=parameters,
    )
    return {folder / path.with_suffix(".toml").name: text}


def _highest_cents(amounts: Iterable[str]) -> int:
    """Return the largest of the amounts that can be read, in cents, but at least 10,000."""
    from negolab.formats.spreadsheet import read_number

    cents = [10000]
    for text in amounts:
        with suppress(ValueError):
            cents.append(ceil(100 * Fraction(read_number(text))))
    return max(cents)


def _words(cells: pd.Series[str]) -> list[str]:
    """Return the distinct words in a column, as each is first written."""
    filled = cells[cells != ""]
    return filled[~filled.map(fold).duplicated()].tolist()


def _listed(words: list[str]) -> str:
    """Write the first words of a column as a comment."""
    more = ", ..." * (len(words) > _MAX_WORDS)
    return f"   # {json.dumps(words[:_MAX_WORDS], ensure_ascii=False)[1:-1]}{more}"


def _read(file: str) -> str:
    return _HERE.joinpath(file).read_text("utf-8")


SCAFFOLDS: dict[str, Callable[[str, Path, str], Files]] = {
    "game": partial(_module, "ultimatum"),
    "player": partial(_module, "haggler"),
    "scenario": partial(_file, "scenario"),
    "codebook": partial(_file, "codebook"),
    "sweep": _sweep,
    "tournament": partial(_file, "tournament"),
    "study": _study,
    "import-map": _import_map,
}
