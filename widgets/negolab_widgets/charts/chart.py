"""The widget that shows one figure, and the figure as plain data."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import ipywidgets as w

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MIME = "application/vnd.plotly.v1+json"
CONFIG = {"displayModeBar": False, "responsive": True, "typesetMath": False}
"""No tool bar; the width of the page; and no `$` in a text is taken for mathematics."""


_AREA = ".nl-chart .jp-OutputArea"
_STYLE = f"<style>{_AREA}, {_AREA}-child, {_AREA}-output {{ height: 100%; margin: 0; padding: 0; }}</style>"
"""A figure as wide as its place is also as high as it: without this, its place has no height."""


class Chart(w.Output):  # type: ignore[misc]
    """A place of fixed height for one figure; nothing on the page moves when the figure changes."""

    def __init__(self, figure: Figure | None = None, *, height: int = 320) -> None:
        super().__init__()
        self.layout.height, self.layout.width, self.layout.overflow = f"{height}px", "100%", "hidden"
        self._height = height
        self.add_class("nl-chart")
        self.show(figure)

    def show(self, figure: Figure | None, *, height: int | None = None) -> None:
        """Replace what is shown; None: an empty place. `height`: another from now on."""
        if height is not None and height != self._height:
            self._height = height
            self.layout.height = f"{height}px"
        if figure is None:
            self.outputs: tuple[dict[str, Any], ...] = ()
            return
        # The height is set in what is sent: the caller's figure stays as it was.
        bundle = mime(figure)
        bundle[MIME]["layout"]["height"] = self._height
        self.outputs = (_display(bundle), _display({"text/html": _STYLE}))


def mime(figure: Figure) -> dict[str, Any]:
    """The figure as one display bundle, plain JSON, drawn by the page's own plotly without network."""
    return {MIME: {**json.loads(figure.to_json()), "config": dict(CONFIG)}}


def _display(bundle: dict[str, Any]) -> dict[str, Any]:
    return {"output_type": "display_data", "data": bundle, "metadata": {}}
