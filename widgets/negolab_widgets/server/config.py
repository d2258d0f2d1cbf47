"""Configuration of Voila and its kernels: settings, notebooks, environments, folders."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from traitlets.config import Config

from negolab._internal import environment
from negolab._internal.files import notebooks
from negolab_widgets.page import OUT

# `unsafe-eval` is what Voila's module loader needs. 'self' is the websocket too. Nothing comes from anywhere else.
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

EXTENSIONS = [
    "@jupyter-widgets/jupyterlab-manager",
    "@voila-dashboards/widgets-manager8",
    "jupyterlab-plotly",
    "anywidget",
]


def voila_config() -> Config:
    """Return what Voila would read from a file. It reads none, so that no file of the user's changes it."""
    kernels: dict[str, object] = {
        # A kernel that died has lost its page: it must be seen to be gone, not come back empty.
        "autorestart": False,
    }
    if os.name == "posix":
        kernels["transport"] = "ipc"  # other users of this machine cannot listen to a kernel
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
        KernelManager=kernels,
        MappingKernelManager={
            "cull_idle_timeout": 0,  # the sweep of ours ends what nobody looks at
            "buffer_offline_messages": True,
        },
    )


PACKAGE = Path(__file__).parent

_MAX_PREFIX = 24


def dashboard(name: str) -> Path:
    """Return the path of a page's notebook."""
    return notebooks() / "dashboards" / f"{name}.ipynb"


def kernel_environment(**variables: str) -> dict[str, str]:
    """Return an environment without anybody's keys, in which Voila finds our templates."""
    return environment.scrubbed_environment(JUPYTER_PATH=str(PACKAGE / "share"), **variables)


def participants_environment(seats: str, folder: Path) -> dict[str, str]:
    """Return the environment of the participants' server: the socket of the seats and a folder of its own."""
    folders = dict.fromkeys(("HOME", "TMPDIR", "IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR"), str(folder))
    return kernel_environment(**folders, NEGOLAB_SEATS=seats)


def researcher_environment(out: Path, **variables: str) -> dict[str, str]:
    """Return the environment of the researcher's server."""
    return kernel_environment(**{OUT: str(out.resolve())}, **variables)


def socket_folder() -> tempfile.TemporaryDirectory[str]:
    """Make a folder for sockets, whose paths may have about a hundred characters in all."""
    short = len(tempfile.gettempdir()) <= _MAX_PREFIX or not os.access("/tmp", os.W_OK)
    return tempfile.TemporaryDirectory(prefix="nl-", dir=None if short else "/tmp", ignore_cleanup_errors=True)
