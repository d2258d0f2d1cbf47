"""`serve`, `replay`, `results`: start the host and the Voilas, test them, say where they are, keep them running."""

from __future__ import annotations

import contextlib
import os
import queue
import secrets
import shlex
import subprocess
import sys
import threading
import webbrowser
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import msgspec

from negolab.people.briefing import Briefing, briefed
from negolab.people.links import HERE
from negolab_widgets.dashboard import addresses, desk, environment, selftest
from negolab_widgets.dashboard.addresses import Address
from negolab_widgets.dashboard.kernel_user import KernelUser, kernel_user
from negolab_widgets.dashboard.ports import must_be_free
from negolab_widgets.dashboard.supervisor import Child, ending, watch
from negolab_widgets.dashboard.telling import tell
from negolab_widgets.places import MODULE, SOURCE, SWEEP

HOST_READY_WITHIN = 60.0
MEMORY_OF_A_KERNEL = 200 * 2**20
MEMORY_KEPT_FREE = 2**30
MOST_KERNELS = 30
"""The default where there is memory enough."""


@dataclass(frozen=True)
class Plan:
    """What `negolab serve` was asked for."""

    port: int
    out: Path
    browser: bool
    study: Path | None = None
    host: str = "127.0.0.1"
    public_url: str | None = None
    behind_proxy: bool = False
    certfile: Path | None = None
    keyfile: Path | None = None
    db: str | None = None
    kernel_user: str | None = None
    max_kernels: int | None = None
    pool: int = 2
    desk_port: int = 8867
    host_module: str = "negolab.people.host"
    base_urls: tuple[str, ...] = ()
    budget: float | None = None
    study_page: Path | None = None
    gate_options: tuple[str, ...] = ()

    @property
    def database(self) -> str:
        """Where `negolab study` looks too, if none was named: beside the study. Without a study, with the records."""
        default = self.out / "negolab.db" if self.study is None else self.study.with_suffix(".db")
        return self.db if self.db and "://" in self.db else str(Path(self.db or default).resolve())

    def briefing(self) -> Briefing:
        """What only the host learns: the database's address, and the keys of models."""
        return briefed(self.database, self.base_urls, self.budget, os.environ)

    def links(self, address: Address) -> str:
        """The command that prints links to what is served here."""
        options = [] if address.url == HERE else ["--url", address.url]
        # An address with a password is not for the terminal either.
        named = self.db is not None and _without_password(self.database) == self.database
        options += ["--db", self.database] if named else []
        said = shlex.join(["negolab", "study", "links", str(self.study), "-n", "20", *options])
        return said if named or self.db is None else f"{said}, with $NEGOLAB_DB as it is here"


@dataclass(frozen=True)
class Sockets:
    """The host's two sockets, in a folder that others can pass through but not list."""

    folder: Path

    @property
    def seats(self) -> str:
        return str(self.folder / "seats.sock")

    @property
    def desk(self) -> str:
        return str(self.folder / "desk.sock")


def serve(plan: Plan) -> None:
    """Serve the lobby, or a study and its monitor, until interrupted."""
    address, user = _checked(plan)
    plan.out.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(environment.short_folder()))
        folder.chmod(0o711)
        sockets, token = Sockets(folder), secrets.token_urlsafe(24)
        copy = None if plan.study is None else _copied(plan.study, folder)
        children = [_host(plan, sockets, user, copy)]
        stack.enter_context(ending(children))
        _start_host(children[0])
        desk_port = plan.port if plan.study is None else plan.desk_port
        env = environment.of_researcher(plan.out, NEGOLAB_DESK=sockets.desk, **{SOURCE: str(plan.out.resolve())})
        children.append(_desk("play", desk_port, token, env, folder))
        if plan.study is not None:
            children.append(_gate(plan, address, sockets, user))
        for child in children[1:]:
            child.start()
        local = addresses.local(desk_port)
        _test(children[1], "127.0.0.1", desk_port, local)
        if plan.study is not None:
            _test(children[2], _reach(plan.host), plan.port, address, plan.certfile is not None)
        _announce(plan, address, f"{local.url}{'' if plan.study is None else 'monitor'}?token={token}")
        watch(children)


def replay(file: Path, module: str | None, port: int, out: Path, browser: bool, base_urls: Sequence[str] = ()) -> None:
    """Serve the page that replays the records of `file`; branches of them are kept in `out`. Where models are known, a
    host has their keys, and plays the branches that go on with them."""
    _alone("replay", {SOURCE: str(file.resolve())}, module, port, out, browser, base_urls)


def results(run: Path, module: str | None, port: int, out: Path, browser: bool, base_urls: Sequence[str] = ()) -> None:
    """Serve the page of the sweep in the folder `run`: its cells, their records, its results. As `replay` else."""
    _alone("results", {SWEEP: str(run.resolve())}, module, port, out, browser, base_urls)


def _alone(
    page: str,
    shown: dict[str, str],
    module: str | None,
    port: int,
    out: Path,
    browser: bool,
    base_urls: Sequence[str],
) -> None:
    """Serve one page of the researcher's, which finds in its environment what it shows."""
    briefing = briefed("", base_urls, None, os.environ)
    must_be_free("127.0.0.1", port)
    out.mkdir(parents=True, exist_ok=True)
    # The page runs in a folder of its own: what is a file gets its whole path.
    game = {} if module is None else {MODULE: str(Path(module).resolve()) if Path(module).is_file() else module}
    env = environment.of_researcher(out, **shown, **game)
    token, local = secrets.token_urlsafe(24), addresses.local(port)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(environment.short_folder()))
        host = _branching_host(briefing, Sockets(folder), game.get(MODULE)) if briefing.endpoints else None
        if host is not None:
            stack.enter_context(ending([host]))
            _start_host(host)
            env["NEGOLAB_DESK"] = Sockets(folder).desk
        child = _desk(page, port, token, env, folder, alone=True)
        stack.enter_context(ending([child]))
        child.start()
        _test(child, "127.0.0.1", port, local)
        url = f"{local.url}?token={token}"
        tell(f"negolab is at {url}   (branches: {out.resolve()}; Ctrl-C ends it)")
        if browser:
            webbrowser.open(url)
        watch([child] if host is None else [host, child])


def _checked(plan: Plan) -> tuple[Address, KernelUser | None]:
    """Refuse what would not be safe, before anything is started."""
    plan.briefing().models()
    if plan.study is None:
        given = {
            "--host": plan.host != "127.0.0.1",
            "--public-url": plan.public_url is not None,
            "--behind-proxy": plan.behind_proxy,
            "--certfile": plan.certfile is not None,
            "--kernel-user": plan.kernel_user is not None,
            "--max-kernels": plan.max_kernels is not None,
            "--pool": plan.pool != Plan.pool,
            "--desk-port": plan.desk_port != Plan.desk_port,
        }
        for name, there in given.items():
            if there:
                raise ValueError(f"{name} is for a study: name its file, negolab serve STUDY.toml {name} ...")
    elif not plan.study.is_file():
        raise ValueError(f"there is no study {plan.study}: write one with negolab study new")
    elif plan.port == plan.desk_port:
        raise ValueError(f"--port and --desk-port are both {plan.port}: choose two")
    address = addresses.served(plan.host, plan.port, plan.public_url, plan.behind_proxy, plan.certfile, plan.keyfile)
    must_be_free(plan.host, plan.port)
    if plan.study is not None:
        must_be_free("127.0.0.1", plan.desk_port, "--desk-port")
    return address, None if plan.kernel_user is None else kernel_user(plan.kernel_user)


# The children.


def _copied(study: Path, folder: Path) -> Path:
    """The study as it stands now, for nobody else to read: what is edited later counts from the next `serve` on."""
    copy = folder / "study.toml"
    copy.touch(mode=0o600)
    copy.write_bytes(study.read_bytes())
    return copy


def _branching_host(briefing: Briefing, sockets: Sockets, module: str | None) -> Child:
    """A host for branches alone: what it plays is kept by the page."""
    told = msgspec.structs.replace(briefing, db=str(sockets.folder / "branches.db"))
    command = [sys.executable, "-P", "-m", Plan.host_module, f"--desk={sockets.desk}", "--db=-"]
    command += [] if module is None else [f"--module={module}"]
    return Child("the host", command, environment.scrubbed(), {"stdout": subprocess.DEVNULL}, told=told.line())


def _host(plan: Plan, sockets: Sockets, user: KernelUser | None, copy: Path | None) -> Child:
    command = [sys.executable, "-P", "-m", plan.host_module, f"--seats={sockets.seats}", f"--desk={sockets.desk}"]
    command += ["--db=-", f"--out={plan.out.resolve()}"]
    command += [] if plan.study is None else [f"--study={copy}", f"--study-at={plan.study.resolve()}"]
    command += [] if user is None else [f"--owner={user.name}"]
    return Child(
        "the host",
        command,
        environment.scrubbed(),
        {"stdout": subprocess.DEVNULL},
        told=plan.briefing().line(),
    )


def _start_host(child: Child) -> None:
    """The first start waits for the host's own word that it listens; what it refuses, it says itself."""
    child.options["stdout"] = subprocess.PIPE
    child.start()
    assert child.process is not None and child.process.stdout is not None
    lines: queue.Queue[bytes] = queue.Queue()
    stdout = child.process.stdout
    threading.Thread(target=_pass_on, args=(stdout, lines), daemon=True).start()
    try:
        while (line := lines.get(timeout=HOST_READY_WITHIN)).strip() != b"ready":
            if not line:
                code = child.process.wait()
                sys.exit(2 if code == 2 else f"negolab: the host ended with code {code} before it was ready")
    except queue.Empty:
        raise RuntimeError(f"the host did not answer within {HOST_READY_WITHIN:g} s") from None
    child.options["stdout"] = subprocess.DEVNULL


def _pass_on(stdout: IO[bytes], lines: queue.Queue[bytes]) -> None:
    with contextlib.suppress(ValueError, OSError):  # closed at the end
        for line in stdout:
            lines.put(line)
    lines.put(b"")


def _desk(first: str, port: int, token: str, env: dict[str, str], folder: Path, alone: bool = False) -> Child:
    page = environment.dashboard(first)
    command = _voila("desk", page, port, folder)
    command += [
        f"--Desk.names={page.stem if alone else ' '.join(desk.NAMES)}",
        "--Desk.absent_after=1800",
        f"--Desk.folder={folder}",
    ]
    return Child("the researcher's server", command, {**env, desk.TOKEN: token})


def _gate(plan: Plan, address: Address, sockets: Sockets, user: KernelUser | None) -> Child:
    folder = sockets.folder / "gate"
    folder.mkdir(mode=0o700)
    if user is not None:
        user.give(folder)
    command = _voila("gate", plan.study_page or environment.dashboard("study"), plan.port, folder)
    command += [f"--Gate.ip={plan.host}", f"--Gate.seats={sockets.seats}", f"--Gate.pool_size={plan.pool}"]
    command += [f"--Gate.max_kernels={plan.max_kernels or _most_kernels(plan.pool)}"]
    command += [f"--Gate.public_url={address.url}"] if plan.public_url else []
    command += ["--Gate.behind_proxy=True"] if plan.behind_proxy else []
    command += [f"--Gate.certfile={plan.certfile}", f"--Gate.keyfile={plan.keyfile}"] if plan.certfile else []
    command += plan.gate_options
    env = environment.of_participants(sockets.seats, folder)
    return Child("the participants' server", command, env, {} if user is None else user.options())


def _voila(kind: str, page: Path, port: int, folder: Path) -> list[str]:
    # -P: a file of the user's in the working directory is never taken for a module.
    command = [sys.executable, "-P", "-m", f"negolab_widgets.dashboard.{kind}", str(page)]
    name = kind.capitalize()
    return [*command, f"--{name}.port={port}", f"--{name}.tied=True", f"--{name}.connection_dir_root={folder}"]


def _most_kernels(pool: int) -> int:
    return max(1, min(MOST_KERNELS, (_free_memory() - MEMORY_KEPT_FREE) // MEMORY_OF_A_KERNEL - pool))


def _free_memory() -> int:
    """Bytes that could be had; where the system does not say, as if there were enough."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        lines = []
    found = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    return found[0] if found else sys.maxsize


def _test(child: Child, ip: str, port: int, address: Address, tls: bool = False) -> None:
    assert child.process is not None
    selftest.check(ip, port, address, child.process, child.name, tls)


def _reach(host: str) -> str:
    return {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)


# What is said.


def _announce(plan: Plan, address: Address, url: str) -> None:
    where = f"records: {plan.out.resolve()}; Ctrl-C ends it"
    if plan.study is not None:
        tell(f"participants come to {address.url}   (get their links: {plan.links(address)})")
        where = f"database: {_without_password(plan.database)}; {where}"
    tell(f"negolab is at {url}   ({where})")
    if plan.browser:
        webbrowser.open(url)


def _without_password(url: str) -> str:
    password: Any = urlsplit(url).password
    return url.replace(f":{password}@", ":***@") if password else url
