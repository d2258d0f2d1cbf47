"""All open sessions of a study, or of free play: begun, resumed from the database, saved after every event, closed.

Every event is saved before anyone sees it.
"""

from __future__ import annotations

import hashlib
import logging
import random
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from negolab.events import Ended, Event
from negolab.game import Seat
from negolab.llm.endpoint.call import EndpointProvider
from negolab.match import Match
from negolab.players import negmas
from negolab.protocols import MODEL_PREFIX, Player
from negolab.record import Header, Record
from negolab.runs.driver import make_player, seat_players
from negolab.runs.plan import derive_seed
from negolab.store import Store
from negolab.studies.endings import Ending
from negolab.studies.host_config import NONE
from negolab.studies.model_seats import FALLBACK, PAUSE, Fallback, ModelBudget
from negolab.studies.session import MatchSession
from negolab.studies.steps import Delay
from negolab.studies.study_config import Study
from negolab.studies.texts import texts
from negolab.user_code import CodeSource, is_trusted, trust

if TYPE_CHECKING:
    from negolab.studies.database import Database, StoredMatch

log = logging.getLogger("negolab.studies")

_OUTSIDE = {MODEL_PREFIX.rstrip(":"), *negmas.PLAYERS}
"""Kinds of players that ask a service or another program."""


def _is_outside(name: str) -> bool:
    return name.partition(":")[0] in _OUTSIDE


def _choice(header: Header, people: Collection[Seat]) -> CodeSource:
    """Return how this user's list of what is trusted names a match of free play that was begun, with its players."""
    chosen = msgspec.json.encode([header, sorted(people)])
    return CodeSource(f"match {header.id}", hashlib.sha256(chosen).hexdigest())


class OpenSession(NamedTuple):
    """A match held in memory: its database entry and its session."""

    stored: StoredMatch
    session: MatchSession


class SessionManager:
    """Open sessions of a study, or of free play, by the match's id: running ones, and finished ones still shown.

    Set `endings` to the function that returns the ways of ending, by participant id, that a match which has ended
    brings about, and `delay` to the one that returns the thinking time of a match's player.

    Args:
        database: The database that all events are saved to.
        changed: Called after every change of a match, with the seats whose view has changed.
        study: The study; None: free play.
        store: Opens the folder to which finished records are also appended; None: no folder.
        models: Endpoints of language models that may take a seat.
    """

    def __init__(
        self,
        database: Database,
        changed: Callable[[StoredMatch, Collection[Seat]], None],
        study: Study | None = None,
        *,
        store: Callable[[], Store] | None = None,
        models: EndpointProvider = NONE,
    ) -> None:
        self._database, self._study, self._store, self._models = database, study, store, models
        self._changed = changed
        self.endings: Callable[[StoredMatch, Match], Mapping[str, Ending]] = lambda stored, match: {}
        self.delay: Callable[[StoredMatch], Delay] = lambda stored: Delay()
        self.model_failed: Callable[[StoredMatch], None] = lambda stored: None
        self._open: dict[str, OpenSession] = {}
        self._failed: dict[str, Fallback] = {}
        """Failures of models that end their matches, by the match's id, until they are saved with the end."""
        self._paused = set() if study is None else set(database.pauses(study.name))
        self._budget = None if study is None or not study.models.is_limited else self._spent(study)

    def _spent(self, study: Study) -> ModelBudget:
        """Count what models took before this host began."""
        budget = ModelBudget(study.models)
        for stored in self._database.matches(study.name):
            budget.add(stored.participants.values(), self._database.record(stored.id).events)
        return budget

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
        if study is None and any(map(_is_outside, match.players.values())):
            trust(_choice(record.header, people))
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
            ValueError: Its game is not known, or a player cannot play its seat or may not be called.
        """
        if stored.id in self._open:
            return self._open[stored.id].session
        record = self._database.record(stored.id)
        players = self._players(record, stored)
        return self._opened(stored, MatchSession.resumed(record, players, **self._options(stored)))

    def _players(self, record: Record, stored: StoredMatch) -> dict[Seat, Player]:
        """Make the automated players that a record names, or that took over from them."""
        names = {**record.header.players, **self._substitutes(stored)}
        if stored.ended is None:
            self._check_chosen(stored, record.header, names.values())
        return {seat: self._player(record, seat, name) for seat, name in names.items() if seat not in stored.people}

    def _check_chosen(self, stored: StoredMatch, header: Header, names: Iterable[str]) -> None:
        """Raise `ValueError` for a model or program that was not chosen here: the database may be a stranger's."""
        study = self._study
        for name in filter(_is_outside, names):
            if not (is_trusted(_choice(header, stored.people)) if study is None else name in study.players()):
                why = "was chosen on another machine" if study is None else "this study file does not name"
                raise ValueError(f"match {stored.id} is against {name:.80}, which {why}, so it cannot continue")

    def _player(self, record: Record, seat: Seat, name: str) -> Player:
        header, seed = record.header, record.header.seed or 0
        return make_player(name, record.game, seed, seat, models=self._models, match=header.id, load=False)

    def _substitutes(self, stored: StoredMatch) -> dict[Seat, str]:
        """Return the names of players that took over from models in a match."""
        kept = self._database.kept_notes(stored.study, FALLBACK, Fallback) if stored.study else {}
        fallback = kept.get(stored.id)
        return {} if fallback is None or fallback.player is None else {fallback.seat: fallback.player}

    def _options(self, stored: StoredMatch) -> dict[str, Any]:
        """Return the options of a match's session. A delay is drawn from the seed, so that a restart draws the same."""
        if self._study is None:
            return {"save": self._save}
        delay = self.delay(stored)

        def seconds(match: Match) -> float:
            return delay.seconds(random.Random(derive_seed(match.seed or 0, "delay", len(match.events))))

        return {
            "save": self._save,
            "delay": seconds,
            "limits": self._study.limits,
            # A game's own last words may sound as if nothing more were to be done.
            "closing": texts.MATCH_OVER,
            "fixed_texts": self._study.has_fixed_texts,
            "patience": self._study.models.patience,
            "fall_back": partial(self._fall_back, stored),
            "check": partial(self._check_budget, stored),
        }

    def _fall_back(self, stored: StoredMatch, seat: Seat, reason: str) -> Player | None:
        """Give a failed model's seat to the player that the study names, and keep a note of it."""
        assert self._study is not None
        name = self._study.models.player
        fallback = Fallback(seat, name, reason)
        if name is None:
            self._failed[stored.id] = fallback
            self.model_failed(stored)
            return None
        self._database.keep(FALLBACK, fallback, study=stored.study, match=stored.id)
        return self._player(self._database.record(stored.id), seat, name)

    def _check_budget(self, stored: StoredMatch, seat: Seat) -> None:
        """Raise `BudgetReached` if a model must not be asked any more."""
        session = self._open.get(stored.id)
        is_model = session is not None and session.session.match.players[seat].startswith(MODEL_PREFIX)
        if self._budget is not None and is_model and seat not in self._substitutes(stored):
            self._budget.check(stored.participants.values())

    def _opened(self, stored: StoredMatch, session: MatchSession) -> MatchSession:
        self._open[stored.id] = OpenSession(stored, session)
        session.watch(lambda: self._changed(stored, session.changed_seats))
        session.watch(lambda: self._keep_pause(stored, session))
        session.advance()
        return session

    def _keep_pause(self, stored: StoredMatch, session: MatchSession) -> None:
        """Keep in the database that a match has begun to wait for its model, or goes on."""
        if session.paused == (stored.id in self._paused):
            return
        model = next(session.match.players[seat] for seat in session.players) if session.paused else ""
        self._database.keep(PAUSE, model, study=stored.study, match=stored.id)
        self._paused ^= {stored.id}

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
        endings = self.endings(self._open[match.id].stored, match) if isinstance(last, Ended) else {}
        self._database.append(match.id, seq, news, endings, self._failed.pop(match.id, None))
        if self._budget is not None:
            self._budget.add(self._open[match.id].stored.participants.values(), news)
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
