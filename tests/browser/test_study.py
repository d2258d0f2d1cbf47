"""Participants play studies from their links in browsers, through faults of pages and of server processes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from negolab.catalog import game_names
from negolab.events import Ended
from negolab.studies.texts import texts
from tests.conftest import SLOW
from tests.support import study_visit
from tests.support.browser import (
    MOVES,
    SHOTS,
    Input,
    Keyboard,
    Mouse,
    accessibility_violations,
    fits_phone,
    fits_width,
    offer_first_options,
    open_sheet,
    screenshot,
)
from tests.support.host_process import study_toml
from tests.support.processes import ProcessKind
from tests.support.study_server import PHONE, WIDE, Person, StudyServer, serving_study

pytestmark = [pytest.mark.browser, pytest.mark.long]

PAIRS = '[[treatments]]\nname = "pairs"\nparams = {{ {params} }}\n[pairing]\nwait = {wait}\nthen = "{then}"\n{more}'

ALONE = {
    "agenda": ("turns = 20", "stubborn", 3),
    "balloon": ("", "stubborn", 3),
    "bargaining": ("rounds = 14", "fair", 4),
    "split": ("rounds = 4", "truthful", 3),
    "trading": ("max_turns = 16", "fair-split", 3),
}
"""A game long enough for all that happens in it: parameters, who sits down, and a seed (in bargaining that of a buyer,
whose offers `fair` turns down)."""

TOGETHER = {
    "agenda": "turns = 4",
    "balloon": "",
    "bargaining": "rounds = 4",
    "split": "rounds = 2",
    "trading": "max_turns = 4",
}
"""A short game for two people."""

HOLDS_OUT = 6
"""Own moves at agenda and balloon before an agreement."""


def move(person: Person) -> None:
    """Make the next move; at agenda and balloon, agree only after a while."""
    game, said = person.server.study.game, len(person.messages)
    holds_out = {"agenda": offer_first_options, "balloon": one_item(said)} if said < HOLDS_OUT else {}
    person.move(holds_out.get(game, MOVES[game]))


def one_item(at: int) -> Callable[[Any, Any], None]:
    """Propose a single item at balloon, a different one each time."""

    def propose(hand: Input, table: Any) -> None:
        hand.press(table.get_by_role("button", name="Uncheck all"))
        table.get_by_role("button", name="Propose a set").wait_for()
        hand.press(table.get_by_role("checkbox").nth(at))
        hand.fill(table.get_by_label("Your argument"), f"Reason {at}.")
        hand.press(table.get_by_role("button", name="Propose 1 item"))

    return propose


# What happens in the middle of a game. After each of these the same table stands there, with all that was said.


def reload(person: Person) -> None:
    person.page.reload()
    goes_on(person)


def open_in_a_second_tab(person: Person) -> None:
    """Open a second tab, which takes over; the older one can only take the game back."""
    older, person.page = person.page, person.tab()
    person.page.goto(person.link)
    goes_on(person)
    older.locator(".nl-away").wait_for(state="attached")
    assert older.get_by_text("This page was opened in another tab and continues there.").first.is_visible()
    assert [button.inner_text() for button in older.get_by_role("button").all()] == ["Continue here instead"]
    older.close()


def come_back_after_a_crash(person: Person) -> None:
    """Crash the page's process, so that nothing is said to the server, and open the link in another browser."""
    crashed = person.context
    with person.page.expect_event("crash"), pytest.raises(Exception, match="crash"):
        person.page.goto("chrome://crash")
    person.open_browser()
    person.page.goto(person.link)
    person.press("Continue")
    goes_on(person)
    crashed.close()


RESTORED = "The page is being restored. Nothing is lost."


def lose(part: ProcessKind, *words: str) -> Callable[[Person], None]:
    """Kill a process: the page shows one of these warnings and recovers without a click."""

    def lost(person: Person) -> None:
        person.clear_warnings()
        person.server.kill(part, person.kernel() if part == "kernel" else "")
        person.wait_until(lambda: said_one_of(words, person.warnings_shown()), "no warning was shown")
        person.wait_until(
            lambda: person.current_warnings() == [] and person.table.count() == 1, "the page did not go on"
        )
        goes_on(person)

    return lost


def said_one_of(words: tuple[str, ...], told: list[str]) -> bool:
    return any(word in text for word in words for text in told)


def goes_on(person: Person) -> None:
    person.seated().check_messages()


HAPPENS: dict[str, Callable[[Person], None]] = {
    "a reload": reload,
    "a second tab": open_in_a_second_tab,
    "a crash of the browser": come_back_after_a_crash,
    "the kernel killed": lose("kernel", RESTORED),
    "the host killed": lose("host", texts.AWAY),
    "Voila killed": lose("voila", "Connection lost.", RESTORED),
}


PLAYED, PLAYED_TOGETHER = (game_names(), game_names()) if SLOW else (["bargaining"], ["split"])
"""Games in turns and at once: what happens to a page does not depend on more."""


@pytest.mark.parametrize("game", PLAYED)
def test_a_whole_game_goes_on_through_whatever_happens_to_it(game: str, tmp_path: Path, chromium: Any) -> None:
    params, player, seed = ALONE[game]
    text = study_toml(game, PAIRS.format(params=params, wait=2, then=player, more="")).replace(
        "seed = 3", f"seed = {seed}"
    )
    with serving_study(tmp_path, text) as server:
        person = Person(chromium, server).join().begin()
        person.wait_for_text("Waiting for another participant.")
        person.seated()  # nobody came: a player sits down
        left = dict(HAPPENS)
        while person.wait_for_turn():
            move(person)
            if left and not person.is_over():
                name = next(iter(left))
                happens(left.pop(name), person, name)
        assert left == {}, "the game was too short"
        record = person.check_record()
        assert record.header.players[other_than(person)] == player
        person.check_result(record)
        person.press("Continue")
        assert person.completion_code() == "DONE4242"
        assert person.errors == []
        person.close()


def happens(what: Callable[[Person], None], person: Person, name: str) -> None:
    try:
        what(person)
    except AssertionError as error:
        raise AssertionError(f"after {name}: {error}") from error


def other_than(person: Person) -> Any:
    return "B" if person.seat() == "A" else "A"


@pytest.mark.parametrize("game", PLAYED_TOGETHER)
def test_two_people_play_one_match_and_time_ends_what_nobody_else_does(
    game: str, tmp_path: Path, chromium: Any
) -> None:
    text = study_toml(game, PAIRS.format(params=TOGETHER[game], wait=6, then="end", more="[limits]\nreply = 14"))
    with serving_study(tmp_path, text) as server:
        two_people_play_one_match(chromium, server)
        prompt, late = one_waits_for_the_other(chromium, server)
        nobody_comes_for_the_third(chromium, server)
        time_is_up_and_no_move_is_made(prompt, late)


def pair(chromium: Any, server: StudyServer) -> tuple[Person, Person]:
    """Seat two people at one table: the first waits until the second arrives."""
    first, second = Person(chromium, server).join(), Person(chromium, server).join()
    first.begin().wait_for_text("Waiting for another participant.")
    second.begin()
    return first.seated(), second.seated()


def two_people_play_one_match(chromium: Any, server: StudyServer) -> None:
    people = pair(chromium, server)
    while not all(person.is_over() for person in people):
        for person, other in (people, people[::-1]):
            if not person.is_over() and person.has_turn():
                other.wait_until(other.shows_turn)
                person.move()
        people[0].page.wait_for_timeout(100)
    records = [person.check_record() for person in people]
    assert records[0] == records[1]
    assert {person.seat() for person in people} == {"A", "B"}
    for person, record in zip(people, records, strict=True):
        person.check_result(record)
        person.press("Continue")
        assert person.completion_code() == "DONE4242"
        person.close()


def one_waits_for_the_other(chromium: Any, server: StudyServer) -> tuple[Person, Person]:
    """Make the first move, so that the match waits for the second person, whose clock runs."""
    people = pair(chromium, server)
    people[0].wait_until(lambda: any(person.has_turn() for person in people))
    prompt, late = sorted(people, key=lambda person: not person.has_turn())
    prompt.move()
    late.wait_until(late.has_turn)
    late.wait_for_text("left to answer")
    prompt.wait_until(prompt.is_waiting)
    return prompt, late


def nobody_comes_for_the_third(chromium: Any, server: StudyServer) -> None:
    person = Person(chromium, server).join().begin()
    person.wait_for_text("Waiting for another participant.")
    assert person.completion_code() == "ALONE4242"
    person.wait_for_text("Nobody joined you")
    with server.database() as database:
        assert database.matches(server.study.name, participant=person.id) == []
    assert server.participant(person.id).status == "unpaired"
    person.close()


def time_is_up_and_no_move_is_made(prompt: Person, late: Person) -> None:
    assert late.completion_code() == "LATE4242"
    assert prompt.completion_code() == "LEFT4242"
    late.wait_for_text("no valid answer arrived in time")
    prompt.wait_for_text("the other person has left or did not answer in time")
    record = prompt.check_record()
    assert late.check_record() == record
    last = record.events[-1]
    assert isinstance(last, Ended)
    assert (last.end, last.reason) == ("ABORTED", f"seat {late.seat()} did not answer in time")
    assert [late.server.participant(person.id).status for person in (prompt, late)] == ["partner", "timeout"]
    for person in (prompt, late):
        person.close()


def test_who_closed_the_page_seconds_ago_is_met_by_nobody_and_keeps_the_place(tmp_path: Path, chromium: Any) -> None:
    more = PAIRS.format(params="", wait=300, then="end", more="")
    with serving_study(tmp_path, study_toml("bargaining", more)) as server:
        first, second = (Person(chromium, server).join() for _ in range(2))
        first.begin().wait_for_text("Waiting for another participant.")
        first.page.close()
        first.page = first.tab()
        first.page.wait_for_timeout(1000)
        second.begin().wait_for_text("Waiting for another participant.")
        second.page.wait_for_timeout(3000)
        assert server.participant(first.id).status == server.participant(second.id).status == "waiting"
        first.page.goto(first.link)
        first.seated()
        second.seated()
        assert server.match(first.id)[0].id == server.match(second.id)[0].id


def test_every_page_of_a_visit_is_usable_by_keyboard_and_on_a_phone(tmp_path: Path, chromium: Any) -> None:
    """Visit from the link to the code with the Tab key alone, checking accessibility and the width of 360 px."""
    met: list[str] = []

    def checked(page: Any, name: str) -> None:
        met.append(name)
        page.wait_for_timeout(300)
        assert accessibility_violations(page) == [], name
        for size in (WIDE, PHONE):
            page.set_viewport_size(size)
            page.wait_for_timeout(300)
            assert fits_width(page), name
            screenshot(page, f"study-{name}-{size['width']}")

    with serving_study(tmp_path, study_visit.STUDY, *study_visit.OPTIONS) as server:
        person = study_visit.Visit(chromium, server, checked, size=PHONE).pass_through()
        assert met == list(study_visit.PAGES)
        assert person.completion_code() == "DONE4242"
        person.wait_for_text("For taking part")
        back = person.page.get_by_role("link", name="Continue to panel.example")
        assert back.get_attribute("href") == "https://panel.example/submissions/complete?cc=DONE4242"
        assert back.get_attribute("rel") == "noopener noreferrer"
        person.check_record()
        with server.database() as database:
            answers, attempts = database.answers(person.id), database.attempts(person.id)
        assert answers == {
            "experience": "never",
            "age": "36",
            "group": "",
            "remarks": "",
            "felt.fair": "mostly",
            "felt.again": "not at all",
            "how": "by numbers",
        }
        assert [attempt.is_right for attempt in attempts] == [False, True, True, True]
        assert person.errors == []
        person.close()


def test_the_researcher_sees_a_participant_and_ends_it_for_them(tmp_path: Path, chromium: Any) -> None:
    text = study_toml("trading", PAIRS.format(params="", wait=1, then="fair-split", more=""))
    with serving_study(tmp_path, text) as server:
        person = Person(chromium, server).join().begin().seated()
        assert person.page.locator(".nl-pages").count() == 0, "a participant has no way to the researcher's pages"
        page = chromium.new_page(viewport=WIDE)
        page.goto(server.desk)
        row = page.get_by_role("row").filter(has_text="playing")
        row.wait_for()
        assert row.locator("td, th").all_inner_texts()[:4] == ["1", "pairs", "playing", "open"]
        assert accessibility_violations(page) == []
        hand = Keyboard(page)
        hand.press(row.get_by_role("button", name="watch the match of participant 1"))
        page.get_by_role("heading", name="as it goes").wait_for()
        page.get_by_role("heading", name="Seat B sees").wait_for()
        assert accessibility_violations(page) == []
        for size, width in ((PHONE, 360), (WIDE, 1280)):
            page.set_viewport_size(size)
            page.wait_for_timeout(300)
            screenshot(page, f"monitor-watching-{width}")
            assert fits_width(page)
        hand.press(page.get_by_role("button", name="Close the match"))
        end_it(hand, "1", "The room must be closed.")
        assert person.completion_code() == "STOP4242"
        person.wait_for_text("The experimenter has ended the study for you.")
        page.get_by_role("cell", name="ended", exact=True).wait_for()
        assert fits_phone(page)
        record = person.check_record()
        last = record.events[-1]
        assert isinstance(last, Ended)
        assert last.reason == "ended by the experimenter: The room must be closed."
        page.set_viewport_size(WIDE)
        for name, shows in (
            ("Play", "Start the match"),
            ("Replay", "there are no records in"),
            ("Monitor", "Monitor: A small study"),
        ):
            page.get_by_role("navigation").get_by_role("link", name=name, exact=True).click()
            page.get_by_text(shows).first.wait_for()
        page.close()
        person.close()


def end_it(hand: Keyboard, who: str, why: str) -> None:
    """End it for a participant, from the button in their row."""
    page = hand.page
    hand.press(page.get_by_role("button", name=f"end the study for participant {who}"))
    page.wait_for_function("() => document.activeElement.matches('.nl-ending')")
    hand.fill(page.get_by_label("Reason"), why)
    hand.press(page.get_by_role("button", name="Yes, end it"))
    page.get_by_text("Ended for participant 1.").wait_for()


IN_VIEW = """
[[treatments]]
name = "alone"
opponent = "conceder"
seat = "A"
[[steps]]
kind = "instructions"
[[steps]]
kind = "match"
[[steps]]
kind = "match"
disclosure = "A computer program sits across."
"""


@pytest.mark.parametrize("size", [WIDE, {"width": 360, "height": 740}], ids=["wide", "phone"])
def test_what_a_participant_has_to_see_is_in_view(size: dict[str, int], tmp_path: Path, chromium: Any) -> None:
    """The top of a page, an own offer, a question and a result, none of them behind the header or the bar."""
    with serving_study(tmp_path, study_toml("agenda", IN_VIEW)) as server:
        person = Person(chromium, server, size).join()
        person.press("Start")
        person.seated().wait_for_turn()
        opens_at_its_top(person)
        open_sheet(Mouse(person.page), person.table)
        is_in_view(person, person.table.locator(".nl-compose").get_by_text("food", exact=True).first)
        if person.table.locator(".nl-back").is_visible():
            person.press("Back")
        for name in ("Walk away", "Leave the study"):
            question_is_in_view(person, name)
        while person.wait_for_turn():
            person.move()
        is_in_view(person, person.table.locator(".nl-result"))
        shot(person, "result")
        person.press("Continue")
        disclosed = person.page.get_by_text("A computer program sits across.")
        disclosed.wait_for()
        person.seated().wait_for_turn()
        opens_at_its_top(person)
        is_in_view(person, disclosed)
        shot(person, "top")
        assert person.errors == []
        person.close()


def opens_at_its_top(person: Person) -> None:
    scrolled = "() => document.querySelector('#rendered_cells').scrollTop"
    person.wait_until(lambda: person.page.evaluate(scrolled) == 0, "the page is scrolled")


def is_in_view(person: Person, target: Any) -> None:
    """Check that nothing covers the corners of a part of the page, after it has come to rest."""
    person.wait_until(lambda: target.evaluate(UNCOVERED), f"{target} is covered")


UNCOVERED = """part => {
  const { left, right, top, bottom } = part.getBoundingClientRect();
  return [[left + 3, top + 3], [right - 3, bottom - 3]].every(([x, y]) => {
    const there = document.elementFromPoint(x, y);
    return there !== null && (part.contains(there) || there.contains(part));
  });
}"""


def question_is_in_view(person: Person, name: str) -> None:
    """Open a question and answer it with no: its buttons are in view, the focus is on no, and then where it was."""
    person.page.evaluate("() => document.querySelector('#rendered_cells').scrollTo(0, 100000)")
    person.press(name)
    button = person.page.locator(".nl-leaving button:visible").get_by_text("No, continue", exact=True)
    is_in_view(person, button)
    person.wait_until(lambda: button.evaluate("button => button === document.activeElement"))
    shot(person, f"asks-{name.split()[0].lower()}")
    button.click()
    opener = person.button(name)
    person.wait_until(lambda: opener.evaluate("button => button === document.activeElement"))


def shot(person: Person, name: str) -> None:
    """Save what is in view."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    person.page.screenshot(path=str(SHOTS / f"in-view-{name}-{person.page.viewport_size['width']}.png"))
