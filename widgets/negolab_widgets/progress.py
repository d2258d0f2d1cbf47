"""The progress of a run in a notebook, with buttons to pause, finish and cancel it."""

from __future__ import annotations

import asyncio

import ipywidgets as w
from typing_extensions import override

from negolab.formatting import format_significant
from negolab.runs.progress import Progress
from negolab.runs.run import Run
from negolab_widgets.faults import FaultGuard, run_in_background
from negolab_widgets.html import Markup, StableHTML, bar, element, pairs, panel
from negolab_widgets.layout import row, set_visible, warning
from negolab_widgets.page import Page

POLL_INTERVAL = 0.5
"""Seconds between two looks at the run."""

NEXT = element("p", "Next: ", element("code", "tables.matches(run.records())"), cls="nl-next")
"""Next steps for a run that is over."""

_PHASES = {
    "playing": "playing",
    "paused": "paused: no more questions are asked",
    "stopping": "stopping: no more matches start",
    "stopped": "stopped: run the same call again to resume",
    "done": "all matches are over",
}


class RunProgress(Page):
    """Show a run until it is over.

    Pause asks no more questions until Resume; Finish starts no more matches; Cancel also drops those being played.
    Answers are kept, so the same call continues from there.

    Args:
        run: A run as `negolab.run` returns it.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._trouble, self._shown = w.HTML(), StableHTML()
        self._looking, self._guarded = FaultGuard("the view of a run"), FaultGuard("the progress of a run")
        self._pause = self._guarded.button("Pause", self._pause_or_resume)
        self._finish = self._guarded.button("Finish current matches", run.finish)
        self._cancel = self._guarded.button("Cancel", run.cancel)
        self._buttons = row(self._pause, self._finish, self._cancel)
        told = self._trouble, self._looking.notice
        super().__init__([*told, self._shown, self._buttons, self._guarded.notice], self._guarded.show)
        self._phase = ""
        run.watch(self._noticed)
        self.refresh()
        run_in_background(self._watch)

    def refresh(self) -> None:
        """Read the run's progress and show it."""
        now = self._run.progress
        self._phase = now.phase
        self._trouble.value = warning(now.failure or now.message) if now.failure or now.message else Markup("")
        self._shown.value = render_progress(now, str(self._run.folder)) + (NEXT if _over(now) else Markup(""))
        self._pause.description = "Resume" if now.phase == "paused" else "Pause"
        self._pause.disabled = self._finish.disabled = now.phase == "stopping"
        set_visible(self._buttons, not _over(now))

    async def _watch(self) -> None:
        while not _over(self._run.progress):
            await asyncio.sleep(POLL_INTERVAL)
            self._looking(self.refresh)
        self._looking(self.refresh)
        self.keep()

    @override
    def kept(self) -> Markup:
        return render_progress(self._run.progress, str(self._run.folder)) + NEXT

    def _noticed(self, now: Progress) -> None:
        """Show a new phase at once; games are counted at the next look."""
        if now.phase != self._phase:
            self._looking(self.refresh)

    def _pause_or_resume(self) -> None:
        if self._run.progress.phase == "paused":
            self._run.resume()
        else:
            self._run.pause()


def _over(now: Progress) -> bool:
    return now.phase in ("stopped", "done")


def render_progress(now: Progress, folder: str) -> Markup:
    """Render the progress of a run whose records are in `folder`."""
    has_faults, has_models = bool(now.failed or now.timed_out), now.calls is not None
    limit = "" if now.usd_limit is None else f" of ${now.usd_limit:.2f}"
    unknown = "unknown: some prices are missing" if has_models else ""
    facts = {
        "state": _PHASES[now.phase],
        "finished": str(now.finished),
        "failed": str(now.failed) if has_faults else "",
        "timed out": str(now.timed_out) if has_faults else "",
        "in progress": str(now.playing or ""),
        "calls": f"{now.calls} in flight, {now.waiting or 0} waiting" if has_models and not _over(now) else "",
        "cost": unknown if now.usd is None else f"${now.usd:.4f}{limit}",
        "pace": f"{format_significant(now.rate)} matches per second{_left(now)}" if now.new else "",
        "folder": folder,
    }
    meter = bar(now.over, now.games, f"{now.over} of {now.games} matches", name="Finished matches")
    return element("div", panel("Run", meter, pairs((name, text) for name, text in facts.items() if text)))


def _left(now: Progress) -> str:
    """Estimate the time that is left, "" while that is unknown."""
    games = now.games - now.over
    if now.phase != "playing" or not games or not now.rate:
        return ""
    seconds = games / now.rate
    return f", about {seconds / 60:.0f} min left" if seconds >= 90 else f", about {seconds:.0f} s left"
