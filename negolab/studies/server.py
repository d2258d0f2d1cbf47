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
from contextlib import suppress
from functools import partial
from io import FileIO
from pathlib import Path
from typing import NamedTuple

import sqlalchemy as sa
import tornado.httpserver
from tornado.netutil import bind_unix_socket

from negolab import catalog
from negolab._internal import clock
from negolab.catalog import AnyGame
from negolab.formatting import LogFormatter
from negolab.game import Seat
from negolab.ledger import FILE, Ledger
from negolab.llm.endpoint.budget import Budget
from negolab.llm.endpoint.prices import Prices
from negolab.llm.models import Models
from negolab.llm.player import LLM
from negolab.players.lookup import resolve
from negolab.protocols import player_notes
from negolab.runs.driver import make_player
from negolab.store import Store
from negolab.studies.admin import AdminService
from negolab.studies.database import Database
from negolab.studies.database.base import DatabaseInUse
from negolab.studies.database.connection import DatabaseOutage, database_name, database_url, describe_error
from negolab.studies.host_config import HostConfig, KnownEndpoints, read_host_config
from negolab.studies.model_seats import spent
from negolab.studies.routes import Switch, admin_app, away_app, seats_app
from negolab.studies.service import StudyService
from negolab.studies.study_config import Study
from negolab.studies.study_file import read_study
from negolab.studies.trial.stand_ins import browsers_study

log = logging.getLogger("negolab.studies")

TICK = 0.25
"""Seconds between runs of the periodic work."""
CODE = "code"
"""Kind of the note with the hash and path of the researcher's own game as first served."""
HOLD_EVERY = 2.0
"""Seconds between checks of the claim on the database."""
FIRST_PAUSE, MAX_PAUSE = 0.5, 10.0
"""Seconds between attempts to open the database after an outage; doubled after each failure."""
FROZEN = 15.0
"""Seconds without a tick after which a wait for the database, this machine's sleep, or a clock set forward counts as an
outage."""
LAST_ANSWERS = 0.2
"""Seconds at the end for refusing requests in progress."""
STEADY = 15.0
"""Seconds after which a database that came back is considered back for good."""


def listen(app: Switch, path: Path, owner: str | None = None, most: int = 2**20) -> tornado.httpserver.HTTPServer:
    """Serve an application on a Unix socket that only one user can open.

    Args:
        app: The application, which may be replaced.
        path: Path of the socket.
        owner: Name of the user who may open it; None: the user of this process.
        most: Largest size of a request body in bytes.

    Returns:
        The server.

    Raises:
        OSError: The socket cannot be created.
        LookupError: There is no such user.
    """
    server = tornado.httpserver.HTTPServer(app, max_body_size=most)
    server.add_socket(bind_unix_socket(str(path), mode=0o600))
    if owner is not None:
        shutil.chown(path, owner)
    return server


class Services(NamedTuple):
    """The services of a host with its database: a study or none, and the researcher's pages."""

    database: Database
    study: StudyService | None
    admin: AdminService

    def close(self) -> None:
        """Stop all services immediately; nothing more is saved."""
        self.database.close()
        self.admin.close()
        if self.study is not None:
            self.study.close()


class Host:
    """The services behind the two sockets, or a refusal of every request while their database is away.

    After an outage, they are rebuilt from the database, as when the host is restarted after a crash: only the database
    knows whether what was saved last had arrived.

    Args:
        url: The database.
        build: Builds the services for a database that has been claimed.
    """

    def __init__(self, url: str, build: Callable[[Database], Services]) -> None:
        self.outage = DatabaseOutage(log, database_name(database_url(url)), self._lose)
        self.seats, self.admin = Switch(away_app()), Switch(away_app(self._why))
        self._url, self._build = url, build
        self._services: Services | None = None
        self._id, self._last, self._mark = "", dict[str, int](), ""
        self._opened = self._ticked = self._held = self._next = 0.0
        self._failures = 0

    def _why(self) -> str:
        return f"negolab is {self.outage}. Nothing is lost, and this page will continue automatically."

    def open(self, database: Database) -> None:
        """Claim a database and serve what it holds.

        Raises:
            DatabaseInUse: Another host has claimed it.
            OSError: A file cannot be used.
            ValueError: The study or a model's endpoint is invalid, the researcher's own code has changed, or the
                database's disk is full.
            sqlalchemy.exc.DBAPIError: The database does not accept writes.
        """
        try:
            database.claim()
            database.check_writable()
            if (behind := (latest := database.latest()) - time.time()) > 1:
                log.warning(
                    "this machine's clock is %.0f s behind the end of %s: time continues from there",
                    behind,
                    database,
                )
            clock.not_before(latest)
            services = self._build(database)
        except BaseException:
            database.close()
            raise
        self._services, self._id = services, database.id
        self._opened, self._ticked = time.monotonic(), clock.time()
        self.admin.app = admin_app(services.admin)
        if services.study is not None:
            self.seats.app = seats_app(services.study)

    async def close(self) -> None:
        """End the services, release the database, and send away those waiting for news."""
        self._lose()
        await asyncio.sleep(LAST_ANSWERS)  # until then, `outage` keeps errors about the closed database out of the log
        self.outage.close()

    async def work(self, stop: asyncio.Event) -> None:
        """Do the periodic work until `stop` is set; during an outage, try to open the database again."""
        while not stop.is_set():
            if self._services is not None:
                self.tick()
            elif time.monotonic() >= self._next:
                await self._reopen()
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), TICK)

    def tick(self) -> None:
        """Do the periodic work once; an error is logged and stops no other task, unless the database is unreachable."""
        ticked, self._ticked = self._ticked, clock.time()
        if self._ticked - ticked > FROZEN:  # nobody could answer in the meantime: no time limit may expire
            self.outage.begin(f"nothing answered for {self._ticked - ticked:.0f} s, or the clock was set")
            return
        for task in self._tasks():
            try:
                task()
            except DatabaseInUse as error:  # another host took it during an outage
                self.outage.begin(str(error))
            except Exception:
                log.exception("a periodic task of the study failed; it will be retried")
            if self._services is None:
                return

    def _tasks(self) -> list[Callable[[], None]]:
        assert self._services is not None
        database, study, admin = self._services
        return [partial(self._hold, database), *([study.scheduler.tick] if study else []), admin.tick, database.forget]

    def _hold(self, database: Database) -> None:
        if time.monotonic() - self._held > HOLD_EVERY:
            database.hold()
            self._held = time.monotonic()

    def _lose(self) -> None:
        """Refuse everything from now on, and have the services rebuilt."""
        services, self._services = self._services, None
        self.seats.app, self.admin.app = away_app(), away_app(self._why)
        if services is not None:
            self._last, self._mark = services.database.last, services.database.host
            services.close()
            self._failures = self._failures + 1 if time.monotonic() - self._opened < STEADY else 0
        self._plan()

    def _plan(self) -> None:
        self._next = time.monotonic() + min(MAX_PAUSE, FIRST_PAUSE * 2**self._failures)

    async def _reopen(self) -> None:
        try:
            # In a thread: a server that does not answer must not hold up the refusals.
            opened = partial(Database, self._url, known=self._id, last=self._last, host=self._mark)
            self.open(await asyncio.to_thread(opened))
        except Exception as error:
            is_sentence = isinstance(error, OSError | ValueError)
            self.outage.begin(str(error) if is_sentence else describe_error(error))
            self._failures += 1
            self._plan()
        else:
            self.outage.back()


async def run(args: argparse.Namespace) -> None:
    """Serve until SIGTERM or SIGINT, or until the launcher exits.

    Args:
        args: Command-line arguments; see `main`. Only with `wait` may the database be unreachable at the start.

    Raises:
        DatabaseInUse: Another host holds the database.
        OSError: A file or socket cannot be used.
        ValueError: The game, study, database or model endpoints are invalid.
    """
    # "-" reads the configuration from standard input: a database URL may hold a password, and model keys are secret.
    for module in args.module:
        catalog.game_module(module)
    config = read_host_config(FileIO(0, closefd=False).readline()) if args.db == "-" else HostConfig(args.db)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for sign in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(sign, stop.set)
    host = Host(config.db, _builder(args, config))
    if not args.wait:
        host.open(Database(config.db))
    _end_with_parent(loop, stop)
    servers = [listen(host.admin, args.admin, most=2**26)]  # the record of a long match is large
    if args.study is not None and args.seats:
        servers.append(listen(host.seats, args.seats, args.owner))
    print("ready", flush=True)
    await host.work(stop)
    for server in servers:
        server.stop()
    await host.close()


def _builder(args: argparse.Namespace, config: HostConfig) -> Callable[[Database], Services]:
    """Return the function that builds the services for a database.

    Raises:
        ValueError: The study needs a model that is not known here, or whose price is not known.
    """
    store = (lambda: Store(args.out, wait=3).for_single_matches()) if args.out else None
    study = None if args.study is None else read_study(args.study, at=args.study_at)
    if study is not None:
        if args.trial is not None:
            study = browsers_study(study, with_models=args.trial == "models")
        reach(study, config.models())
        check_prices(study, config)
    models: KnownEndpoints | None = None

    def build(database: Database) -> Services:
        nonlocal models
        if models is None:  # after an outage, the imported code is unchanged, and the ledger is still open
            if study is not None:
                _note_code(database, study, args.trust)
            models = config.models(_open_ledger(database, study, args.out) if config.endpoints else None)
        service = None if study is None else StudyService(database, study, models.for_study())
        return Services(database, service, AdminService(database, service, store=store, models=models))

    return build


def _open_ledger(database: Database, study: Study | None, out: Path | None) -> Ledger:
    """Open the ledger of models' usage, next to the records, so that a restart does not grant a budget twice.

    If there is none yet, models' replies in the database count.
    """
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    file = None if out is None else out / f"{database.id}.{FILE}"
    return Ledger(file, lambda: spent(database.model_replies(None if study is None else study.name)))


def _note_code(database: Database, study: Study, trust: bool) -> None:
    """Note the hashes of the researcher's own game and players; raise ValueError if one changed, unless `trust` is
    set."""
    game = catalog.source(study.loaded(study.treatments[0]))
    sources = {} if game is None else {game.reference: game.sha256}
    for loaded, name, _ in opponents(study):
        facts = resolve(name, loaded, load=False).facts
        if "sha256" in facts:
            sources[facts.get("path", facts["source"])] = facts["sha256"]
    notes = (note.detail.partition(" ") for note in database.notes(study.name) if note.kind == CODE)
    noted = {reference: sha256 for sha256, _, reference in notes}
    for reference, sha256 in sources.items():
        if noted.get(reference, sha256) != sha256 and not trust:
            raise ValueError(
                f"{reference} has changed since study {study.name} was last served: to continue, add --trust"
            )
        if noted.get(reference) != sha256:
            database.note(CODE, "researcher", study=study.name, detail=f"{sha256} {reference}")


def opponents(study: Study) -> Iterator[tuple[AnyGame, str, tuple[Seat, ...]]]:
    """Yield a study's players and those that take over from them, each with its game and the seats it may get."""
    for settings, _ in study.matches():
        for name in (settings.opponent or study.pairing.player, study.models.player if settings.has_model else None):
            if name is not None:
                yield study.loaded(settings), name, settings.across()


def reach(study: Study, models: KnownEndpoints) -> None:
    """Raise `ValueError` at the start, not during a match, if a player needs a model that is not known here."""
    for game, name, seats in opponents(study):
        for seat in seats:
            player_notes({seat: make_player(name, game, 0, seat, models=models, load=False)})


def check_prices(study: Study, config: HostConfig) -> None:
    """Raise `ValueError` if a money budget cannot be kept, because a model's price is not known."""
    limits = (config.budget, study.models.budget.usd, study.models.budget_each.usd)
    if all(limit is None for limit in limits):
        return
    limited = Models(budget=Budget(usd=0), prices=Prices.parse(config.prices))
    for game, name, seats in opponents(study):
        player = make_player(name, game, 0, seats[0], load=False)
        if isinstance(player, LLM):
            limited.policy.check(player.settings.model)


def _end_with_parent(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Set `stop` when standard input closes: the launcher holds the other end, so that the host never outlives it."""

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
    parser.add_argument("--trial", choices=("models", "stand-ins"), help="browsers try the study: who plays for models")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--owner")
    parser.add_argument("--trust", action="store_true", help="continue even if the study's own game has changed")
    parser.add_argument(
        "--wait", action="store_true", help="start even if the database is unavailable, and wait for it"
    )
    parser.add_argument("--module", action="append", default=[], help="module with your own games or players")
    args = parser.parse_args()
    handler = logging.StreamHandler()
    handler.setFormatter(LogFormatter("negolab host: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
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
