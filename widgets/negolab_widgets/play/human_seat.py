"""One person's seat at a match in this process, without a host."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from negolab.catalog import AnyGame
from negolab.game import Seat
from negolab.match import Match
from negolab.protocols import Player
from negolab.studies.page_state import SeatView
from negolab.studies.session import MatchSession
from negolab_widgets.play.seat import SeatWidget


class LocalSeat:
    """A seat of a session in this process: a `SeatHandle`."""

    def __init__(self, session: MatchSession, seat: Seat) -> None:
        self.seat = seat
        self._session = session

    @property
    def game(self) -> AnyGame:
        return self._session.match.told(self.seat)

    @property
    def fronted(self) -> bool:
        return self._session.seat_sessions[self.seat].fronted

    def view(self) -> SeatView:
        return self._session.view(self.seat)

    def submit(self, text: str, turn: int) -> str:
        return self._session.submit(self.seat, text, turn)

    def watch(self, changed: Callable[[], None]) -> None:
        self._session.watch(changed)


class HumanSeat(SeatWidget):
    """A person's seat in a match in this process.

    Args:
        match: The match.
        seat: The person's seat.
        others: The players of the other seats.
        title: The page's title.
        keep: Called once with the match, when it is over; returns where the record is.
        thinker: The model across the table, where the person may know that it takes its time.
    """

    def __init__(
        self,
        match: Match,
        seat: Seat,
        others: Mapping[Seat, Player],
        *,
        title: str = "Match",
        keep: Callable[[Match], str] | None = None,
        thinker: str = "",
    ) -> None:
        self._match = match
        self._session = MatchSession(match, others)
        self._session.advance()
        kept = None if keep is None else lambda: keep(match)
        super().__init__(LocalSeat(self._session, seat), title=title, keep=kept, thinker=thinker)
