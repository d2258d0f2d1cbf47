"""The browser side of the small widgets: clock, copyable code, choices, and HTML that updates in place."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from negolab_widgets.html import StableHTML, join, preformatted
from negolab_widgets.page import Shield
from negolab_widgets.play.countdown import Countdown
from negolab_widgets.study.completion_code import CompletionCode
from negolab_widgets.tables.inputs import RadioGroup

from negolab.studies.texts import texts

pytestmark = pytest.mark.browser

EVIL = "<img src=x onerror='window.pwned=1'>"
_MODEL = """async ([source, state]) => {
  const heard = {};
  window.sent = [];
  window.model = {
    get: (name) => state[name],
    set: (name, value) => { state[name] = value; },
    on: (name, work) => { (heard[name] ??= []).push(work); },
    off: () => {},
    send: (message) => window.sent.push(message),
    save_changes: () => window.sent.push({ ...state }),
  };
  window.change = (more) => {
    Object.assign(state, more);
    for (const name of Object.keys(more)) for (const work of heard[`change:${name}`] ?? []) work();
  };
  window.tell = (message) => (heard["msg:custom"] ?? []).forEach((work) => work(message));
  const { default: widget } = await import(source);
  const el = document.body.appendChild(document.createElement("div"));
  widget.render({ model: window.model, el });
}"""


@pytest.fixture
def page(chromium: Any) -> Any:
    opened = chromium.new_page()
    opened.set_content("<!DOCTYPE html><html><body></body></html>")
    yield opened
    opened.close()


def show(page: Any, widget: Any, **state: Any) -> None:
    """Render a widget with this state, without a kernel."""
    source = "data:text/javascript;base64," + base64.b64encode(str(widget._esm).encode()).decode()
    page.evaluate(_MODEL, [source, state])


def typing(page: Any) -> None:
    """A page with a field and two buttons that record their presses."""
    page.evaluate("""() => {
      document.body.className = "nl-page";
      document.body.innerHTML = "<h1>T</h1><input><button>Send</button><button>Leave</button>";
      window.pressed = [];
      for (const b of document.querySelectorAll("button")) b.onclick = () => window.pressed.push(b.innerText);
    }""")
    show(page, Shield)


def test_a_press_after_typing_waits_until_what_was_typed_has_been_sent(page: Any) -> None:
    typing(page)
    page.get_by_role("textbox").press_sequentially("45.50")
    page.get_by_role("button", name="Send").click()
    page.get_by_role("button", name="Send").click()
    assert page.evaluate("[window.pressed, window.sent]") == [[], [{"after": 1}, {"after": 2}]]
    page.evaluate("window.tell({ after: 1 })")
    assert page.evaluate("window.pressed") == ["Send"], "once for each answer"
    page.evaluate("window.tell({ after: 1 })")
    page.evaluate("window.tell({ after: 2 })")
    page.get_by_role("button", name="Leave").click()
    assert page.evaluate("window.pressed") == ["Send", "Send", "Leave"], "without typing nothing waits"


def test_a_press_after_typing_is_not_lost_when_nothing_answers(page: Any) -> None:
    page.clock.install()
    typing(page)
    page.get_by_role("textbox").fill("45.50")
    page.get_by_role("button", name="Send").press("Enter")
    assert page.evaluate("window.pressed") == []
    page.clock.run_for(10_000)
    assert page.evaluate("window.pressed") == ["Send"]


def test_the_kernel_answers_what_was_sent_before_and_nothing_else() -> None:
    shield, said = Shield(), list[Any]()
    shield.send = said.append
    for message in ({"after": 3}, {"after": "3"}, {"after": True}, {}, [], None, {"focus": 1}):
        shield._answer(shield, message, [])
    assert said == [{"after": 3}]


def clock(page: Any, seconds: float, **more: Any) -> None:
    about = {"total": 0, "words": "{left} left for your answer", "over": "Time is up.", "urgent": True, "serial": 1}
    show(page, Countdown, **{**about, "seconds": seconds, **more})


def test_the_clock_counts_down_in_minutes_and_seconds(page: Any) -> None:
    clock(page, 66)
    timer = page.get_by_role("timer")
    timer.get_by_text("1:05 left for your answer").wait_for()
    assert page.evaluate("window.sent") == [{"ask": "left"}]


def test_the_clock_is_read_aloud_at_a_minute_and_warns_when_time_is_short(page: Any) -> None:
    clock(page, 61)
    told = page.locator("[aria-live=polite]")
    assert told.inner_text() == ""
    told.get_by_text("1:00 left for your answer").wait_for()
    assert page.locator(".nl-short").count() == 0
    page.evaluate("window.change({ seconds: 19, serial: 2 })")
    assert page.locator(".nl-short").count() == 1
    assert told.inner_text() == "1:00 left for your answer", "a new time is not read aloud by itself"


def test_the_clock_says_when_time_is_up(page: Any) -> None:
    clock(page, 0.3)
    page.get_by_text("Time is up.").wait_for()


def test_the_clock_counts_what_has_gone_by(page: Any) -> None:
    clock(page, 88.5, total=90, words="You have waited {gone} of at most {total}.", urgent=False)
    page.get_by_text("You have waited 0:02 of at most 1:30.").wait_for()


def test_what_stands_still_is_not_drawn_again(page: Any) -> None:
    show(page, StableHTML, value="<table><tr><td>1</td><td>a</td></tr></table><p>end</p>")
    page.evaluate("() => { window.kept = document.querySelectorAll('td')[1]; getSelection().selectAllChildren(kept); }")
    page.evaluate(
        "window.change({ value: '<table><tr class=\"x\"><td>2</td><td>a</td></tr><tr><td>3</td></tr></table>' })"
    )
    assert page.evaluate("document.body.innerText").split() == ["2", "a", "3"]
    assert page.locator("tr.x").count() == 1
    assert page.evaluate("kept.isConnected && getSelection().toString() === 'a'")


@pytest.mark.parametrize(
    "letters", ["\N{THAI CHARACTER SARA AM}", "\N{COMBINING ACUTE ACCENT}"], ids=["sara am", "acute"]
)
def test_messages_of_thousands_of_marks_are_drawn_at_once(page: Any, letters: str) -> None:
    said = join([preformatted("a" + letters * 9_999)] * 6)
    took = page.evaluate(
        """(said) => {
          const began = performance.now();
          document.body.innerHTML = said;
          document.body.getBoundingClientRect();
          return performance.now() - began;
        }""",
        said,
    )
    assert took < 1000, "a partner who writes so freezes the page"
    assert page.evaluate("document.body.innerText").startswith("a" + letters * 8 + "\N{HORIZONTAL ELLIPSIS}")


@pytest.mark.parametrize(
    "text", ["naïve <b>", "\n\n", "你好" * 2000, "กินข้าวไหม" * 200, "👩🏽‍🚀" * 300, "e\u0301\u0323 " * 99]
)
def test_messages_are_shown_word_for_word_also_without_spaces(page: Any, text: str) -> None:
    page.set_content(preformatted(text))
    assert page.evaluate("document.querySelector('.nl-said').textContent") == text


def test_a_choice_is_told_by_its_own_words(page: Any) -> None:
    show(page, RadioGroup, description=EVIL, options=["never", EVIL], value="")
    group = page.get_by_role("group", name=EVIL)
    assert group.get_by_role("radio").count() == 2
    group.get_by_label(EVIL).last.check()
    assert page.evaluate("window.sent.at(-1).value") == EVIL
    assert page.evaluate("window.pwned") is None


def test_a_code_is_copied_where_the_browser_has_no_clipboard(page: Any) -> None:
    page.evaluate("() => { Object.defineProperty(navigator, 'clipboard', { value: undefined }); }")
    page.evaluate("document.addEventListener('copy', () => { window.copied = getSelection().toString(); })")
    show(page, CompletionCode, code="AB12CD34", words=texts.COPY_CODE)
    page.get_by_role("button", name="Copy the code").click()
    page.get_by_role("status").get_by_text("Copied.").wait_for()
    assert page.evaluate("window.copied") == "AB12CD34"
