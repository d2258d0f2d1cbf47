"""Websocket frames: valid ones are read, forged ones are refused before they are read."""

from __future__ import annotations

import json
import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jupyter_server.services.kernels.connection.base import deserialize_msg_from_ws_v1, serialize_msg_to_ws_v1
from negolab_widgets.server.guard import is_well_formed

MESSAGE = {"header": {"msg_type": "comm_msg"}, "parent_header": {}, "metadata": {}, "content": {"a": 1}}


@pytest.mark.parametrize("buffers", [[], [b""], [b"one", b"two"]])
def test_whole_frames_are_sound(buffers: list[bytes]) -> None:
    parts = [json.dumps(MESSAGE[part]).encode() for part in ("header", "parent_header", "metadata", "content")]
    assert is_well_formed(serialize_msg_to_ws_v1([*parts, *buffers], "shell"))


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\xff" * 64,
        b"\0" * 64,
        struct.pack("<Q", 2**40) + b"x" * 100,
        struct.pack("!I", 2**31) + b"x" * 100,
        struct.pack("<QQQ", 2, 24, 10**9),
        struct.pack("!III", 2, 12, 10**9),
        struct.pack("<QQQ", 2, 200, 24),
        b"\1",
    ],
)
def test_forged_offsets_are_seen_before_they_are_followed(frame: bytes) -> None:
    assert not is_well_formed(frame)


@given(st.binary(max_size=400))
def test_what_is_sound_can_be_read_at_no_cost_beyond_its_length(frame: bytes) -> None:
    if not is_well_formed(frame):
        return
    # Sound, and still no message: the guard drops it.
    with suppress(ValueError, IndexError, TypeError, KeyError, AttributeError):
        deserialize_msg_from_ws_v1(frame)


def test_text_is_no_frame() -> None:
    assert not is_well_formed("{}")
