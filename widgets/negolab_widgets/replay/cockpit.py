"""The cockpit: the bar of steps, what just happened, the payoff plane and the moves in words, all linked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.resources import files

import anywidget
import traitlets as t

from negolab.catalog import AnyGame
from negolab_widgets.faults import FaultGuard
from negolab_widgets.html import Markup, element
from negolab_widgets.replay.cards import render_step
from negolab_widgets.replay.plane import Course, Surroundings, render_legend, render_plane, render_strip
from negolab_widgets.replay.steps import Step, describe_stakes


class Cockpit(anywidget.AnyWidget):
    """Step through a match.

    The page moves by itself: it has all moves and drawings, and reports the number of the step. What a browser sends is
    clipped to the range.

    Args:
        moved: Called with the step when a different one is shown.
        guard: Runs the work that follows a move.

    Attributes:
        step: Number of the step that is shown, from 1 to `count`.
        steps: All steps.
    """

    _esm = files("negolab_widgets.replay").joinpath("cockpit.js").read_text("utf-8")
    step = t.CInt(1).tag(sync=True)
    count = t.CInt(1).tag(sync=True)
    moves = t.Unicode("").tag(sync=True)
    plane = t.Unicode("").tag(sync=True)
    strip = t.Unicode("").tag(sync=True)
    moment = t.Unicode("").tag(sync=True)

    def __init__(self, moved: Callable[[Step], None], guard: FaultGuard) -> None:
        super().__init__()
        self._on_moved = moved
        self.steps: Sequence[Step] = ()
        self.observe(lambda _: guard(self._follow), "step")

    @t.validate("step")  # type: ignore[untyped-decorator]
    def _within(self, proposal: t.Bunch) -> int:
        return max(1, min(int(proposal.value), max(1, len(self.steps))))

    @property
    def current(self) -> Step:
        """The step that is shown."""
        number: int = self.step
        return self.steps[number - 1]

    def show(
        self, steps: Sequence[Step], game: AnyGame, drawn: tuple[Course, Surroundings] | None = None, *, at: int = 1
    ) -> None:
        """Show these steps of a match of `game`, starting at step `at`; `drawn` describes the plane (None: no
        plane)."""
        self.steps, self._game = steps, game
        with self.hold_sync():
            for name, value in draw_cockpit(steps, game, drawn).items():
                setattr(self, name, value)
            before, self.step = self.step, at
            if self.step == before:  # otherwise the change has already been handled
                self._follow()

    def _follow(self) -> None:
        if self.steps:
            self.moment = render_step(self.current, self._game)
            self._on_moved(self.current)


def draw_cockpit(
    steps: Sequence[Step], game: AnyGame, drawn: tuple[Course, Surroundings] | None
) -> dict[str, int | str]:
    """Return what a cockpit shows of a match at any step, by the names of its traits; arguments as in `show`."""
    return {
        "count": len(steps),
        "moves": render_moves(steps, game),
        "plane": render_plane({"": drawn[0]}, drawn[1]) + render_legend(drawn[1]) if drawn else "",
        "strip": render_strip(*drawn) if drawn else "",
    }


def render_moves(steps: Sequence[Step], game: AnyGame) -> Markup:
    """Render the list of moves, each a button for its step."""
    return element("ol", *(_render_move(number, step, game) for number, step in enumerate(steps, 1)))


def _render_move(number: int, step: Step, game: AnyGame) -> Markup:
    stakes = describe_stakes(step, game)
    paper = "nl-bad" if step.rejection else f"nl-move-{(step.seat or 'none').lower()}"
    colon = element("span", ": ", cls="nl-hidden")
    pays = [element("span", colon, stakes, cls="nl-move-stakes nl-number")] if stakes else []
    words = element("span", element("span", step.words, cls="nl-move-words"), *pays, cls="nl-move-text")
    return element(
        "li",
        element(
            "button",
            element("span", str(number), cls="nl-move-number nl-number"),
            words,
            type="button",
            cls=f"nl-move {paper}",
            data_step=str(number),
        ),
    )
