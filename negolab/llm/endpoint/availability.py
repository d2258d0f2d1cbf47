"""Availability of an endpoint: whether it has ever answered, and how long it has failed to."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from negolab.llm.endpoint.errors import AttemptFailed, RunFailed, Unreachable

FIRST_NOTICE = 1.0
"""Seconds without an answer before the first notice; each later notice comes after twice as long."""
ADVICE = "check that the address is right, the server is running, and the network needs no login"
"""Advice about an endpoint that has never answered."""
AFTER_PATIENCE = "run again to resume, or set a longer --patience"
"""Advice, in a run, about an endpoint that has not answered for too long."""
LONG_WAIT = 30.0
"""Seconds; if the endpoint asks for a wait this long, a notice is given at once."""


class Availability:
    """Wait out one endpoint's overload, by time and for all its calls together.

    Args:
        url: The endpoint's address.
        patience: Seconds without a good answer after which the run stops (None: never).
        clock: The event loop's clock.
        notify: Called with a line when the endpoint does not answer, and when it answers again.
        after: Advice for when patience runs out.
    """

    def __init__(
        self,
        url: str,
        patience: float | None,
        clock: Callable[[], float],
        notify: Callable[[str], None],
        after: str = AFTER_PATIENCE,
    ) -> None:
        self.has_answered = False
        """True once a good answer has shown that the address is right."""
        self._url = url
        self._patience = patience
        self._clock = clock
        self._notify, self._after = notify, after
        self._since: float | None = None
        """Time of the first failure after the last good answer."""
        self._notices = 0
        self._most = "" if patience is None else f", at most {format_duration(patience)}"

    @property
    def is_waited_for(self) -> bool:
        """True if a notice was given and no answer has come since."""
        return self._notices > 0

    def record_answer(self) -> None:
        """Note a good answer."""
        self.has_answered = True
        if self._since is not None:
            if self._notices:
                self._notify(f"{self._url} answers again after {self._clock() - self._since:.0f} s")
            self._since, self._notices = None, 0

    def record_failure(self, error: AttemptFailed) -> None:
        """Note a failed attempt that says something about the whole endpoint.

        Raises:
            RunFailed: The address is wrong, or the endpoint has not answered for too long or asks for too long a wait.
        """
        if isinstance(error, Unreachable) and not self.has_answered:
            raise RunFailed(f"{self._url}: {error}: {ADVICE}") from None
        now = self._clock()
        if self._since is None:
            self._since = now
        waited = now - self._since
        if self._patience is not None and waited + (error.retry_after or 0.0) > self._patience:
            raise RunFailed(self._given_up(error, waited)) from None
        is_long = not self._notices and (error.retry_after or 0.0) >= LONG_WAIT
        if is_long or waited >= FIRST_NOTICE * 2**self._notices:
            self._notices += 1
            self._notify(f"{self._url} does not answer ({error}): waiting; {waited:.0f} s so far{self._most}")

    def is_patience_over(self, since: float) -> bool:
        """Return True if a call has been failing since `since` for longer than the patience."""
        return self._patience is not None and self._clock() - since > self._patience

    def _given_up(self, error: AttemptFailed, waited: float) -> str:
        if error.retry_after is not None and error.retry_after > (self._patience or 0.0):
            until = datetime.now(UTC) + timedelta(seconds=error.retry_after)
            return f"{self._url}: {error}: run again after {until:%Y-%m-%d %H:%M} UTC to resume"
        how_long = format_duration(waited)
        return f"{self._url} has not answered for {how_long} ({error}): {self._after}"


def format_duration(seconds: float) -> str:
    """Format a duration in seconds, or in minutes if it is two minutes or more."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
