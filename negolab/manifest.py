"""What a run is, written into its folder before its first game: its plan, its players, and what was said besides."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from negolab.disk import written

FILE = "manifest.json"
_LONGEST = 60


def read(folder: Path) -> dict[str, Any]:
    """The manifest of a folder, `{}` where there is none; `ValueError` for what is no manifest."""
    path = folder / FILE
    if not path.exists():
        return {}
    try:
        found = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise ValueError(f"{path} is no manifest of a run ({error}): choose another folder") from None
    if not all(isinstance(found.get(part), dict) for part in ("plan", "players")):
        raise ValueError(f"{path} is no manifest of a run (it names no plan): choose another folder")
    return found


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """What makes `new` another run than `old`, in words: the plan but for the number of games, or what a player is,
    such as the text of its prompt."""
    plan = [name for name, value in new["plan"].items() if name != "n" and value != old["plan"].get(name)]
    return plan or list(_players(old["players"], new["players"]))


def _players(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    for player, facts in new.items():
        then, now = _flat(old.get(player) or {}), _flat(facts)
        for name in {**then, **now}:
            if then.get(name) != now.get(name):
                yield f"{name} of {player} ({_short(then.get(name))} then, {_short(now.get(name))} now)"


def _flat(facts: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Facts within facts by one name; a hash says nothing that its text does not."""
    flat: dict[str, Any] = {}
    for name, value in facts.items():
        inner = _flat(value, f"{before}{name} ") if isinstance(value, dict) else {f"{before}{name}": value}
        flat |= {key: v for key, v in inner.items() if not key.endswith("sha256")}
    return flat


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"


def write(folder: Path, manifest: dict[str, Any]) -> None:
    """Write all of it or nothing, also if the power fails."""
    written(folder / FILE, msgspec.json.format(msgspec.json.encode(manifest)) + b"\n")
