"""Branches: let players continue a match from any step, and keep the result as a record of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import ipywidgets as w

from negolab.catalog import AnyGame
from negolab.events import Ended, Event
from negolab.game import SEATS, Seat
from negolab.match import Match
from negolab.players import negmas
from negolab.players.lookup import compatible_players
from negolab.protocols import MODEL_PREFIX as MODEL_PLAYER
from negolab.record import PERSON, Record
from negolab.runs.driver import make_player, play, seat_players
from negolab_widgets import html
from negolab_widgets.faults import FaultGuard, run_in_background
from negolab_widgets.layout import box, column, framed, row, set_visible, warning
from negolab_widgets.play.models import MODEL_CHOICE, ModelChoice
from negolab_widgets.replay.continuation import Continuation, LocalContinuation, open_continuation

PERSON_CHOICE = "you, at the table"
MAX_REPLIES = 1000
"""Replies of scripted players after which a branch without an end is stopped."""


class Branching:
    """The form that continues a match from a step.

    Args:
        keep: Called with the parent and every branch that ended; returns where the branch is kept.
    """

    def __init__(self, keep: Callable[[Record, Record], str]) -> None:
        self._guard = guard = FaultGuard("a branch")
        self._keep = keep
        self._record: Record | None = None
        self._at = 0
        self._leave: Callable[[], object] = lambda: None
        self._where = w.HTML()
        self._seats = {seat: w.Dropdown(description=f"Seat {seat} continues with") for seat in SEATS}
        self._branch_button = guard.button("Branch from this step", self._branch, cls="nl-primary")
        self._local, self._continuation = LocalContinuation(), open_continuation()
        self._models = ModelChoice(self._continuation.list_endpoints)
        self._stop_button = guard.button("Stop this branch", self.leave)
        set_visible(self._stop_button, False)
        self._table = column()
        guard.on_change(self._on_chosen, *self._seats.values())
        form = box(*self._seats.values(), cls="nl-form")
        title = w.HTML(html.element("h2", "What if"))
        buttons = row(self._branch_button, self._stop_button)
        self.widget = framed(title, self._where, form, self._models.widget, buttons, guard.notice, self._table)

    def leave(self) -> None:
        """Stop the branch that a person is playing, if there is one; what was played of it is kept."""
        leave, self._leave = self._leave, lambda: None
        leave()
        self._table.children = []

    def set_start(self, record: Record, at: int) -> None:
        """Branch this record after its first `at` events."""
        if self._record is not record:
            self._record = record
            self._offer_players(record)
        self._at = at
        asked = Match.replay(record, at).pending()
        names = " and ".join(f"seat {seat}" for seat in asked)
        plural = "are" if len(asked) > 1 else "is"
        words = f"The branch begins where {names} {plural} asked." if asked else "The match is over at this step."
        self._where.value = html.element("p", words)
        self._branch_button.disabled = not asked

    def _offer_players(self, record: Record) -> None:
        for seat, choice in self._seats.items():
            names = compatible_players(record.game, seat)
            before = record.header.players.get(seat)
            known = dict.fromkeys([*([before] if _can_continue(before, record.game, seat) else []), *names])
            choice.options = [PERSON_CHOICE, *known, MODEL_CHOICE]
            choice.value = choice.options[1]
        self._guard.notice.value = warning("")

    def _on_chosen(self) -> None:
        self._models.show(any(choice.value == MODEL_CHOICE for choice in self._seats.values()))

    def _branch(self) -> None:
        record = self._record
        if record is None:
            return
        names = {seat: self._player_name(choice.value) for seat, choice in self._seats.items()}
        people = [seat for seat in SEATS if names[seat] == PERSON]
        if len(people) == 2:
            raise ValueError("Only one seat can be yours: choose a player for the other.")
        match = Match.replay(record).fork(self._at)
        if match.ended is not None:
            raise ValueError("The match is over at this step: choose an earlier one.")
        match.players = dict(names)
        self.leave()
        self._guard.notice.value = warning("")
        # A model is the host's, where there is one; whoever plays at once needs no host.
        slow = any(name.startswith(MODEL_PLAYER) for name in names.values())
        onward = self._continuation if slow else self._local
        if people:
            self._seat_person(onward, record, match)
        elif slow:
            self._continue_with_model(record, match)
        else:
            self._play_scripted(record, match)

    def _play_scripted(self, parent: Record, match: Match) -> None:
        replies = 0

        def watch(match: Match, events: Sequence[Event]) -> None:
            nonlocal replies
            replies += 1
            if replies >= MAX_REPLIES and match.ended is None:
                match.abort(f"the branch had not ended after {MAX_REPLIES} replies")

        play(match, seat_players(match, load=False), watch=watch)
        self._where.value = html.element("p", self._keep(parent, match.record()))

    def _player_name(self, chosen: str) -> str:
        return PERSON if chosen == PERSON_CHOICE else self._models.name() if chosen == MODEL_CHOICE else chosen

    def _continue_with_model(self, parent: Record, match: Match) -> None:
        task = run_in_background(self._play_with_model, parent, match)
        if task is None:
            raise ValueError("A branch with a language model needs a running event loop, as in a notebook.")

        self._leave = task.cancel
        set_visible(self._stop_button, True)

    async def _play_with_model(self, parent: Record, match: Match) -> None:
        def show_progress(replies: int) -> None:
            self._where.value = html.element("p", f"The branch continues; replies so far: {replies}.", role="status")

        show_progress(0)
        with self._guard:
            try:
                branch = await self._continuation.play(match, show_progress)
            finally:
                set_visible(self._stop_button, False)
            end = branch.events[-1]
            why = f" It was stopped: {end.reason}." if isinstance(end, Ended) and end.reason else ""
            self._where.value = html.element("p", self._keep(parent, branch) + why)

    def _seat_person(self, onward: Continuation, parent: Record, match: Match) -> None:
        def over(branch: Record) -> str:
            self._leave = lambda: None
            return self._keep(parent, branch)

        table, self._leave = onward.sit(match, over)
        self._table.children = [table]


def _can_continue(name: str | None, game: AnyGame, seat: Seat) -> bool:
    """Check that a name of a record's header is a player of this seat whose code this process has already.

    A model is none: its name holds a file, an address and a key of whoever wrote the record. For a look at a record,
    no NegMAS is started.
    """
    if name is None or name.startswith(MODEL_PLAYER):
        return False
    if name.partition(":")[0] in negmas.PLAYERS and not negmas.is_running():
        return False
    try:
        make_player(name, game, 0, seat, load=False)
    except ValueError:
        return False
    return True
