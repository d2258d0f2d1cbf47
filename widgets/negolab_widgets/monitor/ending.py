"""How an experimenter ends the study for somebody: with a reason, in two steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import ipywidgets as w

from negolab.people.room import Unheard
from negolab.people.status import Person
from negolab_widgets import html
from negolab_widgets.monitor.watched import standing
from negolab_widgets.tables.controls import framed, row, shown_if, warning

NOBODY = ("(choose)", 0)


class Ending(w.VBox):  # type: ignore[misc]
    """`end(number, reason)` is called once both steps were taken; its `Unheard` says why nothing was done."""

    def __init__(self, end: Callable[[int, str], None]) -> None:
        self._end = end
        self._meant: tuple[int, str] | None = None
        self._who = w.Dropdown(description="Participant", options=[NOBODY], value=0)
        self._why = w.Text(
            description="Reason (it is kept)", placeholder="why the study ends for them", continuous_update=False
        )
        ask = w.Button(description="End for this participant")
        yes, no = w.Button(description="Yes, end it"), w.Button(description="No, go on")
        self._said, self._notice = w.HTML(), w.HTML(warning(""))
        self._sure = framed(self._said, row(yes, no))
        title = w.HTML(html.element("h2", "End the study for somebody", cls="nl-heading"))
        fields = w.Box([self._who, self._why])
        fields.add_class("nl-form")
        super().__init__([framed(title, fields, ask, self._sure, self._notice)])
        ask.on_click(lambda _: self._ask())
        no.on_click(lambda _: self._close(""))
        yes.on_click(lambda _: self._do())
        self._close("")

    def offer(self, people: Sequence[Person]) -> None:
        """Whom it can end for; who is chosen stays chosen."""
        numbers = [person.number for person in people]
        options = [NOBODY, *((f"{person.number}, {standing(person)}", person.number) for person in people)]
        if list(self._who.options) != options:
            chosen = self._who.value
            with self._who.hold_sync():
                self._who.options = options
                self._who.value = chosen if chosen in numbers else 0

    def _ask(self) -> None:
        number, why = int(self._who.value or 0), self._why.value.strip()
        if not number:
            self._close("Choose a participant.")
        elif not why:
            self._close("Give a reason: it is kept.")
        else:
            self._close("")
            self._meant = number, why
            said = f"End the study for participant {number}? The match they play ends too. The reason:"
            self._said.value = html.element("div", html.element("p", said), html.said(why), role="status")
            shown_if(self._sure, True)

    def _do(self) -> None:
        """A forged press of what is not shown finds nothing that was meant."""
        if self._meant is None:
            return
        number, why = self._meant
        try:
            self._end(number, why)
        except Unheard as refused:
            self._close(str(refused))
        else:
            self._why.value = ""
            self._close("")
            self._notice.value = html.element("div", f"Ended for participant {number}.", role="status")

    def _close(self, said: str) -> None:
        self._meant = None
        self._notice.value = warning(said)
        shown_if(self._sure, False)
