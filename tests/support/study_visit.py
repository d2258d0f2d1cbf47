"""Every page that a participant can meet, in the order of one visit by the keyboard, in any language."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from negolab.studies.study_file import catalogue
from tests.support.browser import Keyboard
from tests.support.study_server import WIDE, Person, StudyServer

OPTIONS = ("--max-kernels=1",)
"""One kernel, so that a second visitor waits in the queue."""

TEMPLATE = """
title = "{title}"
game = "{game}"
seed = 3
consent = '''
{consent}
'''
instructions = "{instructions}"
closing = "{closing}"
[[treatments]]
name = "pairs"
{params}
[pairing]
wait = 9
then = "{player}"
[limits]
reply = 200
[codes]
complete = "DONE4242"
[payment]
currency = "GBP"
rate = 0.35
show_up = 2.00
rounding = 0.10
[[steps]]
kind = "consent"
[[steps]]
kind = "questions"
seconds = 600
[[steps.questions]]
name = "experience"
label = "{experience}"
kind = "choice"
choices = ["{never}", "{once}", "{often}"]
required = true
[[steps.questions]]
name = "age"
label = "{age}"
kind = "number"
[[steps.questions]]
name = "group"
label = "{group}"
kind = "choice"
choices = ["α", "β", "γ", "δ", "ε", "ζ", "η", "θ"]
[[steps]]
kind = "instructions"
[[steps]]
kind = "quiz"
text = "{quiz}"
attempts = 3
[[steps.questions]]
name = "paid"
label = "{paid}"
kind = "choice"
choices = ["{right}", "{wrong}"]
answer = "{right}"
[[steps.questions]]
name = "turns"
label = "{turns}"
kind = "number"
answer = "6"
[[steps]]
kind = "practice"
opponent = "{practised}"
{practice}
[[steps]]
kind = "match"
[[steps]]
kind = "results"
text = "{results}"
[[steps]]
kind = "questions"
[[steps.questions]]
name = "felt"
label = "{felt}"
kind = "grid"
required = true
rows = {{ fair = "{fair}", again = "{again}" }}
choices = ["{not_at_all}", "{partly}", "{mostly}"]
[[steps.questions]]
name = "how"
label = "{how}"
kind = "several"
choices = ["{feeling}", "{numbers}"]
[[steps.questions]]
name = "remarks"
label = "{remarks}"
"""

Words = dict[str, str]

ENGLISH: Words = {
    "title": "A small study",
    "consent": """You are invited to take part in a study on negotiation. It takes about ten minutes.
We keep what you do and write during the study, and nothing that tells us who you are, unless you write it yourself.

You may leave at any time with "Leave the study"; what you wrote is then deleted.""",
    "instructions": "Read this.\\n\\nThen press Start.",
    "closing": "That was all.",
    "experience": "Have you negotiated for money before?",
    "never": "never",
    "once": "once or twice",
    "often": "often",
    "age": "How old are you?",
    "group": "Which group are you in?",
    "quiz": "Two questions, so that nobody plays by mistake.",
    "paid": "What are you paid for?",
    "right": "for what I hold in the end",
    "wrong": "for the number of trades",
    "turns": "How many turns does a match have?",
    "results": "This is how it went.",
    "felt": "How far do you agree?",
    "fair": "The other was fair.",
    "again": "I would trade with the other again.",
    "not_at_all": "not at all",
    "partly": "partly",
    "mostly": "mostly",
    "how": "How did you decide?",
    "feeling": "by feeling",
    "numbers": "by numbers",
    "remarks": "Is there anything you want to tell us?",
}
LINK = '[links]\ncomplete = "https://panel.example/submissions/complete?cc={code}"\n'
STUDY = (
    TEMPLATE.format(
        **ENGLISH,
        game="trading",
        params='preset = "tolerant"\nparams = { max_turns = 6 }',
        player="fair-split",
        practised="chat",
        practice="params = { max_turns = 2 }",
    )
    + LINK
)

Size = dict[str, int]
Show = Callable[[Any, str], None]
Move = Callable[[Person, str], None]
"""Makes the next move of the match that is called so."""

PAGES = (
    *("no-link", "bad-link", "no-such-page", "join", "consent", "line", "questions", "questions-faults"),
    *("instructions", "quiz", "quiz-wrong", "practice", "practice-end", "waiting", "match", "leaving", "keys"),
    *("second-tab", "lost", "match-end", "results", "questions-after", "closed"),
)
"""The pages that a visit shows, in this order."""


class Visit:
    """A visit from the link to the code: `show(page, name)` is called at each page.

    Args:
        server: A server of a study of these `words`, with one kernel.
        move: Makes a move at a table whose turn it is.
        options: How the browser is opened.
    """

    def __init__(
        self,
        chromium: Any,
        server: StudyServer,
        show: Show,
        move: Move = lambda person, match: person.move(),
        words: Words = ENGLISH,
        **options: Any,
    ) -> None:
        self.chromium, self.server, self.show, self.move, self.words = chromium, server, show, move, words
        self.options = {"size": WIDE, **options}
        self.texts = catalogue(server.study) | server.study.texts
        self.person = Person(chromium, server, **self.options)

    def pass_through(self) -> Person:
        """Take a participant through the whole study."""
        self.come_without_link()
        self.prepare()
        self.play("practice")
        self.press("page.continue")
        self.wait_for("page.waiting")
        self.show(self.person.page, "waiting")
        self.play("match", self.be_disturbed)
        self.finish()
        return self.person

    # What is done at a page.

    def press(self, key: str) -> None:
        button = self.person.button(self.texts[key])
        button.wait_for()
        Keyboard(self.person.page).press(button)

    def wait_for(self, key: str) -> None:
        self.person.wait_for_text(self.texts[key])

    def choose(self, answer: str, within: Any = None) -> None:
        """Choose one of a group of radio buttons, which the arrow keys reach."""
        control = (within or self.person.page).get_by_label(self.words[answer], exact=True)
        control.focus()
        control.press("Space")

    def fill(self, question: str, answer: str) -> None:
        Keyboard(self.person.page).fill(self.person.page.get_by_label(self.words[question]), answer)

    # The pages in their order.

    def come_without_link(self) -> None:
        """Open the pages without a link, with a wrong link, and at a wrong address."""
        size, options = self.options["size"], {k: v for k, v in self.options.items() if k != "size"}
        page = self.chromium.new_page(viewport=size, **options)
        for path, name in (("", "no-link"), ("join/abc.def.ghi", "bad-link"), ("tree", "no-such-page")):
            page.goto(self.server.base + path)
            self.show(page, name)
        page.close()

    def prepare(self) -> None:
        """From the link over consent, with a second visitor in the queue, questions and instructions to the quiz."""
        page = self.person.page
        page.goto(self.person.link)
        self.show(page, "join")
        self.press("gate.continue")
        self.wait_for("page.agree")
        self.show(page, "consent")
        later = Person(self.chromium, self.server, **self.options)
        later.page.goto(later.link)
        later.press(self.texts["gate.continue"])
        later.wait_for_text(self.texts["gate.next"])
        self.show(later.page, "line")
        later.close()
        self.press("page.agree")
        self.wait_for("page.send_answers")
        self.show(page, "questions")
        self.press("page.send_answers")
        self.wait_for("page.one_wrong")
        self.show(page, "questions-faults")
        self.choose("never")
        self.fill("age", "36")
        self.press("page.send_answers")
        self.wait_for("page.instructions")
        self.show(page, "instructions")
        self.press("page.continue")
        self.wait_for("page.check")
        self.show(page, "quiz")
        self.choose("wrong")
        self.fill("turns", "6")
        self.press("page.check")
        self.wait_for("page.not_right")
        self.show(page, "quiz-wrong")
        assert page.get_by_label(self.words["turns"]).input_value() == "6", "what was right stays"
        self.choose("right")
        self.press("page.check")

    def play(self, name: str, first: Callable[[], None] = lambda: None) -> None:
        """Play a match to its end; `first` is called before the first move."""
        self.person.messages.clear()
        self.person.seated()
        self.person.wait_for_turn()
        self.show(self.person.page, name)
        first()
        while self.person.wait_for_turn():
            self.move(self.person, name)
        self.show(self.person.page, f"{name}-end")

    def be_disturbed(self) -> None:
        """A leave dialog, the keys, a second tab and a lost connection."""
        person = self.person
        self.press("page.leave")
        self.wait_for("page.leave_question")
        self.show(person.page, "leaving")
        self.press("page.leave_no")
        person.page.locator(".nl-keys summary").last.click()
        self.show(person.page, "keys")
        older, person.page = person.page, person.tab()
        person.page.goto(person.link)
        person.seated()
        older.locator(".nl-away").wait_for(state="attached")
        self.show(older, "second-tab")
        older.close()
        person.context.set_offline(True)
        self.wait_for("gate.banners.lost")
        self.show(person.page, "lost")
        person.context.set_offline(False)
        person.wait_until(lambda: person.current_warnings() == [] and person.table.count() == 1)

    def finish(self) -> None:
        """See the results, answer the last questions, and reach the code."""
        page = self.person.page
        self.press("page.continue")
        self.wait_for("page.results")
        self.show(page, "results")
        self.press("page.continue")
        self.person.wait_for_text(self.words["felt"])
        for statement, answer in (("fair", "mostly"), ("again", "not_at_all")):
            self.choose(answer, page.locator(".nl-likert-row").filter(has_text=self.words[statement]))
        Keyboard(page).press(page.get_by_label(self.words["numbers"]))
        self.show(page, "questions-after")
        self.press("page.send_answers")
        self.person.completion_code()
        self.show(page, "closed")
