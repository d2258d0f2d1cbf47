"""The base class of every page, and the environment variables by which a page finds its data."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from typing import Any

import anywidget
import ipywidgets as w
import traitlets as t
from IPython.display import HTML, DisplayHandle, display

from negolab import catalog
from negolab.studies.texts import table_texts, texts
from negolab_widgets import html
from negolab_widgets.fields import Field

log = logging.getLogger("negolab.widgets")


class Shield(anywidget.AnyWidget):
    """Keep JupyterLab's shortcuts away from the page, and send each button press with what the page shows at that
    moment.

    Without it, an arrow key on a slider would unfold a heading, a letter typed on a button could delete the cell, and,
    on a slow connection, a press would overtake what was typed before it.

    Args:
        page: The page that contains it.
        refuse: Shows why a press was not carried out.

    Attributes:
        turn: Number of what the page currently shows. A press with an older number is refused, because it was meant for
            something else.
    """

    _esm = files("negolab_widgets").joinpath("shield.js").read_text("utf-8")
    too_long = t.Unicode().tag(sync=True)
    root = t.Unicode().tag(sync=True)
    turn = t.Int(0).tag(sync=True)

    def __init__(self, page: w.Widget, refuse: Callable[[str], None]) -> None:
        super().__init__(layout={"display": "none"})
        self._page, self._refuse = page, refuse
        self.set_texts()
        self.on_msg(lambda _, said, __: self._press(said))

    def set_texts(self) -> None:
        """Load the texts again, which a warm kernel learns late."""
        self.too_long = table_texts.FIELD_TOO_LONG

    def _press(self, said: Any) -> None:
        """Give the fields what the page shows, then press the button."""
        pressed, fields = said["press"], dict(said["fields"])
        widgets = {widget.model_id: widget for widget in _descend(self._page)}
        button = widgets.get(pressed)
        if not isinstance(button, w.Button):
            return  # it is no longer shown
        known = [(widgets[id], value) for id, value in fields.items() if id in widgets]
        outdated = next((one for one, turn in known if isinstance(one, Shield) and turn != one.turn), None)
        try:
            for widget, value in known if outdated is None else ():
                take(widget, value)
        except (ValueError, t.TraitError):
            outdated = self
        if outdated is None:
            button.click()
        else:
            outdated._refuse(texts.TABLE_CHANGED)

    def focus(self) -> None:
        """Scroll to the top of the page and focus its title, after the focused element was removed."""
        self.send({"focus": "title"})

    def reveal(self, selector: str) -> None:
        """Scroll to the first part of the page that matches, as soon as it is drawn."""
        self.send({"reveal": selector})


def take(widget: w.Widget, value: Any) -> None:
    """Give a field the value that the page shows in it (for a list, the selected label or labels).

    Raises:
        ValueError, TraitError: The field has changed since then and cannot hold the value.
    """
    if isinstance(widget, Field):
        widget.take(value)
    elif "_options_labels" in widget.keys:
        find = widget._options_labels.index
        index = [find(label) for label in value] if isinstance(value, list) else None if value is None else find(value)
        widget.set_state({"index": index})
    elif "disabled" in widget.keys and "value" in widget.keys:
        widget.set_state({"value": value})


def _descend(widget: w.Widget) -> Iterator[w.Widget]:
    yield widget
    for child in getattr(widget, "children", ()):
        yield from _descend(child)


class Page(w.VBox):  # type: ignore[misc]
    """A page: the style sheet, the shield, and its content.

    Args:
        children: The page's content.
        refuse: Shows why a press was not carried out (default: log it).
    """

    _keeping: DisplayHandle | None = None

    def __init__(self, children: Sequence[w.Widget], refuse: Callable[[str], None] = log.warning) -> None:
        self._shield = Shield(self, refuse)
        super().__init__([w.HTML(html.theme()), self._shield, *children])
        self.add_class("nl-page")
        self._shield.root = f"IPY_MODEL_{self.model_id}"

    def kept(self) -> html.Markup:
        """Return what a saved notebook keeps of the page: its current content, without the controls."""
        return html.join(part for child in self.children[1:] for part in _shown(child))

    def _ipython_display_(self) -> None:
        # The style sheet shows the kept content only where no kernel draws the page.
        if SERVED not in os.environ:
            self._keeping = display(self._kept_html(), display_id=True)
        display({**self._repr_mimebundle_(), "text/plain": ""}, raw=True)

    def _kept_html(self) -> HTML:
        return HTML(html.page(self.kept(), cls="nl-kept"))

    def keep(self) -> None:
        """Update what a saved notebook keeps of the page."""
        if self._keeping is not None:
            self._keeping.update(self._kept_html())


def _shown(widget: w.Widget) -> Iterator[html.Markup]:
    """Yield the HTML and the figures of a page that are in view."""
    if widget.layout.display == "none":
        return
    if isinstance(widget, html.StableHTML | w.HTML):
        yield html.Markup(widget.value)
    elif hasattr(widget, "kept"):
        yield widget.kept()
    for child in getattr(widget, "children", ()):
        yield from _shown(child)


_ARRIVAL_ESM = "export default { render({ model }) { model.send({ here: true }); } };"


class Arrival(anywidget.AnyWidget):
    """Call `came` whenever a browser draws the page, because a kernel started in advance has its page ready long
    before."""

    _esm = _ARRIVAL_ESM

    def __init__(self, came: Callable[[], None]) -> None:
        super().__init__(layout={"display": "none"})
        self.on_msg(lambda *_: came())


SERVED = "NEGOLAB_SERVED"
"""Set where a page is served rather than shown in a notebook that could be saved."""

OUT = "NEGOLAB_OUT"
"""The folder for records of matches played."""

SOURCE = "NEGOLAB_RECORDS"
"""The file or folder that a replay opens."""

MODULES = "NEGOLAB_MODULES"
"""Modules, files and folders of the researcher's own games and players, separated by `os.pathsep`."""


def import_modules() -> None:
    """Import the researcher's own modules that the environment names; raise ValueError if one cannot be imported."""
    for module in filter(None, os.environ.get(MODULES, "").split(os.pathsep)):
        catalog.game_module(module)


SCENARIOS = "NEGOLAB_SCENARIOS"
"""Scenario files that the lobby offers, separated by `os.pathsep`."""


def scenario_files() -> list[str]:
    """Return the scenario files that the environment names."""
    return list(filter(None, os.environ.get(SCENARIOS, "").split(os.pathsep)))


SEATS = "NEGOLAB_SEATS"
"""The host's socket for participants' pages."""

ADMIN = "NEGOLAB_ADMIN"
"""The host's socket for the researcher's pages."""

SWEEP = "NEGOLAB_SWEEP"
"""The folder of the sweep that the results page shows."""
