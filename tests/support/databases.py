"""Databases for tests: a SQLite file, and a private PostgreSQL cluster that is removed after the session.

A test module that uses them declares `pytest_plugins = ("tests.support.databases",)`.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import needs


def _binary(name: str) -> str:
    """Find a program of PostgreSQL, also in Debian's versioned folder."""
    folders = sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")), reverse=True)
    return needs(name, "postgresql", os.pathsep.join([*folders, os.environ.get("PATH", "")]))


class Cluster:
    """A running PostgreSQL that listens only on a Unix socket in its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._numbers = count(1)

    def url(self, database: str) -> str:
        return f"postgresql+psycopg://postgres@/{database}?host={self.folder}"

    def execute(self, statement: str) -> None:
        import psycopg

        with psycopg.connect(f"host={self.folder} user=postgres dbname=postgres", autocommit=True) as connection:
            connection.execute(statement.encode())

    def fresh(self) -> str:
        """Create an empty database and return its name."""
        name = f"t{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        return name

    def drop(self, database: str) -> None:
        self.execute(f"DROP DATABASE {database} WITH (FORCE)")


def _owner() -> dict[str, Any]:
    """User and group to run the server as: PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return {}
    entry = pwd.getpwnam("postgres")
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _wait(cluster: Cluster, process: subprocess.Popen[bytes]) -> None:
    import psycopg

    end = time.monotonic() + 60
    while True:
        try:
            return cluster.execute("SELECT 1")
        except psycopg.OperationalError as error:
            if process.poll() is not None or time.monotonic() > end:
                pytest.fail(f"PostgreSQL did not start: {error}")
            time.sleep(0.05)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    """Run a private cluster for the session."""
    initdb, server = _binary("initdb"), _binary("postgres")
    owner = _owner()
    # A short path: that of a Unix socket has 107 characters at most.
    folder = Path(tempfile.mkdtemp(prefix="negolab-pg-", dir="/tmp"))
    if owner:
        os.chown(folder, owner["user"], owner["group"])
    data = folder / "data"
    try:
        command = [initdb, "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        subprocess.run(command, check=True, capture_output=True, cwd=folder, timeout=120, **owner)
        settings = ["-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=200"]
        process = subprocess.Popen(
            [server, "-D", data, "-k", folder, *settings],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            start_new_session=True,
            **owner,
        )
        try:
            cluster = Cluster(folder)
            _wait(cluster, process)
            yield cluster
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """URL of a new, empty database: each test runs on SQLite and on PostgreSQL."""
    if request.param == "sqlite":
        yield str(tmp_path / "people.db")
        return
    cluster: Cluster = request.getfixturevalue("postgres")
    name = cluster.fresh()
    yield cluster.url(name)
    cluster.drop(name)
