"""What calls took, summed over a run."""

from __future__ import annotations

import msgspec

from negolab.players.endpoint.call import Answer, Usage
from negolab.players.endpoint.prices import dollars


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """Sums over all calls: `calls` answered by the endpoint, `replayed` from the cache, `refused` attempts, tokens as
    the endpoint counted them, `cost` and what the cache `saved` in US dollars, `unpriced` answers of unknown price or
    size, and `lost` attempts that may have been paid without an answer."""

    calls: int = 0
    replayed: int = 0
    refused: int = 0
    lost: int = 0
    input: int = 0
    output: int = 0
    cost: float = 0.0
    saved: float = 0.0
    unpriced: int = 0


class Tally:
    """Where the sums grow."""

    def __init__(self) -> None:
        self.calls = self.replayed = self.refused = self.lost = self.input = self.output = self.unpriced = 0
        self._pico = 0
        self._saved = 0.0

    def answered(self, answer: Answer, pico: int | None) -> None:
        """An answer came; `pico` is its own cost, None where it is unknown."""
        self.calls += 1
        self._add(answer.usage, pico)
        self.unpriced += pico is None

    def failed(self, paid: Usage, pico: int | None) -> None:
        """An attempt was paid and brought no answer."""
        self._add(paid, pico)

    def replay(self, answer: Answer) -> None:
        """A kept answer was used again."""
        self.replayed += 1
        self._saved += answer.cost or 0.0

    def _add(self, usage: Usage, pico: int | None) -> None:
        self.input += usage.input or 0
        self.output += usage.output or 0
        self._pico += pico or 0

    def sums(self) -> Spent:
        return Spent(
            calls=self.calls,
            replayed=self.replayed,
            refused=self.refused,
            lost=self.lost,
            input=self.input,
            output=self.output,
            cost=dollars(self._pico),
            saved=self._saved,
            unpriced=self.unpriced,
        )
