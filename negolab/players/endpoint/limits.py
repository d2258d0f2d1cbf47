"""What a user may declare about an endpoint: how many calls at once, how many a minute, how long to wait."""

from __future__ import annotations

from math import isfinite

import msgspec


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of one endpoint; `ValueError` for one that cannot be kept.

    `at_once` calls are in flight per model, fewer where the endpoint takes fewer. `requests_per_minute` and
    `tokens_per_minute` are what the provider allows per model, if it says so. `call_seconds` is the time for one
    attempt from sending to the last byte. `patience` is how many seconds an endpoint may be silent before the run stops
    (None: it waits for ever). `attempts` is how often a call is sent before its game fails by broken answers.
    """

    at_once: int = 200
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    call_seconds: float = 600.0
    patience: float | None = None
    attempts: int = 6

    def __post_init__(self) -> None:
        for name in ("at_once", "attempts"):
            _whole(name, getattr(self, name))
        _positive("call_seconds", self.call_seconds)
        for name in ("requests_per_minute", "tokens_per_minute", "patience"):
            if getattr(self, name) is not None:
                _positive(name, getattr(self, name))


def _whole(name: str, value: object) -> None:
    if type(value) is not int or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}")


def _positive(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not (isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a number above 0, not {value!r}")
