"""The host process, `python -m negolab.studies.server`: owns the database and runs all matches with people."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path

import sqlalchemy as sa
import tornado.httpserver
import tornado.web
from tornado.ioloop import PeriodicCallback
from tornado.netutil import bind_unix_socket

from negolab import catalog
from negolab.catalog import AnyGame
from negolab.game import Seat
from negolab.players.lookup import resolve
from negolab.protocols import player_notes
from negolab.runs.driver import make_player
from negolab.store import Store
from negolab.studies.admin import AdminService
from negolab.studies.database import Database
from negolab.studies.database.base import DatabaseInUse
from negolab.studies.database.connection import DatabaseOutage, describe_error
from negolab.studies.host_config import HostConfig, KnownEndpoints, read_host_config
from negolab.studies.routes import admin_app, seats_app
from negolab.studies.service import StudyService
from negolab.studies.study_config import Study
from negolab.studies.study_file import read_study

log = logging.getLogger("negolab.studies")

TICK = 250
"""Milliseconds between two runs of the periodic work."""
CODE = "code"
"""Kind of the note with the hash and path of the researcher's own game, from when it was first served."""
AGAIN = 2.0
"""Seconds between two checks of the claim on the database, or of its return from an outage."""


def listen(app: tornado.web.Application, path: Path, owner: str | None = None, most: int = 2**20) -> None:
    """Serve an application on a Unix socket that only one user can open.

    Args:
        app: The application.
        path: Path of the socket.
        owner: Name of the user who may open it; None: the user of this process.
        most: Largest size of a request's body in bytes.

    Raises:
        OSError: The socket cannot be made.
        LookupError: There is no such user.
    """
    server = tornado.httpserver.HTTPServer(app, max_body_size=most)
    server.add_socket(bind_unix_socket(str(path), mode=0o600))
    if owner is not None:
        shutil.chown(path, owner)


async def run(args: argparse.Namespace) -> None:
    """Serve until SIGTERM or SIGINT, or until the launcher ends.

    Args:
        args: Command-line arguments; see `main`.

    Raises:
        DatabaseInUse: Another host holds the database, or took it over during an outage.
        OSError: A file or socket cannot be used.
        ValueError: The game, study, database or model endpoints are invalid.
    """
    # "-" reads the configuration from standard input: a database URL may hold a password, and model keys are secret.
    for module in args.module:
        catalog.game_module(module)
    config = read_host_config(FileIO(0, closefd=False).readline()) if args.db == "-" else HostConfig(args.db)
    models = config.models()
    database = Database(config.db)
    database.claim()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for sign in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(sign, stop.set)
    _end_with_parent(loop, stop)
    store = (lambda: Store(args.out, wait=3).for_single_matches()) if args.out else None
    service = _make_service(database, args, models)
    admin = AdminService(database, service, store=store, models=models)
    if service is not None and args.seats:
        listen(seats_app(service), args.seats, args.owner)
    listen(admin_app(admin), args.admin, most=2**26)  # the record of a long match is big
    timers = Timers(database, service, admin, stop)
    PeriodicCallback(timers.tick, TICK).start()
    print("ready", flush=True)
    await stop.wait()
    database.close()
    timers.outage.close()
    if timers.taken is not None:
        raise timers.taken


def _make_service(database: Database, args: argparse.Namespace, models: KnownEndpoints) -> StudyService | None:
    """Make the service of the study on the command line; `ValueError` if it needs a model that is not known here."""
    if args.study is None:
        return None
    study = read_study(args.study, at=args.study_at)
    _reach(study, models)
    _note_code(database, study, args.trust)
    return StudyService(database, study, models)


def _note_code(database: Database, study: Study, trust: bool) -> None:
    """Note the hashes of the researcher's own game and players; ValueError if one changed, unless `trust` is set."""
    game = catalog.source(study.loaded(study.treatments[0]))
    sources = {} if game is None else {game.reference: game.sha256}
    for loaded, name, _ in _opponents(study):
        facts = resolve(name, loaded, load=False).facts
        if "sha256" in facts:
            sources[facts.get("path", facts["source"])] = facts["sha256"]
    notes = (note.detail.partition(" ") for note in database.notes(study.name) if note.kind == CODE)
    noted = {reference: sha256 for sha256, _, reference in notes}
    for reference, sha256 in sources.items():
        if noted.get(reference, sha256) != sha256 and not trust:
            raise ValueError(
                f"{reference} has changed since study {study.name} was last served: to go on with it, give --trust"
            )
        if noted.get(reference) != sha256:
            database.note(CODE, "researcher", study=study.name, detail=f"{sha256} {reference}")


def _opponents(study: Study) -> Iterator[tuple[AnyGame, str, tuple[Seat, ...]]]:
    """Yield the players of a study, each with its game and the seats that it may get."""
    for part in study.treatments:
        if (name := part.opponent or study.pairing.player) is not None:
            yield study.loaded(part), name, part.across()
    if study.practice.matches:
        seats = tuple({seat for part in study.treatments for seat in part.across()})
        yield study.loaded(study.practice), study.practice.opponent, seats


def _reach(study: Study, models: KnownEndpoints) -> None:
    """Raise `ValueError` at the start, not during a match, if a player needs a model that is not known here."""
    for game, name, seats in _opponents(study):
        for seat in seats:
            player_notes({seat: make_player(name, game, 0, seat, models=models, load=False)})


class Timers:
    """Periodic work of the host; paused while the database is unreachable.

    If another host has claimed the database meanwhile, `taken` holds the error and the host stops.
    """

    def __init__(
        self, database: Database, service: StudyService | None, admin: AdminService, stop: asyncio.Event
    ) -> None:
        self.outage = DatabaseOutage(log)
        self.taken: DatabaseInUse | None = None
        self._database, self._stop = database, stop
        study = () if service is None else (service.scheduler.tick,)
        self._tasks: tuple[Callable[[], None], ...] = (self._hold, *study, admin.tick, database.forget)
        self._held = 0.0
        self._tried = 0.0

    def tick(self) -> None:
        """Do the periodic work once; an error is logged and stops neither the timer nor the other tasks."""
        for task in self._tasks:
            if self.outage.now and not self._is_back():
                return
            try:
                task()
            except DatabaseInUse as error:
                self.taken = error
                self._stop.set()
                return
            except Exception:
                # A full disk or an unreachable database must not stop the timer; the next tick tries again.
                log.exception("a periodic task of the study failed; it is tried again")

    def _is_back(self) -> bool:
        if time.monotonic() - self._tried < AGAIN:
            return False
        self._tried = time.monotonic()
        if not self._database.ready():
            return False
        self._held = 0.0  # check the claim at once: another host may have taken the database during the outage
        self.outage.back()
        return True

    def _hold(self) -> None:
        if time.monotonic() - self._held > AGAIN:
            self._database.hold()
            self._held = time.monotonic()


def _end_with_parent(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Set `stop` when standard input closes: the launcher holds its other end, so that the host never outlives it."""

    def closed() -> None:
        if not os.read(0, 4096):
            loop.remove_reader(0)
            stop.set()

    loop.add_reader(0, closed)


def main() -> None:
    """Parse the arguments that the launcher passes, and run the host; exit with status 2 on an error."""
    parser = argparse.ArgumentParser(prog="negolab.studies.server")
    parser.add_argument("--db", required=True)
    parser.add_argument("--admin", type=Path, required=True)
    parser.add_argument("--seats", type=Path)
    parser.add_argument("--study", type=Path)
    parser.add_argument("--study-at", type=Path, help="the file that --study is a copy of")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--owner")
    parser.add_argument("--trust", action="store_true", help="go on although the study's own game has changed")
    parser.add_argument("--module", action="append", default=[], help="of games or players of the researcher's own")
    args = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="negolab host: %(message)s", stream=sys.stderr)
    try:
        asyncio.run(run(args))
    except (OSError, ValueError) as error:
        print(f"negolab: {error}", file=sys.stderr)
        sys.exit(2)
    except sa.exc.DBAPIError as error:
        print(f"negolab: the database cannot be used: {describe_error(error)}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
