"""Findings of a trial: paths, pages with their times, payments, matches, and all that is wrong."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from statistics import median
from typing import NamedTuple

from negolab.studies.database import Database
from negolab.studies.earnings import study_earnings
from negolab.studies.endings import ENDINGS
from negolab.studies.payment import Earnings
from negolab.studies.status import Status, status
from negolab.studies.steps import MatchStep, StepPage
from negolab.studies.study_config import Study
from negolab.studies.trial.bots import Bot
from negolab.studies.trial.run import TrialRun
from negolab.studies.trial.visitor import DESCRIPTIONS, untried

FEW = 3
"""Fewest bots without a partner that count as a mistake of the study: odd ones are left over in any."""


class PageTimes(NamedTuple):
    """A page of the study: how many came and went on, and their seconds on it, waits included."""

    name: str
    came: int
    passed: int
    median: float
    longest: float


class Findings(NamedTuple):
    """Findings of a trial of a study."""

    status: Status
    paths: list[tuple[str, Counter[str]]]
    """Descriptions of what bots did, each with the number of bots by ending."""
    endings: list[tuple[str, int, str]]
    """Ending, number of bots and completion code."""
    pages: list[PageTimes]
    pay: dict[str, list[int]]
    """Earnings of those with an ending, in smallest units of the currency."""
    practice: int
    """Number of practice matches."""
    pairs: int
    """Number of matches between two bots."""
    stayed: Counter[str]
    """Number of bots for whom the study never ended, by the page that they closed."""
    untried: int
    """Number of bots that would try every page in every way; 0: these did."""
    wrong: list[str]
    """All that is wrong, a sentence each."""


def examine(run: TrialRun, database: Database) -> Findings:
    """Examine what came of a trial."""
    study, now = run.study, status(database, run.study)
    ended = {bot.number: database.participant(bot.id).status for bot in run.bots if bot.id}
    earned = study_earnings(database, study)
    matches = database.matches(study.name)
    paths = (
        (words, Counter(_ending(ended.get(bot.number)) for bot in run.bots if bot.script.kind == kind))
        for kind, words in DESCRIPTIONS.items()
    )
    count = Counter(ended.values())
    stayed = Counter(_name(b.left_at) for b in run.bots if b.left_at and ended[b.number] not in ENDINGS)
    pay = {name: [one.total for one in earned.values() if one.ending == name] for name in ENDINGS}
    return Findings(
        status=now,
        paths=[(words, endings) for words, endings in paths if endings],
        endings=[(name, count[name], study.codes.get(name, "")) for name in ENDINGS if count[name]],
        pages=list(_pages(study, run.bots)),
        pay={name: amounts for name, amounts in pay.items() if amounts},
        practice=sum(match.practice > 0 for match in matches),
        pairs=sum(len(match.people) > 1 for match in matches),
        stayed=stayed,
        untried=untried(study, len(run.bots)),
        wrong=list(dict.fromkeys(_wrong(run, now, ended, earned))),
    )


def _ending(status: str | None) -> str:
    return status if status in ENDINGS else "not ended"


def _name(page: StepPage | None) -> str:
    return "end" if page is None else page.name


def _all_pages(study: Study) -> list[StepPage]:
    """Return the pages of all treatments, in order, each once."""
    found: dict[str, StepPage] = {}
    for treatment in study.treatments:
        for page in study.pages(treatment):
            found.setdefault(_name(page), page)
    return sorted(found.values(), key=lambda page: (page.number, page.round))


def _pages(study: Study, bots: Iterable[Bot]) -> Iterator[PageTimes]:
    """Yield the pages of the study with the times of those who went on from them."""
    every = [(_name(visit.page), bot.number, visit) for bot in bots for visit in bot.visits]
    for name in map(_name, _all_pages(study)):
        came = {number for at, number, _ in every if at == name}
        seconds = [visit.seconds for at, _, visit in every if at == name and visit.is_passed]
        yield PageTimes(name, len(came), len(seconds), median(seconds or [0.0]), max(seconds, default=0.0))


# What is wrong.


def _wrong(run: TrialRun, now: Status, ended: dict[int, str], earned: dict[str, Earnings]) -> Iterable[str]:
    return chain(
        _wrong_host(run, now),
        _wrong_limits(run.study),
        _wrong_endings(run, ended),
        _wrong_pages(run, ended),
        _wrong_treatments(now),
        _wrong_codes(run.study, ended),
        _wrong_payments(run, earned),
    )


def _wrong_host(run: TrialRun, now: Status) -> Iterator[str]:
    """Yield errors of the host, and of bots that could not go on."""
    for text, n in Counter([*run.errors, *now.errors]).items():
        yield f"the host noted an error{f' {n} times' if n > 1 else ''}: {text}"
    if replaced := now.replaced():
        yield replaced
    for number, why in run.stuck.items():
        bot = run.bots[number - 1]
        at = _name(bot.visits[-1].page) if bot.visits else "its link"
        yield f"bot {number} could not continue at {at}: {why}{_limit_advice(run.study, why)}"
    for bot in run.bots:
        for fault in bot.faults:
            yield f"bot {bot.number}: {fault}"


def _limit_advice(study: Study, why: str) -> str:
    if why.startswith("nothing happened") and study.limits.reply is None:
        return "; the other person may have closed the page: write reply = 120 under [limits]"
    return ""


def _wrong_limits(study: Study) -> Iterator[str]:
    """Yield limits that the thinking time of a player exceeds."""
    limit = study.limits.match
    for settings, step in study.matches():
        if limit is not None and settings.opponent is not None and settings.delay.median >= limit:
            yield (
                f"limits.match is {limit:g} s, no more than the delay of {settings.opponent} in treatment "
                f"{settings.name}, step {step.kind} ({settings.delay.median:g} s for one answer): raise the limit"
            )


def _wrong_endings(run: TrialRun, ended: dict[int, str]) -> Iterator[str]:
    """Yield endings that nobody planned: a bot of usual speed who is timed out, and faults."""
    late: dict[str, list[Bot]] = defaultdict(list)
    for bot in run.bots:
        ending = ended.get(bot.number)
        at = _name(bot.visits[-1].page) if bot.visits else "the link"
        if ending == "timeout" and not bot.was_late and bot.left_at is None and bot.number not in run.stuck:
            late[at].append(bot)
        elif ending == "error":
            yield f"the study ended with an error for bot {bot.number} at {at}"
        elif ending == "quiz" and bot.script.kind != "fails":
            yield f"bot {bot.number} gave the right answers to the quiz and was turned away"
    for at, bots in late.items():
        took = median(bot.visits[-1].seconds for bot in bots)
        yield (
            f"{len(bots)} of normal speed timed out at {at} after {took:.0f} s (median): raise its limit, in "
            "[limits] or seconds of the step"
        )


def _wrong_pages(run: TrialRun, ended: dict[int, str]) -> Iterator[str]:
    """Yield pages that nobody could pass, and those where nearly nobody found a partner."""
    pages = {_name(page): page for page in _all_pages(run.study)}
    passed = {_name(visit.page) for bot in run.bots for visit in bot.visits if visit.is_passed}
    waited = Counter(_name(page) for bot in run.bots for page in bot.waited_at)
    stayed = [(_name(bot.visits[-1].page), ended.get(bot.number)) for bot in run.bots if _is_stopped(bot, ended)]
    for name, n in Counter(name for name, _ in stayed if name in pages).items():
        if name not in passed:
            yield f"nobody could pass {name}: {n} tried"
        unpaired = stayed.count((name, "unpaired"))
        if isinstance(pages[name].step, MatchStep) and unpaired >= FEW and 2 * unpaired >= waited[name]:
            yield (
                f"{unpaired} of {waited[name]} who waited at {name} never found a partner: a longer wait in "
                "[pairing], fewer rounds with strangers, or other roles may help"
            )


def _is_stopped(bot: Bot, ended: dict[int, str]) -> bool:
    """Return True if a bot that meant to go on did not get past its last page."""
    gave_up = bot.left_at is not None or bot.was_late or ended.get(bot.number) in ("withdrawn", "declined")
    return bool(bot.visits) and not bot.visits[-1].is_passed and not gave_up and bot.script.kind != "fails"


def _wrong_treatments(now: Status) -> Iterator[str]:
    """Yield treatments that nobody got."""
    got = sum(cell.active + cell.complete + cell.dropped for cell in now.cells)
    for cell in now.cells:
        if got and not cell.active + cell.complete + cell.dropped:
            yield f"nobody was assigned to treatment {cell.name} (of {got}): check its weight, or try more bots"


def _wrong_codes(study: Study, ended: dict[int, str]) -> Iterator[str]:
    """Yield endings that happened without a code or link, in a study that has any or recruits by a panel."""
    if not (study.codes or study.links or study.external):
        return
    for name in ENDINGS:
        n = sum(ending == name for ending in ended.values())
        if n and name not in study.codes and name not in study.links:
            yield f'no code for the ending {name}, which {n} had: write {name} = "..." under [codes]'


def _wrong_payments(run: TrialRun, earned: dict[str, Earnings]) -> Iterator[str]:
    """Yield payments that do not add up, or are not what the last page showed."""
    for bot in run.bots:
        if (one := earned.get(bot.id)) is None:
            continue
        if one.fee + one.from_matches + one.extra + one.rounding + one.limit != one.total:
            yield f"the payment of bot {bot.number} does not add up: {one.text(one.total)}"
        shown = None if bot.closed is None else bot.closed.earnings
        if shown is not None and shown.total != one.total:
            yield f"bot {bot.number} was shown {one.text(shown.total)} and is paid {one.text(one.total)}"
