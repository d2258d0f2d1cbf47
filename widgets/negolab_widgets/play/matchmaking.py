"""Start a match for the lobby: in this process, or at the host, where the match outlives the page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import ipywidgets as w

from negolab import catalog
from negolab.catalog import AnyGame, title
from negolab.game import Seat, other
from negolab.match import Match
from negolab.protocols import MODEL_PREFIX as MODEL_PLAYER
from negolab.protocols import Player
from negolab.record import PERSON, Record, parse_record
from negolab.runs.driver import seat_players
from negolab.store import Store
from negolab.studies.client import HostClient, HostSeat, PageClient
from negolab.studies.page_state import Playing, SeatView
from negolab.studies.session import LEFT, MatchSession
from negolab_widgets.faults import FaultGuard, follow_page, run_in_background
from negolab_widgets.layout import column, set_visible, warning
from negolab_widgets.play.models import LocalEndpoints
from negolab_widgets.play.seat import SeatWidget


class LocalSeat:
    """A seat of a session in this process: a `SeatHandle`."""

    def __init__(self, session: MatchSession, seat: Seat) -> None:
        self.seat, self._session = seat, session
        self.game: AnyGame = session.match.told(seat)
        self.fronted = session.seat_sessions[seat].fronted

    def view(self) -> SeatView:
        return self._session.view(self.seat)

    def submit(self, text: str, turn: int) -> str:
        return self._session.submit(self.seat, text, turn)

    def watch(self, changed: Callable[[], None]) -> None:
        self._session.watch(changed)


class HumanSeat(SeatWidget):
    """A person's seat at a match in this process.

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
        kept = None if keep is None else partial(keep, match)
        super().__init__(LocalSeat(self._session, seat), title=title, keep=kept, thinker=thinker)


class MatchRequest(NamedTuple):
    """A game with its preset, the person's seat, the opponent's name, and a seed (None: drawn)."""

    game: str
    preset: str
    opponent: str
    seat: Seat
    seed: int | None


Ended = Callable[[str, Record | None], None]
"""Called once a match is over and kept, or goes on elsewhere, with the reason why it was stopped ("": it was not), and
with its record (None: it goes on elsewhere)."""


class LocalMatchmaker:
    """Play one match at a time in this process and keep the records in the folder `out`.

    Attributes:
        seat: The person's seat of the last match; None before the first.
        list_endpoints: Lists the endpoints of language models.
    """

    def __init__(self, out: Path, ended: Ended) -> None:
        self._out, self._on_ended = out, ended
        self._match: Match | None = None
        self.seat: SeatWidget | None = None
        self._kept: set[str] = set()
        self._endpoints = LocalEndpoints()
        self.list_endpoints = self._endpoints.listed

    def start_match(self, request: MatchRequest) -> w.Widget:
        """Start a match and return its table."""
        game, across = catalog.load(request.game, preset=request.preset), other(request.seat)
        match = Match(game, seed=request.seed, players={request.seat: PERSON, across: request.opponent})
        self.seat = HumanSeat(
            match,
            request.seat,
            seat_players(match, self._endpoints, {request.seat}, load=False),
            title=title(request.game),
            keep=self._keep,
            thinker=model_name(request.opponent),
        )
        self._match = match
        return self.seat

    def resume_match(self) -> w.Widget | None:
        """Return the table of the match that runs already, if there is one."""
        return None

    def leave(self) -> None:
        """Stop the match if it is not over, and keep it."""
        if self._match is not None:
            self._match.abort(LEFT)
            if self._match.id not in self._kept:
                self._keep(self._match)
        self._match = None

    def _keep(self, match: Match) -> str:
        record = match.record()
        with Store(self._out, wait=3).for_single_matches() as store:
            store.append(record)
        self._kept.add(match.id)
        self._on_ended(_stop_notice(match.ended.reason if match.ended else None), record)
        return _record_notice(match.id)


class HostMatchmaker:
    """Do the same at the host, which keeps the records. The newest page of a match is the one that plays it."""

    def __init__(self, socket: str, ended: Ended) -> None:
        self._host, self._on_ended = HostClient(socket), ended
        self.list_endpoints = partial(self._host.ask, "/models")
        self._page: PageClient | None = None
        self.seat: SeatWidget | None = None
        self._following: asyncio.Task[None] | None = None

    def start_match(self, request: MatchRequest) -> w.Widget:
        return self.table(self._host.ask("/play", **request._asdict()))

    def resume_match(self) -> w.Widget | None:
        running = self._host.ask("/playing")
        return self.table(running) if running else None

    def leave(self) -> None:
        if self._page is not None and not self._page.replaced:
            self._page.act("leave")
        if self._following is not None:
            self._following.cancel()
        self._page = self._following = None

    def table(self, lease: dict[str, str]) -> w.Widget:
        """Make the table of a match from the lease that the host has given for it."""
        page = self._page = PageClient(self._host, lease["lease"])
        assert isinstance(page.state, Playing)
        seat = self.seat = SeatWidget(
            HostSeat(page),
            title=title(page.state.game),
            keep=partial(self._match_over, lease["match"]),
            thinker=model_name(lease["opponent"]),
        )
        banner = w.HTML(warning(""))

        def show(fault: str = "") -> None:
            fault = fault or page.error or _stop_notice(getattr(page.state, "fault", ""))
            banner.value = warning(fault)
            if page.replaced:
                set_visible(seat, False)
                self._on_ended("", None)

        page.watch(show)
        self._following = run_in_background(follow_page, page, FaultGuard("a match at the host", show=show))
        return column(banner, seat)

    def _match_over(self, match: str) -> str:
        self._on_ended("", parse_record(self._host.ask("/branched", match=match)["record"]))
        return _record_notice(match)


Matchmaker = LocalMatchmaker | HostMatchmaker


def model_name(opponent: str) -> str:
    """Return the name of the model across the table, "" for a scripted player, which answers at once."""
    return opponent.partition(",")[0].removeprefix(MODEL_PLAYER) if opponent.startswith(MODEL_PLAYER) else ""


def _stop_notice(reason: str | None) -> str:
    """Say why a match was stopped from outside its rules; "" if it was not, or by whoever reads this."""
    return f"This match was stopped: {reason}." if reason and reason != LEFT else ""


def _record_notice(match: str) -> str:
    return f"Saved as record {match[:12]}."
