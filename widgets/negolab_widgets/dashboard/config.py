# Voila's configuration. Voila reads it only as `voila.py` in its working directory: the launcher puts it there.
import logging
import os

c = get_config()  # type: ignore[name-defined]  # noqa: F821

c.Voila.ip = "127.0.0.1"
c.Voila.port_retries = 0
c.Voila.open_browser = False
c.Voila.kernel_websocket_connection_class = "negolab_widgets.dashboard.guard.GuardedConnection"

# A visitor's refused requests are no news to the person who serves the page.
for name in ("tornado.access", "tornado.general"):
    logging.getLogger(name).setLevel(logging.ERROR)

V = c.VoilaConfiguration
V.template = "negolab"
V.show_tracebacks = False
V.strip_sources = True
V.allow_template_override = "NO"
V.allow_theme_override = "NO"
V.file_allowlist = []
V.file_denylist = [".*"]
V.extension_allowlist = [
    "@jupyter-widgets/jupyterlab-manager",
    "@voila-dashboards/widgets-manager8",
    "jupyterlab-plotly",
    "anywidget",
]
V.preheat_kernel = True
V.default_pool_size = 1
V.multi_kernel_manager_class = "negolab_widgets.dashboard.guard.GraceKernelManager"

if os.name == "posix":
    c.KernelManager.transport = "ipc"  # other users of this machine cannot listen to a kernel

M = c.MappingKernelManager
M.cull_idle_timeout = 1800
M.cull_interval = 60
M.cull_connected = False
M.buffer_offline_messages = False

# `unsafe-eval` is what Voila's module loader needs. Nothing is loaded from anywhere else.
# A closed page ends its kernel by a request that carries no XSRF token; there is nothing else to post to.
c.Voila.tornado_settings = {
    "disable_check_xsrf": True,
    "headers": {
        "Content-Security-Policy": "; ".join(
            [
                "default-src 'self' data: blob:",
                "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob: data:",
                "style-src 'self' 'unsafe-inline'",
                "font-src 'self' data:",
                "img-src 'self' data: blob:",
                "connect-src 'self' ws: wss:",
                "frame-ancestors 'self'",
                "form-action 'self'",
                "base-uri 'self'",
            ]
        ),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
    },
}
