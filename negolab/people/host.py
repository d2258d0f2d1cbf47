"""`python -m negolab.people.host`: the process that owns people's matches, their opponents and the database.

It listens on Unix sockets that only one user may open. On `--seats`, pages take part in a study: each knows a lease,
and learns what its own seat may see. On `--desk`, the researcher plays, watches and ends matches.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import shutil
import signal
import sys
import time
from io import FileIO
from pathlib import Path

import sqlalchemy as sa
import tornado.httpserver
import tornado.web
from tornado.ioloop import PeriodicCallback
from tornado.netutil import bind_unix_socket

from negolab import catalog
from negolab.people.briefing import Briefing, read
from negolab.people.database import Database
from negolab.people.desk import Desk
from negolab.people.endpoints import Endpoints
from negolab.people.faults import Outage, told
from negolab.people.house import House
from negolab.people.ledger import Taken
from negolab.people.rooms import Rooms
from negolab.people.routes import desk, seats
from negolab.people.study import Study
from negolab.people.study import read as read_study
from negolab.play import made
from negolab.players.player import noted
from negolab.store import Store

log = logging.getLogger("negolab.people")

TICK = 250
"""Milliseconds between two looks at the clocks."""
AGAIN = 2.0
"""Seconds between two looks at whether the database answers, and is still ours alone."""


def listen(app: tornado.web.Application, path: Path, owner: str | None = None, most: int = 2**20) -> None:
    """Serve an application on a Unix socket that one user may open; `most` bytes are taken at once."""
    server = tornado.httpserver.HTTPServer(app, max_body_size=most)
    server.add_socket(bind_unix_socket(str(path), mode=0o600))
    if owner is not None:
        shutil.chown(path, owner)


async def run(args: argparse.Namespace) -> None:
    """Serve until a signal, or the end of the one who started it."""
    # An address of a database may hold a password, as keys of models do: "-" is the first line of our standard input.
    if args.module:
        catalog.module(args.module)
    told = read(FileIO(0, closefd=False).readline()) if args.db == "-" else Briefing(args.db)
    models = told.models()
    database = Database(told.db)
    database.claim()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for sign in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(sign, stop.set)
    _end_with_parent(loop, stop)
    store = (lambda: Store(args.out, wait=3).free()) if args.out else None
    house = _house(database, args, models)
    own = Desk(database, Rooms(database, store, models), house, models)
    if house is not None and args.seats:
        listen(seats(house), args.seats, args.owner)
    listen(desk(own), args.desk, most=2**26)  # a long match is a big record
    clocks = Clocks(database, house, own, stop)
    PeriodicCallback(clocks.tick, TICK).start()
    print("ready", flush=True)
    await stop.wait()
    database.close()
    clocks.outage.close()
    if clocks.taken is not None:
        raise clocks.taken


def _house(database: Database, args: argparse.Namespace, models: Endpoints) -> House | None:
    """The study at work; `ValueError` for one with a model that is not known here."""
    if args.study is None:
        return None
    study = read_study(args.study, at=args.study_at)
    _reach(study, models)
    return House(database, study, Rooms(database, models=models))


def _reach(study: Study, models: Endpoints) -> None:
    """`ValueError` for a model that is not known here, before anybody waits for its answer."""
    against = [(study.loaded(part), part.opponent or study.pairing.player, part.across()) for part in study.treatments]
    if study.practice.matches:
        seats = tuple({seat for part in study.treatments for seat in part.across()})
        against.append((study.loaded(study.practice), study.practice.opponent, seats))
    for game, name, seats in against:
        for seat in seats if name is not None else ():
            noted({seat: made(str(name), game, 0, seat, models=models)})


class Clocks:
    """What time does, as long as the database answers and is ours; else it is said, once, and `taken` ends the host."""

    def __init__(self, database: Database, house: House | None, own: Desk, stop: asyncio.Event) -> None:
        self.outage = Outage(log)
        self.taken: Taken | None = None
        self._database, self._house, self._own, self._stop = database, house, own, stop
        self._held = 0.0
        self._tried = 0.0

    def tick(self) -> None:
        if self.outage.now and not self._is_back():
            return
        try:
            self._hold()
            self._own.tick()
            if self._house is not None:
                self._house.course.tick()
            self._database.forget()
        except Taken as error:
            self.taken = error
            self._stop.set()
        except Exception:
            # The next look tries again: a full disk or a database that is away must not stop the clocks.
            log.exception("a look at the clocks failed")

    def _is_back(self) -> bool:
        if time.monotonic() - self._tried < AGAIN:
            return False
        self._tried = time.monotonic()
        if not self._database.ready():
            return False
        self._held = 0.0  # another host may have come while the database was away
        self.outage.back()
        return True

    def _hold(self) -> None:
        if time.monotonic() - self._held > AGAIN:
            self._database.hold()
            self._held = time.monotonic()


def _end_with_parent(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """The launcher holds the other end of our standard input: nothing survives it, however it ends."""

    def closed() -> None:
        if not os.read(0, 4096):
            loop.remove_reader(0)
            stop.set()

    loop.add_reader(0, closed)


def main() -> None:
    parser = argparse.ArgumentParser(prog="negolab.people.host")  # its caller is the launcher
    parser.add_argument("--db", required=True)
    parser.add_argument("--desk", type=Path, required=True)
    parser.add_argument("--seats", type=Path)
    parser.add_argument("--study", type=Path)
    parser.add_argument("--study-at", type=Path, help="the file that --study is a copy of")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--owner")
    parser.add_argument("--module", help="of a game that is not one of ours")
    args = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="negolab host: %(message)s", stream=sys.stderr)
    try:
        asyncio.run(run(args))
    except (OSError, ValueError) as error:
        print(f"negolab: {error}", file=sys.stderr)
        sys.exit(2)
    except sa.exc.DBAPIError as error:
        print(f"negolab: the database cannot be used: {told(error)}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
