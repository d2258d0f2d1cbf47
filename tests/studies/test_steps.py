"""The steps of a study: their order, quizzes, rounds against strangers and partners, limits of pages, restarts."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from negolab.studies import sessions
from negolab.studies.clock import ManualClock
from negolab.studies.page_state import Closed, Consent, Instructions, Playing, Questionnaire, Quiz, Results, Waiting
from negolab.studies.study_file import parse_study
from tests.studies.test_service import ALONE, PAIRS, STUDY, Site, study


def steps(*parts: str) -> str:
    """Write [[steps]], each from its kind and further lines."""
    return "\n".join(
        f'[[steps]]\nkind = "{part.partition(chr(10))[0]}"\n{part.partition(chr(10))[2]}' for part in parts
    )


QUIZ = """quiz
attempts = 2
[[steps.questions]]
name = "paid"
label = "What are you paid?"
kind = "choice"
choices = ["nothing", "what I own"]
answer = "what I own"
explanation = "Read the last line again."
[[steps.questions]]
name = "turns"
label = "How many turns?"
kind = "number"
answer = "10"
"""
GRID = """questions
[[steps.questions]]
name = "trust"
label = "How far do you agree?"
kind = "grid"
required = true
rows = { fair = "It was fair.", again = "I would do it again." }
choices = ["no", "partly", "yes"]
[[steps.questions]]
name = "how"
label = "How did you decide?"
kind = "several"
choices = ["by feeling", "by numbers", "by chance"]
[[steps.questions]]
name = "age"
label = "Your age"
kind = "number"
least = 18
most = 99
"""
ALL = steps(
    "consent",
    "instructions",
    QUIZ,
    'practice\nopponent = "random-legal"',
    "match\nmatches = 2",
    "results",
    "match",
    GRID,
    "results",
    "end",
)


def steps_study(parts: str, tables: str = ALONE, more: str = "") -> Any:
    return study(f"{parts}\n{tables}", more)


def play(site: Site, id: str) -> None:
    site.finish(id)
    assert site.state(id).can_continue
    site.act(id, "next")


async def test_a_participant_passes_through_all_steps_in_their_order(tmp_path: Path) -> None:
    site = Site(tmp_path, steps_study(ALL, more='consent = "Will you?"'))
    (id,) = site.come()
    assert isinstance(site.state(id), Consent) and (site.state(id).step, site.state(id).steps) == (1, 10)
    site.act(id, "consent", agreed=True)
    assert isinstance(site.state(id), Instructions) and not site.state(id).begins
    site.act(id, "start")
    quiz = site.state(id)
    assert isinstance(quiz, Quiz) and quiz.attempts_left == 2 and quiz.wrong == {}
    site.act(id, "answer", answers={"paid": "nothing", "turns": "10.0"})
    assert site.state(id).wrong == {"paid": "Read the last line again."} and site.state(id).attempts_left == 1
    assert site.state(id).right == {"turns": "10.0"}, "what was right need not be entered again"
    assert site.database.participant(id).treatment is None
    site.act(id, "answer", answers={"paid": "what I own", "turns": "10"})
    assert site.state(id).label == "Practice 1 of 1" and site.state(id).step == 4
    play(site, id)
    assert site.state(id).label == "Match 1 of 2"
    play(site, id)
    assert site.state(id).label == "Match 2 of 2"
    play(site, id)
    results = site.state(id)
    assert isinstance(results, Results) and results.may_leave
    assert [match.number for match in results.matches] == [0, 1, 2] and results.matches[0].practice == 1
    site.act(id, "next")
    assert isinstance(site.state(id), Playing) and site.state(id).label == "" and site.status(id) == "playing"
    site.finish(id)
    assert site.status(id) == "complete" and not site.state(id).may_leave
    site.act(id, "next")
    assert isinstance(site.state(id), Questionnaire) and not site.state(id).may_leave
    answers = {"trust": {"fair": "yes", "again": "no"}, "how": ["by chance", "by feeling"], "age": "40"}
    assert "at least 18" in site.act(id, "answer", answers={**answers, "age": "17"}).not_done
    assert "please answer" in site.act(id, "answer", answers={**answers, "trust": {"fair": "yes"}}).not_done
    site.act(id, "answer", answers=answers)
    assert len(site.state(id).matches) == 4
    site.act(id, "next")
    assert isinstance(site.state(id), Closed) and site.state(id).code == "DONE" and site.state(id).steps == 10
    kept = {"trust.fair": "yes", "trust.again": "no", "how": "by feeling | by chance", "age": "40"}
    assert site.database.answers(id) == kept


async def test_a_study_that_began_before_pages_were_kept_goes_on_where_everybody_was(tmp_path: Path) -> None:
    """A database of 0.1.0 has neither of the two tables."""
    tables = f"""{ALONE}
[practice]
matches = 1
opponent = "random-legal"
[[questions]]
name = "age"
label = "Your age"
[[questions]]
name = "how"
label = "How was it?"
when = "after"
"""
    site = Site(tmp_path, study(tables, more='consent = "Will you?"'))
    (id,) = site.come()
    seen = []

    def act(kind: str, **more: Any) -> None:
        site.act(id, kind, **more)
        before = site.state(id)
        with site.database._write() as c:
            c.execute(sa.text("DROP TABLE progress"))
            c.execute(sa.text("DROP TABLE attempts"))
        site.restart()
        assert site.state(id) == before
        seen.append(type(before).__name__)

    act("consent", agreed=True)
    act("answer", answers={"age": "40"})
    act("start")
    site.finish(id)
    act("next")
    site.finish(id)
    act("next")
    act("answer", answers={"how": "well"})
    assert seen == ["Questionnaire", "Instructions", "Playing", "Playing", "Questionnaire", "Closed"]


@pytest.mark.parametrize("roles", ["fixed", "drawn"])
async def test_strangers_never_meet_twice_and_keep_or_change_seats_as_the_roles_say(tmp_path: Path, roles: str) -> None:
    rounds = 2 if roles == "fixed" else 3
    site = Site(tmp_path, steps_study(steps("instructions", f'match\nmatches = {rounds}\nroles = "{roles}"'), PAIRS))
    people = site.start(4)
    for _ in range(rounds):
        site.finish(*people)
        for id in people:
            site.act(id, "next")
    matches = site.database.matches("trade")
    assert len(matches) == 2 * rounds
    assert len({frozenset(match.people.values()) for match in matches}) == len(matches), "nobody meets twice"
    for id in people:
        seats = [seat for match in matches for seat, who in match.people.items() if who == id]
        assert roles == "drawn" or len(set(seats)) == 1
        assert site.status(id) == "complete"


async def test_partners_stay_together_and_one_who_is_left_alone_is_told(tmp_path: Path) -> None:
    parts = steps("instructions", 'match\nmatches = 3\nmatching = "partner"\nroles = "alternating"')
    site = Site(tmp_path, steps_study(parts, PAIRS))
    people = one, two, three, four = site.start(4)
    mates = {id: site.state(id).match for id in people}
    assert mates[one] == mates[two] and mates[three] == mates[four]
    for id in (one, two):
        site.finish(one, two)
        site.act(id, "next")
    assert isinstance(site.state(two), Playing) and site.state(one).match == site.state(two).match
    assert site.state(one).label == "Match 2 of 3"
    first, second = (
        next(seat for seat, id in match.people.items() if id == one)
        for match in site.database.matches("trade", participant=one)
    )
    assert first != second
    site.finish(three, four)
    site.act(three, "next")
    assert isinstance(site.state(three), Waiting), "the mate has not gone on yet"
    site.act(four, "leave")
    site.service.scheduler.tick()
    assert (site.status(three), site.state(three).code) == ("partner", "LEFT")


@pytest.mark.parametrize("roles", ["fixed", "alternating"])
async def test_roles_are_kept_in_a_round_that_a_player_fills_in_for_a_stranger(
    tmp_path: Path, roles: str, clock: ManualClock
) -> None:
    parts = steps("instructions", f'match\nmatches = 6\nroles = "{roles}"')
    site = Site(tmp_path, steps_study(parts, f'{PAIRS}\n[pairing]\nwait = 60\nthen = "random-legal"'))
    one, two = site.start(2)
    site.finish(one, two)
    for _ in range(5):
        for id in (one, two):
            site.act(id, "next")
        site.tick(clock, 61)
        site.finish(one, two)
    for id in (one, two):
        matches = site.database.matches("trade", participant=id)
        seats = [seat for match in matches for seat, who in match.people.items() if who == id]
        assert [len(match.people) for match in matches] == [2, 1, 1, 1, 1, 1]
        assert all((a == b) == (roles == "fixed") for a, b in pairwise(seats))


async def test_a_match_that_was_saved_and_not_opened_is_the_only_one_of_its_pair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: ManualClock
) -> None:
    class Faulty(sessions.MatchSession):
        def __init__(self, *_: Any, **__: Any) -> None:
            raise RuntimeError("a fault of the game")

    site = Site(tmp_path, study(PAIRS, "[pairing]\nwait = 60"))
    one, two, three, four = site.come(4)
    site.act(one, "start")
    with monkeypatch.context() as broken:
        broken.setattr(sessions, "MatchSession", Faulty)
        assert isinstance(site.act(two, "start").state, Closed)
        for _ in range(3):
            site.service.scheduler.tick()
    for id in (three, four):
        site.act(id, "start")
    site.tick(clock, 61)
    mates = [sorted(match.people.values()) for match in site.database.matches("trade")]
    assert sorted(mates) == sorted([sorted([one, two]), sorted([three, four])]), "the others were paired as well"
    assert site.status(one) == site.status(two) == "error"


async def test_a_match_that_was_to_begin_when_the_host_was_killed_begins_with_the_next_one(tmp_path: Path) -> None:
    def killed(_: Any) -> None:
        raise KeyboardInterrupt

    site, id = Site.started(tmp_path, steps_study(steps("instructions", "match\nmatches = 2")))
    site.finish(id)
    site.service.scheduler.enter = killed  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        site.act(id, "next")
    assert len(site.database.matches("trade")) == 1
    site.restart()
    assert len(site.database.matches("trade", running=True)) == 1, "a page that never comes back is timed out"


PARTNERS = steps("instructions", 'match\nmatches = 2\nmatching = "partner"')


def end_first_round(folder: Path) -> tuple[Site, str, str]:
    """Let partners finish the first of two matches; who waits for the other waits for 60 s."""
    site = Site(folder, steps_study(PARTNERS, f"{PAIRS}\n[pairing]\nwait = 60"))
    one, two = site.start(2)
    site.finish(one, two)
    return site, one, two


async def test_who_lets_a_partner_wait_too_long_is_late_and_the_one_who_waited_is_paid(
    tmp_path: Path, clock: ManualClock
) -> None:
    site, waits, idles = end_first_round(tmp_path)
    assert site.state(idles).left is None
    site.act(waits, "next")
    clock.advance(59)
    assert (site.state(idles).left, site.state(idles).limit) == (pytest.approx(1), "continue")
    site.service.scheduler.tick()
    assert isinstance(site.state(waits), Waiting) and isinstance(site.state(idles), Playing)
    site.tick(clock, 2)
    assert (site.status(waits), site.state(waits).code) == ("partner", "LEFT")
    assert "moved on" in site.act(idles, "next").not_done
    assert (site.status(idles), site.state(idles).code) == ("timeout", "LATE")


@pytest.mark.parametrize("first", ["gone", "waits"])
async def test_who_goes_on_and_closes_the_page_lets_the_partner_wait(
    tmp_path: Path, first: str, clock: ManualClock
) -> None:
    site, gone, waits = end_first_round(tmp_path)
    for id in (gone, waits) if first == "gone" else (waits, gone):
        site.service.presence[gone].away |= id == gone
        site.act(id, "next")
        clock.advance(10)
    site.tick(clock, 45)
    assert (site.status(gone), site.status(waits)) == ("timeout", "partner")


async def test_who_still_looks_at_a_finished_match_goes_on_if_the_other_withdraws_from_the_next_step(
    tmp_path: Path,
) -> None:
    site = Site(tmp_path, steps_study(steps("instructions", "match", "results", "match"), PAIRS))
    one, two = site.start(2)
    site.finish(one, two)
    site.act(one, "next")
    assert isinstance(site.state(two), Playing)
    site.act(one, "leave")
    assert isinstance(site.state(two), Results) and site.status(two) == "playing"
    site.restart()
    assert isinstance(site.state(two), Results)


SHARED = 'deals = "shared"'
LONGER = steps("instructions", 'instructions\ntext = "More."', f"match\nmatches = 2\n{SHARED}")
TWO = "\n".join([ALONE, ALONE.replace('"one"', '"two"'), LONGER.replace("[[", "[[treatments.")])


@pytest.mark.parametrize(
    ("line", "tables", "different"),
    [(SHARED, ALONE, 2), (SHARED, TWO, 2), ("seeds = [3, 4]", ALONE, 2), ("", ALONE, 4)],
    ids=["shared", "shared by treatments", "seeds", "of one's own"],
)
async def test_deals_are_the_same_for_everybody_if_shared_or_by_seeds(
    tmp_path: Path, line: str, tables: str, different: int
) -> None:
    site = Site(tmp_path, steps_study(steps("instructions", f"match\nmatches = 2\n{line}"), tables))
    seeds = []
    for id in site.start(2):
        if isinstance(site.state(id), Instructions):
            site.act(id, "start")
        for _ in range(2):
            play(site, id)
        matches = site.database.matches("trade", participant=id)
        seeds.append([site.database.record(match.id).header.seed for match in matches])
    assert len({seed for each in seeds for seed in each}) == different and len(set(seeds[0])) == 2
    assert seeds[0] == seeds[1] or different == 4
    assert seeds[0] == [3, 4] or not line.startswith("seeds")


async def test_the_time_for_a_page_ends_the_study_but_after_the_last_match_it_leads_on(tmp_path: Path) -> None:
    parts = steps("instructions\nseconds = 30", "match", "results\nseconds = 30")
    site = Site(tmp_path, steps_study(parts))
    late, quick = site.come(2)
    assert 29 < site.state(late).left <= 30
    site.act(quick, "start")
    play(site, quick)
    assert isinstance(site.state(quick), Results)
    site.service.scheduler._looked = 0.0
    site.service.scheduler._began -= 100
    with site.database._write() as c:
        c.execute(sa.text("UPDATE progress SET at = at - 31"))
    site.service.journeys._last.clear()
    site.service.scheduler.tick()
    assert (site.status(late), site.state(late).code) == ("timeout", "LATE")
    assert (site.status(quick), site.state(quick).code) == ("complete", "DONE")


async def test_treatments_with_steps_of_their_own_are_drawn_where_the_steps_part(tmp_path: Path) -> None:
    tables = f"""
{ALONE}
{ALONE.replace('"one"', '"told"')}
[[treatments.steps]]
kind = "instructions"
[[treatments.steps]]
kind = "instructions"
text = "The other is a machine."
[[treatments.steps]]
kind = "match"
"""
    site = Site(tmp_path, study(tables))
    pages = {}
    for id in site.come(2):
        assert site.database.participant(id).treatment is None
        site.act(id, "start")
        pages[site.database.participant(id).treatment] = site.state(id)
    assert isinstance(pages["one"], Playing)
    assert isinstance(pages["told"], Instructions) and pages["told"].text == "The other is a machine."


async def test_a_file_whose_steps_moved_under_somebody_is_refused_with_what_to_do(tmp_path: Path) -> None:
    site = Site(tmp_path, steps_study(steps("instructions", QUIZ, "match")))
    site.start()
    site.study = steps_study(steps("instructions", "match"))
    with pytest.raises(ValueError, match=r"participant 1 is on page 2, quiz, .* restore the steps"):
        site.restart()


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        (steps("instructions"), 'no step has kind = "match"'),
        (steps("match"), "the first step must be the same in all treatments and must not be a match"),
        (steps("instructions", "consent", "match"), "consent comes first"),
        (steps("instructions", "end", "match"), "end comes last"),
        (steps("instructions", "match", QUIZ), "put quiz and practice before the last match"),
        (steps("instructions", "mach"), "step 2 of 2: kind 'mach' is unknown: did you mean match"),
        (
            steps("instructions", "match\nmatches = 0"),
            "step 2 of 2 (match): matches must be a whole number from 1 to 100, not 0",
        ),
        (steps("instructions", "match\nrounds = 2"), "step 2 of 2 (match): unknown key 'rounds'"),
        (steps("instructions", "match\nseeds = [1]\nmatches = 2"), "seeds must contain one for each of the 2 matches"),
        (steps("instructions", "practice", "match"), "step 2 of 3 (practice): add an opponent"),
        (steps("instructions", QUIZ.replace('"10"', '"ten"'), "match"), "answer 'ten' cannot be given"),
        (steps("instructions", QUIZ.replace('"10"', '"1.5"\nwhole = true'), "match"), "answer '1.5' cannot be given"),
        (steps("instructions", GRID.replace("least = 18", "least = 1.5\nwhole = true"), "match"), "whole numbers"),
        (steps("instructions", GRID.replace("required", "whole"), "match"), 'whole apply only to kind = "number"'),
        (steps("instructions", "match\nopponent = 'nobody'"), "step of kind 'match': opponent"),
        (steps("instructions\nseconds = 0", "match"), "seconds must be a number above 0"),
    ],
)
def test_steps_that_cannot_be_are_named(parts: str, error: str) -> None:
    with pytest.raises(ValueError) as caught:
        steps_study(parts)
    assert error in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(("own", "turns"), [("", 6), ("params = { max_turns = 2 }\n", 2)])
def test_practice_is_as_the_treatment_says_unless_it_has_parameters_of_its_own(own: str, turns: int) -> None:
    parts = steps("instructions", f'practice\nopponent = "greedy-honest"\n{own}', "match")
    found = steps_study(parts, f"{ALONE}\nparams = {{ max_turns = 6 }}")
    assert [found.loaded(settings).max_turns for settings, _ in found.matches()] == [turns, 6]


def test_the_table_practice_keeps_the_games_default_preset() -> None:
    found = study(f"{ALONE}\npreset = 'tolerant'", '[practice]\nmatches = 1\nopponent = "greedy-honest"')
    assert [found.loaded(settings).preset for settings, _ in found.matches()] == ["seed", "tolerant"]


def test_consent_that_is_asked_nowhere_is_refused() -> None:
    with pytest.raises(ValueError, match="begin with a step of kind"):
        steps_study(steps("instructions", "match"), more='consent = "Will you?"')
    bare = STUDY.replace('instructions = "Trade well."\n', "")
    with pytest.raises(ValueError, match="instructions is empty"):
        parse_study(bare.format(tables=steps("instructions", "match") + "\n" + ALONE, more=""), Path("trade.toml"))
