"""Numbers and ends as people read them: on screens and in reports, transcripts and the terminal.

Prompts do not go through here, because each game fixes its own. Money is rounded half up, as in the rules.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from math import isfinite
from typing import Any
from unicodedata import category

from typing_extensions import override

from negolab.money import round_half_up

MINUS, DASH = "\N{MINUS SIGN}", "\N{EN DASH}"

END_WORDS: Mapping[str, str] = {
    "AGREED": "agreed",
    "NO_DEAL": "no deal",
    "OUT_OF_TIME": "out of time",
    "FORFEIT": "forfeit",
    "ABORTED": "stopped",
}
"""Words for the ends of matches."""


def escape_control(text: str) -> str:
    """Escape control characters except line breaks, so that other people's text cannot move the cursor or set a
    title."""
    return "".join(c if c.isprintable() or c == "\n" or category(c) == "Zs" else ascii(c)[1:-1] for c in text)


class LogFormatter(logging.Formatter):
    """Indent what follows the first line of an entry, so that text in a traceback cannot pass for another entry."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        return escape_control(super().format(record)).replace("\n", "\n  ")


def format_end(end: str | None) -> str:
    """Return the words for an end; None is "not over", and an end in a run's own word ("timed out") is unchanged.

    >>> format_end("OUT_OF_TIME"), format_end(None)
    ('out of time', 'not over')
    """
    return "not over" if end is None else END_WORDS.get(end, end)


def format_model(note: Mapping[str, Any]) -> str:
    """Describe how a model was set up, from a record's note about it: its label, persona and settings.

    >>> format_model({"label": "tough", "form": "free", "parameters": {"temperature": 0.7}})
    'tough, form=free, temperature=0.7'
    """
    persona = note.get("persona")
    parts = [note.get("label"), f"persona {persona['file']} ({persona['sha256'][:8]})" if persona else None]
    shown = {name: note[name] for name in ("form", "chat", "talk", "history", "strategy") if name in note}
    parts += [f"{name}={value}" for name, value in (shown | note.get("parameters", {})).items()]
    return ", ".join(filter(None, parts))


def first_paragraph(text: str | None) -> str:
    """Return the first paragraph of a docstring, on one line."""
    return " ".join((text or "").split("\n\n")[0].split())


def docstring_entry(text: str | None, name: str) -> str:
    """Return what a docstring says about a name in a line `name: meaning`, on one line; "" if there is none."""
    found = re.search(rf"^( +){re.escape(name)}: (.*(?:\n\1 +.*)*)", text or "", re.MULTILINE)
    return " ".join(found[2].split()) if found else ""


def label(name: str) -> str:
    """Turn a field's name into words."""
    return name.replace("_", " ")


def parse_number(text: str) -> float | None:
    """Read a finite number; None for any other text.

    >>> parse_number("5.0"), parse_number("five"), parse_number("nan")
    (5.0, None, None)
    """
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None


def is_grid(value: Any) -> bool:
    """Return True for a mapping of mappings, which is shown as rows and columns."""
    return isinstance(value, Mapping) and bool(value) and all(isinstance(row, Mapping) for row in value.values())


def grid_columns(grid: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the columns that any row of a grid has, in order of first appearance."""
    return list(dict.fromkeys(column for row in grid.values() for column in row))


def counted(number: int, noun: str) -> str:
    """Write a number of things with the noun for them.

    >>> counted(1, "game"), counted(1200, "match")
    ('1 game', '1,200 matches')
    """
    return f"{number:,} {noun}{'' if number == 1 else 'es' if noun.endswith('ch') else 's'}"


DISPLAY_UNITS: Mapping[str, tuple[str, int]] = {"cents": ("dollars", 100)}
"""Units of payoffs that people read in a larger unit: the larger unit's name, and how many make up one."""


def display_unit(unit: str) -> tuple[str, int]:
    """Return the unit in which people read amounts counted in `unit`, and how many of `unit` make up one.

    >>> display_unit("cents"), display_unit("points")
    (('dollars', 100), ('points', 1))
    """
    return DISPLAY_UNITS.get(unit, (unit, 1))


def format_number(value: float, decimals: int = 2) -> str:
    """Write a number with thousands separators and at most `decimals` decimals; a dash for NaN.

    >>> format_number(-1234.5), format_number(7), format_number(0.004)
    ('−1,234.5', '7', '0')
    """
    if value != value:
        return DASH
    text = f"{value:,}" if isinstance(value, int) else f"{round(value, decimals):,.{decimals}f}"
    return _signed(text.rstrip("0").rstrip(".") if "." in text else text)


def format_significant(value: float, digits: int = 3) -> str:
    """Write an estimate with `digits` significant digits, but never fewer than all before the decimal point.

    >>> format_significant(-1234.5), format_significant(12.345), format_significant(0.00123)
    ('−1,234', '12.3', '0.00123')
    """
    if value != value:
        return DASH
    whole = abs(value) >= 10 ** (digits - 1)
    return _signed(f"{value:,.0f}" if whole else f"{round(value, 12) + 0:.{digits}g}")


def format_money(cents: float) -> str:
    """Write cents as dollars.

    >>> format_money(-1000), format_money(123456.5)
    ('−$10.00', '$1,234.57')
    """
    whole = round_half_up(cents)
    return f"{MINUS if whole < 0 else ''}${abs(whole) / 100:,.2f}"


def format_amount(amount: float | None, unit: str) -> str:
    """Write an amount with its unit: money in dollars, anything else with its word; None is "nothing".

    >>> format_amount(-1000, "cents"), format_amount(1200.5, "points"), format_amount(None, "points")
    ('−$10.00', '1,200.5 points', 'nothing')
    """
    if amount is None:
        return "nothing"
    return format_money(amount) if unit == "cents" else f"{format_number(amount)} {unit}"


def format_estimate(amount: float, unit: str) -> str:
    """Write an estimate of an amount whose unit is in the column's header; a dash for NaN.

    >>> format_estimate(968.75, "cents"), format_estimate(1234.56, "points")
    ('$9.69', '1,235')
    """
    return format_money(amount) if unit == "cents" and amount == amount else format_significant(amount, 4)


def format_interval(low: float, high: float, digits: int = 5) -> str:
    """Write a 95% interval as the end of a sentence; "" if it is not known (NaN)."""
    known = low == low
    return f", 95% interval {format_significant(low, digits)} to {format_significant(high, digits)}" if known else ""


FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""Characters that begin a formula in some spreadsheet programs."""

LONGEST_QUOTE = 80
"""Largest number of characters quoted from what somebody said, in a line of a list."""


def format_quote(text: str) -> str:
    """Quote the beginning of what somebody said, on one line.

    >>> format_quote("Let us\\nshare.")
    '“Let us share.”'
    """
    words = " ".join(text.split())
    cut = words if len(words) <= LONGEST_QUOTE else f"{words[: LONGEST_QUOTE - 1]}\N{HORIZONTAL ELLIPSIS}"
    return f"\N{LEFT DOUBLE QUOTATION MARK}{cut}\N{RIGHT DOUBLE QUOTATION MARK}"


def format_terms(terms: Mapping[str, Any]) -> str:
    """Write the terms of a proposal, as `Game.terms` returns them, as the end of a sentence.

    >>> format_terms({"price_cents": 5250}), format_terms({"package": ["A19", "A24"]})
    ('$52.50', '2 items')
    >>> format_terms({"package": {"coins": 7, "base pay": "$96,000"}})
    '7 coins, base pay $96,000'
    """
    price = [format_money(terms["price_cents"])] if terms.get("price_cents") is not None else []
    return ", ".join(price + ([_format_package(terms["package"])] if terms.get("package") is not None else []))


def _format_package(package: Any) -> str:
    if isinstance(package, Mapping):
        return ", ".join(_format_part(str(name), value) for name, value in package.items())
    if isinstance(package, list | tuple | set | frozenset):
        return f"{len(package)} item{'' if len(package) == 1 else 's'}"
    return str(package)


def _format_part(name: str, value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{name} {_format_package(value) or 'nothing'}"
    return f"{format_number(value)} {name}" if isinstance(value, int | float) else f"{name} {value}"


def _signed(text: str) -> str:
    return text.replace("-", MINUS) if text.strip("-0.,") else text.lstrip("-")
