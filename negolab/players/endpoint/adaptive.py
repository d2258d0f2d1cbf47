"""How much an endpoint takes that does not say so: found by trying, kept by watching what it refuses."""

from __future__ import annotations

from math import inf

from negolab.players.endpoint.pace import Pace

START = 50
"""Calls at once to begin with: most endpoints take as many."""
USED = 0.8
"""Only where this share of a limit was used does success say that more would do."""
CUT = 0.8
COOL = 1.0
"""Seconds after a cut in which refusals belong to the same episode."""
MANY = 0.2
"""Share of calls: where more are refused, the endpoint is overrun, and limits are cut to what got through."""
FEW = 0.08
"""Share of calls: up to here, refusals let limits grow."""
ERRORS = 0.25
"""Share of calls: where more end in errors, the server struggles, and nothing grows."""
ENOUGH = 20
"""Calls from which a share or a rate can be told."""
HALF = 1.0
"""Seconds of each of the two halves in which what came of late is counted."""
SLOWEST = 1.0
"""The least rate, calls a second: slower endpoints are kept to by the waits that they ask for."""
LESS, MORE = 0.97, 1.0015
"""What a refused and an answered call do to the rate. It comes to rest where one in twenty is refused; an endpoint
that now and then refuses a call for reasons of its own does not drive it down."""
UNDER = 0.95
"""A new rate stands at most at this share of the one that was refused."""


class Recent:
    """What came within the last one to two seconds."""

    def __init__(self) -> None:
        self._since = self._first = inf
        self._now = [0, 0, 0, 0]
        self._before = [0, 0, 0, 0]

    SENT, ANSWERED, REFUSED, FAILED = range(4)

    def add(self, what: int, now: float) -> None:
        if now - self._since >= HALF:
            self._before = self._now if now - self._since < 2 * HALF else [0, 0, 0, 0]
            self._now = [0, 0, 0, 0]
            self._since = now
        elif self._since == inf:
            self._since = self._first = now
        self._now[what] += 1

    def forget(self) -> None:
        self._now = [0, 0, 0, 0]
        self._before = [0, 0, 0, 0]

    def count(self, what: int) -> int:
        return self._before[what] + self._now[what]

    def share(self, what: int) -> float:
        """Of the calls sent; 0 where there are too few to tell."""
        sent = self.count(self.SENT)
        return self.count(what) / sent if sent >= ENOUGH else 0.0

    def seconds(self, now: float) -> float:
        """How long it has been counted, at least half a second."""
        return max(0.5, min(now - self._first, now - self._since + HALF))

    def young(self, now: float) -> bool:
        """Whether it has counted for so short a time that rates are rough."""
        return now - self._first < 2 * HALF


class Adaptive:
    """Two limits of one model's calls. `limit`, calls at once, doubles each round until the first cut, grows by a
    twentieth a round after it, and is cut by a fifth once per episode of refusals. `pace` is free until the first cut;
    then it is the rate that got through, and grows slowly: where answers are quick, whole numbers of calls at once are
    too coarse to keep to a rate. Replayed answers never come here."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.limit = float(min(most, START))
        self.pace = Pace(slack=0.02)
        self.episodes = 0
        self._recent = Recent()
        self._cut_at = -inf
        self._looked_at = -inf
        self._sent = 0
        self._round = 0
        self._peak = 0
        self._latency = 0.0
        self._raised = False
        """Whether the rate was used of late, so that answers raise it."""
        self._rough = False
        """Whether the rate was found after too short a time to be trusted: then it doubles until it is refused."""

    def sent(self, now: float, running: int) -> None:
        """A call goes; `running` counts it."""
        self._peak = max(self._peak, running)
        self._sent += 1
        self._recent.add(Recent.SENT, now)
        self.pace.take(now)

    def answered(self, now: float, latency: float) -> None:
        """An answer came after so many seconds."""
        self._latency += (latency - self._latency) * (0.05 if self._latency else 1.0)
        self._recent.add(Recent.ANSWERED, now)
        self._round += 1
        if self._round >= self.limit:
            self._next_round()
        if self.pace.rate < inf:
            self._quicken(now)

    def broken(self, now: float) -> None:
        """The server erred: where many calls end so, nothing grows, and nothing shrinks either."""
        self._recent.add(Recent.FAILED, now)

    def refused(self, now: float, sent_at: float, running: int) -> None:
        """The server refused a call that was sent at that time; `running` others are on their way. Cut where many are
        refused, unless the call belongs to an episode that was answered by a cut already."""
        if sent_at <= self._cut_at or now < self._cut_at + COOL:
            return
        self._recent.add(Recent.REFUSED, now)
        self._rough = False
        if self._recent.share(Recent.REFUSED) <= MANY:
            self.pace.rate = max(SLOWEST, self.pace.rate * LESS)
            return
        self.episodes += 1
        self.pace.rate = max(SLOWEST, self._through(now, running))
        self.pace.opens = max(self.pace.opens, now)
        self.limit = max(1.0, self.limit * CUT, self._needed())
        self._rough = self._recent.young(now)
        self._recent.forget()
        self._cut_at = self._looked_at = now
        self._round = self._peak = self._sent = 0

    def _through(self, now: float, running: int) -> float:
        """The rate that got through, or a fifth less than the known one: a moment in which this process stood still
        looks like a slow endpoint."""
        through = (self._recent.count(Recent.ANSWERED) + running) / self._recent.seconds(now)
        return through if self.pace.rate == inf else min(max(through, self.pace.rate * CUT), self.pace.rate * UNDER)

    def _grows(self) -> bool:
        recent = self._recent
        return recent.share(Recent.REFUSED) <= FEW and recent.share(Recent.FAILED) <= ERRORS

    def _needed(self) -> float:
        """Calls at once that the rate needs, with room for slow answers: once a rate is known, it is the limit."""
        return min(float(self.most), 1.5 * self.pace.rate * self._latency)

    def _next_round(self) -> None:
        if self._peak >= USED * self.limit and self._grows():
            more = max(1.0, self.limit / 20) if self.episodes else self.limit
            self.limit = min(float(self.most), self.limit + more)
        self._round = self._peak = 0

    def _quicken(self, now: float) -> None:
        """Raise a rate that is used; see each second whether it is."""
        if now - self._looked_at >= COOL:
            used = self._sent / (now - self._looked_at) >= USED * self.pace.rate
            self._raised = used and self._grows()
            self._looked_at, self._sent = now, 0
            if self._raised and self._rough:
                self.pace.rate *= 2
        if self._raised:
            self.pace.rate *= MORE
        self.limit = max(self.limit, self._needed())
