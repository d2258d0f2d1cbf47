"""A whole number to type or to step through by buttons."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as w

from negolab_widgets.tables.controls import Controls, row

MOST = 10**9 - 1


class Stepper:
    """A number from 0 to `most` with a button on either side; `what` completes "one more ...". Each key stroke is sent,
    so that no press on another control comes before it."""

    def __init__(self, controls: Controls, label: str, what: str, changed: Callable[[], None]) -> None:
        self.field = w.BoundedIntText(description=label, min=0, max=MOST, continuous_update=True)
        self.less = controls.button("\N{MINUS SIGN}", lambda: self._step(-1), cls="nl-step", hint=f"one less {what}")
        self.more = controls.button("+", lambda: self._step(1), cls="nl-step", hint=f"one more {what}")
        controls.on_change(self.field, changed)
        self.widget = row(self.less, self.field, self.more)
        self.widget.add_class("nl-stepper")

    @property
    def value(self) -> int:
        return int(self.field.value)

    def put(self, value: int) -> None:
        """Show this number."""
        self.field.value = value

    def draw(self, *, most: int, asked: bool) -> None:
        """At most `most` from now on."""
        top = max(0, min(most, MOST))
        # All at once: a page may have sent ends that the new ones do not meet.
        with self.field.hold_trait_notifications():
            self.field.min, self.field.max = 0, top
            self.field.value = max(0, min(int(self.field.value), top))
        for control in (self.field, self.less, self.more):
            control.disabled = not asked

    def _step(self, by: int) -> None:
        self.field.value = min(self.field.max, max(0, self.value + by))
