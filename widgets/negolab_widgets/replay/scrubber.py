"""One match step by step: a slider, buttons and a list of steps, and each seat's table at that moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import ipywidgets as w

from negolab.catalog import AnyGame
from negolab.events import Dealt, Ended, Event, Forfeited, Rejected, Replied, Stepped
from negolab.game import SEATS, Observation, Reply, Seat, observe
from negolab.record import Record, SeatOutcome, SeatRecord, states
from negolab.studies.texts import MATCH_ENDS
from negolab_widgets import html
from negolab_widgets.faults import FaultGuard
from negolab_widgets.html import Markup, details, element, join, preformatted
from negolab_widgets.tables import table
from negolab_widgets.tables.controls import column, row
from negolab_widgets.tables.inputs import Slider

TOKEN_NAMES = {
    "input": "tokens in",
    "cached": "of them cached",
    "output": "tokens out",
    "reasoning": "of them reasoning",
}
_NOT_TOKENS = ("queued", "latency", "attempts", "finish", "fingerprint", "replayed")


def reply_details(reply: Reply) -> Markup:
    """Render how a reply was made: facts in one line; a model's prompt, raw answer and reasoning folded below."""
    parts = {
        "What the model was told": reply.asked,
        "What it wrote": reply.raw,
        "Its reasoning, seen by nobody else": reply.reasoning,
    }
    return join(
        [_facts_line(reply), *(details(title, scrollable(title, text)) for title, text in parts.items() if text)]
    )


def scrollable(title: str, text: str) -> Markup:
    """Render a text that may be long, so that the keyboard can go into it and scroll it."""
    return element("div", preformatted(text), cls="nl-scrolled", tabindex="0", role="group", **{"aria-label": title})


def _facts_line(reply: Reply) -> Markup:
    facts = [*_source_facts(reply), *_time_facts(reply), *_token_facts(reply.usage or {}), *_cost_facts(reply)]
    return element("div", join([" · ".join(facts)]), cls="nl-who") if facts else Markup("")


def _source_facts(reply: Reply) -> list[str]:
    usage = reply.usage or {}
    found = [reply.model or "", f"by {reply.via}" if reply.via else ""]
    found.append("" if usage.get("finish") in (None, "stop") else f"stopped by {usage['finish']}")
    found.append("kept from an earlier run" if usage.get("replayed") else "")
    return [fact for fact in found if fact]


def _time_facts(reply: Reply) -> list[str]:
    usage = reply.usage or {}
    if "latency" in usage:
        found = [f"{usage['latency']:.2f} s to answer"]
        found += [f"{usage['queued']:.2f} s in line"] if usage.get("queued", 0) >= 0.005 else []
        return found + ([f"{usage['attempts']} attempts"] if usage.get("attempts", 1) > 1 else [])
    if reply.asked_at is not None and reply.answered_at is not None:
        return [f"{reply.answered_at - reply.asked_at:.2f} s"]
    return []


def _token_facts(usage: dict[str, Any], prefix: str = "") -> list[str]:
    """Format token counts, also as other providers nest and name them."""
    found: list[str] = []
    for name, value in usage.items():
        if isinstance(value, dict):
            found += _token_facts(value, f"{prefix}{name} ")
        elif name not in _NOT_TOKENS and type(value) is int and value:
            found.append(f"{value:,} {prefix}{TOKEN_NAMES.get(name, name.replace('_', ' '))}")
    return found


def _cost_facts(reply: Reply) -> list[str]:
    if reply.cost is not None:
        return [f"${reply.cost:.4f}" if reply.cost >= 0.001 or not reply.cost else f"${reply.cost:.6f}"]
    return ["cost unknown"] if reply.via == "model" else []


Seen = Observation[Any, Any]
Entry = Event | SeatOutcome | Seen


class Step(NamedTuple):
    """One event (or one entry of a seat's view), what the seats saw after it, and how many events of the record have
    happened by then (0 in a seat's view, which does not tell)."""

    entry: Entry
    seen: dict[Seat, Seen]
    at: int = 0


def record_steps(record: Record) -> list[Step]:
    """Make a step per event, with what both seats saw: the experimenter's view."""
    return [
        Step(event, {seat: observe(state, seat) for seat in SEATS}, at)
        for at, (event, state) in enumerate(zip(record.events, states(record), strict=True), 1)
    ]


def view_steps(view: SeatRecord) -> list[Step]:
    """Make a step per entry of one seat's view; a reply and what the seat saw of its effect are one step."""
    return list(_iter_view_steps(view))


def _iter_view_steps(view: SeatRecord) -> Iterator[Step]:
    seen: Seen | None = None
    before: Entry | None = None
    for entry, after in pairwise([*view.entries, None]):
        if isinstance(entry, Observation):
            seen = entry
            if isinstance(before, Replied):  # the effect of its own words was shown with them
                before = entry
                continue
        if seen is not None and entry is not None:
            effect = after if isinstance(entry, Replied) and isinstance(after, Observation) else seen
            yield Step(entry, {view.seat: effect})
        before = entry


# In words.


def step_label(step: Step) -> str:
    """Describe a step in one line of plain text, for a list."""
    match step.entry:
        case Dealt():
            return "the deal"
        case Replied(seat, reply):
            return f"{seat}: {_shorten(reply.text)}"
        case Rejected(seat, invalid):
            return f"{seat} refused: {', '.join(invalid.codes)}"
        case Stepped(seats):
            return f"{' and '.join(seats)}: taken"
        case Forfeited(seat):
            return f"{seat}: allowance used up"
        case Ended(end) | SeatOutcome(end):
            return f"the end: {end}"
        case Observation():
            return "the table has changed"


def _shorten(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 60 else words[:59] + "\N{HORIZONTAL ELLIPSIS}"


def render_step(step: Step, game: AnyGame) -> Markup:
    """Render a step: raw words, reasons, tokens and latency."""
    match step.entry:
        case Dealt():
            return _card("The deal", "All chance of the match is drawn.")
        case Replied(seat, reply):
            return _card(f"{seat} replies", scrollable("the reply", reply.text), reply_details(reply), seat=seat)
        case Rejected(seat, invalid, wordless, unread):
            what = "is refused" if not wordless else "gives no words in time" if unread is None else "cannot be read"
            codes = element("div", f"{invalid.kind} fault: {', '.join(invalid.codes)}", cls="nl-who")
            came = () if unread is None else (scrollable("the answer", unread.text), reply_details(unread))
            return _card(f"{seat} {what}", preformatted(invalid.reason), codes, *came, cls="nl-bad", seat=seat)
        case Stepped(seats):
            plural = "replies take" if len(seats) > 1 else "reply takes"
            return _card(f"The {plural} effect", f"What {' and '.join(seats)} said is accepted.")
        case Forfeited(seat):
            what = "The game does what its rules say for that: a turn lost, a move filled in, or the end."
            return _card(f"{seat} has used up its allowance of invalid replies", what, cls="nl-bad", seat=seat)
        case Ended(end, payoffs, reason):
            paid = [element("div", f"{seat}: {game.format_payoff(payoffs[seat])}") for seat in SEATS]
            return _card(MATCH_ENDS[end], *paid, element("div", reason or "", cls="nl-who"))
        case SeatOutcome(end, payoff):
            return _card(MATCH_ENDS[end], element("div", f"Paid: {game.format_payoff(payoff)}"))
        case Observation():
            return _card("The table has changed", "Something happened that this seat can see: below is how it stands.")


def _card(title: str, *body: object, cls: str = "", seat: Seat | None = None) -> Markup:
    paper = {"A": "nl-from-a", "B": "nl-from-b", None: "nl-from-master"}[seat]
    classes = f"nl-panel nl-card {cls or paper}"
    return element("div", element("h2", title, cls="nl-heading"), *body, cls=classes)


STEP_SECONDS = 0.9
"""Seconds a step is shown for while it plays."""


class Scrubber:
    """Step through a match.

    Args:
        moved: Called with the step when another one is shown.
        guard: Runs the callbacks of its controls.
    """

    def __init__(self, moved: Callable[[Step], None], guard: FaultGuard) -> None:
        self._on_moved, self._guard = moved, guard
        self._steps: list[Step] = []
        self._games: dict[Seat, AnyGame] = {}
        self._drawn_ids: dict[Seat, tuple[Any, Any]] = {}
        self._playing: asyncio.Task[None] | None = None
        self.slider = Slider(description="Step", min=1, max=1, value=1)
        self._list = w.Select(description="Steps", rows=14)
        self._play = w.Button(description="Play")
        self._card = w.HTML()
        self._tables = {seat: w.HTML() for seat in SEATS}
        buttons = [self._button(*pair) for pair in (("First", -(10**9)), ("Back", -1))]
        buttons += [self._play, *(self._button(*pair) for pair in (("Next", 1), ("Last", 10**9)))]
        self._play.on_click(lambda _: guard(self._play_or_pause))
        self.slider.observe(lambda _: guard(self._show), "value")
        self._list.observe(lambda _: guard(self._on_listed), "value")
        left, right = column(self._list), column(self._card)
        left.add_class("nl-side")
        right.add_class("nl-main")
        top = w.Box([left, right])
        below = w.Box(list(self._tables.values()))
        top.add_class("nl-columns")
        below.add_class("nl-columns")
        below.add_class("nl-halves")
        self.widget = column(self.slider, row(*buttons), top, below)

    @property
    def step(self) -> Step:
        """The step that is shown."""
        return self._steps[self._number - 1]

    @property
    def _number(self) -> int:
        """Number of the step that the slider shows: a page can send any number."""
        return max(1, min(int(self.slider.value), len(self._steps)))

    def set_steps(self, steps: list[Step], game: AnyGame, *, at: int = 1) -> None:
        """Show these steps of a match of `game`; a seat's table gets the game as told to that seat."""
        self._pause()
        self._steps = steps
        self._games = {seat: game.told(seat) for seat in SEATS}
        self._game = game
        self._drawn_ids = {}
        self.slider.put(1, 1, len(steps))
        self._list.options = [(f"{number}  {step_label(step)}", number) for number, step in enumerate(steps, 1)]
        for seat, shown in self._tables.items():
            shown.layout.display = None if seat in steps[0].seen else "none"
            shown.value = ""
        self.slider.value = at
        self._show()

    def _show(self) -> None:
        if not self._steps:
            return
        number, step = self._number, self.step
        self.slider.text = f"step {number} of {len(self._steps)}: {step_label(step)}"
        self._list.value = number
        self._card.value = render_step(step, self._game)
        for seat, seen in step.seen.items():
            if self._drawn_ids.get(seat) != (id(seen.public), id(seen.private)):
                self._drawn_ids[seat] = (id(seen.public), id(seen.private))
                self._tables[seat].value = self._table(seat, seen)
        self._on_moved(step)

    def _table(self, seat: Seat, seen: Any) -> str:
        told = self._games[seat]
        looks = table(told)
        name, clock = looks.role(told, seat), looks.clock(told, seen)
        title = f"Seat {seat} sees" if name.endswith(f" {seat}") else f"Seat {seat}, {name}, sees"
        head = html.element("h2", title, html.element("span", clock, cls="nl-clock"), cls="nl-seat")
        return html.element("div", head, looks.render(told, seen), cls=f"nl-view nl-view-{seat.lower()}")

    def _on_listed(self) -> None:
        if self._list.value is not None:
            self.slider.value = self._list.value

    # Moving.

    def _button(self, text: str, by: int) -> w.Button:
        button = w.Button(description=text)
        button.on_click(lambda _: self._guard(lambda: self._move(by)))
        return button

    def _move(self, by: int) -> None:
        self._pause()
        self.slider.value += by

    def _play_or_pause(self) -> None:
        if self._playing is not None:
            self._pause()
            return
        if self.slider.value == self.slider.max:
            self.slider.value = 1
        self._play.description = "Pause"
        self._playing = asyncio.ensure_future(self._play_on())

    def _pause(self) -> None:
        if self._playing is not None:
            self._playing.cancel()
            self._playing = None
        self._play.description = "Play"

    async def _play_on(self) -> None:
        while self.slider.value < self.slider.max:
            await asyncio.sleep(STEP_SECONDS)
            self.slider.value += 1
        self._pause()
