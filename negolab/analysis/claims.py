"""What seats said of themselves, and whether it was true."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from negolab.game import SEATS, Seat


class Claim(NamedTuple):
    """In the reply that is event `at` of its record, `seat` stated `said` of its `topic`; `true` is what was so."""

    at: int
    seat: Seat
    topic: str
    said: Any
    true: Any

    @property
    def honest(self) -> bool:
        return bool(self.said == self.true)


def truth(claims: Iterable[Claim]) -> dict[Seat, float | None]:
    """The share of each seat's claims that were true, 0 to 1; None for a seat that made none."""
    made: dict[Seat, list[bool]] = {seat: [] for seat in SEATS}
    for claim in claims:
        made[claim.seat].append(claim.honest)
    return {seat: sum(flags) / len(flags) if flags else None for seat, flags in made.items()}
