"""Branches: from any step of a match, let others go on, and keep what comes of it as a record of its own."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import ipywidgets as w

from negolab.catalog import AnyGame
from negolab.events import Ended, Event
from negolab.game import SEATS, Seat
from negolab.match import Match
from negolab.people.room import Unheard
from negolab.people.sitting import PERSON
from negolab.play import made, play, seated
from negolab.players.player import MODEL as MODEL_PLAYER
from negolab.record import Record
from negolab_widgets import html
from negolab_widgets.following import FAULT, behind
from negolab_widgets.models import MODEL, ModelChoice
from negolab_widgets.replay.onward import Here, Onward, onward
from negolab_widgets.suitable import suitable
from negolab_widgets.tables.controls import column, row, shown_if, warning

log = logging.getLogger("negolab.widgets")

YOU = "you, at the table"
MOST = 1000
"""Replies of scripted players after which a branch without an end is stopped."""


class Branching:
    """`keep(parent, branch)` is called with every branch that ended and says where it is; `stand` says what would be
    branched."""

    def __init__(self, keep: Callable[[Record, Record], str], guard: Callable[..., Callable[..., None]]) -> None:
        self._keep = keep
        self._record: Record | None = None
        self._at = 0
        self._leave: Callable[[], None] = lambda: None
        self._where = w.HTML()
        self._seats = {seat: w.Dropdown(description=f"Seat {seat} is played on by") for seat in SEATS}
        self._go = w.Button(description="Branch from this step")
        self._go.add_class("nl-primary")
        self._here, self._onward = Here(), onward()
        self._models = ModelChoice(self._onward.models)
        self._stop = w.Button(description="Stop this branch")
        self._stop.on_click(lambda _: guard(self.leave)())
        shown_if(self._stop, False)
        self._go.on_click(lambda _: guard(self._branch)())
        self._notice = w.HTML(warning(""))
        self._table = column()
        for choice in self._seats.values():
            choice.observe(lambda _: guard(self._chosen)(), "value")
        form = w.Box(list(self._seats.values()))
        form.add_class("nl-form")
        title = w.HTML(html.element("h2", "What if"))
        self.widget = column(
            title, self._where, form, self._models.widget, row(self._go, self._stop), self._notice, self._table
        )
        self.widget.add_class("nl-panel")

    def leave(self) -> None:
        """Stop the branch that a person is playing, if there is one; what was played of it is kept."""
        leave, self._leave = self._leave, lambda: None
        leave()
        self._table.children = []

    def stand(self, record: Record, at: int) -> None:
        """Branch this record after its first `at` events."""
        if self._record is not record:
            self._record = record
            self._offer(record)
        self._at = at
        asked = Match.replay(record, at).pending()
        names = " and ".join(f"seat {seat}" for seat in asked)
        plural = "are" if len(asked) > 1 else "is"
        words = f"The branch begins where {names} {plural} asked." if asked else "Here the match is over."
        self._where.value = html.element("p", words)
        self._go.disabled = not asked

    def _offer(self, record: Record) -> None:
        for seat, choice in self._seats.items():
            names = suitable(record.game, seat)
            before = record.header.players.get(seat)
            known = dict.fromkeys([*([before] if _can(before, record.game, seat) else []), *names])
            choice.options = [YOU, *known, MODEL]
            choice.value = choice.options[1]
        self._notice.value = warning("")

    def _chosen(self) -> None:
        self._models.show(any(choice.value == MODEL for choice in self._seats.values()))

    def _branch(self) -> None:
        try:
            self._continue()
        except (ValueError, Unheard) as error:
            self._notice.value = warning(str(error))

    def _continue(self) -> None:
        record = self._record
        if record is None:
            return
        names = {seat: self._named(choice.value) for seat, choice in self._seats.items()}
        people = [seat for seat in SEATS if names[seat] == PERSON]
        if len(people) == 2:
            raise ValueError("One seat can be yours: choose a player for the other.")
        match = Match.replay(record).fork(self._at)
        if match.ended is not None:
            raise ValueError("Here the match is over: choose an earlier step.")
        match.players = dict(names)
        self.leave()
        self._notice.value = warning("")
        # A model is the host's, where there is one; whoever plays at once needs no host.
        slow = any(name.startswith(MODEL_PLAYER) for name in names.values())
        onward = self._onward if slow else self._here
        if people:
            self._sit(onward, record, match)
        elif slow:
            self._go_on(record, match)
        else:
            self._play(record, match)

    def _play(self, parent: Record, match: Match) -> None:
        replies = 0

        def watch(match: Match, events: Sequence[Event]) -> None:
            nonlocal replies
            replies += 1
            if replies >= MOST and match.ended is None:
                match.abort(f"the branch had no end after {MOST} replies")

        play(match, seated(match), watch=watch)
        self._where.value = html.element("p", self._keep(parent, match.record()))

    def _named(self, chosen: str) -> str:
        return PERSON if chosen == YOU else self._models.name() if chosen == MODEL else chosen

    def _go_on(self, parent: Record, match: Match) -> None:
        task = behind(lambda: self._going(parent, match))
        if task is None:
            raise ValueError("A branch with a language model needs a running event loop, as in a notebook.")

        def stop() -> None:
            task.cancel()

        self._leave = stop
        shown_if(self._stop, True)

    async def _going(self, parent: Record, match: Match) -> None:
        def told(replies: int) -> None:
            self._where.value = html.element("p", f"The branch goes on; replies so far: {replies}.", role="status")

        told(0)
        try:
            branch = await self._onward.play(match, told)
            stopped = branch.events[-1]
            why = f" It was stopped: {stopped.reason}." if isinstance(stopped, Ended) and stopped.reason else ""
            self._where.value = html.element("p", self._keep(parent, branch) + why)
        except (Unheard, ValueError) as error:
            self._notice.value = warning(str(error))
        except Exception:
            log.exception("a branch failed")
            self._notice.value = warning(FAULT)
        finally:
            shown_if(self._stop, False)

    def _sit(self, onward: Onward, parent: Record, match: Match) -> None:
        def over(branch: Record) -> str:
            self._leave = lambda: None
            return self._keep(parent, branch)

        table, self._leave = onward.sit(match, over)
        self._table.children = [table]


def _can(name: str | None, game: AnyGame, seat: Seat) -> bool:
    """Whether a name of a record's header is a scripted player that can go on."""
    if name is None:
        return False
    try:
        player = made(name, game, 0, seat)
    except ValueError:
        return False
    return seat in getattr(player, "seats", SEATS)
