"""The filter between a browser and a kernel.

Voila refuses to run code a browser sends, but by itself lets it overwrite any widget, start subshells, and read
tracebacks and the source of cells. Here only widget messages pass.
"""

from __future__ import annotations

import json
import struct
from itertools import pairwise
from typing import Any

from jupyter_server.services.kernels.connection.base import deserialize_binary_message, deserialize_msg_from_ws_v1
from jupyter_server.services.kernels.connection.channels import ZMQChannelsWebsocketConnection
from traitlets import Float, Set, Unicode

from negolab_widgets.server.limits import TokenBuckets

MAX_PARTS = 64
"""Parts of a message, its buffers included; widgets of ours send none."""


def is_well_formed(frame: str | bytes, *, v1: bool) -> bool:
    """Check that a frame's offsets lie in it and rise (64 bits in protocol `v1`, else 32).

    Jupyter's readers believe the table of offsets: a forged one would have them build lists of billions of entries.
    """
    if isinstance(frame, str):
        return not v1
    size, form = (8, "<Q") if v1 else (4, "!I")
    if len(frame) < size:
        return False
    (parts,) = struct.unpack_from(form, frame)
    table = size * (parts + 1)
    if not 0 < parts <= MAX_PARTS or table > len(frame):
        return False
    offsets = struct.unpack_from(f"{form[0]}{parts}{form[1]}", frame, size)
    return offsets[0] >= table and all(a <= b for a, b in pairwise(offsets)) and offsets[-1] <= len(frame)


_V1 = "v1.kernel.websocket.jupyter.org"


class GuardedConnection(ZMQChannelsWebsocketConnection):  # type: ignore[misc]
    """A kernel's websocket that passes what widgets need, in both directions, and drops the rest."""

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

    _has_logged = False

    rate = Float(50, config=True, help="Messages a second that a page may send for long; ten times as many at once.")

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._bucket = TokenBuckets(self.rate, 10 * self.rate)

    def handle_incoming_message(self, ws_msg: Any) -> None:
        if self._bucket.take(""):
            self.websocket_handler.close(1008, "too many messages")
        elif self._passes(ws_msg):
            try:
                super().handle_incoming_message(ws_msg)
            except (TypeError, ValueError, KeyError, AttributeError) as error:  # such as buffers that are none
                self._log_dropped(error)

    def _passes(self, ws_msg: Any) -> bool:
        """Return True for a message that widgets need."""
        if not is_well_formed(ws_msg, v1=self.subprotocol == _V1):
            return False
        try:
            channel, header, content = self._read(ws_msg)
            kind, subshell, target = header.get("msg_type"), header.get("subshell_id"), content.get("target_name")
        except Exception as error:
            self._log_dropped(error)
            return False
        if not isinstance(kind, str) or kind not in self.allow_in or channel != "shell" or subshell:
            return False
        return kind != "comm_open" or (isinstance(target, str) and target in self.allow_targets)

    def _log_dropped(self, error: Exception) -> None:
        """Log once why a message was dropped, so that nobody fills a disk, without the text, which may quote it."""
        if not self._has_logged:
            self.log.error("guard: dropped a message that cannot be read or sent on (%s)", type(error).__name__)
        self._has_logged = True

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
