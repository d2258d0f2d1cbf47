"""How many of those who came by the open link may be there at once from one address. No I/O."""

from __future__ import annotations

from collections.abc import Collection


class Crowds:
    """Anybody may use the open link as often as they like: from one address at most `most` of its visitors have a place
    at the same time, so that no one person takes them all."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._from: dict[str, str] = {}

    def full(self, visitor: str, address: str, places: Collection[str]) -> bool:
        """Whether the visitor must wait until another one from there is gone; `places`: who has a place now."""
        self._from = {who: where for who, where in self._from.items() if who in places}
        if visitor in places:
            return False
        if sum(where == address for where in self._from.values()) >= self._most:
            return True
        self._from[visitor] = address
        return False
