"""Lay out widgets, give them classes of the theme, and show or hide them."""

from __future__ import annotations

from typing import Any

import ipywidgets as w

from negolab_widgets import html


def warning(text: str) -> html.Markup:
    """Render a refusal or a fault, read aloud when it appears; its place is kept while it is empty."""
    return html.element("div", text, cls="nl-notice", role="alert")


def styled(widget: Any, *classes: str) -> Any:
    """Give a widget classes of the theme, and return it."""
    for name in classes:
        widget.add_class(name)
    return widget


def box(*children: w.Widget, cls: str) -> w.Box:
    """Put widgets into a box of these classes, with spaces between."""
    return styled(w.Box(list(children)), *cls.split())


def column(*children: w.Widget, cls: str = "") -> w.VBox:
    """Put widgets below each other, with space between them."""
    return styled(w.VBox(list(children)), "nl-column", *cls.split())


def row(*children: w.Widget, cls: str = "") -> w.Box:
    """Put widgets beside each other, wrapping where there is no room."""
    return box(*children, cls=f"nl-row {cls}")


def framed(*children: w.Widget, cls: str = "") -> w.VBox:
    """Put controls that belong together on a panel."""
    return column(*children, cls=f"nl-panel {cls}")


def set_visible(widget: w.Widget, visible: bool) -> None:
    """Show a widget or take it off the page."""
    widget.layout.display = None if visible else "none"


def is_visible(widget: w.Widget) -> bool:
    """Return True unless a widget was taken off the page."""
    return bool(widget.layout.display != "none")


def show(place: w.HTML, drawn: html.Markup | str) -> None:
    """Show a drawing in its place; without one the place is off the page."""
    place.value = drawn
    set_visible(place, bool(drawn))
