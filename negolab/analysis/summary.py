"""What a batch came to: ends, and what each player was paid, with intervals."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from negolab.analysis import stats
from negolab.game import SEATS
from negolab.record import Record


class Tally:
    """Counts that grow a record at a time, so that a run need not fit in memory."""

    def __init__(self) -> None:
        self.ends: Counter[str] = Counter()
        self.payoffs: dict[tuple[str, str], list[float]] = defaultdict(list)
        self.rejected = 0

    def add(self, record: Record) -> None:
        self.ends[record.end or "unfinished"] += 1
        self.rejected += sum(type(event).__name__ == "Rejected" for event in record.events)
        for seat in SEATS:
            payoff = record.payoffs[seat]
            if payoff is not None:
                self.payoffs[record.header.players.get(seat, "?"), seat].append(payoff)

    @property
    def n(self) -> int:
        return self.ends.total()


def tally(records: Iterable[Record]) -> Tally:
    """The tally of some records."""
    result = Tally()
    for record in records:
        result.add(record)
    return result


def lines(result: Tally, unit: str) -> list[str]:
    """The tally as a small table: n, shares with Wilson intervals, mean payoffs with t intervals."""
    out = [f"{result.n} games, {result.rejected} rejected replies; 95 % intervals in brackets", ""]
    for end, count in result.ends.most_common():
        out.append(f"{end:12} {_percent(stats.share(count, result.n))}   n = {count}")
    out += ["", f"mean payoff ({unit})"]
    for (player, seat), values in sorted(result.payoffs.items()):
        e = stats.mean(values)
        out.append(f"{player:28} at {seat}   {e.value:10.3f}  [{e.low:.3f}, {e.high:.3f}]   n = {e.n}")
    return out


def _percent(e: stats.Estimate) -> str:
    return f"{100 * e.value:6.1f} %  [{100 * e.low:.1f}, {100 * e.high:.1f}]"
