"""The filter between a browser and a kernel.

Voila refuses to run code sent by a browser, but on its own lets it overwrite any widget, start subshells, and read
tracebacks and the source of cells. Here, only widget messages pass, as many as a visitor's budget allows, and they are
forwarded unchanged.
"""

from __future__ import annotations

import struct
from asyncio import Future
from functools import partial
from itertools import pairwise
from typing import Any

from jupyter_server.services.kernels.connection.base import deserialize_msg_from_ws_v1, serialize_msg_to_ws_v1
from jupyter_server.services.kernels.connection.channels import ZMQChannelsWebsocketConnection
from tornado.websocket import WebSocketClosedError
from traitlets import Set, Unicode

from negolab_widgets.server.limits import STATES_COST

PROTOCOL = "v1.kernel.websocket.jupyter.org"
"""The only protocol offered; its frames carry a message's parts as the kernel takes them."""
MAX_PARTS = 64
"""Maximum number of parts of a message, including buffers; our widgets send no buffers."""
MAX_UNSENT = 4 << 20
"""Bytes that may wait for a page that does not read them; beyond that, its websocket is closed, and the page
reconnects."""
TOO_SLOW = (1013, "the page reads too slowly")


def is_well_formed(frame: str | bytes) -> bool:
    """Check that a frame's offsets lie within it and increase.

    Jupyter's reader trusts the table of offsets, so a forged one would make it build lists with billions of entries.
    """
    if isinstance(frame, str) or len(frame) < 8:
        return False
    (parts,) = struct.unpack_from("<Q", frame)
    table = 8 * (parts + 1)
    if not 0 < parts <= MAX_PARTS or table > len(frame):
        return False
    offsets = struct.unpack_from(f"<{parts}Q", frame, 8)
    return offsets[0] >= table and all(a <= b for a, b in pairwise(offsets)) and offsets[-1] <= len(frame)


class GuardedConnection(ZMQChannelsWebsocketConnection):  # type: ignore[misc]
    """A kernel's websocket that passes what widgets need, in both directions, and drops everything else."""

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
    # The only comm that a browser opens itself, with which ipywidgets loads the state of what is shown.
    allow_targets = Set(Unicode(), {"jupyter.widget.control"}, config=True)

    _has_logged = False
    _unsent = 0
    _is_connected = False
    _nudged: Future[None] | None = None

    def connect(self) -> Any:
        self._is_connected = True
        return super().connect()

    def nudge(self) -> Any:
        self._nudged = super().nudge()
        return self._nudged

    # From the page.

    def handle_incoming_message(self, ws_msg: Any) -> None:
        pays = self.websocket_handler.pays
        if not self.channels or not pays(len(ws_msg)):
            return
        parts = self._read(ws_msg)
        if parts is not None and (not self._asks_for_states(parts) or pays(STATES_COST)):
            self.session.send_raw(self.channels["shell"], parts)

    def _read(self, frame: str | bytes) -> list[bytes] | None:
        """Return the parts of a message that widgets need; None for any other."""
        if not is_well_formed(frame):
            return None
        try:
            channel, parts = deserialize_msg_from_ws_v1(frame)
            header, content = self.session.unpack(parts[0]), self.session.unpack(parts[3])
            kind, subshell, target = header.get("msg_type"), header.get("subshell_id"), content.get("target_name")
        except Exception as error:
            self._log_dropped(error)
            return None
        if not isinstance(kind, str) or kind not in self.allow_in or channel != "shell" or subshell:
            return None
        is_ours = kind != "comm_open" or (isinstance(target, str) and target in self.allow_targets)
        return parts if is_ours else None

    def _asks_for_states(self, parts: list[bytes]) -> bool:
        data = self.session.unpack(parts[3]).get("data")
        return isinstance(data, dict) and data.get("method") == "request_states"

    def _log_dropped(self, error: Exception) -> None:
        """Log why a message was dropped: only once, so that nobody can fill the disk, and without the text, which may
        quote it."""
        if not self._has_logged:
            self.log.error("guard: dropped a message that cannot be read (%s)", type(error).__name__)
        self._has_logged = True

    # To the page.

    def handle_outgoing_message(self, stream: Any, outgoing_msg: Any) -> None:
        stream = self.channels[stream] if isinstance(stream, str) else stream
        _, parts = self.session.feed_identities(outgoing_msg)
        header = self.session.unpack(parts[1])  # parts[0] is the signature
        if header["msg_type"] not in self.allow_out:
            self.log.debug("guard: dropped outgoing %s", header["msg_type"])
        elif stream.closed():
            self.disconnect()
        else:
            self._send(serialize_msg_to_ws_v1(parts[1:], stream.channel))

    def disconnect(self) -> None:
        """Disconnect; a page that leaves before it is connected or answered leaves nothing open either."""
        if self._nudged is not None:
            self._nudged.cancel()
        if not self._is_connected:
            if self._open_sessions.get(self.session_key) is self.websocket_handler:
                del self._open_sessions[self.session_key]
            return
        self._is_connected = False
        super().disconnect()
        self.channels: dict[str, Any] = {}
        # Jupyter keeps what arrives for a page that may return, without a limit.
        kept = self.multi_kernel_manager._kernel_buffers.get(self.kernel_id)
        if kept is not None and kept["session_key"] == self.session_key:
            self._unsent = 0
            for channel, stream in kept["channels"].items():
                stream.on_recv(partial(self._keep, kept["buffer"], channel))

    def _keep(self, kept: list[tuple[str, list[bytes]]], channel: str, message: list[bytes]) -> None:
        """Keep a message for a page whose connection is lost, unless too much is already waiting."""
        if self._unsent > MAX_UNSENT:
            return
        kept.append((channel, message))
        self._unsent += sum(map(len, message))
        if self._unsent > MAX_UNSENT:
            kept.clear()
            self._give_up()

    def _give_up(self) -> None:
        """End the kernel of a page that has missed something; the page reloads and gets a new one."""
        server = self.websocket_handler.server
        server.refusals["slow page"] += 1
        server.run_later(server.end(self.kernel_id))

    def _send(self, frame: bytes) -> None:
        """Send a frame, unless the visitor has received too much or is not reading what came before."""
        handler, size = self.websocket_handler, len(frame)
        if self._unsent > MAX_UNSENT or handler.server.traffic.outgoing.take(handler.visitor, size):
            handler.close(*TOO_SLOW)
            self._give_up()
            return

        def sent(future: Future[None]) -> None:
            self._unsent -= size
            if not future.cancelled():
                future.exception()  # a closed websocket is reported by its own handler

        try:
            future = handler.write_message(frame, binary=True)
        except WebSocketClosedError:
            return
        self._unsent += size
        future.add_done_callback(sent)
