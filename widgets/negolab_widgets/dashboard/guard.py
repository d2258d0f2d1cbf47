"""What a browser may send to a kernel and get from it.

Voila refuses to run code a browser sends, but by itself lets it overwrite any widget, start subshells, and read
tracebacks and the source of cells. Here only widget messages pass.
"""

from __future__ import annotations

import json
from typing import Any

from jupyter_server.services.kernels.connection.base import deserialize_binary_message, deserialize_msg_from_ws_v1
from jupyter_server.services.kernels.connection.channels import ZMQChannelsWebsocketConnection
from traitlets import Set, Unicode

_V1 = "v1.kernel.websocket.jupyter.org"


class GuardedConnection(ZMQChannelsWebsocketConnection):  # type: ignore[misc]
    """A kernel's websocket that lets through what widgets need, in both directions, and drops the rest."""

    allow_in = Set(Unicode(), {"comm_msg", "comm_info_request", "kernel_info_request", "comm_open"}, config=True)
    allow_out = Set(
        Unicode(),
        {
            "clear_output",
            "comm_close",
            "comm_info_reply",
            "comm_msg",
            "comm_open",
            "display_data",
            "execute_result",
            "kernel_info_reply",
            "status",
            "update_display_data",
        },
        config=True,
    )
    # The one comm that a browser opens itself: how ipywidgets loads the state of what is shown.
    allow_targets = Set(Unicode(), {"jupyter.widget.control"}, config=True)

    def handle_incoming_message(self, ws_msg: Any) -> Any:
        try:
            channel, header, content = self._read(ws_msg)
            header, content = dict(header), dict(content)
        except Exception:
            self.log.warning("guard: a malformed message was dropped")
            return None
        kind = header.get("msg_type")
        passes = (
            isinstance(kind, str) and kind in self.allow_in and channel == "shell" and not header.get("subshell_id")
        )
        if kind == "comm_open":
            passes = passes and content.get("target_name") in self.allow_targets
        if not passes:
            self.log.warning("guard: dropped incoming %s on %s", kind, channel)
            return None
        return super().handle_incoming_message(ws_msg)

    def _read(self, ws_msg: Any) -> tuple[str, dict[str, Any], dict[str, Any]]:
        if self.subprotocol == _V1:
            channel, parts = deserialize_msg_from_ws_v1(ws_msg)
            return channel, self.session.unpack(parts[0]), self.session.unpack(parts[3])
        message = deserialize_binary_message(ws_msg) if isinstance(ws_msg, bytes) else json.loads(ws_msg)
        return message.get("channel"), message["header"], message["content"]

    def handle_outgoing_message(self, stream: Any, outgoing_msg: Any) -> Any:
        _, parts = self.session.feed_identities(outgoing_msg)
        header = self.session.unpack(parts[1])  # parts[0] is the signature
        if header["msg_type"] not in self.allow_out:
            self.log.debug("guard: dropped outgoing %s", header["msg_type"])
            return None
        return super().handle_outgoing_message(stream, outgoing_msg)
