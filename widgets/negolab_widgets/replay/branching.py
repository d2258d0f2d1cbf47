"""Branches: from any step of a match, let others go on, and keep what comes of it as a record of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import ipywidgets as w

from negolab.catalog import AnyGame
from negolab.events import Event
from negolab.game import SEATS, Seat, other
from negolab.match import Match
from negolab.play import made, play
from negolab.players.player import Player
from negolab.record import Record
from negolab_widgets import html
from negolab_widgets.seat import HumanSeat
from negolab_widgets.suitable import suitable
from negolab_widgets.tables.controls import column, row, warning

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
        self._go.on_click(lambda _: guard(self._branch)())
        self._notice = w.HTML(warning(""))
        self._table = column()
        form = w.Box(list(self._seats.values()))
        form.add_class("nl-form")
        title = w.HTML(html.element("h2", "What if"))
        self.widget = column(title, self._where, form, row(self._go), self._notice, self._table)
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
            choice.options = [YOU, *dict.fromkeys([*([before] if _can(before, record.game, seat) else []), *names])]
            choice.value = choice.options[1]
        self._notice.value = warning("")

    def _branch(self) -> None:
        try:
            self._continue()
        except ValueError as error:
            self._notice.value = warning(str(error))

    def _continue(self) -> None:
        record = self._record
        if record is None:
            return
        names: dict[Seat, str] = {seat: choice.value for seat, choice in self._seats.items()}
        people = [seat for seat in SEATS if names[seat] == YOU]
        if len(people) == 2:
            raise ValueError("One seat can be yours: choose a scripted player for the other.")
        match = Match.replay(record).fork(self._at)
        if match.ended is not None:
            raise ValueError("Here the match is over: choose an earlier step.")
        match.players = {seat: "person" if name == YOU else name for seat, name in names.items()}
        self.leave()
        self._notice.value = warning("")
        players = {seat: made(names[seat], match.game, match.seed or 0, seat) for seat in SEATS if seat not in people}
        if people:
            self._sit(record, match, people[0], players)
        else:
            self._play(record, match, players)

    def _play(self, parent: Record, match: Match, players: dict[Seat, Player]) -> None:
        replies = 0

        def watch(match: Match, events: Sequence[Event]) -> None:
            nonlocal replies
            replies += 1
            if replies >= MOST and match.ended is None:
                match.abort(f"the branch had no end after {MOST} replies")

        play(match, players, watch=watch)
        self._where.value = html.element("p", self._keep(parent, match.record()))

    def _sit(self, parent: Record, match: Match, seat: Seat, players: dict[Seat, Player]) -> None:
        def keep(match: Match) -> str:
            self._leave = lambda: None
            return self._keep(parent, match.record())

        def leave() -> None:
            if match.ended is None:
                match.abort("left by the person")
                self._keep(parent, match.record())

        self._leave = leave
        self._table.children = [HumanSeat(match, seat, {other(seat): players[other(seat)]}, title="Branch", keep=keep)]


def _can(name: str | None, game: AnyGame, seat: Seat) -> bool:
    """Whether a name of a record's header is a scripted player that can go on."""
    if name is None:
        return False
    try:
        player = made(name, game, 0, seat)
    except ValueError:
        return False
    return seat in getattr(player, "seats", SEATS)
