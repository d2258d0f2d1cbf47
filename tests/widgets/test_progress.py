"""A run's progress widget and its buttons."""

from __future__ import annotations

import asyncio
from pathlib import Path

from negolab_widgets import RunProgress
from negolab_widgets.progress import render_progress

from negolab.llm.endpoint.call import Call
from negolab.llm.endpoint.errors import RunFailed
from negolab.runs.progress import Progress
from tests.runs.test_run import Fake, run
from tests.support.tables import press, state


def progress(**more: object) -> Progress:
    whole = {"games": 100, "finished": 40, "failed": 0, "timed_out": 0, "new": 40, "playing": 5, "seconds": 20.0}
    return Progress(**{**whole, "phase": "playing", **more})  # type: ignore[arg-type]


def test_what_is_over_what_it_costs_and_how_long_it_takes_are_shown() -> None:
    shown = render_progress(progress(failed=2, calls=7, waiting=3, usd=1.25, usd_limit=5.0), "data/runs/x")
    for words in (
        "42 of 100 matches",
        "7 in flight, 3 waiting",
        "$1.2500 of $5.00",
        "2 matches per second, about 29 s left",
    ):
        assert words in shown
    assert "data/runs/x" in shown and "failed" in shown
    assert "1,234 matches per second" in render_progress(progress(games=30_000, new=24_680), "x")


def test_a_price_that_is_not_known_is_not_shown_as_nothing() -> None:
    assert "unknown" in render_progress(progress(calls=7, waiting=3), "x") and "$" not in render_progress(
        progress(calls=7, waiting=3), "x"
    )


def test_what_models_take_is_not_shown_of_strategies() -> None:
    shown = render_progress(progress(), "<b>x</b>")
    assert "in flight" not in shown and "cost" not in shown and "<b>" not in shown


def test_a_run_is_paused_resumed_and_stopped_by_its_buttons(tmp_path: Path) -> None:
    async def cell() -> None:
        going = run(tmp_path, Fake(lambda call: asyncio.sleep(0.01)), n=200, at_once=4)
        going.start()
        shown = RunProgress(going)
        await asyncio.sleep(0.05)
        press(shown, "Pause")
        assert "paused: no more questions are asked" in state(shown)
        press(shown, "Resume")
        assert going.progress.phase == "playing" and "no more questions" not in state(shown)
        press(shown, "Finish current matches")
        assert "no more matches start" in state(shown)
        assert (await going).over == 4
        assert "4 of 200 matches" in state(shown) and "run the same call again to resume" in state(shown)
        assert '"display": "none"' in state(shown._buttons)

    asyncio.run(cell())


def test_a_run_is_cancelled_by_its_button(tmp_path: Path) -> None:
    async def cell() -> None:
        going = run(tmp_path, Fake(lambda call: asyncio.sleep(5)), n=20)
        going.start()
        shown = RunProgress(going)
        await asyncio.sleep(0.02)
        press(shown, "Cancel")
        assert (await going).over == 0

    asyncio.run(cell())


def test_why_a_run_stopped_stands_above_it(tmp_path: Path) -> None:
    async def refuse(call: Call) -> None:
        raise RunFailed("the key is <not> accepted")

    async def cell() -> str:
        going = run(tmp_path, Fake(refuse))
        task = going.start()
        shown = RunProgress(going)
        await asyncio.wait([task])
        return state(shown)

    assert "the key is &lt;not&gt; accepted" in asyncio.run(cell())
