"""Code what was said, by keyboard on one screen: one text at a time, with what was said before it, and undo."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import anywidget
import msgspec
import traitlets as t

from negolab.coding.codebook import read_codebook
from negolab.coding.units import Place, Reading, all_readings, check_kept, drawn_order, keep, latest, units
from negolab_widgets.faults import FaultGuard
from negolab_widgets.page import Page


class CodingScreen(anywidget.AnyWidget):
    """A coder's screen: the page draws it, marks codes by itself, and reports marks and undos."""

    _esm = files("negolab_widgets").joinpath("coder.js").read_text("utf-8")
    codes = t.List().tag(sync=True)
    unit = t.Dict().tag(sync=True)


class Coder(Page):
    """Code what was said in records, blind. Each answer is saved immediately; run it again to resume.

    Args:
        source: Records to code: a file, or the folder of a run or a sweep.
        book: The codebook, a TOML file.
        coder: Name of the coder.

    Raises:
        FileNotFoundError: There is neither a file nor a folder at `source`.
        ValueError: The codebook is not valid, or nobody said anything.
    """

    def __init__(self, source: Path | str, book: Path | str, coder: str) -> None:
        self._source, (self._name, self._book), self._coder = Path(source), read_codebook(Path(book)), coder
        found = units(self._source, self._book.unit)
        self._places = {unit.id: place for place, unit in found.items()}
        self._order = drawn_order(found.values(), coder)
        told = [{"name": name, **msgspec.to_builtins(code)} for name, code in self._book.codes.items()]
        self._screen, self._guard = CodingScreen(codes=told), FaultGuard("coding")
        self._screen.on_msg(lambda _, said, __: self._guard(self._take, said))
        super().__init__([self._screen, self._guard.notice], self._guard.show)
        self._kept = all_readings(self._source, (coder, self._name, self._book))
        self._show({})

    def _take(self, said: dict[str, Any]) -> None:
        """Save the marks of a unit, or undo the last answer."""
        check_kept(self._source, self._kept)
        own = latest(self._source, self._name).get(self._coder, {})
        undone = "undo" in said
        place = max(own, key=lambda at: own[at].at) if undone else self._places[said["id"]]
        codes = {} if undone else self._book.read({name: str(mark) for name, mark in said["marks"].items()})
        self._kept.append(Reading(book=self._name, coder=self._coder, place=place, codes=codes))
        keep(self._source, self._kept[-1:])
        self._show({place: own[place].codes} if undone else {})

    def _show(self, undone: Mapping[Place, dict[str, int]]) -> None:
        """Show the next unit, with its marks if its answer was undone."""
        own = latest(self._source, self._name).get(self._coder, {})
        left = [unit for unit in self._order if self._places[unit.id] not in own]
        shown = {**left[0]._asdict(), "marks": undone.get(self._places[left[0].id], {})} if left else {}
        self._screen.unit = {"left": len(left), "of": len(self._order), **shown}
