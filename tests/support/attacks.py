"""Named attacks. Each returns whether it succeeded, so that it can be tried with a defence on and off."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from html.parser import HTMLParser
from typing import Any

import websockets
from typing_extensions import override

from tests.support.bots import framed
from tests.support.hostile_visitor import Visitor, Wire

REQUESTS: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        "execute_request",
        {"code": "print('pwn' + 'ed')", "silent": False, "user_expressions": {"a": "__import__('os')"}},
    ),
    ("inspect_request", {"code": "opened", "cursor_pos": 3, "detail_level": 1}),
    ("complete_request", {"code": "ope", "cursor_pos": 3}),
    ("history_request", {"hist_access_type": "tail", "n": 10, "output": True, "raw": True}),
    ("is_complete_request", {"code": "1 +"}),
    ("connect_request", {}),
    ("debug_request", {"type": "request", "command": "debugInfo", "seq": 1, "arguments": {}}),
    ("input_reply", {"value": "x", "status": "ok"}),
    ("usage_request", {}),
    ("create_subshell_request", {}),
    ("delete_subshell_request", {"subshell_id": "x"}),
    ("list_subshell_request", {}),
    ("interrupt_request", {}),
    ("shutdown_request", {"restart": False}),
    ("shutdown_request", {"restart": True}),
    ("abort_request", {}),
    ("clear_request", {}),
    ("apply_request", {"bound": True}),
    ("comm_close", {"comm_id": "x", "data": {}}),
    ("stream", {"name": "stdout", "text": "pwned"}),
    ("display_data", {"data": {"text/html": "pwned"}, "metadata": {}}),
    ("no_such_request", {}),
    ("", {}),
)
CHANNELS = ("shell", "control", "stdin", "iopub", "hb", "nowhere")


# At the kernel's websocket, which the guard defends


async def end_a_kernel_by_a_message(visitor: Visitor, wire: Wire) -> bool:
    """Ask a kernel to shut down, on both request channels."""
    for channel in ("shell", "control"):
        await wire.send("shutdown_request", {"restart": False}, channel)
    return not await wire.answered(4)


async def provoke_a_traceback(visitor: Visitor, wire: Wire) -> bool:
    """Send invalid state to widgets until one of them reveals a traceback."""
    for id in list(visitor.models)[:20]:
        await overwrite(wire, id, layout="IPY_MODEL_nowhere", children=["IPY_MODEL_nowhere"], value={"a": [1]})
    await overwrite(wire, "nowhere", value=1)
    await wire.answered()
    return bool(visitor.holds("Traceback", "site-packages"))


async def make_a_widget(visitor: Visitor, wire: Wire) -> bool:
    """Make the kernel create a widget that belongs to no page."""
    state = {"_model_module": "@jupyter-widgets/controls", "_model_name": "TextModel", "value": "pwned"}
    state |= {"_view_module": "@jupyter-widgets/controls", "_view_name": "TextView"}
    data = {"state": {**state, "_model_module_version": "2.0.0", "_view_module_version": "2.0.0"}}
    await wire.send("comm_open", {"comm_id": "f00d", "target_name": "jupyter.widget", "data": data})
    await wire.send("comm_info_request", {})
    await wire.answered()
    return any("f00d" in m["content"].get("comms", {}) for m in wire.messages if m["msg_type"] == "comm_info_reply")


async def take_a_widget_away(visitor: Visitor, wire: Wire) -> bool:
    """Close one of the page's widgets."""
    (victim, *_) = visitor.ids("Button")
    await wire.send("comm_close", {"comm_id": victim, "data": {}})
    await wire.send("comm_info_request", {})
    await wire.answered()
    *_, last = (m["content"]["comms"] for m in wire.messages if m["msg_type"] == "comm_info_reply")
    return victim not in last


async def overwrite(wire: Wire, id: str, **state: Any) -> None:
    """Write any traits of a widget."""
    await wire.send("comm_msg", {"comm_id": id, "data": {"method": "update", "state": state, "buffer_paths": []}})


async def press(wire: Wire, id: str) -> None:
    """Press a button, even if it is disabled."""
    await wire.send("comm_msg", {"comm_id": id, "data": {"method": "custom", "content": {"event": "click"}}})


JUNK: tuple[Any, ...] = (
    *(None, True, 0, -1, 10**400, 1e308, float("nan"), [], {}, [[]], {"a": {"b": [1, None]}}, ["by chance", 5]),
    *("x" * 6_000, "1e999", "nan", "by chance | by magic", ["by chance", "by chance"], "<img src=x onerror=alert(1)>"),
)
"""Values of every kind: none of them answers a question for a number, a choice or a grid.

They are small enough for a visit to stay within its budget of bytes, which a fast machine leaves no time to refill.
"""
GARBAGE = (*JUNK, "IPY_MODEL_nowhere", ["IPY_MODEL_nowhere"], "https://evil.example/x.js")


async def rewrite_everything(visitor: Visitor, wire: Wire) -> None:
    """Write garbage into every trait of a widget of each kind, and into all widgets traits that would load a foreign
    module or lift a limit: a few hundred writes, so that the websocket is not closed for their number."""
    kinds = {str(model.get("_model_name")): id for id, model in visitor.models.items()}
    for n, id in enumerate(kinds.values()):
        for at, name in enumerate(visitor.models[id]):
            if at % 3 == n % 3:
                await overwrite(wire, id, **{name: GARBAGE[(n + at) % len(GARBAGE)]})
    for id in list(visitor.models):
        foreign = {"_view_module": FOREIGN, "_view_name": "Evil", "_esm": FOREIGN, "_model_module": FOREIGN}
        await overwrite(wire, id, **foreign, disabled=False, max=10**9, min=-(10**9))
        await asyncio.sleep(0.02)


FOREIGN = "https://evil.example/x.js"


async def malform(visitor: Visitor) -> None:
    """Send malformed frames, each on a websocket of its own."""
    header = {"msg_id": "1", "msg_type": "comm_msg", "session": "x", "username": "", "version": "5.3"}
    whole = {"header": header, "parent_header": {}, "metadata": {}, "content": {}, "channel": "shell"}
    frames: list[Any] = ["", "{", "null", "[]", "5", '"x"', "{}", b"", b"\0" * 7, b"\0" * 4096, "x" * 10]
    frames += [b"\xff" * 64, (1 << 40).to_bytes(8, "little") + b"x" * 64, b"\x7f\xff\xff\xff" + b"\0" * 16]
    frames += ["[" * 5000, '{"header":' * 2000, "x" * (1 << 21), b"x" * (1 << 21)]
    frames += [framed({**whole, **change}, {**whole, **change}["channel"]) for change in _CHANGES]
    for frame in frames:
        socket = await visitor.opened()
        with suppress(websockets.ConnectionClosed, TimeoutError):
            await socket.send(frame)
            await asyncio.wait_for(socket.recv(), 0.02)
        await socket.close()


_CHANGES: tuple[dict[str, Any], ...] = (
    {"header": None},
    {"header": []},
    {"header": {"msg_type": ["comm_msg"]}},
    {"header": {"msg_type": {"a": 1}}},
    {"header": {"msg_type": "comm_msg"}},
    {"content": None},
    {"content": []},
    {"content": {"comm_id": [], "data": 5}},
    {"content": {"comm_id": {}, "data": {}}},
    {"content": {"data": {"method": "update"}}},
    {"channel": None},
    {"channel": ["shell"]},
    {"channel": {"a": 1}},
    {"channel": 5},
    {"parent_header": [], "metadata": 5},
)


# In what others see


ACTIVE = {"script", "iframe", "object", "embed", "img", "svg", "math", "video", "input", "link", "base", "form"}


class _Live(HTMLParser):
    """Collects what a browser would run or fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        is_drawing = tag == "svg" and str(dict(attrs).get("class")).startswith("nl-")
        if tag in ACTIVE and not is_drawing:
            self.found.append(tag)
        for name, value in attrs:
            if name.startswith("on") or (name in ("srcdoc", "style", "src", "href") and "width" not in str(value)):
                self.found.append(f"{tag} {name}")


def live(html: str) -> list[str]:
    """Elements and attributes of markup that a browser would run or fetch."""
    parser = _Live()
    parser.feed(html)
    return parser.found
