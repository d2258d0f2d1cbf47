"""Tokens that were good a moment ago, so that the host is not asked at every request."""

from __future__ import annotations

import hashlib
import time

REMEMBER = 10.0
"""Seconds for which the host's word on a good token is believed."""
MOST = 10_000


class Tokens:
    """Whose each good token is. What is kept are digests: nobody who reads this memory has a link."""

    def __init__(self) -> None:
        self._good: dict[str, tuple[str, float]] = {}

    def visitor(self, token: str) -> str | None:
        """Whose it is, if the host said so a moment ago."""
        visitor, until = self._good.get(_digest(token), ("", 0.0))
        return visitor if until >= time.monotonic() else None

    def known(self, token: str) -> bool:
        """Whether it was ever good: no guess."""
        return _digest(token) in self._good

    def remember(self, token: str, visitor: str) -> None:
        """The newest `MOST` are kept."""
        self.forget(token)
        self._good[_digest(token)] = (visitor, time.monotonic() + REMEMBER)
        if len(self._good) > MOST:
            del self._good[next(iter(self._good))]

    def forget(self, token: str) -> None:
        self._good.pop(_digest(token), None)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
