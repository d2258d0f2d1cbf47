"""Every page that a participant can meet, in the order of one visit: to be checked, and to be pictured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.driving import Keyboard
from tests.support.hosting import study
from tests.support.studying import WIDE, Person, Stand

OPTIONS = ("--max-kernels=1",)
"""One place, so that a second visitor stands in the line."""

TEXT = study(
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

NAMES = (
    *("no-link", "bad-link", "no-such-page", "join", "consent", "line", "questions", "questions-faults"),
    *("instructions", "practice", "practice-end", "waiting", "playing", "leaving", "second-tab", "lost", "end"),
    *("questions-after", "closed"),
)
"""What `visit` shows, in this order."""


def visit(chromium: Any, stand: Stand, show: Show, size: Size = WIDE, **options: Any) -> Person:
    """One visit from the link to the code, by the keyboard alone; `show(page, name)` at each page that is met."""
    options = {"size": size, **options}
    strangers(chromium, stand, show, **options)
    person = Person(chromium, stand, **options)
    person.page.goto(person.link)
    show(person.page, "join")
    press(person, "Continue")
    before_the_start(chromium, person, show, **options)
    practise(person, show)
    play(person, show)
    after_the_match(person, show)
    return person


def press(person: Person, name: str) -> None:
    person.button(name).wait_for()
    Keyboard(person.page).press(person.button(name))


def strangers(chromium: Any, stand: Stand, show: Show, size: Size, **options: Any) -> None:
    """Whoever has no link, a wrong one, or a wrong address."""
    page = chromium.new_page(viewport=size, **options)
    for path, name in (("", "no-link"), ("join/abc.def.ghi", "bad-link"), ("tree", "no-such-page")):
        page.goto(stand.base + path)
        show(page, name)
    page.close()


def before_the_start(chromium: Any, person: Person, show: Show, **options: Any) -> None:
    """Consent, the line for whoever comes now, questions with and without faults, instructions."""
    person.button("I agree and take part").wait_for()
    show(person.page, "consent")
    later = Person(chromium, person.stand, **options)
    later.page.goto(later.link)
    later.press("Continue")
    later.sees("You are next.")
    show(later.page, "line")
    later.close()
    press(person, "I agree and take part")
    person.button("Send answers").wait_for()
    show(person.page, "questions")
    press(person, "Send answers")
    person.sees("must be mended above")
    show(person.page, "questions-faults")
    hand = Keyboard(person.page)
    hand.press(person.page.get_by_label("never"))
    hand.fill(person.page.get_by_label("How old are you?"), "36")
    press(person, "Send answers")
    person.button("Start").wait_for()
    show(person.page, "instructions")


def practise(person: Person, show: Show) -> None:
    """A practice round to its end."""
    press(person, "Start")
    person.seated()
    show(person.page, "practice")
    while person.turn():
        Keyboard(person.page).press(person.table.get_by_role("button", name="Show: a box to type the reply yourself"))
        Keyboard(person.page).fill(person.table.get_by_label("Your reply with its tokens"), "[Pass] Just talking.")
        press(person, "Send reply")
        person.until(lambda: person.is_over() or not person.has_turn() or person.own())
        person.page.wait_for_timeout(500)
        if person.own() and person.has_turn():
            break
    show(person.page, "practice-end")
    press(person, "Continue")


def play(person: Person, show: Show) -> None:
    """The wait for another one, the match, a question whether to leave, another tab, a lost connection, the end."""
    person.sees("Waiting for another participant.")
    show(person.page, "waiting")
    person.seated()
    person.turn()
    show(person.page, "playing")
    press(person, "Leave the study")
    person.sees("Do you want to leave?")
    show(person.page, "leaving")
    press(person, "No, go on")
    older, person.page = person.page, person.tab()
    person.page.goto(person.link)
    person.seated()
    older.locator(".nl-away").wait_for(state="attached")
    show(older, "second-tab")
    older.close()
    person.context.set_offline(True)
    person.sees("Connection lost.")
    show(person.page, "lost")
    person.context.set_offline(False)
    person.until(lambda: person.warnings() == [] and person.table.count() == 1)
    while person.turn():
        person.move()
    show(person.page, "end")
    press(person, "Continue")


def after_the_match(person: Person, show: Show) -> None:
    """A last question, and the code."""
    person.sees("Is there anything you want to tell us?")
    show(person.page, "questions-after")
    press(person, "Send answers")
    person.code()
    show(person.page, "closed")
