"""Databases for tests: a SQLite file, and a private PostgreSQL cluster that is removed after the session."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import needs


def _binary(name: str) -> str:
    """Find a program of PostgreSQL, also in Debian's versioned folder."""
    folders = sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")), reverse=True)
    return needs(name, "postgresql", os.pathsep.join([*folders, os.environ.get("PATH", "")]))


def _owner() -> dict[str, Any]:
    """User and group to run the server as: PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return {}
    entry = pwd.getpwnam("postgres")
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


class Cluster:
    """A PostgreSQL that listens only on a Unix socket in its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._owner = folder, _owner()
        self._numbers = count(1)
        if self._owner:
            os.chown(folder, self._owner["user"], self._owner["group"])
        command = [_binary("initdb"), "-D", folder / "data", "-U", "postgres", "-A", "trust", "-E", "UTF8"]
        command += ["--locale=C", "--no-sync"]
        subprocess.run(command, check=True, capture_output=True, cwd=folder, timeout=300, **self._owner)

    def start(self) -> None:
        """Start the server and wait until it answers."""
        import psycopg

        settings = ["-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=200"]
        command = [_binary("postgres"), "-D", self.folder / "data", "-k", self.folder, *settings]
        nothing: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        self._process = subprocess.Popen(command, cwd=self.folder, start_new_session=True, **nothing, **self._owner)
        end = time.monotonic() + 60
        while True:
            try:
                return self.execute("SELECT 1")
            except psycopg.OperationalError as error:
                if self._process.poll() is not None or time.monotonic() > end:
                    pytest.fail(f"PostgreSQL did not start: {error}")
                time.sleep(0.05)

    def stop(self, sign: signal.Signals = signal.SIGINT) -> None:
        """Stop the server: with SIGINT in order, with SIGQUIT as a crash does."""
        self._process.send_signal(sign)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def url(self, database: str) -> str:
        return f"postgresql+psycopg://postgres@/{database}?host={self.folder}"

    def execute(self, statement: str) -> None:
        import psycopg

        with psycopg.connect(f"host={self.folder} user=postgres dbname=postgres", autocommit=True) as connection:
            connection.execute(statement.encode())

    def fresh(self, template: str = "template0") -> str:
        """Create a database that is a copy of another (default: an empty one) and return its name."""
        name = f"t{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    @cached_property
    def template(self) -> str:
        """The name of a database with our tables."""
        from negolab.studies.database import Database

        name = self.fresh()
        Database(self.url(name)).close()
        return name

    def drop(self, database: str) -> None:
        self.execute(f"DROP DATABASE {database} WITH (FORCE)")


@contextmanager
def running_cluster() -> Iterator[Cluster]:
    """Run a private cluster until the block ends."""
    # A short path: that of a Unix socket has 107 characters at most.
    folder = Path(tempfile.mkdtemp(prefix="negolab-pg-", dir="/tmp"))
    try:
        cluster = Cluster(folder)
        cluster.start()
        try:
            yield cluster
        finally:
            cluster.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    """Run a private cluster for the session."""
    with running_cluster() as cluster:
        yield cluster


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """URL of a new database without tables: each test runs on SQLite and on PostgreSQL."""
    yield from _urls(request, tmp_path, with_tables=False)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """URL of a new database: each test runs on SQLite and on PostgreSQL."""
    yield from _urls(request, tmp_path, with_tables=True)


def _urls(request: pytest.FixtureRequest, folder: Path, *, with_tables: bool) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(folder / "people.db")
        return
    cluster: Cluster = request.getfixturevalue("postgres")
    # Databases of one template are copies of each other, and what is kept for one of them counts for all.
    request.getfixturevalue("monkeypatch").setenv("XDG_DATA_HOME", str(folder / "data"))
    name = cluster.fresh(cluster.template) if with_tables else cluster.fresh()
    yield cluster.url(name)
    cluster.drop(name)
