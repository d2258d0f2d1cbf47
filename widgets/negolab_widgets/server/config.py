"""Configuration of Voila and its kernels: settings, notebooks, environments, folders, and the user that they run as."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from traitlets.config import Config

from negolab._internal import environment
from negolab._internal.files import notebooks
from negolab_widgets.page import SERVED

ADMIN_TOKEN = "NEGOLAB_ADMIN_TOKEN"
"""The environment variable that passes the researcher's server its token."""
PAGE_TITLES = {"play": "Play", "replay": "Replay", "monitor": "Monitor"}
"""The researcher's pages, as linked at the top of each one; those whose notebooks exist are served."""
LAB = (sys.executable, "-P", "-c", "import negolab_widgets.server; from jupyterlab.labapp import main; main()")
"""Starts JupyterLab with as small a footprint as our own servers."""

# Voila's module loader needs `unsafe-eval`. 'self' includes the websocket. Nothing comes from anywhere else.
PAGE_POLICY = "; ".join(
    [
        "default-src 'self' data: blob:",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob: data:",
        "style-src 'self' 'unsafe-inline'",
        "font-src 'self' data:",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "object-src 'none'",
        "frame-ancestors 'none'",
        "form-action 'self'",
        "base-uri 'self'",
    ]
)
"""The Content-Security-Policy of a page with a kernel."""

PLOTLY = "jupyterlab-plotly"
"""The extension that draws figures; it is megabytes in size, so a page without figures does not load it."""
WITH_FIGURES = ("results",)
"""The pages that draw figures."""
EXTENSIONS = ["@jupyter-widgets/jupyterlab-manager", "@voila-dashboards/widgets-manager8", PLOTLY, "anywidget"]


def voila_config() -> Config:
    """Return the configuration that Voila would otherwise read from a file; it reads none, so that no user file changes
    it."""
    return Config(
        Voila={
            "ip": "127.0.0.1",
            "port_retries": 0,
            "open_browser": False,
            "kernel_websocket_connection_class": "negolab_widgets.server.guard.GuardedConnection",
            "identity_provider_class": "negolab_widgets.server.server.AnyIdentity",
        },
        VoilaConfiguration={
            "template": "negolab",
            "show_tracebacks": False,
            "strip_sources": True,
            "allow_template_override": "NO",
            "allow_theme_override": "NO",
            "file_allowlist": [],
            "file_denylist": [".*"],
            "extension_allowlist": EXTENSIONS,
            "preheat_kernel": False,  # the pool is ours
        },
        TemplateExporter={"extra_template_basedirs": []},  # templates are code; the working directory may be anybody's
        KernelManager={
            # A kernel that died has lost its page; it must be seen as gone instead of coming back empty.
            "autorestart": False,
            "transport": "ipc" if os.name == "posix" else "tcp",  # other users of this machine cannot listen to it
        },
        MappingKernelManager={
            "cull_idle_timeout": 0,  # our own sweep ends what nobody looks at
            "buffer_offline_messages": True,
        },
    )


PACKAGE = Path(__file__).parent

_MAX_PREFIX = 24


def dashboard(name: str) -> Path:
    """Return the path of a page's notebook."""
    return notebooks() / "dashboards" / f"{name}.ipynb"


def kernel_environment(**variables: str) -> dict[str, str]:
    """Return an environment without any keys, in which Voila finds our templates."""
    return environment.scrubbed_environment(JUPYTER_PATH=str(PACKAGE / "share"), **{SERVED: "1"}, **variables)


def participants_environment(seats: str, folder: Path) -> dict[str, str]:
    """Return the environment of the participants' server: the socket for seats and a folder of its own."""
    folders = dict.fromkeys(("HOME", "TMPDIR", "IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR"), str(folder))
    return kernel_environment(**folders, NEGOLAB_SEATS=seats)


def socket_folder() -> tempfile.TemporaryDirectory[str]:
    """Make a folder for sockets, whose paths may have only about a hundred characters in total."""
    short = len(tempfile.gettempdir()) <= _MAX_PREFIX or not os.access("/tmp", os.W_OK)
    return tempfile.TemporaryDirectory(prefix="nl-", dir=None if short else "/tmp", ignore_cleanup_errors=True)


class KernelUser(NamedTuple):
    """A user of this machine that a process can be started as."""

    name: str
    uid: int
    gid: int

    def options(self) -> dict[str, Any]:
        """Return the `Popen` options for running as that user, with none of our groups or file permissions."""
        groups = os.getgrouplist(self.name, self.gid)
        return {"user": self.uid, "group": self.gid, "extra_groups": groups, "umask": 0o077}

    def give(self, folder: Path) -> None:
        """Make the user the owner of a folder."""
        os.chown(folder, self.uid, self.gid)
        folder.chmod(0o700)


def kernel_user(name: str) -> KernelUser:
    """Find the user that Voila and its kernels run as, so that they cannot read our files.

    Raises:
        ValueError: There is no such user, or the user cannot run Python and this package.
    """
    if os.name != "posix" or os.geteuid() != 0:
        raise ValueError(f"--kernel-user {name} needs root: only root can start a process for another user")
    import pwd

    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise ValueError(f"--kernel-user {name}: there is no such user") from None
    if entry.pw_uid == 0:
        raise ValueError(f"--kernel-user {name} is root itself: choose a user that owns nothing")
    user = KernelUser(name, entry.pw_uid, entry.pw_gid)
    _check(user)
    return user


def _check(user: KernelUser) -> None:
    code = "import negolab_widgets.server.gate"
    try:
        ran = subprocess.run(
            [sys.executable, "-P", "-c", code],
            env={"PATH": os.defpath, "HOME": "/"},
            cwd="/",
            capture_output=True,
            text=True,
            timeout=60,
            **user.options(),
        )
        fault = ran.stderr.strip().splitlines()[-1] if ran.returncode else ""
    except OSError as error:
        fault = str(error)
    if fault:
        what = f"{sys.executable} with negolab"
        raise ValueError(f"--kernel-user {user.name} cannot run {what} ({fault}): give this user read access to both")
