"""The session of a match with people: the match, its automated players, and the seats of its people.

Every event is saved before anyone sees it.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import msgspec

from negolab import catalog
from negolab.events import Ended, Event
from negolab.game import SEATS, Observation, Reply, Seat
from negolab.llm.endpoint.availability import format_duration
from negolab.llm.endpoint.errors import BudgetReached, GameFailed, NoLegalMove, RunFailed
from negolab.match import Match
from negolab.protocols import Player, ResumablePlayer
from negolab.record import Record
from negolab.runs.driver import submit_reply
from negolab.runs.timer import call_within
from negolab.studies import clock
from negolab.studies.faults import locate_fault
from negolab.studies.page_state import NotDelivered, Playing, SeatView, check_message
from negolab.studies.seat_session import SeatSession
from negolab.studies.study_config import Limits
from negolab.studies.texts import texts

log = logging.getLogger("negolab.studies")

SaveEvents = Callable[[Match, int, Sequence[Event]], None]
"""Function that saves events: called with the match, the number of events saved so far, and the new events."""
LEFT, STOPPED = "left by the person", "stopped by the person"
"""Reasons given in records for matches and branches that a person stopped."""
FAILED = "the other seat's player failed"
FAULT = "stopped by a fault: {where}"
"""Reason given in the record of a match that ended because code of its game or a player raised."""
RAISED = "match %s: code of its game or of a player raised an exception"
RETRY_SECONDS = 3.0
"""Seconds before an unreachable player is asked again."""
LATE_SECONDS = 60.0
"""Seconds without an answer after which a player counts as unreachable."""
REPLY_SECONDS = 10.0
"""Seconds that a scripted player may take to answer: it holds up all matches of its host."""
UNLIMITED = Limits()


class _Outage(NamedTuple):
    """An unreachable player: since when, by the clock, and the error that showed it (None: no answer came)."""

    since: float
    error: Exception | None


class MatchSession:
    """A match, its automated players, and a `SeatSession` for each person's seat.

    Time limits start again when a session is resumed, so that the host's downtime is never charged to a participant.

    Args:
        match: The match. Events already in it count as saved.
        players: Automated players by seat; every other seat is a person's.
        save: Saves new events durably; if it raises, the match returns to its last saved state. None: saves nothing.
        delay: Returns the seconds for which a player's next answer is held back; None: no delay.
        limits: Time limits; see `time_left`.
        closing: Words at the end in place of a game's own fixed closing; see `catalog.text_front`.
        fixed_texts: Show a game's fixed texts, if any, which call the other side a machine.
        patience: Seconds to wait for a language model that cannot be reached or does not answer within `LATE_SECONDS`,
            in addition to its endpoint's own patience; 0: only the endpoint waits.
        fall_back: Given the reason, returns the player that takes over a seat whose player failed; None: nobody does,
            and the match is stopped.
        check: Called with a seat before its player is asked; raises `RunFailed` if it must not be.
    """

    def __init__(
        self,
        match: Match,
        players: Mapping[Seat, Player],
        *,
        save: SaveEvents | None = None,
        delay: Callable[[Match], float] | None = None,
        limits: Limits = UNLIMITED,
        closing: str = "",
        fixed_texts: bool = True,
        patience: float = 0.0,
        fall_back: Callable[[Seat, str], Player | None] | None = None,
        check: Callable[[Seat], None] | None = None,
    ) -> None:
        self.match = match
        self.players = dict(players)
        seat_session = partial(SeatSession, match, closing=closing, fixed_texts=fixed_texts)
        self.seat_sessions = {seat: seat_session(seat) for seat in SEATS if seat not in players}
        self.thinking: asyncio.Future[Any] | None = None
        self.changed_seats: frozenset[Seat] = frozenset()
        """People's seats whose view changed with the last change: nobody else may learn that there was one."""
        self.fault = ""
        """Place where code of the game or a player raised, which ended the match (see `locate_fault`); "" if
        nowhere."""
        self._told: dict[Seat, tuple[SeatView, bool]] = {}
        self._save, self._delay, self._limits = save, delay, limits
        self._patience, self._fall_back, self._check = patience, fall_back, check
        self._outage: _Outage | None = None
        self._watchers: list[Callable[[], None]] = []
        self._keep(self.seat_sessions)
        self._began = clock.monotonic()
        self._asked: dict[Seat, tuple[Observation[object, object], float]] = {}
        self._took: dict[Seat, float] = dict.fromkeys(self.seat_sessions, 0.0)
        self._open([match])

    @classmethod
    def resumed(cls, record: Record, players: Mapping[Seat, Player], **options: Any) -> MatchSession:
        """Rebuild the session of a saved match; each seat has the same conversation as before.

        Args:
            record: Record of the match, finished or not.
            players: Automated players by seat.
            **options: Keyword arguments of the constructor.

        Raises:
            ValueError: The record's game is not known, or its events are not legal.
        """
        stages = Match.replay_stages(record)
        session = cls(next(stages), players, **options)
        session._open(stages)
        if session.fault:
            ended = next((event for event in record.events if isinstance(event, Ended)), None)
            session.match.events, session.match.ended = list(record.events), ended
            session._keep(session.seat_sessions)
        return session

    def _open(self, stages: Iterable[Match]) -> None:
        """Tell people and players what was played; if code of the game or a player raises, `advance` ends the match."""
        try:
            for _ in stages:
                self._keep(self._seats_after_news())
            resume_players(self.match, self.players)
        except Exception as error:
            log.error(RAISED, self.match.id, exc_info=error)
            self.fault = locate_fault(error)

    def watch(self, changed: Callable[[], None]) -> None:
        """Register a callback to be called after every change."""
        self._watchers.append(changed)

    def view(self, seat: Seat) -> SeatView:
        """Return the view of a person's seat as of the last saved event."""
        session = self.seat_sessions[seat]
        # A fault ends the match, and the seat is told nothing more about it.
        return session.view(self.match) if self.fault or session.shown is None else session.shown

    def playing(self, title: str, seat: Seat, left: tuple[float, str] | None = None, **more: Any) -> Playing:
        """Build the page state for one seat.

        Args:
            title: Title of the page.
            seat: Seat of the person whose page it is.
            left: Seconds until the nearest time limit, and its kind; None: no limit applies.
            **more: Other fields of `Playing`.
        """
        return Playing(
            title=title,
            match=self.match.id,
            game=catalog.game_id(self.match.game),
            params=catalog.parameters(self.match.told(seat)),
            seat=seat,
            fronted=self.seat_sessions[seat].fronted,
            table=msgspec.to_builtins(self.view(seat), order="deterministic"),
            left=None if left is None else max(0.0, left[0]),
            limit="" if left is None else left[1],
            paused=self.paused,
            **more,
        )

    @property
    def paused(self) -> bool:
        """True while the match is waiting for an unreachable player."""
        return self._outage is not None

    @property
    def pause(self) -> float:
        """Seconds since the match began waiting for an unreachable player; 0: it is not waiting."""
        return 0.0 if self._outage is None else clock.monotonic() - self._outage.since

    def time_left(self, seat: Seat) -> tuple[float, str] | None:
        """Return the seconds until a seat's nearest limit and its kind, "reply" or "match"; None: no limit applies."""
        return min(self._times_left(seat), default=None)

    def _times_left(self, seat: Seat) -> list[tuple[float, str]]:
        ends = []
        if self._limits.reply is not None and seat in self._asked:
            ends.append((self._asked[seat][1] + self._limits.reply - clock.monotonic(), "reply"))
        if self._limits.match is not None:
            # A pause is not charged to anybody.
            now = clock.monotonic() if self._outage is None else self._outage.since
            ends.append((self._began + self._limits.match - now, "match"))
        return ends

    def late_seats(self) -> list[Seat]:
        """Return the seats to blame when a limit is reached: those that did not reply in time, or else those that took
        half of the match's time or more to answer."""
        reached = {seat: {kind for left, kind in self._times_left(seat) if left <= 0} for seat in self.seat_sessions}
        late = [seat for seat, kinds in reached.items() if "reply" in kinds]
        return late or [seat for seat, kinds in reached.items() if kinds and self._took_half(seat)]

    def _took_half(self, seat: Seat) -> bool:
        """Return True if a seat took half of the match's time or more to answer; at least one person's seat did."""
        now = clock.monotonic()
        took = {s: past + (now - self._asked[s][1] if s in self._asked else 0) for s, past in self._took.items()}
        # Both may be asked at once, and a player may have taken the rest of the time.
        return 2 * took[seat] >= min(now - self._began, sum(took.values()))

    # Actions of people.

    def submit(self, seat: Seat, text: str, turn: int) -> str:
        """Submit a person's reply, then let the automated players answer.

        Args:
            seat: Seat of the person.
            text: Text of the reply.
            turn: Number of replies that the person's page knows of; must be the seat's current number.

        Returns:
            The reason why the game rejected the reply; "" if it was accepted.

        Raises:
            NotDelivered: The match is over, the seat is not asked, the page is outdated, or the text is blank or too
                long.
        """
        match, seat_session = self.match, self.seat_sessions[seat]
        if not match.asks(seat):
            raise NotDelivered(texts.MATCH_OVER if match.ended else texts.NOT_YOUR_TURN)
        if turn != seat_session.turn:
            raise NotDelivered(texts.TABLE_CHANGED)
        check_message(text)
        refused = ""
        with self._ending_at_fault():
            events = match.submit(seat, Reply(text, via="table"))
            refused = seat_session.refusal(match, events)
        self.advance()
        return refused

    def stop(self, reason: str) -> None:
        """Abort the match, canceling any answer in progress; `reason` is recorded."""
        self.cancel()
        self._recover()
        with self._ending_at_fault(reason):
            self.match.abort(reason)
        self._save_events()
        self._notify()

    def fail(self, where: str, reason: str = "") -> None:
        """Abort the match as last saved, without calling its game's code.

        Args:
            where: Place where code of the game or a player raised.
            reason: Reason why the match was about to be stopped.
        """
        if self._kept.ended is None:
            self.cancel()
            self._recover()
            self.fault = where
            vars(self.match).update(vars(self._kept.snapshot()))
            self.match.abort(reason or FAULT.format(where=where), unpaid=True)
            self._save_events()
            self._notify()

    @contextmanager
    def _ending_at_fault(self, reason: str = "") -> Iterator[None]:
        """End the match if the code in the block, which calls the game or a player, raises; `reason` is as in
        `fail`."""
        try:
            yield
        except (GameFailed, RunFailed):  # a language model's failure, which may pass
            raise
        except Exception as error:
            log.error(RAISED, self.match.id, exc_info=error)
            self.fail(locate_fault(error), reason or (self.match.ended and self.match.ended.reason) or "")

    def cancel(self) -> None:
        """Cancel any answer in progress."""
        if self.thinking is not None:
            self.thinking.cancel()
            self.thinking = None

    # Answers of automated players.

    def advance(self) -> None:
        """Ask automated players until it is a person's turn or an answer takes time, then notify the watchers."""
        if self.fault:
            self.fail(self.fault)
        self._save_events()
        while self.thinking is None and (asked := self._asked_player()) is not None:
            seat, player = asked
            seconds = self._delay(self.match) if self._delay is not None else 0
            try:
                with self._ending_at_fault():
                    answer = self._ask_later(seat, player, seconds) if seconds > 0 else self._ask(seat, player)
                    if inspect.isawaitable(answer):
                        self._think(seat, answer, LATE_SECONDS + seconds)
                        break
                    submit_reply(self.match, seat, answer)
                    self._recover()
            except (GameFailed, RunFailed) as error:
                self._fail(seat, error)
            self._save_events()
        self._notify()

    def retry(self) -> None:
        """Ask an automated player again if its last answer could not be saved."""
        if self.thinking is None and self._asked_player() is not None:
            self.advance()

    def _asked_player(self) -> tuple[Seat, Player] | None:
        return next(((s, p) for s, p in self.players.items() if self.match.asks(s)), None)

    def _ask(self, seat: Seat, player: Player) -> Any:
        if self._check is not None:
            self._check(seat)
        return call_within(REPLY_SECONDS, player.reply, self.match.told(seat), self.match.pending()[seat])

    async def _ask_later(self, seat: Seat, player: Player, seconds: float) -> Any:
        """Ask a player after a simulated thinking time."""
        await asyncio.sleep(seconds)
        answer = self._ask(seat, player)
        return await answer if inspect.isawaitable(answer) else answer

    def _think(self, seat: Seat, answer: Awaitable[Any], late: float = 0.0) -> None:
        """Track an asynchronous answer as `thinking`; after `late` seconds, the match pauses, until patience runs
        out."""
        thinking = self.thinking = asyncio.ensure_future(answer)
        thinking.add_done_callback(partial(self._on_answer, self.match, seat))
        if self._patience > 0:
            if not self.paused:
                _call_later(late, thinking, self._pause_late)
            give_up = partial(self._give_up, seat, thinking, late)
            _call_later(late + self._patience - self.pause, thinking, give_up)

    def _pause(self, error: Exception | None = None) -> None:
        """Begin a pause, or note why it continues."""
        self._outage = _Outage(clock.monotonic() if self._outage is None else self._outage.since, error)

    def _pause_late(self) -> None:
        self._pause()
        self._go_on()

    def _give_up(self, seat: Seat, thinking: asyncio.Future[Any], late: float) -> None:
        """Stop waiting for an answer."""
        thinking.cancel()
        self.thinking = None
        told = None if self._outage is None else self._outage.error
        self._fail(seat, told or RunFailed(f"no answer for {format_duration(late + self._patience)}"))
        self._go_on()

    def _on_answer(self, match: Match, seat: Seat, answer: asyncio.Future[Any]) -> None:
        """Submit a finished answer, unless the match has been rolled back or has ended since the question."""
        if answer is self.thinking:
            self.thinking = None
        if answer.cancelled():
            return
        try:
            with self._ending_at_fault():
                reply = answer.result()
                if match is self.match and match.asks(seat):
                    submit_reply(match, seat, reply)
                self._recover()
        except (GameFailed, RunFailed) as error:
            self._fail(seat, error)
        self._go_on()

    def _go_on(self) -> None:
        """Advance from a callback."""
        try:
            self.advance()
        except Exception:  # nobody above could handle it; the answer was dropped, and `retry` asks again
            log.exception("a match could not continue")

    def _fail(self, seat: Seat, error: Exception) -> None:
        """Ask an unreachable language model again as long as patience lasts; then give its seat away or abort the
        match."""
        if not isinstance(error, BudgetReached | NoLegalMove):
            self._pause(error)
            if self.pause < self._patience:
                self._log_failure(error, "; asking again")
                self._think(seat, self._ask_later(seat, self.players[seat], RETRY_SECONDS))
                return
        self._recover()
        player = None if self._fall_back is None else self._fall_back(seat, str(error))
        with self._ending_at_fault():
            if player is None:
                # The text is meant for the researcher: reasons go into records, never to a seat's screen.
                self._log_failure(error)
                self.match.abort(f"{FAILED}: {error}")
                return
            self._log_failure(error, "; another player takes over")
            self.players[seat] = player
            resume_players(self.match, {seat: player})

    def _recover(self) -> None:
        """End a pause; it counts toward no limit."""
        self._began += self.pause
        self._outage = None

    def _log_failure(self, error: Exception, then: str = "") -> None:
        """Log a model's failure by its kind: its text may quote a participant, whose words are kept only in the
        database."""
        log.warning("%s in match %s (%s)%s", FAILED, self.match.id, type(error).__name__, then)

    def _save_events(self) -> None:
        """Save new events, with what each person's seat is told; if saving fails, roll the match back and raise."""
        seat_sessions = self.seat_sessions
        if not self.fault and len(self.match.events) > self._saved:
            with self._ending_at_fault():
                seat_sessions = self._seats_after_news()
        if not (news := self.match.events[self._saved :]):  # even after a fault: the end that it causes is saved
            return
        if self._save is not None:
            try:
                self._save(self.match, self._saved, news)
            except BaseException:
                self.match, self.fault = self._kept.snapshot(), ""
                raise
        self._keep(seat_sessions)

    def _seats_after_news(self) -> dict[Seat, SeatSession]:
        """Return the sessions of people's seats after the events that they do not yet know."""
        news = self.match.events[self._saved :]
        return {seat: session.after(self.match, news) for seat, session in self.seat_sessions.items()}

    def _keep(self, seat_sessions: Mapping[Seat, SeatSession]) -> None:
        """Keep the match and what people were told, as the state to which a fault or a failed save returns."""
        self.seat_sessions = dict(seat_sessions)
        self._saved, self._kept = len(self.match.events), self.match.snapshot()

    def _notify(self) -> None:
        """Start timing each seat when it is asked (a rejected reply does not restart it), and call the watchers."""
        now = clock.monotonic()
        for seat in self.seat_sessions:
            seen = self.match.seen(seat) if self.match.asks(seat) else None
            before, since = self._asked.get(seat, (None, now))
            if seen == before:
                continue
            self._took[seat] += now - since
            if seen is None:
                del self._asked[seat]
            else:
                self._asked[seat] = (seen, now)
        told = {seat: (self.view(seat), self.paused) for seat in self.seat_sessions}
        self.changed_seats = frozenset(seat for seat, shown in told.items() if shown != self._told.get(seat))
        self._told = told
        for changed in self._watchers:
            changed()


def _call_later(seconds: float, thinking: asyncio.Future[Any], work: Callable[[], None]) -> None:
    """Call `work` after some seconds unless an answer has come by then."""
    timer = asyncio.get_running_loop().call_later(seconds, work)
    thinking.add_done_callback(lambda _: timer.cancel())


def resume_players(match: Match, players: Mapping[Seat, Player]) -> None:
    """Give players that join a running match what their seats have seen and said so far."""
    if len(match.events) == 1:
        return
    for seat, player in players.items():
        if isinstance(player, ResumablePlayer):
            player.recall(match.record().seen_by(seat))
