"""Summary of a batch: how matches ended, payoffs, rejected replies, and usage of language models."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from negolab.analysis import stats
from negolab.analysis.fallbacks import Cause, list_causes
from negolab.analysis.observations import MatchRow, Sample, sample_text
from negolab.analysis.replies import model_cost
from negolab.events import Rejected
from negolab.formatting import counted, display_unit, format_end, format_estimate
from negolab.game import SEATS, InvalidKind, Seat
from negolab.ledger import PICO, Cost
from negolab.protocols import MODEL_PREFIX
from negolab.record import Record

KINDS: tuple[InvalidKind, ...] = ("format", "rule", "time")
"""Kinds of rejection: the reply was unreadable, against the rules, or too late."""


class Observed(NamedTuple):
    """An observation: the end of a match or a seat's payoff, the match's draw and game (its deal and who played it in
    which seats), and `fallback`, True if a rule made a move in it."""

    value: float
    draw: str
    game: tuple[str, ...]
    fallback: bool


class Tally:
    """Counts that grow one record at a time, so that a run does not have to fit in memory.

    Attributes:
        ends: Number of matches by end; those that a run stopped count as "failed" or "timed out".
        missing: Number of matches without a regular result, by players and reason.
        copies: Number of matches that repeat one between deterministic players on the same draw in the same seating.
        exact: True while nothing at all was drawn.
        observed: The observations (matches without copies and those that a run stopped), by end.
        payoffs: The payoff of each observation, by player and seat.
        moves: Number of moves of each player and seat.
        causes: The causes of the moves that a rule made.
        fallbacks: Number of matches, excluding those that a run stopped, in which a rule made a move.
        decided: Number of matches that such a move decided.
        faults: Number of rejected replies, by kind and first code.
        forfeits: Number of matches that ended by forfeit, by the player that forfeited and the kind of its last fault.
        roles: The games' names for each seat.
        taken: The language models' cost according to the records, including stopped matches.
    """

    def __init__(self) -> None:
        self.ends: Counter[str] = Counter()
        self.missing: Counter[tuple[str, str]] = Counter()
        self.copies = 0
        self.exact = True
        self.observed: list[tuple[str, Observed]] = []
        self.payoffs: dict[tuple[str, Seat], list[Observed]] = defaultdict(list)
        self.moves: Counter[tuple[str, Seat]] = Counter()
        self.causes: dict[tuple[str, Seat], Counter[Cause]] = defaultdict(Counter)
        self.fallbacks = self.decided = 0
        self.faults: Counter[tuple[InvalidKind, str]] = Counter()
        self.forfeits: Counter[tuple[str, InvalidKind]] = Counter()
        self.roles: dict[Seat, set[str]] = defaultdict(set)
        self.taken = Cost()
        self._played: set[tuple[str, ...]] = set()

    def add(self, record: Record) -> None:
        """Count one record; its payoffs count only if no run stopped the match and it is not a copy."""
        row = MatchRow.of(record)
        end = row.stopped or record.end or "unfinished"
        self.ends[end] += 1
        for seat in SEATS:
            self.roles[seat].add(record.game.role(seat))
        self._count_faults(record)
        self._count_moves(row)
        self.exact &= row.deterministic and not row.chance and not row.stopped
        if not row.has_result:
            players = " against ".join(map(row.player, SEATS))
            self.missing[players, getattr(record.events[-1], "reason", None) or end] += 1
        if row.stopped:
            return
        if row.has_result and self._is_copy(row):
            self.copies += 1
            return
        seen = Observed(1, row.draw, (row.deal, *map(row.player, SEATS)), row.fallbacks.any)
        self.observed.append((end, seen))
        for seat in SEATS:
            payoff = record.payoffs[seat]
            if payoff is not None:
                self.payoffs[row.player(seat), seat].append(seen._replace(value=payoff))

    def _count_moves(self, row: MatchRow) -> None:
        for seat, own in row.fallbacks.seats.items():
            self.moves[row.player(seat), seat] += own.moves
            self.causes[row.player(seat), seat].update(own.causes)
        if not row.stopped:
            self.fallbacks += row.fallbacks.any
            self.decided += row.fallbacks.decided

    def _is_copy(self, row: MatchRow) -> bool:
        """Return True for a match that deterministic players have played before, as determined by `drop_copies`."""
        if not row.deterministic:
            return False
        game = (row.deal, row.draw, *map(row.player, SEATS))
        if game in self._played:
            return True
        self._played.add(game)
        return False

    def _count_faults(self, record: Record) -> None:
        self.taken = self.taken.plus(model_cost(record))
        last: Rejected | None = None
        for event in record.events:
            if isinstance(event, Rejected):
                last = event
                self.faults[event.invalid.kind, event.invalid.codes[0]] += 1
        if record.end == "FORFEIT" and last is not None:
            self.forfeits[record.header.players.get(last.seat, "?"), last.invalid.kind] += 1

    def sample(self, observed: Sequence[Observed]) -> Sample:
        """Return values with their draws as a sample; if they are known exactly, with one per game."""
        if self.exact:
            observed = list({one.game: one for one in reversed(observed)}.values())
        return Sample([one.value for one in observed], [one.draw for one in observed], exact=self.exact)

    def hits(self, end: str) -> list[Observed]:
        """Return the observations, with the value 1 for those with this end and 0 for the others."""
        return [seen._replace(value=of == end) for of, seen in self.observed]

    def role(self, seat: Seat) -> str:
        """Return what the game calls a seat; if there are several games, its letter."""
        return self.roles[seat].copy().pop() if len(self.roles[seat]) == 1 else seat

    def plays(self, player: str, seat: Seat) -> bool:
        """Return True if the player made a move of its own in this seat, or had none to make."""
        moves = self.moves[player, seat]
        return not moves or moves > self.causes[player, seat].total()

    @property
    def n(self) -> int:
        """Number of matches, including stopped ones."""
        return self.ends.total()

    @property
    def stopped(self) -> int:
        """Number of matches that the run stopped before the rules ended them."""
        return self.ends["failed"] + self.ends["timed out"]

    @property
    def played(self) -> int:
        """Number of matches that no run stopped."""
        return self.n - self.stopped


def tally_records(records: Iterable[Record]) -> Tally:
    """Count records."""
    result = Tally()
    for record in records:
        result.add(record)
    return result


def tally_lines(result: Tally, unit: str, paid: Cost | None = None) -> list[str]:
    """Format a tally as lines of text: shares of ends and mean payoffs, with intervals, n and draws.

    Args:
        result: The tally.
        unit: Unit of the payoffs; means are given in the unit that people read.
        paid: The models' cost according to the runs' ledgers (None: according to the records).
    """
    counts = f"{counted(result.n, 'match')}, {result.faults.total():,} rejected replies"
    out = [counts, *fallback_lines(result), *_sample(result), ""]
    for end, _ in Counter(end for end, _ in result.observed).most_common():
        out += _beside(result, format_end(end), result.hits(end), 12, _share)
    out += _missing(result)
    out += ["", f"mean payoff ({display_unit(unit)[0]})"] if result.payoffs else []
    for (player, seat), payoffs in sorted(result.payoffs.items()):
        name = f"{player:28} as {result.role(seat):8}"
        if result.plays(player, seat):
            out += _beside(result, name, payoffs, len(name), partial(_mean, unit=unit))
        else:
            out.append(f"{name}   no payoff: a rule made all its moves")
    return [*out, *_faults(result), *taken_lines(result.taken, result.taken if paid is None else paid)]


def _beside(
    result: Tally, name: str, observed: Sequence[Observed], width: int, estimated: Callable[[Sample], str]
) -> Iterator[str]:
    """Yield an estimate over all matches and, if a rule made moves in some, over the matches without such moves."""
    yield f"{name:{width}} {estimated(result.sample(observed))}"
    if result.fallbacks:
        clean = [one for one in observed if not one.fallback]
        yield f"{_WITHOUT:{width}} {estimated(result.sample(clean)) if clean else 'n = 0'}"


_WITHOUT = "no fallback"
"""Label of estimates over the matches in which players made all moves themselves."""


def _share(sample: Sample) -> str:
    share = sample.share()
    return f"{_percent(share)}   {sample_text(share)}"


def _mean(sample: Sample, unit: str) -> str:
    e = sample.mean()
    value, low, high = (format_estimate(number, unit) for number in (e.value, e.low, e.high))
    interval = f"  [{low}, {high}]" if e.low == e.low else ""
    return f"  {value:>10}{interval}   {sample_text(e)}"


def fallback_lines(result: Tally) -> Iterator[str]:
    """Yield, for each player, how many of its moves a rule made, and why; nothing if there are none."""
    moves = Counter[str]()
    causes = defaultdict[str, Counter[Cause]](Counter)
    for (player, seat), count in result.moves.items():
        moves[player] += count
        causes[player] += result.causes[player, seat]
    for player, found in sorted(causes.items()):
        if found:
            whose = "the model's" if player.startswith(MODEL_PREFIX) else "the player's own"
            told = f"{found.total():,} of {moves[player]:,} moves were not {whose}"
            yield f"{player}: {told}: {list_causes(found)}"
    if result.fallbacks:
        decided = f"such moves (fallbacks) decided {result.decided:,} of {result.played:,} matches"
        yield f"{decided}; {result.played - result.fallbacks:,} had no fallbacks"


def _sample(result: Tally) -> Iterator[str]:
    """Yield what one observation is, and what the intervals refer to."""
    if not result.observed:
        return
    draws = len({seen.draw for _, seen in result.observed})
    if result.copies:
        yield f"{result.copies:,} copies excluded: deterministic players repeat a match on the same draw"
    if result.exact:
        yield "nothing is random in the game or its players: the result of each distinct match is exact"
    elif draws == 1:
        yield "no intervals: all matches share one random draw"
    else:
        few = f"; only {draws} draws" if draws < stats.FEW_DRAWS else ""
        yield f"95% intervals in brackets, clustered by random draw ({draws:,} draws){few}"


def _missing(result: Tally) -> Iterator[str]:
    """Yield the matches without a regular result, by players and reason; means exclude all of them, and shares exclude
    those that a run stopped."""
    if result.missing:
        left = f"without a result: {result.missing.total()} of {result.n} matches"
        yield from (
            "",
            f"{left} (excluded from means), of which {result.stopped} failed (excluded from shares)",
        )
    for (players, reason), count in result.missing.most_common(6):
        yield f"{players:28} {count:6}   {reason}"
    if len(result.missing) > 6:
        yield f"and {len(result.missing) - 6} more reasons"


def _faults(result: Tally) -> Iterator[str]:
    """Yield one line per kind of fault, so that unreadable replies are not mixed with late ones or broken rules."""
    if result.faults:
        yield from ("", "rejected replies")
    for kind in KINDS:
        codes = Counter({code: n for (of, code), n in result.faults.items() if of == kind})
        if codes:
            most = ", ".join(f"{code} {n}" for code, n in codes.most_common(6))
            lost = [f"{n} by {player}" for (player, of), n in result.forfeits.most_common() if of == kind]
            ended = f"; matches forfeited: {', '.join(lost)}" if lost else ""
            yield f"{kind:12} {codes.total():6}   ({most}{', ...' if len(codes) > 6 else ''}){ended}"


def taken_lines(recorded: Cost, paid: Cost) -> Iterator[str]:
    """Yield what models cost: what was paid, and the answers from the cache that are in the records."""
    if not (paid.calls or recorded.replayed):
        return
    inside = ", ".join(f"{count:,} {name}" for name in ("cached", "reasoning") if (count := getattr(paid, name)))
    yield from ("", f"answers of models: {paid.answers + recorded.replayed:,}")
    if (failed := paid.calls - paid.answers) > 0:
        yield f"no answer    {failed:,} calls without an answer that were or may have been charged"
    if paid.calls or recorded.replayed:
        used = f"{paid.input:,} in, {paid.output:,} out{f' ({inside})' if inside else ''}"
        yield f"tokens       {used if paid.tokens or not paid.calls else 'unknown: the endpoint reports none'}"
        known = paid.calls - paid.unpriced - paid.uncounted
        parts = [f"${paid.usd:,.4f} for {known:,} calls"] * bool(known or not paid.calls)
        parts += [f"unknown for {paid.unpriced:,} calls: the price is unknown"] * bool(paid.unpriced)
        parts += [f"unknown for {paid.uncounted:,} calls: tokens were not counted"] * bool(paid.uncounted)
        yield f"cost         {'; '.join(parts)}"
    if recorded.replayed:
        known = recorded.replayed - recorded.unsaved
        saved = f"${recorded.saved / PICO:,.4f} for {known:,}" if known else "unknown"
        more = f", of unknown price for {recorded.unsaved:,}" if known and recorded.unsaved else ""
        yield f"saved        {saved}{more}: {recorded.replayed:,} answers came from the cache"


def _percent(e: stats.Estimate) -> str:
    interval = f"  [{100 * e.low:.1f}, {100 * e.high:.1f}]" if e.low == e.low else ""
    return f"{100 * e.value:6.1f}%{interval}"
