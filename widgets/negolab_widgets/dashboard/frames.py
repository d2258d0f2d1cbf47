"""Frames of a kernel's websocket that are safe to take apart: both protocols begin with a table of offsets, which
Jupyter's readers believe. A forged one would have them build lists of billions of entries."""

from __future__ import annotations

import struct
from itertools import pairwise

MOST_PARTS = 64
"""Parts of a message, its buffers included; widgets of ours send none."""


def sound(frame: str | bytes, *, v1: bool) -> bool:
    """Whether the offsets of a frame lie in it and rise: of 64 bits (`v1`, the default protocol: of 32)."""
    if isinstance(frame, str):
        return not v1
    size, form = (8, "<Q") if v1 else (4, "!I")
    if len(frame) < size:
        return False
    (parts,) = struct.unpack_from(form, frame)
    table = size * (parts + 1)
    if not 0 < parts <= MOST_PARTS or table > len(frame):
        return False
    offsets = struct.unpack_from(f"{form[0]}{parts}{form[1]}", frame, size)
    return offsets[0] >= table and all(a <= b for a, b in pairwise(offsets)) and offsets[-1] <= len(frame)
