"""Start the host and the Voilas of `serve`, `replay` and `results`, test them, announce them and keep them running;
start JupyterLab."""

from __future__ import annotations

import contextlib
import json
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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal
from urllib.parse import urlsplit

import msgspec

from negolab import catalog
from negolab._internal.environment import PATHS, absolute_paths
from negolab._internal.files import notebooks
from negolab.cli.serve import LabOptions, PageOptions, ServeOptions
from negolab.studies.doctor import default_max_kernels
from negolab.studies.host_config import HostConfig, build_host_config
from negolab.studies.links import LOCAL_URL
from negolab.studies.study_file import read_study
from negolab.studies.texts import gate_texts
from negolab_widgets.page import ADMIN, MODULES, OUT, SCENARIOS, SOURCE, SWEEP
from negolab_widgets.server import addresses, config
from negolab_widgets.server.addresses import Address
from negolab_widgets.server.logs import print_line
from negolab_widgets.server.supervisor import (
    NOTICE,
    READY_WITHIN,
    Child,
    check_server,
    probe,
    supervise,
    terminating,
    wait_for_answer,
)
from negolab_widgets.tables import table


class LaunchOptions(ServeOptions, frozen=True, tag="serve"):
    """Options of `negolab serve`, and of tests: another host, another page, another server for participants."""

    trial: Literal["models", "stand-ins"] | None = None
    """Browsers try the study: who plays for language models, they or others."""
    host_module: str = "negolab.studies.server"
    gate_module: str = "negolab_widgets.server.gate"
    study_page: Path | None = None

    @property
    def database(self) -> str:
        """The named database, else one beside the study, where `negolab study` looks too, or with the records."""
        default = self.out / "negolab.db" if self.study is None else self.study.with_suffix(".db")
        return self.db if self.db and "://" in self.db else str(Path(self.db or default).resolve())

    def host_config(self) -> HostConfig:
        """Return what only the host learns: the database's address, and the keys of models."""
        return build_host_config(self.database, self.base_urls or (), self.budget, os.environ, self.prices or ())

    def links_command(self, address: Address) -> str:
        """Return the command that prints links to what is served here."""
        options = [] if address.url == LOCAL_URL else ["--url", address.url]
        # An address with a password is not for the terminal either.
        may_print = self.db is not None and _without_password(self.database) == self.database
        options += ["--db", self.database] if may_print else []
        command = shlex.join(["negolab", "study", "links", str(self.study), "-n", "20", *options])
        return command if may_print or self.db is None else f"{command}, with the same $NEGOLAB_DB"


Options = LaunchOptions | PageOptions | LabOptions


def parse_options(text: str) -> Options:
    """Parse options as `negolab` encodes them; `ValueError` if they are none."""
    try:
        options: Options = msgspec.json.decode(text, type=Options, dec_hook=lambda kind, value: kind(value))
    except msgspec.DecodeError as error:
        raise ValueError(f"{error}: start this server with negolab serve, replay, sweep show or lab") from None
    return options


def run(options: Options) -> int:
    """Run a server until it is interrupted, and return its exit code."""
    match options:
        case LaunchOptions():
            run_serve(options)
        case PageOptions():
            run_page(options)
        case LabOptions():
            return run_lab(options)
    return 0


@dataclass(frozen=True)
class Sockets:
    """The host's two sockets, in a folder that others can pass through but not list."""

    folder: Path

    @property
    def seats(self) -> str:
        return str(self.folder / "seats.sock")

    @property
    def admin(self) -> str:
        return str(self.folder / "admin.sock")


def run_serve(options: LaunchOptions) -> None:
    """Serve the lobby, or a study and its monitor, until interrupted."""
    address, user = _check_options(options)
    options.out.mkdir(parents=True, exist_ok=True)
    with _children() as (folder, children):
        folder.chmod(0o711)
        sockets, token = Sockets(folder), secrets.token_urlsafe(24)
        children.append(_study_host_child(options, sockets, user))
        _start(*children)
        admin_port = options.port if options.study is None else options.desk_port
        shown = {
            OUT: str(options.out.resolve()),
            ADMIN: sockets.admin,
            SOURCE: str(options.out.resolve()),
            MODULES: os.pathsep.join(options.modules or []),
            SCENARIOS: os.pathsep.join(str(path.resolve()) for path in options.scenarios or []),
        }
        pages = [name for name in config.PAGE_TITLES if name != "monitor" or options.study is not None]
        children.append(_admin_child(pages, admin_port, token, shown, folder))
        if options.study is not None:
            children.append(_gate_child(options, address, sockets, user))
        _start(*children[1:])
        local = addresses.local_address(admin_port)
        check_server(children[1], "127.0.0.1", admin_port, local)
        where = f"records: {options.out.resolve()}"
        if options.study is not None:
            check_server(children[2], _reachable_ip(options.host), options.port, address, options.certfile is not None)
            print_line(f"participants come to {address.url}   (get their links: {options.links_command(address)})")
            where = f"database: {_without_password(options.database)}; {where}"
        _announce(f"{local.url}{'' if options.study is None else 'monitor'}?token={token}", where, options.browser)
        supervise(children, folder / NOTICE)


def run_page(options: PageOptions) -> None:
    """Serve one page of the researcher's, which finds in its environment what it shows, until interrupted.

    Where models are known, a host has their keys, and plays the branches that continue with them.
    """
    host_config = build_host_config("", options.base_urls or (), None, os.environ)
    check_port_free("127.0.0.1", options.port)
    options.out.mkdir(parents=True, exist_ok=True)
    shown = {
        OUT: str(options.out.resolve()),
        SWEEP if options.page == "results" else SOURCE: str(options.source.resolve()),
        MODULES: os.pathsep.join(options.modules),
    }
    token, local = secrets.token_urlsafe(24), addresses.local_address(options.port)
    with _children() as (folder, children):
        if host_config.endpoints:
            shown[ADMIN] = Sockets(folder).admin
            children.append(_branching_host_child(host_config, Sockets(folder), options.modules))
            _start(*children)
        children.append(_admin_child([options.page], options.port, token, shown, folder))
        _start(children[-1])
        check_server(children[-1], "127.0.0.1", options.port, local)
        _announce(f"{local.url}?token={token}", f"branches: {options.out.resolve()}", options.browser)
        supervise(children, folder / NOTICE)


_FOR_STUDIES = ("host", "public_url", "behind_proxy", "certfile", "kernel_user", "max_kernels", "pool", "desk_port")
"""Options that have no meaning without a study."""


def _check_options(options: LaunchOptions) -> tuple[Address, config.KernelUser | None]:
    """Refuse what would not be safe, before anything is started."""
    options.host_config().models()
    if options.study is None:
        defaults = LaunchOptions()
        for field in _FOR_STUDIES:
            if getattr(options, field) != getattr(defaults, field):
                name = "--" + field.replace("_", "-")
                raise ValueError(f"{name} applies only to a study: use negolab serve STUDY.toml {name} ...")
    elif not options.study.is_file():
        raise ValueError(f"there is no study {options.study}: create a study with negolab new study")
    elif options.port == options.desk_port:
        raise ValueError(f"--port and --desk-port are both {options.port}: choose two different ports")
    _check_tables(options)
    address = addresses.serving_address(options)
    check_port_free(options.host, options.port)
    if options.study is not None:
        check_port_free("127.0.0.1", options.desk_port, "--desk-port")
    return address, None if options.kernel_user is None else config.kernel_user(options.kernel_user)


def _check_tables(options: LaunchOptions) -> None:
    """Raise ValueError if a game of the user's own names a table that cannot be imported."""
    own: list[str] = []
    if options.study is not None and options.study_page is None:
        own.append(read_study(options.study).game)
    own += [name for name in options.modules or [] if catalog.holds_game(catalog.game_module(name))]
    for name in own:
        table(catalog.load(name))


def check_port_free(host: str, port: int, option: str = "--port") -> None:
    """Raise RuntimeError, in one line, if the port is in use."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            raise RuntimeError(f"port {port} is in use: choose another with {option}") from None


# The children.


@contextlib.contextmanager
def _children() -> Iterator[tuple[Path, list[Child]]]:
    """Make a folder for sockets and a list of children; those that were added are terminated afterwards."""
    children: list[Child] = []
    with config.socket_folder() as folder, terminating(children):
        yield Path(folder), children


def _study_host_child(options: LaunchOptions, sockets: Sockets, user: config.KernelUser | None) -> Child:
    study: list[str] = []
    if options.study is not None:
        # A copy for nobody else to read: what is edited later counts from the next `serve` on.
        copy = sockets.folder / "study.toml"
        copy.touch(mode=0o600)
        copy.write_bytes(options.study.read_bytes())
        study = [f"--study={copy}", f"--study-at={options.study.resolve()}"]
    arguments = [
        f"--seats={sockets.seats}",
        f"--out={options.out.resolve()}",
        *study,
        *([] if user is None else [f"--owner={user.name}"]),
        *(f"--module={module}" for module in options.modules or []),
        *(["--trust"] if options.trust else []),
        *([] if options.trial is None else [f"--trial={options.trial}"]),
    ]
    return _host_child(options.host_module, sockets, options.host_config(), arguments)


def _branching_host_child(host_config: HostConfig, sockets: Sockets, modules: list[str]) -> Child:
    """Make a host for branches alone: what it plays is kept by the page."""
    host_config = msgspec.structs.replace(host_config, db=str(sockets.folder / "branches.db"))
    arguments = [f"--module={module}" for module in modules]
    return _host_child(LaunchOptions().host_module, sockets, host_config, arguments)


def _host_child(module: str, sockets: Sockets, host_config: HostConfig, arguments: list[str]) -> Child:
    command = [sys.executable, "-P", "-m", module, f"--admin={sockets.admin}", "--db=-", *arguments]
    env, line = config.kernel_environment(), host_config.line()
    return Child("the host", command, env, stdin_data=line, again=["--wait"])


def _start(*children: Child) -> None:
    """Start children together and wait until each says that it listens; what it refuses, it says itself.

    Only the child knows that its port is its own: another server there would answer too.
    """
    for child in children:
        child.options["stdout"] = subprocess.PIPE
        child.start()
    for child in children:
        _wait_until_ready(child)
        child.options["stdout"] = subprocess.DEVNULL


def _wait_until_ready(child: Child) -> None:
    process = child.process
    assert process is not None
    listens: queue.Queue[bool] = queue.Queue()
    threading.Thread(target=_read_until_end, args=(process.stdout, listens), daemon=True).start()
    try:
        if not listens.get(timeout=READY_WITHIN):
            code = process.wait()
            sys.exit(2 if code == 2 else f"negolab: {child.name} exited with code {code} before it was ready")
    except queue.Empty:
        raise RuntimeError(f"{child.name} did not answer within {READY_WITHIN:g} s") from None


def _read_until_end(stdout: IO[bytes], listens: queue.Queue[bool]) -> None:
    """Read what a child prints: `listens` gets True for the line "ready", and False when the child ends."""
    with contextlib.suppress(ValueError, OSError):  # closed at the end
        for line in stdout:
            if line.strip() == b"ready":
                listens.put(True)
    listens.put(False)


def _admin_child(pages: Sequence[str], port: int, token: str, shown: dict[str, str], folder: Path) -> Child:
    command = _voila_command(
        "negolab_widgets.server.admin",
        "AdminServer",
        config.dashboard(pages[0]),
        port=port,
        names=" ".join(pages),
        absent_after=1800,
        connection_dir_root=folder,
        folder=folder,
    )
    return Child("the researcher's server", command, {**config.kernel_environment(**shown), config.ADMIN_TOKEN: token})


def _gate_child(options: LaunchOptions, address: Address, sockets: Sockets, user: config.KernelUser | None) -> Child:
    folder = sockets.folder / "gate"
    folder.mkdir(mode=0o700)
    if user is not None:
        user.give(folder)
    command = _voila_command(
        options.gate_module,
        "Gate",
        options.study_page or config.dashboard("study"),
        port=options.port,
        connection_dir_root=folder,
        ip=options.host,
        seats=sockets.seats,
        pool_size=options.pool,
        max_kernels=options.max_kernels or default_max_kernels(pool=options.pool),
        public_url=address.url if options.public_url else None,
        behind_proxy=options.behind_proxy,
        certfile=options.certfile,
        keyfile=options.keyfile,
        own_texts=json.dumps(_small_texts(options)),
    )
    env = config.participants_environment(sockets.seats, folder)
    popen_options = {} if user is None else user.options()
    return Child("the participants' server", command, env, popen_options)


def _small_texts(options: LaunchOptions) -> dict[str, str]:
    """Return the study's own texts for the pages that need no kernel."""
    if options.study is None or options.study_page is not None:
        return {}
    own = read_study(options.study).texts
    return {key: text for key, text in own.items() if key in gate_texts.defaults()}


def _voila_command(module: str, name: str, page: Path, **traits: object) -> list[str]:
    """Return the command of a server of ours; traits that are None keep their defaults."""
    # -P: a file of the user's in the working directory is never taken for a module.
    command = [sys.executable, "-P", "-m", module, str(page), f"--{name}.tied=True"]
    return command + [f"--{name}.{trait}={value}" for trait, value in traits.items() if value is not None]


def _reachable_ip(host: str) -> str:
    return {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)


# What is printed.


def _announce(url: str, where: str, browser: bool) -> None:
    print_line(f"negolab is at {url}   ({where}; Ctrl-C stops the server)")
    if browser:
        webbrowser.open(url)


def _without_password(url: str) -> str:
    password: Any = urlsplit(url).password
    return url.replace(f":{password}@", ":***@") if password else url


_IGNORED = shutil.ignore_patterns(".ipynb_checkpoints", "__pycache__")


_LAB_START = "lab/tree/start.md?file-browser-path=/"
"""The start page, which the lab's settings show rendered, with the folder beside it."""


def run_lab(options: LabOptions) -> int:
    """Copy the notebooks to the folder (files that are there already stay as they are) and open JupyterLab on it."""
    check_port_free("127.0.0.1", options.port)
    folder = options.folder
    _check_lab_folder(folder)
    shutil.copytree(notebooks(), folder, dirs_exist_ok=True, copy_function=_copy_new, ignore=_IGNORED)
    token, local = secrets.token_urlsafe(24), addresses.local_address(options.port)
    settings = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": options.port,
        "ServerApp.port_retries": 0,  # the address that is printed has this one
        "ServerApp.root_dir": folder.resolve(),
        "ServerApp.open_browser": False,
        "ServerApp.allow_root": hasattr(os, "geteuid") and os.geteuid() == 0,
        "ServerApp.contents_manager_class": "negolab_widgets.server.contents.Contents",
        "Application.log_level": "ERROR",
        "KernelManager.transport": "ipc" if os.name == "posix" else "tcp",  # others on this machine cannot listen
    }
    command = [*config.LAB, *(f"--{name}={value}" for name, value in settings.items())]
    # Its settings turn off the question about news, show Markdown rendered, and turn off Voila, which runs a notebook
    # when its address is fetched, as an image in a stranger's text may do.
    # Its kernel searches a notebook's folder last, so that a file there is imported in place of no installed module.
    paths = absolute_paths()
    for name, first in (("JUPYTER_CONFIG_PATH", "share"), ("JUPYTER_PATH", "share/lab")):
        paths[name] = os.pathsep.join(filter(None, (str(config.PACKAGE / first), paths.get(name))))
    env = {name: text for name, text in os.environ.items() if name not in PATHS}
    env |= {**paths, "JUPYTER_TOKEN": token}
    # Elsewhere than in the folder, whose templates would be run when a notebook is exported.
    child = Child("JupyterLab", command, env, {"cwd": config.PACKAGE, "umask": -1})
    with terminating([child]):
        process = child.start()
        status, _ = wait_for_answer(lambda: probe("127.0.0.1", options.port, local, f"api/status?token={token}"), child)
        if status != 200:  # another server answers, which was a little faster
            raise RuntimeError(f"port {options.port} is in use: choose another with --port")
        where = f"your copy of the notebooks: {folder.resolve()}"
        _announce(f"{local.url}{_LAB_START}&token={token}", where, options.browser)
        return process.wait()


def _check_lab_folder(folder: Path) -> None:
    """Raise `ValueError` for links to elsewhere, which a stranger's folder may hold."""
    for source in notebooks().rglob("*"):
        if (target := folder / source.relative_to(notebooks())).is_symlink():
            raise ValueError(f"{target} is a symbolic link, which negolab does not follow here; remove it")


def _copy_new(source: str, target: str) -> str:
    return target if Path(target).exists() else str(shutil.copy2(source, target))
