"""Every page that a participant can meet, in the order of one visit, for checks and screenshots."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.browser import Keyboard
from tests.support.crowd import KEYS
from tests.support.host_process import study_toml
from tests.support.study_server import WIDE, Person, StudyServer

OPTIONS = ("--max-kernels=1",)
"""One kernel, so that a second visitor waits in the queue."""

STUDY = study_toml(
    "trading",
    """
[[treatments]]
name = "pairs"
preset = "tolerant"
params = { max_turns = 6 }
[pairing]
wait = 9
then = "fair-split"
[practice]
matches = 1
opponent = "chat"
params = { max_turns = 2 }
[limits]
reply = 200
[payment]
currency = "GBP"
rate = 0.35
show_up = 2.00
rounding = 0.10
[links]
complete = "https://panel.example/submissions/complete?cc={code}"
[[questions]]
name = "experience"
label = "Have you negotiated for money before?"
kind = "choice"
choices = ["never", "once or twice", "often"]
required = true
[[questions]]
name = "age"
label = "How old are you?"
kind = "number"
[[questions]]
name = "hopes"
label = "What do you hope for?"
[[questions]]
name = "remarks"
label = "Is there anything you want to tell us?"
when = "after"
""",
    """consent = '''
You are invited to take part in a study on negotiation. It takes about ten minutes.
We keep what you do and write during the study, and nothing that tells us who you are, unless you write it yourself.

You may leave at any time with "Leave the study"; what you wrote is then deleted.
'''""",
)

Size = dict[str, int]
Show = Callable[[Any, str], None]

PAGES = (
    *("no-link", "bad-link", "no-such-page", "join", "consent", "line", "questions", "questions-faults"),
    *("instructions", "practice", "practice-end", "waiting", "playing", "leaving", "second-tab", "lost", "end"),
    *("questions-after", "closed"),
)
"""The pages that `visit` shows, in this order."""


def visit(chromium: Any, server: StudyServer, show: Show, size: Size = WIDE, **options: Any) -> Person:
    """Visit a study from the link to the code by the keyboard alone, calling `show(page, name)` at each page."""
    options = {"size": size, **options}
    visit_without_link(chromium, server, show, **options)
    person = Person(chromium, server, **options)
    person.page.goto(person.link)
    show(person.page, "join")
    press(person, "Continue")
    prepare(chromium, person, show, **options)
    play_practice(person, show)
    play_match(person, show)
    finish(person, show)
    return person


def press(person: Person, name: str) -> None:
    person.button(name).wait_for()
    Keyboard(person.page).press(person.button(name))


def visit_without_link(chromium: Any, server: StudyServer, show: Show, size: Size, **options: Any) -> None:
    """Open the pages without a link, with a wrong link, and at a wrong address."""
    page = chromium.new_page(viewport=size, **options)
    for path, name in (("", "no-link"), ("join/abc.def.ghi", "bad-link"), ("tree", "no-such-page")):
        page.goto(server.base + path)
        show(page, name)
    page.close()


def prepare(chromium: Any, person: Person, show: Show, **options: Any) -> None:
    """Consent, the queue page of a second visitor, questions with and without faults, instructions."""
    person.button("I agree and take part").wait_for()
    show(person.page, "consent")
    later = Person(chromium, person.server, **options)
    later.page.goto(later.link)
    later.press("Continue")
    later.wait_for_text("You are next.")
    show(later.page, "line")
    later.close()
    press(person, "I agree and take part")
    person.button("Send answers").wait_for()
    show(person.page, "questions")
    press(person, "Send answers")
    person.wait_for_text("Please correct")
    show(person.page, "questions-faults")
    hand = Keyboard(person.page)
    hand.press(person.page.get_by_label("never"))
    hand.fill(person.page.get_by_label("How old are you?"), "36")
    press(person, "Send answers")
    person.button("Start").wait_for()
    show(person.page, "instructions")


def play_practice(person: Person, show: Show) -> None:
    press(person, "Start")
    person.seated()
    show(person.page, "practice")
    while person.wait_for_turn():
        if person.table.locator(KEYS).count():
            Keyboard(person.page).press(person.table.locator(KEYS))
        Keyboard(person.page).fill(person.table.get_by_label("Your reply with its tokens"), "[Pass] Just talking.")
        press(person, "Send reply")
        person.wait_until(lambda: person.is_over() or not person.has_turn() or person.own_messages())
        person.page.wait_for_timeout(500)
        if person.own_messages() and person.has_turn():
            break
    show(person.page, "practice-end")
    press(person, "Continue")


def play_match(person: Person, show: Show) -> None:
    """Wait for a partner and play the match, with a leave dialog, a second tab and a lost connection on the way."""
    person.wait_for_text("Waiting for another participant.")
    show(person.page, "waiting")
    person.seated()
    person.wait_for_turn()
    show(person.page, "playing")
    press(person, "Leave the study")
    person.wait_for_text("Do you want to leave?")
    show(person.page, "leaving")
    press(person, "No, continue")
    older, person.page = person.page, person.tab()
    person.page.goto(person.link)
    person.seated()
    older.locator(".nl-away").wait_for(state="attached")
    show(older, "second-tab")
    older.close()
    person.context.set_offline(True)
    person.wait_for_text("Connection lost.")
    show(person.page, "lost")
    person.context.set_offline(False)
    person.wait_until(lambda: person.current_warnings() == [] and person.table.count() == 1)
    while person.wait_for_turn():
        person.move()
    show(person.page, "end")
    press(person, "Continue")


def finish(person: Person, show: Show) -> None:
    """Answer the last question and reach the code."""
    person.wait_for_text("Is there anything you want to tell us?")
    show(person.page, "questions-after")
    press(person, "Send answers")
    person.completion_code()
    show(person.page, "closed")


STEPS = study_toml(
    "trading",
    """
[[treatments]]
name = "machine"
preset = "tolerant"
params = { max_turns = 2 }
opponent = "fair-split"
seat = "A"
[payment]
currency = "GBP"
show_up = 2.50
rate = 0.01
[[steps]]
kind = "consent"
[[steps]]
kind = "instructions"
[[steps]]
kind = "quiz"
text = "Two questions, so that nobody plays by mistake."
attempts = 3
[[steps.questions]]
name = "paid"
label = "What are you paid for?"
kind = "choice"
choices = ["for what I hold in the end", "for the number of trades"]
answer = "for what I hold in the end"
explanation = "The last line of the instructions says it."
[[steps.questions]]
name = "turns"
label = "How many turns does a match have?"
kind = "number"
answer = "2"
[[steps]]
kind = "match"
matches = 2
[[steps]]
kind = "results"
text = "This is how it went."
[[steps]]
kind = "questions"
seconds = 600
[[steps.questions]]
name = "felt"
label = "How far do you agree?"
kind = "grid"
required = true
rows = { fair = "The other was fair.", again = "I would trade with the other again." }
choices = ["not at all", "a little", "partly", "mostly", "fully"]
[[steps.questions]]
name = "how"
label = "How did you decide?"
kind = "several"
choices = ["by feeling", "by numbers", "by chance"]
""",
    'consent = "Will you take part?"',
)

STEP_PAGES = ("quiz", "quiz-wrong", "first-match", "second-match", "results", "grid", "earnings")
"""The pages that `visit_steps` shows, in this order."""


def visit_steps(chromium: Any, server: StudyServer, show: Show, size: Size = WIDE, **options: Any) -> Person:
    """Visit a study of many steps by the keyboard alone, calling `show(page, name)` at those of its own."""
    person = Person(chromium, server, size, **options).join()
    press(person, "I agree and take part")
    press(person, "Continue")
    person.button("Check my answers").wait_for()
    show(person.page, "quiz")
    hand = Keyboard(person.page)
    choose(person.page.get_by_label("for the number of trades"))
    hand.fill(person.page.get_by_label("How many turns"), "2")
    press(person, "Check my answers")
    person.wait_for_text("The last line of the instructions says it.")
    show(person.page, "quiz-wrong")
    assert person.page.get_by_label("How many turns").input_value() == "2", "what was right stays"
    choose(person.page.get_by_label("for what I hold in the end"))
    press(person, "Check my answers")
    for round, name in enumerate(("first-match", "second-match"), 1):
        person.wait_for_text(f"Match {round} of 2")
        person.seated()
        show(person.page, name)
        while person.wait_for_turn():
            person.move()
        person.messages.clear()
        press(person, "Continue")
    person.wait_for_text("This is how it went.")
    show(person.page, "results")
    press(person, "Continue")
    person.wait_for_text("How far do you agree?")
    for statement, answer in (("The other was fair.", "mostly"), ("I would trade", "not at all")):
        row = person.page.locator(".nl-likert-row").filter(has_text=statement)
        choose(row.get_by_label(answer))
    hand.press(person.page.get_by_label("by numbers"))
    show(person.page, "grid")
    press(person, "Send answers")
    person.completion_code()
    show(person.page, "earnings")
    return person


def choose(control: Any) -> None:
    """Choose one of a group of radio buttons, which the arrow keys reach."""
    control.focus()
    control.press("Space")
