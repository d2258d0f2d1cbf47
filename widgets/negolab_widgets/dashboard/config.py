"""How Voila and its kernels are set up, for participants and for the researcher alike."""

from __future__ import annotations

import os

from traitlets.config import Config

# `unsafe-eval` is what Voila's module loader needs. 'self' is the websocket too. Nothing comes from anywhere else.
POLICY = "; ".join(
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


def settings() -> Config:
    """What Voila would read from a file. It reads none, so that no file of the user's changes it."""
    c = Config()
    c.Voila.ip = "127.0.0.1"
    c.Voila.port_retries = 0
    c.Voila.open_browser = False
    c.Voila.kernel_websocket_connection_class = "negolab_widgets.dashboard.guard.GuardedConnection"
    c.Voila.identity_provider_class = "negolab_widgets.dashboard.server.Anyone"
    c.VoilaConfiguration.template = "negolab"
    c.VoilaConfiguration.show_tracebacks = False
    c.VoilaConfiguration.strip_sources = True
    c.VoilaConfiguration.allow_template_override = "NO"
    c.VoilaConfiguration.allow_theme_override = "NO"
    c.VoilaConfiguration.file_allowlist = []
    c.VoilaConfiguration.file_denylist = [".*"]
    c.VoilaConfiguration.extension_allowlist = EXTENSIONS
    c.VoilaConfiguration.preheat_kernel = False  # the pool is ours
    if os.name == "posix":
        c.KernelManager.transport = "ipc"  # other users of this machine cannot listen to a kernel
    # A kernel that died has lost its page: it must be seen to be gone, not come back empty.
    c.KernelManager.autorestart = False
    c.MappingKernelManager.cull_idle_timeout = 0  # the sweep of ours ends what nobody looks at
    c.MappingKernelManager.buffer_offline_messages = True
    return c
