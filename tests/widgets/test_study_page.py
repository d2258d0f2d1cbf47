"""The participant's page over a real host, state by state: content, presses, and stored data."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import ipywidgets as w
import pytest
from negolab_widgets.fields import RadioGroup
from negolab_widgets.html import prose
from negolab_widgets.play.countdown import Countdown
from negolab_widgets.play.seat import SeatWidget
from negolab_widgets.study import StudyPage
from negolab_widgets.study.last_page import CompletionCode
from negolab_widgets.study.page import run_page
from negolab_widgets.study.questions import QuestionField

from negolab import catalog
from negolab.studies import links
from negolab.studies.client import HostClient, HostUnreachable
from negolab.studies.database import Participant
from negolab.studies.page_state import NotDelivered
from negolab.studies.questions import Question
from negolab.studies.texts import texts
from tests.support.host_process import (
    PAIR_TREATMENT,
    HostProcess,
    button_labels,
    descendants,
    follow_until,
    page_text,
    press_button,
    running_host,
    shown_widgets,
    solo_treatment,
    study_toml,
)

AGAINST = solo_treatment("greedy-honest")
EVIL = "<img src=x onerror=alert(1)>"
QUESTIONS = """
[[questions]]
name = "before"
label = "Have you done this before?"
kind = "choice"
choices = ["never", "often"]
required = true
[[questions]]
name = "age"
label = "Your age in years"
kind = "number"
[[questions]]
name = "hope"
label = "What do you hope for?"
[[questions]]
name = "many"
label = "Your field"
kind = "choice"
choices = ["a", "b", "c", "d", "e", "f", "g", "h"]
[[questions]]
name = "after"
label = "How was it?"
required = true
when = "after"
"""

Hosts = Callable[..., HostProcess]


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Hosts]:
    """A function that starts a host with a study of these parts."""
    with ExitStack() as stack:
        yield lambda tables=AGAINST, more="", game="trading": stack.enter_context(
            running_host(tmp_path, study_toml(game, tables, more))
        )


def seated(page: StudyPage) -> SeatWidget:
    (found,) = [part for part in descendants(page) if isinstance(part, SeatWidget)]
    return found


def field(page: StudyPage, label: str) -> w.Widget:
    (found,) = [p for p in shown_widgets(page) if str(getattr(p, "description", "")).startswith(label)]
    return found


def code(page: StudyPage) -> str:
    return "".join(part.code for part in descendants(page) if isinstance(part, CompletionCode))


def started(hosted: HostProcess) -> tuple[StudyPage, Participant]:
    """Somebody's page, after Start."""
    page, who, _ = hosted.join()
    press_button(page, "Start")
    return page, who


def ten_presses(page: StudyPage, name: str) -> None:
    """Press a button again and again, which another page may have replaced."""
    (button,) = [part for part in shown_widgets(page) if isinstance(part, w.Button) and part.description == name]
    for _ in range(10):
        button.click()


def countdown(page: StudyPage) -> Countdown | None:
    found = [part for part in shown_widgets(page) if isinstance(part, Countdown)]
    return found[0] if found else None


def play_on(page: StudyPage) -> None:
    """Choose the first option until the match is over."""
    table = seated(page)
    for _ in range(60):
        if table._view.closing is not None:
            return
        table._submit(table._handle.game.say(table._handle.game.options(table._view.seen)[0]))
    raise AssertionError("60 moves and no end")


# Scene by scene.


def test_a_participant_comes_from_consent_to_the_completion_code(host: Hosts) -> None:
    hosted = host(more='consent = "Will you?\\n\\n- by pressing\\n- a button"')
    page, who, _ = hosted.join()
    assert "<p>Will you?</p><ul><li>by pressing</li><li>a button</li></ul>" in page_text(page)
    assert button_labels(page) == ["I agree to take part", "I do not want to take part"]
    press_button(page, "I agree to take part")
    assert "Read this." in page_text(page)
    assert "begins when you press Start" in page_text(page)
    press_button(page, "Start")
    play_on(page)
    press_button(page, "Continue")
    assert code(page) == "DONE4242"
    assert "That was all." in page_text(page)
    assert button_labels(page) == []
    assert hosted.participant(who).status == "complete"
    (match,) = hosted.matches()
    assert match.ended is not None


def test_who_does_not_agree_is_told_so_and_never_plays(host: Hosts) -> None:
    hosted = host(more='consent = "Will you?"')
    page, who, _ = hosted.join()
    press_button(page, "I do not want to take part")
    assert "You did not agree to take part." in page_text(page)
    assert code(page) == "NO4242"
    assert hosted.participant(who).status == "declined"
    assert hosted.matches() == []


def test_faults_stand_beside_their_questions_and_what_was_entered_stays(host: Hosts) -> None:
    hosted = host(AGAINST + QUESTIONS)
    page, who, _ = hosted.join()
    assert isinstance(field(page, "Have you done this before? (required)"), RadioGroup), "few are all in view"
    assert isinstance(field(page, "Your field (optional)"), w.Dropdown), "many are a list"
    field(page, "Your age").value = "many"
    field(page, "What do you hope").value = EVIL
    press_button(page, "Send answers")
    for words in ("Please answer.", "Please enter a number.", "Please correct 2 of the answers above."):
        assert words in page_text(page)
    assert field(page, "What do you hope").value == EVIL
    field(page, "Your age").value = "33"
    assert "Please enter a number." not in page_text(page), "a fault goes when its answer is changed"
    before = field(page, "Have you done this before? (required)")
    before.set_state({"options": ["sometimes"]})
    before.take("sometimes")
    press_button(page, "Send answers")
    assert "Choose one of the answers." in page_text(page), "what a page made up"
    with hosted.database() as database:
        assert database.answers(who.id) == {}
    field(page, "Have you done this before? (required)").value = "often"
    press_button(page, "Send answers")
    assert "Start" in button_labels(page)
    with hosted.database() as database:
        assert database.answers(who.id) == {"before": "often", "age": "33", "hope": EVIL, "many": ""}


@pytest.mark.parametrize("kind", ["few", "many", "number"])
def test_an_answer_that_a_changed_question_no_longer_takes_is_not_filled_in(kind: str) -> None:
    choices = {"few": ("no", "yes"), "many": tuple("abcdefgh"), "number": ()}[kind]
    asked = QuestionField(Question("q", "Q?", "choice" if choices else "number", choices))
    asked.fill("no longer there")
    assert asked.answer == ""
    asked.fill(choices[1] if choices else "2")
    assert asked.answer == (choices[1] if choices else "2")


def test_questions_after_the_match_come_before_the_code_and_who_is_there_cannot_leave_any_more(host: Hosts) -> None:
    hosted = host(AGAINST + QUESTIONS)
    page, who, _ = hosted.join()
    field(page, "Have you done").value = "never"
    press_button(page, "Send answers")
    press_button(page, "Start")
    press_button(page, "Leave the study")
    play_on(page)
    assert button_labels(page)[0] == "Continue" and not any("eave the study" in name for name in button_labels(page))
    press_button(page, "Continue")
    assert button_labels(page) == ["Send answers"] and hosted.participant(who).status == "complete"
    press_button(page, "Send answers")
    assert "Please answer." in page_text(page)
    field(page, "How was it?").value = "good"
    press_button(page, "Send answers")
    assert code(page) == "DONE4242"
    with hosted.database() as database:
        assert database.answers(who.id)["after"] == "good"


QUIZ = """
[[steps]]
kind = "instructions"
[[steps]]
kind = "quiz"
attempts = 3
[[steps.questions]]
name = "few"
label = "Which one?"
kind = "choice"
choices = ["this", "that"]
answer = "this"
[[steps.questions]]
name = "many"
label = "Which of many?"
kind = "choice"
choices = ["a", "b", "c", "d", "e", "f", "g", "h"]
answer = "h"
[[steps.questions]]
name = "turns"
label = "How many turns?"
kind = "number"
whole = true
answer = "10"
explanation = "Count again."
[[steps]]
kind = "match"
"""


def test_after_a_wrong_quiz_what_was_right_stands_there_also_on_a_page_that_is_opened_anew(host: Hosts) -> None:
    hosted = host(QUIZ + AGAINST)
    page, who, token = hosted.join()
    press_button(page, "Start" if "Start" in button_labels(page) else "Continue")
    for label, answer in (("Which one", "this"), ("Which of many", "h"), ("How many", "12")):
        field(page, label).value = answer
    press_button(page, "Check my answers")
    for shown in (page, hosted.open(token)):
        entered = [field(shown, label).value or "" for label in ("Which one", "Which of many", "How many")]
        assert entered == ["this", "h", ""] and "Count again." in page_text(shown)
        assert page_text(shown).count("This is not correct.") == 0
    field(shown, "How many").value = "10"
    press_button(shown, "Check my answers")
    assert seated(shown)
    with hosted.database() as database:
        assert [a.is_right for a in database.attempts(who.id)] == [True, True, False, True, True, True]


def test_who_waits_sees_for_how_long_at_most_and_can_only_leave(host: Hosts) -> None:
    page, _ = started(host(f"{PAIR_TREATMENT}\n[pairing]\nwait = 90"))
    assert "Waiting for another participant." in page_text(page)
    assert "Keep this page open" in page_text(page)
    clock = countdown(page)
    assert clock is not None
    assert 85 < clock.seconds <= 90
    assert clock.total == pytest.approx(90, abs=0.1)
    assert button_labels(page) == ["Leave the study"]


def test_a_practice_round_is_marked_and_the_match_after_it_is_not(host: Hosts) -> None:
    hosted = host(f'{AGAINST}\n[practice]\nmatches = 1\nopponent = "fair-split"')
    page, _ = started(hosted)
    assert "Practice 1 of 1" in page_text(page)
    first = seated(page)
    play_on(page)
    press_button(page, "Continue")
    assert "Practice" not in page_text(page)
    assert seated(page) is not first
    assert first.comm is None, "the table of before is out of the kernel's memory"
    assert [match.practice for match in hosted.matches()] == [1, 0]


def test_a_time_limit_counts_down_only_while_it_runs(host: Hosts) -> None:
    slow = "delay = { median = 60, most = 60 }\n[limits]\nreply = 50"
    page, _ = started(host(solo_treatment("greedy-honest", more=slow)))
    clock = countdown(page)
    assert clock is not None and (clock.words, clock.urgent) == ("{left} left to answer", True)
    assert 45 < clock.seconds <= 50
    seated(page)._submit("Pass.")
    assert countdown(page) is None, "the other one is asked now"


def test_a_match_limit_says_that_it_is_for_the_match(host: Hosts) -> None:
    clock = countdown(started(host(f"{AGAINST}\n[limits]\nmatch = 40"))[0])
    assert clock is not None and clock.words == "{left} left for this match"


def test_a_page_that_draws_the_clock_late_is_told_what_is_left_by_then() -> None:
    clock = Countdown()
    clock.start(30)
    clock._ends -= 12
    before = clock.serial
    clock._handle_custom_msg({"ask": "left"}, [])
    assert 17 < clock.seconds <= 18
    assert clock.serial == before + 1


# Leaving.


def test_leaving_takes_two_presses_that_are_shown_and_deletes_what_was_written(host: Hosts) -> None:
    hosted = host()
    page, who = started(hosted)
    for part, name in ((page._leaving, "Yes, leave the study"), (page._view._strip, "")):  # type: ignore[union-attr]
        (hidden,) = [p for p in descendants(part) if isinstance(p, w.Button) and p.description == name]
        hidden.click()
    assert (hosted.participant(who).status, hosted.participant(who).passed) == ("playing", 0)
    seated(page)._submit("My own words. Pass.")
    press_button(page, "Leave the study")
    assert "Everything you wrote will be deleted" in page_text(page)
    assert hosted.participant(who).status == "playing"
    press_button(page, "No, continue")
    assert "Yes, leave the study" not in button_labels(page)
    press_button(page, "Leave the study")
    press_button(page, "Yes, leave the study")
    assert hosted.participant(who).status == "withdrawn" and code(page) == "GONE4242"
    (match,) = hosted.matches_of("withdrawn")
    assert "My own words" not in json.dumps(hosted.replies(match.id, "A"))


def test_a_link_that_was_opened_in_time_goes_on_after_it_has_expired(host: Hosts) -> None:
    hosted = host()
    who, _ = hosted.invite()
    with hosted.database() as database:
        kept = database.kept("small")
        assert kept is not None
        old = links.make_token(kept.secret, "small", who.id, created=time.time() - 40 * 86400)
        with pytest.raises(NotDelivered, match="expired"):
            HostClient(hosted.seats).ask("/admit", token=old)
        database.change(who.id, opened=1.0)
    assert HostClient(hosted.seats).ask("/admit", token=old)["visitor"] == who.id


# Clicks.


def test_ten_presses_of_a_button_pass_one_page(host: Hosts) -> None:
    kinds = (
        "consent",
        "instructions",
        'instructions"\ntext = "Read this too.',
        'practice"\nopponent = "fair-split',
        "match",
    )
    steps = "".join(f'[[steps]]\nkind = "{kind}"\n' for kind in kinds)
    hosted = host(steps + AGAINST, 'consent = "Will you?"')
    page, who, _ = hosted.join()
    ten_presses(page, "I agree to take part")
    ten_presses(page, "Continue")
    assert "Read this too." in page_text(page) and "Then press Start." not in page_text(page)
    ten_presses(page, "Start")
    play_on(page)
    ten_presses(page, "Continue")
    assert hosted.participant(who).passed == 1 and len(hosted.matches()) == 2
    assert not any(words in page_text(page) for words in ("moved on", "not over yet"))


def test_a_refused_reply_shows_what_has_changed_meanwhile(host: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """An earlier reply arrived, the other player has answered it, and no word of either came back."""
    table = seated(page := started(host())[0])
    ask = HostClient.ask

    def cut_off(client: HostClient, path: str, **body: Any) -> Any:
        ask(client, path, **body)
        raise HostUnreachable

    monkeypatch.setattr(HostClient, "ask", cut_off)
    table._submit("first")
    assert (table._view.turn, table._view.asked) == (0, True)
    monkeypatch.setattr(HostClient, "ask", ask)
    table._submit("second")
    assert (table._view.turn, table._view.asked) == (1, True) and texts.TABLE_CHANGED in page_text(page)
    table._submit("third")
    assert table._view.turn == 2


def test_a_fault_of_ours_is_one_plain_sentence(host: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    page, _, token = host().join()

    def breaks(*_: Any, **__: Any) -> None:
        raise RuntimeError(f"the secret is {token}")

    monkeypatch.setattr(page._page, "act", breaks)
    press_button(page, "Start")
    assert "Something went wrong on our side." in page_text(page)
    assert token not in json.dumps([part.get_state() for part in descendants(page)], default=str)


@pytest.mark.parametrize(("fault", "at"), [("options", "A"), ("facts", "B")])
def test_when_code_of_the_game_raises_both_pages_come_to_the_last_one_by_themselves(
    host: Hosts, fault: str, at: str
) -> None:
    game = Path(__file__).parents[1] / "support" / "games" / "faulty.py"
    catalog.game_module(str(game))  # as a kernel does
    hosted = host(f'{PAIR_TREATMENT}\nparams = {{ fault = "{fault}", at = "{at}" }}', game=str(game))
    (one, _), (two, _) = started(hosted), started(hosted)

    def at_end(page: StudyPage) -> bool:
        return "because of a fault on our side" in page_text(page)

    def go_on() -> bool:
        for page in (one, two):
            for table in [part for part in descendants(page) if isinstance(part, SeatWidget)]:
                if at == "B" and table._view.asked and table._view.seen.seat == "A":
                    table._submit("4")
        return at_end(one) and at_end(two)

    follow_until(go_on, one, two)
    assert "Something went wrong" not in page_text(one) + page_text(two)
    assert "very-own-words" not in json.dumps([part.get_state() for part in descendants(one)], default=str)
    with hosted.database() as database:
        errors = [note.detail for note in database.notes("small", "error")]
    assert errors and all(f"ZeroDivisionError in faulty.py, line 38, in {fault}" in error for error in errors)


# Texts.


@pytest.mark.parametrize(
    ("plain", "drawn"),
    [
        ("One\ntwo.\n\nThree.", "<p>One two.</p><p>Three.</p>"),
        ("- a\n- b\n  more", "<ul><li>a</li><li>b more</li></ul>"),
        ("List:\n- a\n\nEnd", "<p>List:</p><ul><li>a</li></ul><p>End</p>"),
        ("https://lab.example/ <b>x</b>", "<p>https://lab.example/ &lt;b&gt;x&lt;/b&gt;</p>"),
        (" \n ", ""),
    ],
)
def test_a_studys_text_is_paragraphs_and_lists_and_nothing_else(plain: str, drawn: str) -> None:
    assert prose(plain) == f'<div class="nl-prose-text" dir="auto">{drawn}</div>'


def test_markup_in_every_text_of_a_study_is_text(host: Hosts) -> None:
    more = f'consent = "{EVIL}"\nendings = {{ declined = "{EVIL}" }}'
    wild = f'\n[[questions]]\nname = "q"\nlabel = "{EVIL}"\nkind = "choice"\nchoices = ["{EVIL}", "b"]\nrequired = true'
    hosted = host(more=more, tables=AGAINST + wild)
    page, _, _ = hosted.join()
    _inert(page)
    press_button(page, "I agree to take part")
    press_button(page, "Send answers")
    _inert(page)
    other, _, _ = hosted.join()
    press_button(other, "I do not want to take part")
    _inert(other)


def _inert(page: StudyPage) -> None:
    """Check that markup appears in HTML widgets only as escaped text."""
    drawn = "".join(part.value for part in descendants(page) if isinstance(part, w.HTML))
    assert "<img" not in drawn


# What the kernel knows.


def test_outside_a_study_the_page_says_what_starts_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from negolab_widgets.study import open_study_page

    monkeypatch.delenv("NEGOLAB_SEATS", raising=False)
    assert "negolab serve STUDY.toml" in page_text(open_study_page())


# In a kernel.


def test_a_kernel_that_is_ready_ahead_shows_the_page_of_whoever_comes(tmp_path: Path) -> None:
    game = Path(__file__).parents[2] / "negolab" / "scaffolds" / "ultimatum.py"
    (tmp_path / "haggling.py").write_text(game.read_text("utf-8"), "utf-8")
    with running_host(tmp_path, study_toml("haggling.py", solo_treatment("random-legal", "B"))) as hosted:
        _, token = hosted.invite()
        shown = StudyPage()
        asyncio.run(_come(shown, hosted, token))
        assert "Instructions" in page_text(shown)
        press_button(shown, "Start")
        press_button(shown, "yes")
        assert seated(shown)._view.closing is not None


async def _come(shown: StudyPage, hosted: HostProcess, token: str) -> None:
    """Open a page from a waiting kernel while the host is down for a moment."""
    waiting = asyncio.ensure_future(run_page(shown, HostClient(hosted.seats), "ahead"))
    await asyncio.sleep(0.2)
    assert "One moment, please." in page_text(shown)
    hosted.kill()
    await asyncio.sleep(0.2)
    hosted.start()
    await asyncio.to_thread(HostClient(hosted.seats).ask, "/bind", token=token, kernel="ahead")
    async with asyncio.timeout(20):
        while shown._page is None:
            await asyncio.sleep(0.05)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
