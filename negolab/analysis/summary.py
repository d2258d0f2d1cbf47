"""Summary of a batch: ends of matches, payoffs, rejected replies, and usage of language models."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from negolab.analysis import stats
from negolab.events import Rejected, Replied
from negolab.game import SEATS, InvalidKind, Reply
from negolab.record import Record
from negolab.store import STOPPED

KINDS: tuple[InvalidKind, ...] = ("format", "rule", "time")
"""Kinds of rejection: the reply was unreadable, against the rules, or too late."""
TOKENS = ("input", "output", "cached", "reasoning")
"""Tokens that a model's usage counts: `cached` are part of `input`, `reasoning` part of `output`."""


class ModelUsage:
    """Usage of language models, summed over their answers.

    Costs are in US dollars: `paid` by the run, `saved` by the `replayed` answers, those from another run's cache;
    `unpriced` answers have no known cost.
    """

    def __init__(self) -> None:
        self.answers = self.replayed = self.unpriced = 0
        self.tokens: Counter[str] = Counter()
        self.paid = self.saved = 0.0

    def add(self, reply: Reply) -> None:
        """Add one reply; replies that do not come from a model are ignored."""
        if reply.via != "model":
            return
        usage = reply.usage or {}
        replayed = bool(usage.get("replayed"))
        self.answers += 1
        self.replayed += replayed
        for name in TOKENS:
            self.tokens[name] += usage.get(name) or 0
        if reply.cost is None:
            self.unpriced += 1
        elif replayed:
            self.saved += reply.cost
        else:
            self.paid += reply.cost


class Tally:
    """Counts that grow one record at a time, so that a run need not fit in memory.

    Attributes:
        ends: Matches by end; those that a run stopped count as "failed" or "timed out".
        reasons: Stopped matches by the reason of the stop.
        payoffs: Payoffs by player and seat, without those of stopped matches.
        faults: Rejected replies by kind and first code.
        forfeits: Matches that ended by forfeit, by kind of the last fault.
        rejected: Rejected replies in all.
        taken: Usage of language models, stopped matches included.
    """

    def __init__(self) -> None:
        self.ends: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.payoffs: dict[tuple[str, str], list[float]] = defaultdict(list)
        self.faults: Counter[tuple[InvalidKind, str]] = Counter()
        self.forfeits: Counter[InvalidKind] = Counter()
        self.rejected = 0
        self.taken = ModelUsage()

    def add(self, record: Record) -> None:
        """Count one record; payoffs only if no run stopped the match."""
        stopped = record.header.notes.get(STOPPED)
        self.ends[stopped or record.end or "unfinished"] += 1
        self._count(record)
        if stopped:
            self.reasons[getattr(record.events[-1], "reason", None) or stopped] += 1
            return
        for seat in SEATS:
            payoff = record.payoffs[seat]
            if payoff is not None:
                self.payoffs[record.header.players.get(seat, "?"), seat].append(payoff)

    def _count(self, record: Record) -> None:
        last: InvalidKind | None = None
        for event in record.events:
            if isinstance(event, Replied):
                self.taken.add(event.reply)
            elif isinstance(event, Rejected):
                if event.said is not None:
                    self.taken.add(event.said)
                self.rejected += 1
                last = event.invalid.kind
                self.faults[last, event.invalid.codes[0]] += 1
        if record.end == "FORFEIT" and last is not None:
            self.forfeits[last] += 1

    @property
    def n(self) -> int:
        """Number of matches, stopped ones included."""
        return self.ends.total()

    @property
    def stopped(self) -> int:
        """Number of matches that the run stopped before the rules ended them."""
        return self.ends["failed"] + self.ends["timed out"]


def tally_records(records: Iterable[Record]) -> Tally:
    """Count some records."""
    result = Tally()
    for record in records:
        result.add(record)
    return result


def tally_lines(result: Tally, unit: str) -> list[str]:
    """Format a tally as lines of text: n, shares with Wilson intervals, mean payoffs with t intervals.

    Args:
        result: The tally.
        unit: Unit of the payoffs.
    """
    over = result.n - result.stopped
    out = [f"{result.n} games, {result.rejected} rejected replies; 95 % intervals in brackets", *_stopped(result), ""]
    for end, count in result.ends.most_common():
        if end not in ("failed", "timed out"):
            out.append(f"{end:12} {_percent(stats.wilson_interval(count, over))}   n = {count}")
    out += ["", f"mean payoff ({unit})"] if result.payoffs else []
    for (player, seat), values in sorted(result.payoffs.items()):
        e = stats.mean_interval(values)
        interval = f"[{e.low:.3f}, {e.high:.3f}]" if e.n > 1 else "(no interval)"
        out.append(f"{player:28} at {seat}   {e.value:10.3f}  {interval}   n = {e.n}")
    return [*out, *_faults(result), *_taken(result.taken)]


def _stopped(result: Tally) -> Iterator[str]:
    """Yield the number of stopped matches, which shares and means leave out, and their most frequent reasons."""
    if result.stopped:
        counts = (f"{result.ends[kind]} {kind}" for kind in ("failed", "timed out") if result.ends[kind])
        yield f"{result.n - result.stopped} finished, {', '.join(counts)} (not in the numbers below)"
        for reason, count in result.reasons.most_common(3):
            yield f"  {count} x {reason}"


def _faults(result: Tally) -> Iterator[str]:
    """Yield one line per kind of fault, so that unreadable replies are not mixed with broken rules or late ones."""
    if result.rejected:
        yield from ("", "rejected replies")
    for kind in KINDS:
        codes = Counter({code: n for (of, code), n in result.faults.items() if of == kind})
        if codes:
            most = ", ".join(f"{code} {n}" for code, n in codes.most_common(6))
            ended = f"; {result.forfeits[kind]} games ended by forfeit" if result.forfeits[kind] else ""
            yield f"{kind:12} {codes.total():6}   ({most}{', ...' if len(codes) > 6 else ''}){ended}"


def _taken(taken: ModelUsage) -> Iterator[str]:
    if not taken.answers:
        return
    tokens, unpriced, known = taken.tokens, taken.unpriced, taken.answers - taken.unpriced
    inside = ", ".join(f"{tokens[name]:,} {name}" for name in ("cached", "reasoning") if tokens[name])
    yield from ("", f"answers of models: {taken.answers:,}")
    counted = f"{tokens['input']:,} in, {tokens['output']:,} out{f' ({inside})' if inside else ''}"
    yield f"tokens       {counted if tokens.total() else 'unknown: the endpoint counts none'}"
    priced = f"${taken.paid:,.4f} for {known - taken.replayed if known else 0:,} answers"
    yield f"cost         {priced if known else 'unknown'}{f'; {unpriced:,} of unknown price' if unpriced else ''}"
    if taken.replayed:
        yield f"saved        ${taken.saved:,.4f}: {taken.replayed:,} answers came from the cache"


def _percent(e: stats.Estimate) -> str:
    return f"{100 * e.value:6.1f} %  [{100 * e.low:.1f}, {100 * e.high:.1f}]"
