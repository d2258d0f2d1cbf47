"""A study of many steps under attack: forged and stale actions, markup, withdrawal, a host killed between its writes.

One walker takes a participant to any page; every test is made at every page.
"""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pytest
import sqlalchemy as sa
from negolab_widgets.study import monitor_view
from negolab_widgets.study.page import results_table

from negolab.studies.database import Database
from negolab.studies.database.payments import EARNINGS
from negolab.studies.database.schema import metadata
from negolab.studies.export import export
from negolab.studies.links import AccessDenied
from negolab.studies.page_state import Closed, Playing, Quiz, Results, Waiting
from negolab.studies.payment import Earnings
from negolab.studies.questions import Question, check_answers
from negolab.studies.steps import MOST_ATTEMPTS
from tests.studies.test_service import ALONE, PAIRS, Site
from tests.studies.test_steps import GRID, QUIZ, steps, steps_study
from tests.support.attacks import JUNK, live
from tests.support.markup_injection import INJECTIONS

WORDS = 'questions\n[[steps.questions]]\nname = "hope"\nlabel = "Your hopes?"\nrequired = true\n'
LAST_WORDS = 'questions\n[[steps.questions]]\nname = "end"\nlabel = "Anything else?"\nrequired = true\n'
PAGES = {
    "consent": "consent",
    "instructions": "instructions",
    "more instructions": 'instructions\ntext = "Again."',
    "quiz": QUIZ,
    "practice": 'practice\nopponent = "random-legal"\nparams = { max_turns = 2 }',
    "first match": "match\nmatches = 2\nparams = { max_turns = 2 }",
    "second match": "",
    "results": "results",
    "questions": GRID,
    "words": WORDS,
    "last match": "match\nparams = { max_turns = 2 }",
    "last words": LAST_WORDS,
    "last results": "results",
}
"""Pages in their order, each with its step; "": the second round of the step before."""
NAMES = (*PAGES, "end")
PAYMENT = (
    '[payment]\ncurrency = "EUR"\nrate = 0.01\ncounts = "one"\n[payment.endings]\nwithdrawn = 0.50\npartner = 1.00\n'
)
RIGHT = {"paid": "what I own", "turns": "10"}
WRONG = {"paid": "nothing", "turns": "10"}
ANSWERS = {
    "trust": {"fair": "yes", "again": "no"}, "how": ["by chance"], "age": "40", "hope": "much", "end": "no",
}  # fmt: skip


def passing(state: Any) -> dict[str, Any]:
    """The action that leads on from a page; a match must be over."""
    if isinstance(state, Quiz):
        return {"kind": "answer", "answers": RIGHT}
    if hasattr(state, "questions"):
        return {"kind": "answer", "answers": {q.name: ANSWERS[q.name] for q in state.questions}}
    kinds = {"consent": "consent", "instructions": "start"}
    name = type(state).__name__.lower()
    return {"kind": kinds.get(name, "next"), **({"agreed": True} if name == "consent" else {})}


def go_on(site: Site, id: str) -> None:
    """Do what leads on from the page, once."""
    if isinstance(site.state(id), Playing):
        site.finish(id)
    answer = site.service.act(site.leases[id], passing(site.state(id)))
    assert not answer.not_done, answer


@pytest.fixture(scope="module")
def visited(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Site]:
    """A study, closed, as it is with one participant at each of its pages."""
    folder, found = tmp_path_factory.mktemp("visited"), {}
    parts = steps(*filter(None, PAGES.values()))

    async def walk() -> None:
        (folder / NAMES[0]).mkdir()
        site = Site(folder / NAMES[0], steps_study(parts, f"{ALONE}\n{PAYMENT}", 'consent = "Will you?"'))
        (id,) = site.come()
        for page, then in zip_longest(NAMES, NAMES[1:]):
            state = site.state(id)
            site.database.close()
            found[page] = site
            if then is not None:
                site = copied(site, folder / then)
                assert site.state(id) == state, f"a restart at {page} changes nothing"
                go_on(site, id)

    asyncio.run(walk())
    return found


def at_page(visited: dict[str, Site], page: str, folder: Path) -> tuple[Site, str]:
    """A study of its own with a participant at a page."""
    site = copied(visited[page], folder / "site")
    return site, next(iter(site.leases))


def copied(site: Site, folder: Path) -> Site:
    """A site over a copy of the database, closed, of another; all pages are open."""
    shutil.copytree(site.folder, folder)
    copy = Site(folder, site.study)
    copy.leases = dict(site.leases)
    for id in copy.leases:
        copy.service.presence[id]._last_poll = float("inf")
    return copy


def rows(site: Site) -> dict[str, list[tuple[Any, ...]]]:
    with site.database._read() as c:
        return {table.name: [tuple(row) for row in c.execute(sa.select(table))] for table in metadata.sorted_tables}


def facts(database: Database, study: str, id: str) -> dict[str, Any]:
    """Return all that is kept of a participant, without times and random ids."""
    who, matches = database.participant(id), database.matches(study, participant=id)
    records = [database.record(match.id) for match in matches]
    return {
        "who": (who.status, who.treatment, who.passed, who.consent, who.consented is None, who.ended is None),
        "pages": [(reached.position, reached.step) for reached in database.reached(id)],
        "attempts": [(a.name, a.attempt, a.value, a.is_right) for a in database.attempts(id)],
        "answers": database.answers(id),
        "matches": [(match.practice, match.ended is None) for match in matches],
        "deals": [(record.header.seed, len(record.events)) for record in records],
        "earned": database.kept_notes(study, EARNINGS, Earnings, id),
        "earnings kept": sum(note.kind == "earnings" and note.participant == id for note in database.notes(study)),
    }


# Forged and stale actions.


def forged(site: Site, id: str) -> Iterator[dict[str, Any]]:
    """Actions of other pages, and of this one with what is none of it."""
    own = passing(site.state(id))["kind"]
    honest = ({"kind": "consent", "agreed": True}, {"kind": "start"}, {"kind": "next"})
    yield from (action for action in honest if action["kind"] != own)
    yield {"kind": "answer", "answers": {**RIGHT, **ANSWERS, "none": "x"}}
    yield from ({"kind": "answer", "answers": junk} for junk in JUNK)
    yield from ({"kind": "answer", "answers": dict.fromkeys((*RIGHT, *ANSWERS), junk)} for junk in JUNK)
    for question in getattr(site.state(id), "questions", ()):
        answers = passing(site.state(id))["answers"]
        for junk in JUNK:
            is_an_answer = isinstance(junk, str) if question.kind == "text" else (question.name, junk) == ("how", [])
            if not is_an_answer:
                yield {"kind": "answer", "answers": {**answers, question.name: junk}}
    yield from ({"kind": "reply", "match": m, "turn": 0, "text": "pass"} for m in ("", "x", 5, None))
    yield from ({"kind": "reply", "text": junk, "turn": junk, "match": junk} for junk in JUNK)
    yield from ({"kind": own, "place": junk, **passing(site.state(id))} for junk in ("", "0", 5, [], {}, 10**400))
    yield from ({"kind": junk} for junk in JUNK)


@pytest.mark.parametrize("page", NAMES)
async def test_forged_actions_are_refused_with_a_line_and_change_no_row(
    page: str, visited: dict[str, Site], tmp_path: Path
) -> None:
    site, id = at_page(visited, page, tmp_path)
    if isinstance(site.state(id), Playing) and site.state(id).left is None:
        assert "not over" in site.act(id, "next").not_done
    before = rows(site)
    for action in forged(site, id):
        try:
            answer = site.service.act(site.leases[id], action)
        except AccessDenied as refused:
            why = str(refused)
        else:
            why = answer.not_done
        assert why and "\n" not in why and len(why) < 200, action
    assert rows(site) == before


@pytest.mark.parametrize("page", NAMES[:-1])
async def test_an_action_of_a_page_that_was_left_does_not_pass_the_next_one(
    page: str, visited: dict[str, Site], tmp_path: Path
) -> None:
    """As when the answer to a press was lost, and the press is made again before the page has heard."""
    site, id = at_page(visited, page, tmp_path)
    if isinstance(site.state(id), Playing):
        site.finish(id)
    action = {**passing(site.state(id)), "place": site.state(id).place}
    assert not site.service.act(site.leases[id], action).not_done
    before = rows(site)
    for _ in range(10):
        assert "moved on" in site.service.act(site.leases[id], action).not_done
    assert rows(site) == before


async def test_ten_presses_of_one_attempt_are_one_attempt_and_nothing_outlasts_the_last(
    visited: dict[str, Site], tmp_path: Path
) -> None:
    site, id = at_page(visited, "quiz", tmp_path)
    assert "Read the last line" not in str(site.state(id)) and "answer=" not in str(site.state(id))
    wrong = {"kind": "answer", "answers": WRONG, "place": site.state(id).place}
    for _ in range(10):
        site.service.act(site.leases[id], wrong)
    assert site.state(id).attempts_left == 1
    site.restart()
    assert site.state(id).attempts_left == 1
    site.act(id, "answer", answers=WRONG)
    for action in (*forged(site, id), {"kind": "answer", "answers": RIGHT}):
        if action["kind"] in ("answer", "next", "start"):
            site.service.act(site.leases[id], action)
            assert site.status(id) == "quiz"
    attempts = [(a.name, a.attempt, a.is_right) for a in site.database.attempts(id)]
    assert attempts == [(name, n, name == "turns") for n in (1, 2) for name in ("paid", "turns")]


async def test_a_quiz_without_a_limit_of_its_own_has_one(tmp_path: Path) -> None:
    site, id = Site.started(tmp_path, steps_study(steps("instructions", QUIZ.replace("attempts = 2\n", ""), "match")))
    for _ in range(MOST_ATTEMPTS):
        assert site.state(id).attempts_left is None
        site.act(id, "answer", answers=WRONG)
    assert site.status(id) == "quiz"


async def test_a_quiz_that_gets_another_question_goes_on_with_the_attempts_that_were_made(tmp_path: Path) -> None:
    site, id = Site.started(tmp_path, steps_study(steps("instructions", QUIZ, "match")))
    site.act(id, "answer", answers=WRONG)
    more = '[[steps.questions]]\nname = "new"\nlabel = "New?"\nkind = "number"\nanswer = "1"\n'
    site.study = steps_study(steps("instructions", QUIZ + more, "match"))
    site.restart()
    assert site.state(id).attempts_left == 1 and set(site.state(id).wrong) == {"paid"}
    site.act(id, "answer", answers={**RIGHT, "new": "1"})
    assert isinstance(site.state(id), Playing)


# Grids, several choices, and markup.


def required(question: Question) -> Question:
    return msgspec.structs.replace(question, required=True)


TRUST = Question("trust", "Trust?", "grid", ("no", "yes"), {"fair": "Fair.", "again": "Again."})
HOW = Question("how", "How?", "several", ("luck", "skill", "art"))
AGE = Question("age", "Your age", "number", least=18)
WHOLE = msgspec.structs.replace(AGE, whole=True)
INCOME = Question("income", "Income", "number", least=0.5, most=2_500_000)
CHOOSE, NUMBER = "choose one of the answers", "please enter a number"


@pytest.mark.parametrize(
    ("question", "why", "answers"),
    [
        (TRUST, f"(Fair: )?{CHOOSE}", [["yes", "no"], "yes", 5, {"fair": ["yes", "no"], "again": "no"}]),
        (TRUST, CHOOSE, [{"fair": "yes", "again": "no", "evil": "yes"}]),
        (TRUST, f"Again: {CHOOSE}", [{"fair": "yes", "again": "perhaps"}]),
        (HOW, CHOOSE, [["luck", "magic"], ["luck", "luck"], ["luck", "skill", "art", "luck"], "luck | luck"]),
        (HOW, CHOOSE, [[["luck"]], {"luck": True}, 5]),
        (AGE, NUMBER, ["1,000", "1.000,5", "35,", ",5", "1,2,3", "1_9", "1.9e1", "0x13", "inf", "nan"]),
        (AGE, NUMBER, ["19" + "0" * 30, "\N{SUPERSCRIPT TWO}0"]),
        (WHOLE, "please enter a whole number", ["19.5", "19,5", "nineteen", "1,000"]),
        (WHOLE, ".* at least 18", ["17"]),
        (INCOME, ".* at most 2500000", ["3000000"]),
        (INCOME, r".* at least 0\.5", ["0"]),
        (required(TRUST), "Again: please answer", [{"fair": "yes"}]),
        (required(TRUST), "Fair: please answer", [""]),
        (required(HOW), "please answer", [[]]),
    ],
)
def test_an_answer_that_does_not_fit_its_question_is_refused_in_words(
    question: Question, why: str, answers: list[Any]
) -> None:
    for answer in answers:
        with pytest.raises(ValueError, match=rf"^{re.escape(question.label)}: {why}\.$"):
            check_answers((question,), {question.name: answer})


@pytest.mark.parametrize(
    ("question", "answers", "kept"),
    [
        (TRUST, [{"fair": "yes", "again": "no"}], {"trust.fair": "yes", "trust.again": "no"}),
        (TRUST, [{"fair": "yes"}], {"trust.fair": "yes", "trust.again": ""}),
        (TRUST, [""], {"trust.fair": "", "trust.again": ""}),
        (HOW, [["art", "luck"]], {"how": "luck | art"}),
        (HOW, [[]], {"how": ""}),
        (AGE, [" 35,5 "], {"age": "35.5"}),
        (AGE, ["19", "\N{FULLWIDTH DIGIT ONE}\N{FULLWIDTH DIGIT NINE}", "\u0661\u0669"], {"age": "19"}),
        (WHOLE, ["19", "19.0", "19,0", "19."], {"age": "19"}),
    ],
)
def test_what_is_kept_of_an_answer_is_what_was_meant(
    question: Question, answers: list[Any], kept: dict[str, str]
) -> None:
    for answer in answers:
        assert check_answers((question,), {question.name: answer}) == kept


def test_an_answer_to_a_question_that_is_not_asked_is_refused() -> None:
    with pytest.raises(ValueError, match="Answer the questions"):
        check_answers((HOW,), {"how": ["luck"], "evil": "x"})


async def test_markup_in_answers_stays_text_in_results_monitor_and_export(
    visited: dict[str, Site], tmp_path: Path
) -> None:
    site, id = at_page(visited, "words", tmp_path)
    trick = "\n".join(INJECTIONS)
    site.act(id, "answer", answers={"hope": trick})
    site.finish(id)
    site.act(id, "next")
    site.act(id, "answer", answers={"end": trick})
    results = site.state(id)
    assert isinstance(results, Results) and not live(results_table(results.matches))
    site.act(id, "next")
    monitor = monitor_view.decode_state(msgspec.json.decode(msgspec.json.encode(site.service.monitor())))
    assert monitor is not None
    for html in (monitor_view.render_top(monitor), monitor_view.render_rest(monitor)):
        assert not any(one in html for one in INJECTIONS)
    export(site.database, site.study, tmp_path / "out")
    for table in (pd.read_csv(tmp_path / "out/answers.csv"), pd.read_parquet(tmp_path / "out/answers.parquet")):
        assert list(table[table["question"].isin(("hope", "end"))]["value"]) == [trick, trick]


# Withdrawal.


@pytest.mark.parametrize("page", NAMES)
async def test_who_leaves_at_any_page_takes_their_words_along(
    page: str, visited: dict[str, Site], tmp_path: Path
) -> None:
    site, id = at_page(visited, page, tmp_path)
    if page == "quiz":
        site.act(id, "answer", answers=WRONG)
    is_over = NAMES.index(page) > NAMES.index("last match")
    before = rows(site)
    why = site.act(id, "leave").not_done
    if is_over:
        assert why and rows(site) == before and site.status(id) == "complete"
        return
    closed = site.state(id)
    assert isinstance(closed, Closed) and (closed.code, closed.earnings.total) == ("GONE", 50)
    assert (site.status(id), site.database.answers(id), site.database.attempts(id)) == ("withdrawn", {}, [])
    site.restart()
    assert site.state(id) == closed


async def test_what_was_said_before_one_left_is_in_no_table(visited: dict[str, Site], tmp_path: Path) -> None:
    site, id = at_page(visited, "last match", tmp_path)
    site.act(id, "leave")
    export(site.database, site.study, tmp_path / "out", "csv")
    (person,) = pd.read_csv(tmp_path / "out/participants.csv").to_dict("records")
    assert (person["status"], person["code"], person["pay_total"]) == ("withdrawn", "GONE", 0.5)
    assert not pd.notna(person["paid_matches"])
    tables = [path for path in (tmp_path / "out").glob("*.csv") if path.name != "dictionary.csv"]
    told = "".join(path.read_text() for path in tables)
    assert "much" not in told and "what I own" not in told and "pass" not in told
    assert pd.read_csv(tmp_path / "out/quiz.csv").empty


def go_on_both(site: Site, one: str, two: str) -> None:
    """Take two people on by a page; at a match against each other they deny."""
    site.finish(one, two)
    for id in (one, two):
        go_on(site, id)


@pytest.mark.parametrize("matching", ["stranger", "partner"])
@pytest.mark.parametrize("page", NAMES[: NAMES.index("second match") + 1])
async def test_nobody_is_stuck_when_the_other_leaves(page: str, matching: str, tmp_path: Path) -> None:
    parts = [part.replace("matches = 2\n", f'matches = 2\nmatching = "{matching}"\n', 1) for part in PAGES.values()]
    text = f"{PAIRS}\n[pairing]\nwait = 60\n{PAYMENT}"
    site = Site(tmp_path, steps_study(steps(*filter(None, parts)), text, 'consent = "Will you?"'))
    one, two = site.come(2)
    for _ in range(NAMES.index(page)):
        go_on_both(site, one, two)
    site.act(one, "leave")
    assert site.state(one).code == "GONE"
    until_closed(site, two)
    # With nobody left to meet, a stranger waits as long as the study says, and a partner is told.
    met = page == "first match" or (matching == "partner" and page == "second match")
    ending = ("partner", "LEFT") if met else ("unpaired", "ALONE")
    assert (site.status(two), site.state(two).code) == ending
    assert site.state(two).earnings.total == (100 if met else 0)


def until_closed(site: Site, id: str) -> None:
    """Go on, with waits that are over at once, until the end."""
    for _ in range(3 * len(NAMES)):
        state = site.state(id)
        if isinstance(state, Closed):
            return
        if isinstance(state, Waiting):
            since = site.service.scheduler.waiting[id]
            site.service.scheduler.tick()
            if id in site.service.scheduler.waiting:
                site.service.scheduler.waiting[id] = since - 1e6
                site.service.scheduler.tick()
        else:
            go_on(site, id)
    raise AssertionError(f"stuck at {site.state(id)}")


# A host that is killed between any two writes.


class Killed(Exception):
    """The host is no more."""


@contextmanager
def killed_before_write(site: Site, number: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the host die as it begins its write of a number, from 0."""
    left, whole = [number], site.database._write

    @contextmanager
    def write() -> Iterator[Any]:
        left[0] -= 1
        if left[0] < 0:
            raise Killed
        with whole() as connection:
            yield connection

    with monkeypatch.context() as patched:
        patched.setattr(site.database, "_write", write)
        yield


def killed(
    site: Site, id: str, action: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Site]:
    """Do an action on copies of a site whose host dies at the first write, at the second and so on, and starts again;
    the last one makes all its writes."""
    site.database.close()
    for number in range(20):
        copy = copied(site, folder / str(number))
        is_killed = False
        with killed_before_write(copy, number, monkeypatch):
            try:
                copy.service.act(copy.leases[id], action)
            except Killed:
                is_killed = True
        copy.restart()
        yield copy
        copy.database.close()
        if not is_killed:
            return
    raise AssertionError("20 writes and no end")


LEAVE, ERR = {"kind": "leave"}, {"kind": "answer", "answers": WRONG}


@pytest.mark.parametrize(
    ("page", "action"),
    [
        *((name, None) for name in NAMES[:-1]),
        *((name, LEAVE) for name in ("instructions", "practice", "second match", "words")),
        ("quiz", ERR),
        ("last attempt", ERR),
        ("last attempt", None),
    ],
)
async def test_a_kill_between_any_two_writes_loses_and_doubles_nothing(
    page: str, action: dict[str, Any] | None, visited: dict[str, Site], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, id = at_page(visited, page if page in NAMES else "quiz", tmp_path)
    if page == "last attempt":
        site.act(id, "answer", answers=WRONG)
    if isinstance(site.state(id), Playing):
        site.finish(id)
    wanted = {**(action or passing(site.state(id))), "place": site.state(id).place}
    site.database.close()
    whole = copied(site, tmp_path / "whole")
    whole.service.act(whole.leases[id], wanted)
    state, expected = whole.state(id), facts(whole.database, "trade", id)
    whole.database.close()
    for again in killed(site, id, wanted, tmp_path, monkeypatch):
        again.state(id)
        again.service.act(again.leases[id], wanted)  # pressed once more: of a page that was left it is refused
        assert type(again.state(id)) is type(state)
        assert facts(again.database, "trade", id) == expected
        again.restart()
        assert facts(again.database, "trade", id) == expected


async def test_a_kill_between_the_writes_of_a_withdrawal_leaves_the_other_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = steps("instructions", "match\nparams = { max_turns = 2 }", "results", "match")
    (tmp_path / "before").mkdir()
    site = Site(tmp_path / "before", steps_study(parts, PAIRS))
    one, two = site.start(2)
    site.finish(one, two)
    site.act(one, "next")
    for again in killed(site, one, LEAVE, tmp_path, monkeypatch):
        again.act(one, "leave")
        assert isinstance(again.state(one), Closed) and again.status(one) == "withdrawn"
        assert isinstance(again.state(two), Results)
