"""Supervise child processes: restart them when they die, and end them when this process ends, however it ends.

Once all of them have run, none is ever given up: only the operator ends a server. Before a server is announced, it is
tested: it must answer what it should, and refuse what it should.
"""

from __future__ import annotations

import contextlib
import io
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from negolab.formatting import escape_control
from negolab_widgets.server.addresses import Address
from negolab_widgets.server.logs import print_warning, write_stderr

STEADY = 15.0
"""Seconds after which a restarted child counts as back; one that ends sooner died immediately."""
FIRST_PAUSE, MAX_PAUSE = 0.5, 30.0
"""Seconds before a child that died immediately is restarted, doubled with each such death in a row, and their
maximum."""
BETWEEN_NOTICES = 60.0
"""Seconds between two lines on the terminal about a child that dies repeatedly."""
MAX_LINES = 1000
"""Maximum number of distinct lines of a dying child that are remembered so that none is printed twice."""
TERMINATE_WITHIN = 12.0
READY_WITHIN = 60.0
"""Seconds that a server may take to listen, and to answer."""
NOTICE = "away.txt"
"""File next to the host's sockets that tells the researcher's pages which children are away."""


@dataclass
class Child:
    """A server process.

    Its standard input is a pipe that only we hold, so it ends when we are gone, killed or not. At each start,
    `stdin_data` is written there: data that no process list or environment should show.
    """

    name: str
    command: Sequence[str]
    env: dict[str, str]
    options: dict[str, Any] = field(default_factory=dict)
    stdin_data: bytes = b""
    again: Sequence[str] = ()
    """Options added to its command when it is restarted."""
    process: subprocess.Popen[bytes] | None = None
    away: str = ""
    """Since when and why it is not running properly, in words; "" while it is."""
    _since: str = ""
    _started: float = 0.0
    _deaths: int = 0
    _next: float = 0.0
    _told: str = ""
    _told_at: float = 0.0
    _lines: set[bytes] = field(default_factory=set)

    def start(self, *more: str, **options: Any) -> subprocess.Popen[bytes]:
        """Start it in its own session, so that Ctrl-C in the terminal reaches only us, and we pass it on once.

        Only the user can read the files that it writes, unless `options` contain another `umask`.
        """
        self._started = time.monotonic()
        self.process = subprocess.Popen(
            [*self.command, *more],
            env=self.env,
            stdin=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            **{"umask": 0o077, **self.options, **options},
        )
        if self.stdin_data and self.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):  # it died immediately, which the next check will notice
                self.process.stdin.write(self.stdin_data)
        return self.process

    def keep_running(self) -> None:
        """Restart it if it died: immediately the first time, then after longer and longer pauses, indefinitely."""
        now = time.monotonic()
        if self.process is None:
            if now >= self._next:
                self._restart()
        elif (code := self.process.poll()) is not None:
            self._close()
            self.process = None
            self._on_end(_exit_text(code))
        elif self.away and now - self._started >= STEADY:
            print_warning(f"{self.name} is back: it had been unavailable since {self._since}")
            self.away = self._told = ""
            self._deaths = 0
            self._lines.clear()

    def _restart(self) -> None:
        try:
            process = self.start(*self.again, stderr=subprocess.PIPE)
            threading.Thread(target=self._pass_on, args=(process.stderr,), daemon=True).start()
        except (OSError, RuntimeError) as error:  # no memory, process or thread is available at the moment
            self.wait_or_kill(0.0)
            self.process = None
            self._on_end(str(error))

    def _on_end(self, why: str) -> None:
        """Schedule the next start, and report since when and why it is away, but not for each of many deaths in a
        row."""
        now = time.monotonic()
        if not self.away:
            self._since = time.strftime("%H:%M:%S")
        is_quick = now - self._started < STEADY
        self._deaths = self._deaths + 1 if is_quick else 0
        self._next = now + (min(MAX_PAUSE, FIRST_PAUSE * 2**self._deaths) if is_quick else 0.0)
        ended = "has ended repeatedly since" if self.away else "ended at"
        self.away = f"{self.name} {ended} {self._since} ({why}) and is being restarted"
        if self.away != self._told and (not self._told or now - self._told_at >= BETWEEN_NOTICES):
            self._told, self._told_at = self.away, now
            print_warning(self.away)

    def _pass_on(self, stderr: Any) -> None:
        """Pass on what it prints about faults, but no line twice while it dies repeatedly."""
        with io.BufferedReader(stderr) as lines:
            for line in lines:
                if self.away and line in self._lines:
                    continue
                if len(self._lines) < MAX_LINES:
                    self._lines.add(line)
                write_stderr(escape_control(line.decode(errors="replace")))

    def terminate(self) -> None:
        """Ask it to end."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
        self._close()

    def wait_or_kill(self, within: float) -> None:
        """Wait for its end; after `within` seconds, kill it."""
        if self.process is None:
            return
        try:
            self.process.wait(max(0.0, within))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _close(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout) if self.process else ():
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


def _exit_text(code: int) -> str:
    return f"killed by signal {-code}" if code < 0 else f"code {code}"


@contextlib.contextmanager
def terminating(children: Sequence[Child]) -> Iterator[None]:
    """Terminate all children together afterward, starting with the one started last."""
    try:
        yield
    finally:
        for child in reversed(children):
            child.terminate()
        until = time.monotonic() + TERMINATE_WITHIN
        for child in reversed(children):
            child.wait_or_kill(until - time.monotonic())


def supervise(children: Sequence[Child], notice: Path | None = None, pause: float = 0.2) -> None:
    """Keep the children running until we are interrupted.

    Args:
        children: The children, already started.
        notice: File for the researcher's pages, with a line for each child that is away.
        pause: Seconds between two checks.
    """
    told = ""
    while True:
        for child in children:
            child.keep_running()
        away = "\n".join(child.away for child in children if child.away)
        if notice is not None and away != told:
            with contextlib.suppress(OSError):  # such as a full disk; the terminal shows it too
                notice.write_text(away)
                told = away
        time.sleep(pause)


# Testing a server.

FOREIGN_HOST = "foreign.example"


def probe(ip: str, port: int, address: Address, path: str, host: str = "", tls: bool = False) -> tuple[int, str] | None:
    """Request a path and return its status and Content-Security-Policy; None if nothing answers yet."""
    url = f"{'https' if tls else 'http'}://{f'[{ip}]' if ':' in ip else ip}:{port}{address.prefix}{path}"
    try:
        # The certificate is for the public address, and no proxy is needed to reach this machine.
        answer = httpx2.get(url, headers={"Host": host or address.host}, timeout=5, verify=False, trust_env=False)
    except httpx2.HTTPError:
        return None
    return answer.status_code, answer.headers.get("Content-Security-Policy", "")


def wait_for_answer(question: Callable[[], tuple[int, str] | None], child: Child) -> tuple[int, str]:
    """Ask until there is an answer; raise RuntimeError if the process ends or takes too long."""
    end = time.monotonic() + READY_WITHIN
    while time.monotonic() < end:
        if (answer := question()) is not None:
            return answer
        if child.process is not None and child.process.poll() is not None:
            raise RuntimeError(f"{child.name} exited with code {child.process.returncode} before it was ready")
        time.sleep(0.1)
    raise RuntimeError(f"{child.name} did not answer within {READY_WITHIN:g} s")


def check_server(child: Child, ip: str, port: int, address: Address, tls: bool = False) -> None:
    """Raise RuntimeError for a server that lets a stranger in."""

    def answer(path: str, host: str = "") -> tuple[int, str]:
        return wait_for_answer(lambda: probe(ip, port, address, path, host, tls), child)

    status, policy = answer("")
    faults = {
        "a page without a link": status == 403,
        "a page without a Content-Security-Policy": "default-src" in policy,
        "a file beside the page": answer("voila/files/probe.png")[0] in (403, 404),
        "another notebook": answer("voila/render/play.ipynb")[0] in (403, 404),
        "a page at another host name": answer("", FOREIGN_HOST)[0] == 403,
        "a kernel to strangers": answer("api/kernels/00000000-0000-0000-0000-000000000000/channels")[0] == 403,
    }
    for what, refused in faults.items():
        if not refused:
            raise RuntimeError(f"{child.name} would expose {what}, so it was stopped")
