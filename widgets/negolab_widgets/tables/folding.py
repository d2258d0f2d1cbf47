"""A part of the table that a button shows and hides."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as w

from negolab_widgets.tables.controls import Controls, column


class Folding:
    """A button that shows and hides something."""

    def __init__(
        self, controls: Controls, text: str, inner: w.Widget, on_open: Callable[[], None] | None = None
    ) -> None:
        self._text, self._inner, self._on_open = text, inner, on_open
        self._button = controls.button("", self._turn, cls="nl-link")
        self.widget = column(self._button, inner)
        self._show(False)

    @property
    def is_open(self) -> bool:
        return bool(self._inner.layout.display != "none")

    def _turn(self) -> None:
        self._show(not self.is_open)
        if self.is_open and self._on_open is not None:
            self._on_open()

    def _show(self, is_open: bool) -> None:
        self._inner.layout.display = None if is_open else "none"
        self._button.description = ("Hide: " if is_open else "Show: ") + self._text
