"""`python -m tests.support.unguarded_gate ...`: a participants' server whose websockets have no guard."""

from __future__ import annotations

from typing import Any

from negolab_widgets.server.gate import Gate
from traitlets.config import Config
from typing_extensions import override

PLAIN = "jupyter_server.services.kernels.connection.channels.ZMQChannelsWebsocketConnection"
"""A websocket without our guard."""


class UnguardedGate(Gate):  # type: ignore[misc]
    """A gate that passes all that visitors send to their kernels, and all that these answer."""

    @override
    def load_config_file(self, *_: Any, **__: Any) -> None:
        super().load_config_file()
        self.update_config(Config({"Voila": {"kernel_websocket_connection_class": PLAIN}}))

    @override
    def disabled_defence(self) -> str:
        return ""


if __name__ == "__main__":
    UnguardedGate.launch_instance()
