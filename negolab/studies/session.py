"""Sessions of matches with people: a match, its automated players and the seats of its people, and all open sessions.

Every event is saved before anyone sees it.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import random
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from negolab.catalog import text_front
from negolab.events import Ended, Event, Rejected, Replied
from negolab.game import SEATS, Observation, Reply, Seat, other
from negolab.llm.endpoint.call import EndpointProvider
from negolab.llm.endpoint.errors import GameFailed, RunFailed
from negolab.match import Match
from negolab.protocols import Player, ResumablePlayer
from negolab.record import Record, SeatOutcome
from negolab.runs.driver import make_player, seat_players, submit_reply
from negolab.runs.plan import derive_seed
from negolab.runs.timer import call_within
from negolab.store import Store
from negolab.studies import texts
from negolab.studies.host_config import NONE
from negolab.studies.page_state import NotDelivered, SeatView, TalkEntry, check_message
from negolab.studies.study_config import Ending, Limits, Study

if TYPE_CHECKING:
    from negolab.studies.database import Database, StoredMatch

log = logging.getLogger("negolab.studies")

PERSON = "person"
"""Name that a record gives to a person's seat."""
LEFT, STOPPED = "left by the person", "stopped by the person"
"""Reasons that records give for matches and branches that a person stopped."""
FAILED = "the other seat's player failed"
REPLY_SECONDS = 10.0
"""Seconds that a scripted player may take to answer: it holds up all matches of its host."""
UNLIMITED = Limits()


class SeatSession:
    """Conversation and rules of one person's seat, built from the match's events.

    Feed it the events reply by reply: a live match and a replayed one then give the same conversation.
    """

    def __init__(self, match: Match, seat: Seat) -> None:
        self.seat = seat
        # Fixed texts call the opponent a machine, so they do not fit a match between two people.
        person = match.players.get(other(seat)) == PERSON
        self._front = None if person else text_front(match.game, seat)
        self._talk: list[TalkEntry] = []
        self._rules = "" if self._front else match.told(seat).prompt(match.seen(seat), None)
        self._texts = 0
        self._since = match.seen(seat)
        self._unread = True
        self.turn = 0
        self._read(match, self._since)

    @property
    def fronted(self) -> bool:
        """True if the game provides fixed texts for this seat."""
        return self._front is not None

    def receive(self, match: Match, events: Sequence[Event]) -> None:
        """Add new events of `match` to the conversation."""
        for event in events:
            match event:
                case Replied(seat, reply) if seat == self.seat:
                    self._talk.append(TalkEntry("own", reply.text))
                    self.turn += 1
                case Rejected(seat, invalid) if seat == self.seat and not self._front:
                    self._talk.append(TalkEntry("refused", invalid.reason))
        self._read(match, match.seen(self.seat))

    def _read(self, match: Match, seen: Observation[Any, Any]) -> None:
        """Add newly visible information to the conversation, if the seat is asked or the match is over."""
        if not (match.asks(self.seat) or match.ended is not None):
            return
        if self._front is not None:
            front = self._front(match.events)
            self._rules = self._rules or (front[0] if front else "")
            self._talk += [TalkEntry("game", text) for text in front[self._texts :]]
            self._texts = len(front)
        elif self._unread or seen != self._since:
            if news := match.told(self.seat).prompt(seen, self._since).strip():
                self._talk.append(TalkEntry("game", news))
            self._since, self._unread = seen, False

    def refusal(self, match: Match, events: Sequence[Event]) -> str:
        """Return the reason for which `events` reject the seat's reply, in the game's fixed text if it has any.

        "" if the reply was accepted.
        """
        reasons = [e.invalid.reason for e in events if isinstance(e, Rejected) and e.seat == self.seat]
        return self._front(match.events)[-1] if reasons and self._front else " ".join(reasons)

    def view(self, match: Match) -> SeatView:
        """Return the seat's current view."""
        ended, asked = match.ended, match.asks(self.seat)
        return SeatView(
            seen=match.seen(self.seat),
            asked=asked,
            left=match.pending()[self.seat].retries_left if asked else None,
            talk=tuple(self._talk),
            rules=self._rules,
            closing=None if ended is None else SeatOutcome(ended.end, ended.payoffs[self.seat]),
            turn=self.turn,
        )


SaveEvents = Callable[[Match, int, Sequence[Event]], None]
"""Function that saves events: called with the match, the number of events saved before, and the new events."""


class MatchSession:
    """A match, its automated players, and a `SeatSession` for each person's seat.

    Time limits start again when a session is resumed, so that downtime of the host is never charged to a participant.

    Args:
        match: The match. Events that it holds already count as saved.
        players: Automated players by seat; every other seat is a person's.
        save: Saves new events durably; if it raises, the match returns to its last saved state. None: saves nothing.
        delay: Seconds that a player's next answer is held back; None: no delay.
        limits: Time limits; see `time_left`.
    """

    def __init__(
        self,
        match: Match,
        players: Mapping[Seat, Player],
        *,
        save: SaveEvents | None = None,
        delay: Callable[[Match], float] | None = None,
        limits: Limits = UNLIMITED,
    ) -> None:
        self.match = match
        self.players = dict(players)
        self.seat_sessions = {seat: SeatSession(match, seat) for seat in SEATS if seat not in players}
        self.thinking: asyncio.Future[Any] | None = None
        self._save, self._delay, self._limits = save, delay, limits
        self._watchers: list[Callable[[], None]] = []
        self._saved = len(match.events)
        self._began = time.monotonic()
        self._asked: dict[Seat, tuple[Observation[object, object], float]] = {}
        resume_players(match, players)

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
        for match in stages:
            session._pass_on(match.events[session._saved :])
        resume_players(session.match, players)
        return session

    def watch(self, changed: Callable[[], None]) -> None:
        """Register a callback that is called after every change."""
        self._watchers.append(changed)

    def view(self, seat: Seat) -> SeatView:
        """Return the current view of a person's seat."""
        return self.seat_sessions[seat].view(self.match)

    def time_left(self, seat: Seat) -> tuple[float, str] | None:
        """Return the seconds until a seat's nearest limit and its kind, "reply" or "match"; None: no limit runs."""
        ends = []
        if self._limits.reply is not None and seat in self._asked:
            ends.append((self._asked[seat][1] + self._limits.reply - time.monotonic(), "reply"))
        if self._limits.match is not None:
            ends.append((self._began + self._limits.match - time.monotonic(), "match"))
        return min(ends, default=None)

    def late_seats(self) -> list[Seat]:
        """Return the seats whose time is up."""
        return [seat for seat in self.seat_sessions if (left := self.time_left(seat)) is not None and left[0] <= 0]

    # Actions of people.

    def submit(self, seat: Seat, text: str, turn: int) -> str:
        """Submit a person's reply, then let the automated players answer.

        Args:
            seat: Seat of the person.
            text: Text of the reply.
            turn: Number of replies that the person's page knows of; must be the seat's current one.

        Returns:
            The reason for which the game rejected the reply; "" if it was accepted.

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
        events = match.submit(seat, Reply(text, via="table"))
        self._save_events()
        refused = seat_session.refusal(match, events)
        self.advance()
        return refused

    def stop(self, reason: str) -> None:
        """Abort the match, cancelling an answer that is under way; `reason` is recorded."""
        self.cancel()
        self.match.abort(reason)
        self._save_events()
        self._notify()

    def cancel(self) -> None:
        """Cancel an answer that is under way."""
        if self.thinking is not None:
            self.thinking.cancel()
            self.thinking = None

    # Answers of automated players.

    def advance(self) -> None:
        """Ask automated players until it is a person's turn or an answer takes time, then notify the watchers."""
        self._save_events()
        while self.thinking is None and (asked := self._asked_player()) is not None:
            seat, player = asked
            seconds = self._delay(self.match) if self._delay is not None else 0
            try:
                answer = self._ask_later(seat, player, seconds) if seconds > 0 else self._ask(seat, player)
                if inspect.isawaitable(answer):
                    self._think(seat, answer)
                    break
                submit_reply(self.match, seat, answer)
            except Exception as error:
                self._abort_failed(error)
            self._save_events()
        self._notify()

    def retry(self) -> None:
        """Ask an automated player again whose last answer could not be saved."""
        if self.thinking is None and self._asked_player() is not None:
            self.advance()

    def _asked_player(self) -> tuple[Seat, Player] | None:
        return next(((s, p) for s, p in self.players.items() if self.match.asks(s)), None)

    def _ask(self, seat: Seat, player: Player) -> Any:
        return call_within(REPLY_SECONDS, player.reply, self.match.told(seat), self.match.pending()[seat])

    async def _ask_later(self, seat: Seat, player: Player, seconds: float) -> Any:
        """Ask a player after a simulated thinking time."""
        await asyncio.sleep(seconds)
        answer = self._ask(seat, player)
        return await answer if inspect.isawaitable(answer) else answer

    def _think(self, seat: Seat, answer: Awaitable[Any]) -> None:
        """Track an asynchronous answer as `thinking`."""
        self.thinking = asyncio.ensure_future(answer)
        self.thinking.add_done_callback(partial(self._on_answer, self.match, seat))

    def _on_answer(self, match: Match, seat: Seat, answer: asyncio.Future[Any]) -> None:
        """Submit a finished answer, unless the match was rolled back or ended since the question."""
        if answer is self.thinking:
            self.thinking = None
        if answer.cancelled():
            return
        try:
            reply = answer.result()
            if match is self.match and match.asks(seat):
                submit_reply(match, seat, reply)
        except Exception as error:
            self._abort_failed(error)
        try:
            self.advance()
        except Exception:  # nobody above could handle it; the answer was dropped, and `retry` asks again
            log.exception("a match could not go on")

    def _abort_failed(self, error: Exception) -> None:
        """Abort the match after an error of an automated player; the events so far stay."""
        if isinstance(error, GameFailed | RunFailed):
            # The text is meant for the researcher: reasons go into records, never to a seat's screen.
            log.warning("%s: %s", FAILED, error)
            self.match.abort(f"{FAILED}: {error}")
            return
        log.error(FAILED, exc_info=error)
        self.match.abort(FAILED)

    def _save_events(self) -> None:
        """Save new events, then pass them to each seat; if saving fails, roll the match back and raise."""
        match = self.match
        news = match.events[self._saved :]
        if not news:
            return
        if self._save is not None:
            try:
                self._save(match, self._saved, news)
            except BaseException:
                self.match = Match.replay(match.record(), self._saved)
                raise
        self._pass_on(news)

    def _pass_on(self, news: Sequence[Event]) -> None:
        """Pass saved events to each person's seat."""
        self._saved = len(self.match.events)
        for seat_session in self.seat_sessions.values():
            seat_session.receive(self.match, news)

    def _notify(self) -> None:
        """Time each seat from when it was asked, which a rejected reply does not change, and call the watchers."""
        for seat in self.seat_sessions:
            if not self.match.asks(seat):
                self._asked.pop(seat, None)
            elif (seen := self.match.seen(seat)) != self._asked.get(seat, (None,))[0]:
                self._asked[seat] = (seen, time.monotonic())
        for changed in self._watchers:
            changed()


def resume_players(match: Match, players: Mapping[Seat, Player]) -> None:
    """Give players that take over a running match what their seats have seen and said so far."""
    if len(match.events) == 1:
        return
    for seat, player in players.items():
        if isinstance(player, ResumablePlayer):
            player.recall(match.record().seen_by(seat))


class OpenSession(NamedTuple):
    """A match held in memory: its database entry and its session."""

    stored: StoredMatch
    session: MatchSession


class SessionManager:
    """Open sessions of a study, or of free play, by the match's id: running ones, and finished ones still shown.

    Set `endings` to the function that returns the ways of ending, by participant id, that the end of a match brings
    about, and `changed` to a callback for every change of a match.

    Args:
        database: The database that all events are saved to.
        study: The study; None: free play.
        store: Opens the folder to which finished records are also appended; None: no folder.
        models: Endpoints of language models that may take a seat.
    """

    def __init__(
        self,
        database: Database,
        study: Study | None = None,
        *,
        store: Callable[[], Store] | None = None,
        models: EndpointProvider = NONE,
    ) -> None:
        self._database, self._study, self._store, self._models = database, study, store, models
        self.endings: Callable[[StoredMatch, Ended], Mapping[str, Ending]] = lambda stored, ended: {}
        self.changed: Callable[[StoredMatch], None] = lambda stored: None
        self._open: dict[str, OpenSession] = {}

    def begin(
        self,
        match: Match,
        people: Mapping[Seat, str | None],
        *,
        treatment: str | None = None,
        practice: int = 0,
        endings: Mapping[str, Ending] | None = None,
    ) -> MatchSession:
        """Save a new match and open its session.

        Args:
            match: The match as it was dealt.
            people: The participant's id for each person's seat; None for a person outside any study.
            treatment: Name of the treatment.
            practice: Practice round, from 1; 0 for a real match.
            endings: Ways of ending by participant id, for a match that is over as it was dealt.

        Raises:
            ValueError: A player cannot play its seat.
        """
        players = seat_players(match, self._models, people, load=False)
        study = None if self._study is None else self._study.name
        record = match.record()
        stored = self._database.add(
            record, dict(people), study=study, treatment=treatment, practice=practice, endings=endings
        )
        if match.ended is not None:
            self._write_to_folder(record)
        return self._opened(stored, MatchSession(match, players, **self._options(stored)))

    def resume(self, stored: StoredMatch) -> MatchSession:
        """Return the session of a saved match, reopening it if it is not open.

        Raises:
            KeyError: The database has no such match.
            ValueError: Its record cannot be replayed, or a player cannot play its seat.
        """
        if stored.id in self._open:
            return self._open[stored.id].session
        record = self._database.record(stored.id)
        players = self._players(record, stored.people)
        return self._opened(stored, MatchSession.resumed(record, players, **self._options(stored)))

    def _players(self, record: Record, people: Collection[Seat]) -> dict[Seat, Player]:
        """Make the automated players that a record names."""
        header, game = record.header, record.game
        return {
            seat: make_player(name, game, header.seed or 0, seat, models=self._models, match=header.id, load=False)
            for seat, name in header.players.items()
            if seat not in people
        }

    def _options(self, stored: StoredMatch) -> dict[str, Any]:
        """Return the options of a match's session. A delay is drawn from the seed, so that a restart draws the same."""
        if self._study is None:
            return {"save": self._save}
        delay = self._study.delay(stored.treatment, stored.practice)

        def seconds(match: Match) -> float:
            return delay.seconds(random.Random(derive_seed(match.seed or 0, "delay", len(match.events))))

        return {"save": self._save, "delay": seconds, "limits": self._study.limits}

    def _opened(self, stored: StoredMatch, session: MatchSession) -> MatchSession:
        self._open[stored.id] = OpenSession(stored, session)
        session.watch(lambda: self.changed(stored))
        session.advance()
        return session

    def close(self, match: str) -> None:
        """Drop a finished match from memory; it stays in the database."""
        self._open.pop(match, None)

    def cancel(self) -> None:
        """Cancel all answers that are under way."""
        for _, session in self._open.values():
            session.cancel()

    def sweep(self, shown: Callable[[StoredMatch], bool]) -> None:
        """Close finished matches for which `shown` is false; a page that needs one later reopens it."""
        for stored, session in list(self._open.values()):
            if session.match.ended is not None and not shown(stored):
                self.close(stored.id)

    def running(self) -> list[OpenSession]:
        """Return the open matches that have not ended."""
        return [each for each in self._open.values() if each.session.match.ended is None]

    def _save(self, match: Match, seq: int, news: Sequence[Event]) -> None:
        last = news[-1]
        endings = self.endings(self._open[match.id].stored, last) if isinstance(last, Ended) else {}
        self._database.append(match.id, seq, news, endings)
        if isinstance(last, Ended):
            self._write_to_folder(self._database.record(match.id))

    def write_missing(self) -> None:
        """Append finished records of free play that the folder lacks, as after a crash.

        Raises:
            OSError: The folder cannot be written.
            ValueError: The folder cannot be used for single matches.
        """
        if self._store is not None:
            finished = [stored.id for stored in self._database.matches() if stored.ended is not None]
            with self._store() as store:
                written = store.ids()
                for id in finished:
                    if id not in written:
                        store.append(self._database.record(id))

    def _write_to_folder(self, record: Record) -> None:
        """Append a finished record to the folder; after a failure `write_missing` does it at the next start."""
        if self._store is None:
            return
        try:
            with self._store() as store:
                store.append(record)
        except (OSError, ValueError):
            log.exception("a finished record could not be written to the folder; the database has it")
