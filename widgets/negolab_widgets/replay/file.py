"""A replay as one file: matches to step through in a browser, without a network or a kernel."""

from __future__ import annotations

import base64
import gzip
import json
import re
import sys
from collections.abc import Iterable, Sequence
from importlib.resources import files
from itertools import pairwise, zip_longest
from typing import Any, TypeVar

from tqdm import tqdm

from negolab.formatting import format_end
from negolab.game import SEATS, Seat
from negolab.record import Record, reading
from negolab_widgets.html import theme
from negolab_widgets.replay.cards import render_step
from negolab_widgets.replay.cockpit import draw_cockpit
from negolab_widgets.replay.plane import course, surroundings
from negolab_widgets.replay.replay import render_record_head, render_view_head
from negolab_widgets.replay.steps import format_pay, record_steps, view_steps
from negolab_widgets.tables.seats import render_seats

T = TypeVar("T")
_FOLDER = files("negolab_widgets.replay")
_CUT = re.compile("</(?:div|line|svg)>")
"""Views are cut after these texts, because most parts of what is seen at a step are the same as at the previous
step."""


def replay_page(records: Sequence[Record], seats: Sequence[Seat] = ()) -> str:
    """Return matches as a standalone page, with a cockpit for each and what the seats saw at every step.

    A link to the page that ends in # and a match's ID opens that match.

    Args:
        records: The matches, in the order of the page.
        seats: For each match, the seat whose view is shown: only what it saw and said (empty: everything).

    Raises:
        ValueError: A record cannot be replayed.
    """
    parts: dict[str, int] = {}
    views = enumerate(zip_longest(_shown(records, "match"), seats), 1)
    matches = []
    for number, (record, seat) in views:
        with reading(record):
            matches.append(_draw_match(f"{number} of {len(records)}", record, seat, parts))
    drawn = json.dumps({"matches": matches, "parts": list(parts)}, separators=(",", ":")).encode()
    packed = base64.b64encode(gzip.compress(drawn, mtime=0)).decode()
    script = _FOLDER.joinpath("cockpit.js").read_text("utf-8").replace("export default", "const cockpit =")
    script += _FOLDER.joinpath("file.js").read_text("utf-8")
    page = _FOLDER.joinpath("file.html").read_text("utf-8")
    return page.format(style=theme(), matches=packed, script=script)


def _draw_match(number: str, record: Record, seat: Seat | None, parts: dict[str, int]) -> dict[str, Any]:
    """Return the drawings of a match; what is shown at a step is a list of indices in `parts`."""
    if seat is None:
        game, steps, head = record.game, record_steps(record), render_record_head(record)
        made = course(record, steps)
        drawn = (made, surroundings(record)) if made.points else None
    else:
        view = record.seen_by(seat)
        game, steps, head, drawn = view.told, view_steps(view), render_view_head(view), None
    return {
        "id": record.id if seat is None else "",
        "name": f"{number}: {_match_name(record, seat)}",
        "head": head,
        **draw_cockpit(steps, game, drawn),
        "moments": [_cut(render_step(step, game), parts) for step in steps],
        "seats": [_cut(render_seats(record.game, step.seen), parts) for step in _shown(steps, "step")],
    }


def _shown(work: Sequence[T], unit: str) -> Iterable[T]:
    """Show the progress of longer work on a terminal."""
    return tqdm(work, desc="replay", unit=unit, file=sys.stderr, delay=1, leave=False, disable=None)


def _cut(text: str, parts: dict[str, int]) -> list[int]:
    ends = [0, *(found.end() for found in _CUT.finditer(text)), len(text)]
    return [parts.setdefault(text[start:end], len(parts)) for start, end in pairwise(ends)]


def _match_name(record: Record, seat: Seat | None) -> str:
    """Return who played, how it ended and what it paid; for one seat's view, nothing about the other seat."""
    header, game = record.header, record.game
    seats = SEATS if seat is None else (seat,)
    paid = (f"{header.players.get(one, '?')} {format_pay(record.payoffs[one], game)}" for one in seats)
    return f"{header.game}, {format_end(record.end)}: {', '.join(paid)}"
