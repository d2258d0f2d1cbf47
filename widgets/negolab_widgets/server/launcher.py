"""Start the host and the Voilas of `serve`, `replay` and `results`, test them, announce them and keep them running;
start JupyterLab."""

from __future__ import annotations

import contextlib
import os
import queue
import secrets
import shlex
import shutil
import socket
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

from negolab.studies.host_config import HostConfig, briefed
from negolab.studies.links import LOCAL_URL
from negolab_widgets.page import MODULE, SOURCE, SWEEP
from negolab_widgets.server import addresses, admin, config, selftest
from negolab_widgets.server.addresses import Address
from negolab_widgets.server.config import notebooks
from negolab_widgets.server.kernel_user import KernelUser, kernel_user
from negolab_widgets.server.logs import print_line
from negolab_widgets.server.supervisor import Child, supervise, terminating


def check_port_free(host: str, port: int, option: str = "--port") -> None:
    """Raise RuntimeError, in one line, if the port is in use."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            raise RuntimeError(f"port {port} is in use: choose another with {option}") from None


HOST_READY_WITHIN = 60.0
MEMORY_OF_A_KERNEL = 200 * 2**20
MEMORY_KEPT_FREE = 2**30
MAX_KERNELS = 30
"""The default where there is memory enough."""


@dataclass(frozen=True)
class ServeOptions:
    """Options of `negolab serve`."""

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
    host_module: str = "negolab.studies.server"
    base_urls: tuple[str, ...] = ()
    budget: float | None = None
    study_page: Path | None = None
    gate_options: tuple[str, ...] = ()

    @property
    def database(self) -> str:
        """The named database, else one beside the study, where `negolab study` looks too, or with the records."""
        default = self.out / "negolab.db" if self.study is None else self.study.with_suffix(".db")
        return self.db if self.db and "://" in self.db else str(Path(self.db or default).resolve())

    def briefing(self) -> HostConfig:
        """Return what only the host learns: the database's address, and the keys of models."""
        return briefed(self.database, self.base_urls, self.budget, os.environ)

    def links(self, address: Address) -> str:
        """Return the command that prints links to what is served here."""
        options = [] if address.url == LOCAL_URL else ["--url", address.url]
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


def run_serve(plan: ServeOptions) -> None:
    """Serve the lobby, or a study and its monitor, until interrupted."""
    address, user = _check_options(plan)
    plan.out.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(config.socket_folder()))
        folder.chmod(0o711)
        sockets, token = Sockets(folder), secrets.token_urlsafe(24)
        copy = None if plan.study is None else _copy_study(plan.study, folder)
        children = [_host_child(plan, sockets, user, copy)]
        stack.enter_context(terminating(children))
        _start_host(children[0])
        desk_port = plan.port if plan.study is None else plan.desk_port
        env = config.researcher_environment(plan.out, NEGOLAB_DESK=sockets.desk, **{SOURCE: str(plan.out.resolve())})
        children.append(_admin_child("play", desk_port, token, env, folder))
        if plan.study is not None:
            children.append(_gate_child(plan, address, sockets, user))
        for child in children[1:]:
            child.start()
        local = addresses.local_address(desk_port)
        _self_test(children[1], "127.0.0.1", desk_port, local)
        if plan.study is not None:
            _self_test(children[2], _reachable_ip(plan.host), plan.port, address, plan.certfile is not None)
        _announce(plan, address, f"{local.url}{'' if plan.study is None else 'monitor'}?token={token}")
        supervise(children)


def run_replay(
    file: Path, module: str | None, port: int, out: Path, browser: bool, base_urls: Sequence[str] = ()
) -> None:
    """Serve the page that replays the records of `file`; branches of them are kept in `out`.

    Where models are known, a host has their keys, and plays the branches that continue with them.
    """
    _serve_page("replay", {SOURCE: str(file.resolve())}, module, port, out, browser, base_urls)


def run_results(
    run: Path, module: str | None, port: int, out: Path, browser: bool, base_urls: Sequence[str] = ()
) -> None:
    """Serve the page of the sweep in the folder `run`: its cells, their records, its results."""
    _serve_page("results", {SWEEP: str(run.resolve())}, module, port, out, browser, base_urls)


def _serve_page(
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
    check_port_free("127.0.0.1", port)
    out.mkdir(parents=True, exist_ok=True)
    # The page runs in a folder of its own: what is a file gets its whole path.
    game = {} if module is None else {MODULE: str(Path(module).resolve()) if Path(module).is_file() else module}
    env = config.researcher_environment(out, **shown, **game)
    token, local = secrets.token_urlsafe(24), addresses.local_address(port)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(config.socket_folder()))
        host = _branching_host_child(briefing, Sockets(folder), game.get(MODULE)) if briefing.endpoints else None
        if host is not None:
            stack.enter_context(terminating([host]))
            _start_host(host)
            env["NEGOLAB_DESK"] = Sockets(folder).desk
        child = _admin_child(page, port, token, env, folder, alone=True)
        stack.enter_context(terminating([child]))
        child.start()
        _self_test(child, "127.0.0.1", port, local)
        url = f"{local.url}?token={token}"
        print_line(f"negolab is at {url}   (branches: {out.resolve()}; Ctrl-C ends it)")
        if browser:
            webbrowser.open(url)
        supervise([child] if host is None else [host, child])


def _check_options(plan: ServeOptions) -> tuple[Address, KernelUser | None]:
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
            "--pool": plan.pool != ServeOptions.pool,
            "--desk-port": plan.desk_port != ServeOptions.desk_port,
        }
        for name, there in given.items():
            if there:
                raise ValueError(f"{name} is for a study: name its file, negolab serve STUDY.toml {name} ...")
    elif not plan.study.is_file():
        raise ValueError(f"there is no study {plan.study}: write one with negolab study new")
    elif plan.port == plan.desk_port:
        raise ValueError(f"--port and --desk-port are both {plan.port}: choose two")
    address = addresses.serving_address(
        plan.host, plan.port, plan.public_url, plan.behind_proxy, plan.certfile, plan.keyfile
    )
    check_port_free(plan.host, plan.port)
    if plan.study is not None:
        check_port_free("127.0.0.1", plan.desk_port, "--desk-port")
    return address, None if plan.kernel_user is None else kernel_user(plan.kernel_user)


# The children.


def _copy_study(study: Path, folder: Path) -> Path:
    """Copy the study, for nobody else to read: what is edited later counts from the next `serve` on."""
    copy = folder / "study.toml"
    copy.touch(mode=0o600)
    copy.write_bytes(study.read_bytes())
    return copy


def _branching_host_child(briefing: HostConfig, sockets: Sockets, module: str | None) -> Child:
    """Make a host for branches alone: what it plays is kept by the page."""
    with_database = msgspec.structs.replace(briefing, db=str(sockets.folder / "branches.db"))
    command = [sys.executable, "-P", "-m", ServeOptions.host_module, f"--desk={sockets.desk}", "--db=-"]
    command += [] if module is None else [f"--module={module}"]
    return Child(
        "the host",
        command,
        config.kernel_environment(),
        {"stdout": subprocess.DEVNULL},
        stdin_data=with_database.line(),
    )


def _host_child(plan: ServeOptions, sockets: Sockets, user: KernelUser | None, copy: Path | None) -> Child:
    command = [sys.executable, "-P", "-m", plan.host_module, f"--seats={sockets.seats}", f"--desk={sockets.desk}"]
    command += ["--db=-", f"--out={plan.out.resolve()}"]
    command += [] if plan.study is None else [f"--study={copy}", f"--study-at={plan.study.resolve()}"]
    command += [] if user is None else [f"--owner={user.name}"]
    return Child(
        "the host",
        command,
        config.kernel_environment(),
        {"stdout": subprocess.DEVNULL},
        stdin_data=plan.briefing().line(),
    )


def _start_host(child: Child) -> None:
    """Start the host and wait until it says that it listens; what it refuses, it says itself."""
    child.options["stdout"] = subprocess.PIPE
    child.start()
    assert child.process is not None and child.process.stdout is not None
    lines: queue.Queue[bytes] = queue.Queue()
    stdout = child.process.stdout
    threading.Thread(target=_forward_lines, args=(stdout, lines), daemon=True).start()
    try:
        while (line := lines.get(timeout=HOST_READY_WITHIN)).strip() != b"ready":
            if not line:
                code = child.process.wait()
                sys.exit(2 if code == 2 else f"negolab: the host ended with code {code} before it was ready")
    except queue.Empty:
        raise RuntimeError(f"the host did not answer within {HOST_READY_WITHIN:g} s") from None
    child.options["stdout"] = subprocess.DEVNULL


def _forward_lines(stdout: IO[bytes], lines: queue.Queue[bytes]) -> None:
    with contextlib.suppress(ValueError, OSError):  # closed at the end
        for line in stdout:
            lines.put(line)
    lines.put(b"")


def _admin_child(first: str, port: int, token: str, env: dict[str, str], folder: Path, alone: bool = False) -> Child:
    page = config.dashboard(first)
    command = _voila_command("admin", page, port, folder)
    command += [
        f"--AdminServer.names={page.stem if alone else ' '.join(admin.PAGE_TITLES)}",
        "--AdminServer.absent_after=1800",
        f"--AdminServer.folder={folder}",
    ]
    return Child("the researcher's server", command, {**env, admin.TOKEN: token})


def _gate_child(plan: ServeOptions, address: Address, sockets: Sockets, user: KernelUser | None) -> Child:
    folder = sockets.folder / "gate"
    folder.mkdir(mode=0o700)
    if user is not None:
        user.give(folder)
    command = _voila_command("gate", plan.study_page or config.dashboard("study"), plan.port, folder)
    command += [f"--Gate.ip={plan.host}", f"--Gate.seats={sockets.seats}", f"--Gate.pool_size={plan.pool}"]
    command += [f"--Gate.max_kernels={plan.max_kernels or _default_max_kernels(plan.pool)}"]
    command += [f"--Gate.public_url={address.url}"] if plan.public_url else []
    command += ["--Gate.behind_proxy=True"] if plan.behind_proxy else []
    command += [f"--Gate.certfile={plan.certfile}", f"--Gate.keyfile={plan.keyfile}"] if plan.certfile else []
    command += plan.gate_options
    env = config.participants_environment(sockets.seats, folder)
    return Child("the participants' server", command, env, {} if user is None else user.options())


def _voila_command(kind: str, page: Path, port: int, folder: Path) -> list[str]:
    # -P: a file of the user's in the working directory is never taken for a module.
    command = [sys.executable, "-P", "-m", f"negolab_widgets.server.{kind}", str(page)]
    name = {"admin": "AdminServer", "gate": "Gate"}[kind]
    return [*command, f"--{name}.port={port}", f"--{name}.tied=True", f"--{name}.connection_dir_root={folder}"]


def _default_max_kernels(pool: int) -> int:
    return max(1, min(MAX_KERNELS, (_free_memory() - MEMORY_KEPT_FREE) // MEMORY_OF_A_KERNEL - pool))


def _free_memory() -> int:
    """Return the bytes that could be had; where the system does not say, as if there were enough."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        lines = []
    found = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    return found[0] if found else sys.maxsize


def _self_test(child: Child, ip: str, port: int, address: Address, tls: bool = False) -> None:
    assert child.process is not None
    selftest.check_server(ip, port, address, child.process, child.name, tls)


def _reachable_ip(host: str) -> str:
    return {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)


# What is said.


def _announce(plan: ServeOptions, address: Address, url: str) -> None:
    where = f"records: {plan.out.resolve()}; Ctrl-C ends it"
    if plan.study is not None:
        print_line(f"participants come to {address.url}   (get their links: {plan.links(address)})")
        where = f"database: {_without_password(plan.database)}; {where}"
    print_line(f"negolab is at {url}   ({where})")
    if plan.browser:
        webbrowser.open(url)


def _without_password(url: str) -> str:
    password: Any = urlsplit(url).password
    return url.replace(f":{password}@", ":***@") if password else url


_IGNORED = shutil.ignore_patterns(".ipynb_checkpoints", "__pycache__")


def run_lab(folder: Path, port: int, browser: bool) -> int:
    """Copy the notebooks to `folder` (files that are there already stay as they are) and open JupyterLab on it."""
    shutil.copytree(notebooks(), folder, dirs_exist_ok=True, copy_function=_copy_new, ignore=_IGNORED)
    print_line(f"your copy of the notebooks is in {folder.resolve()}")
    command = [sys.executable, "-m", "jupyterlab", f"--port={port}", "--ip=127.0.0.1", "--LabApp.news_url=None"]
    command += [f"--ServerApp.root_dir={folder.resolve()}", *([] if browser else ["--no-browser"])]
    command += ["--ServerApp.allow_root=True"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    process = subprocess.Popen(command, cwd=str(folder), start_new_session=True)
    try:
        return process.wait()
    except KeyboardInterrupt:
        return 0
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _copy_new(source: str, target: str) -> str:
    return target if Path(target).exists() else str(shutil.copy2(source, target))
