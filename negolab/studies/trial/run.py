"""A trial of a study: bots take part in it on this machine, at a host whose clock jumps over all waiting.

The service, scheduler and database are those of `negolab serve`; bots call the service as its routes do, without
browsers and kernels. Only so can the clock be the trial's, and hours pass in seconds.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import re
import selectors
import shutil
import tempfile
import time as machine_clock
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
from typing_extensions import override

from negolab.studies import clock, links
from negolab.studies.database import ACTIVE, Database
from negolab.studies.host_config import NONE, KnownEndpoints
from negolab.studies.scheduler import LOOK
from negolab.studies.service import StudyService
from negolab.studies.study_config import Study
from negolab.studies.trial.bots import Bot
from negolab.studies.trial.stand_ins import without_models
from negolab.studies.trial.visitor import Stuck, scripts

TICK = LOOK + 1
"""Seconds between two looks of the host at what is due; a real one looks more often."""
BETWEEN_ARRIVALS = 5.0
"""Mean seconds between two bots."""
IDLE = 600.0
"""Seconds beyond all limits after which a bot to whom nothing happens gives up."""
MEMORY = 2**28
"""Free bytes that a folder in memory must have."""
_LOOK_AT_MODELS = 0.05
"""Seconds for which the clock follows the machine's while a model answers."""


class TrialRun(msgspec.Struct):
    """A trial, beside its database."""

    study: Study
    """The study as it was tried."""
    replaced: tuple[str, ...]
    """Names of language models in whose place a stand-in played."""
    bots: list[Bot]
    stuck: dict[int, str]
    """Reasons of bots that gave up, by number."""
    errors: list[str]
    """Log of the host."""
    seconds: float
    """Time of the study that passed."""


class _JumpingSelector(selectors.DefaultSelector):
    """Advance the clock instead of sleeping, unless the machine is waited for."""

    loop: TrialLoop

    @override
    def select(self, timeout: float | None = None) -> Any:
        if self.loop.is_real():
            began = machine_clock.monotonic()
            ready = super().select(min(_LOOK_AT_MODELS, _LOOK_AT_MODELS if timeout is None else timeout))
            self.loop.manual.advance(machine_clock.monotonic() - began)
            return ready
        ready = super().select(0)
        if not ready and timeout:
            self.loop.manual.advance(timeout)
        return ready


class TrialLoop(asyncio.SelectorEventLoop):
    """An event loop that goes by a manual clock and jumps over all waiting."""

    def __init__(self, manual: clock.ManualClock) -> None:
        selector = _JumpingSelector()
        selector.loop, self.manual = self, manual
        self.is_real: Callable[[], bool] = lambda: False
        """Returns True while an answer from outside is waited for."""
        super().__init__(selector)

    @override
    def time(self) -> float:
        return clock.monotonic()


@contextmanager
def trial(
    study: Study, n: int, *, models: KnownEndpoints | None = None, progress: Callable[[], object] = lambda: None
) -> Iterator[tuple[TrialRun, Database]]:
    """Try a study with bots, and yield what came of it with the database, which is removed with the end of the block.

    Args:
        study: The study; it is tried under the name "NAME-trial".
        n: Number of bots.
        models: Endpoints of language models; None: a stand-in plays in their place.
        progress: Called after each bot.
    """
    replaced: tuple[str, ...] = ()
    if models is None:
        study, replaced = without_models(study)
    study = msgspec.structs.replace(study, name=f"{study.name}-trial")  # an export never passes for the study's own
    with (
        _folder() as folder,
        clock.manual_clock() as manual,
        closing(Database(Path(folder) / "trial.db")) as database,
    ):
        loop = TrialLoop(manual)
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            run = TrialRun(study, replaced, [], {}, [], 0.0)
            runner.run(_play(run, database, n, models, progress, loop))
        run.seconds = manual.passed
        yield run, database


def _folder() -> tempfile.TemporaryDirectory[str]:
    """Make a temporary folder, in memory if there is such a place: every event is on disk before it is shown."""
    memory = Path("/dev/shm")
    is_there = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > MEMORY
    return tempfile.TemporaryDirectory(prefix="negolab-try-", dir=memory if is_there else None)


async def _play(
    run: TrialRun,
    database: Database,
    n: int,
    models: KnownEndpoints | None,
    progress: Callable[[], object],
    loop: TrialLoop,
) -> None:
    """Run the host and the bots until the study is over for all, or nothing more happens."""
    study = run.study
    with _logged(run.errors):
        service = StudyService(database, study, NONE if models is None else models.for_study())
        if models is not None:
            loop.is_real = service.asks_models
        patience = longest_limit(study) + IDLE
        run.bots = [Bot(service, database, study, k, script, patience) for k, script in enumerate(scripts(study, n), 1)]
        ticking = asyncio.ensure_future(_tick(service))
        try:
            rng = random.Random(f"{study.seed}:arrivals")
            tokens, at, visits = _tokens(database, study, n), 0.0, []
            for bot, token in zip(run.bots, tokens, strict=True):
                at += rng.expovariate(1 / BETWEEN_ARRIVALS)
                visits.append(_visit(run, bot, token, at, progress))
            await asyncio.gather(*visits)
            await _settle(database, study, patience)
        finally:
            ticking.cancel()
            with suppress(asyncio.CancelledError):
                await ticking
            service.close()


async def _visit(run: TrialRun, bot: Bot, token: str, at: float, progress: Callable[[], object]) -> None:
    """Let a bot take part from a time on, and keep why it could not."""
    await asyncio.sleep(at)
    try:
        await bot.take_part(token)
    except Stuck as error:
        run.stuck[bot.number] = str(error)
    except Exception as error:  # of the host, or of a researcher's own game
        run.stuck[bot.number] = f"{type(error).__name__}: {error}"
    progress()


async def _tick(service: StudyService) -> None:
    while True:
        await asyncio.sleep(TICK)
        service.scheduler.tick()


async def _settle(database: Database, study: Study, patience: float) -> None:
    """Wait until limits have ended the study for those who closed their page."""
    until = clock.monotonic() + patience
    while clock.monotonic() < until:
        if not any(p.status in (*ACTIVE, "invited") for p in database.participants(study.name)):
            return
        await asyncio.sleep(TICK)


def _tokens(database: Database, study: Study, n: int) -> list[str]:
    """Return the tokens of links: the open one if a panel sends people, else one for each."""
    kept = database.study(study.name, study.text)
    if study.external is not None:
        return [links.make_token(kept.secret, study.name, links.OPEN)] * n
    return [links.personal_token(kept, who) for who in database.invite(study.name, n)]


def longest_limit(study: Study) -> float:
    """Return the longest that the study lets anybody wait, in seconds."""
    every = [step.seconds for _, step in study.all_steps()]
    limits = [study.limits.reply, study.limits.match, study.pairing.wait, *every]
    return max(limit for limit in limits if limit is not None)


@contextmanager
def _logged(errors: list[str]) -> Iterator[None]:
    """Collect what the host logs, instead of printing it."""

    class Collector(logging.Handler):
        @override
        def emit(self, record: logging.LogRecord) -> None:
            error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
            text = re.sub(r" in match [^ ;]+", "", record.getMessage())  # equal errors are counted
            errors.append(text + (f": {type(error).__name__}: {error}" if error else ""))

    log, handler = logging.getLogger("negolab.studies"), Collector(logging.WARNING)
    propagates, log.propagate = log.propagate, False
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.propagate = propagates
