"""The text that specifies a player: `time:beta=0.2,seed=3`, `llm:MODEL,temperature=0.7`, `mine.py:Haggler,beta=2`."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from negolab._internal.validation import parse_value
from negolab.protocols import MODEL_PREFIX


def parse_model_name(name: str) -> dict[str, Any]:
    """Split `llm:qwen2.5:0.5b,seed=3` into settings; the model's name may hold colons, and values stay texts."""
    model, _, tail = name.removeprefix(MODEL_PREFIX).partition(",")
    if "=" in model:
        begin, _, first = model.rpartition(":")
        raise ValueError(f"settings of a model follow a comma: {MODEL_PREFIX}{begin or 'MODEL'},{first}")
    return {"model": model, **dict(_pairs(tail, {"model"}))}


def parse_settings(text: str) -> dict[str, Any]:
    """Parse `a=1,b=fair`; values are JSON, else texts."""
    return {key: parse_value(value) for key, value in _pairs(text)}


def format_settings(settings: dict[str, Any]) -> str:
    """Write settings as a player's name shows them."""
    return ",".join(f"{name}={value}" for name, value in settings.items())


def _split(text: str) -> list[str]:
    """Split at commas, except inside of lists and objects."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "[{") - (char in "]}")
        if char == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += char
    return parts


def _pairs(text: str, given: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """Yield names and values; ValueError for a name that comes twice or is `given` already."""
    seen = set(given)
    for part in filter(None, _split(text)):
        key, sign, value = part.partition("=")
        if not sign or not key:
            raise ValueError(f"{part!r} is not of the form name=value")
        key = key.strip()
        if key in seen:
            raise ValueError(f"{key} is given twice: give it once")  # its value may be a secret
        seen.add(key)
        yield key, value.strip()
