"""The browser side of the small widgets: clock, copyable code, choices, and HTML that updates in place."""

from __future__ import annotations

import base64
from typing import Any

import ipywidgets as w
import pytest
from negolab_widgets.fields import Number, PriceField, RadioGroup, Stepper
from negolab_widgets.html import StableHTML, join, preformatted
from negolab_widgets.page import Page
from negolab_widgets.play.countdown import Countdown
from negolab_widgets.study.last_page import CompletionCode

from negolab.studies.texts import texts

pytestmark = pytest.mark.browser

EVIL = "<img src=x onerror='window.pwned=1'>"
_MODEL = """async ([source, state]) => {
  const heard = {};
  window.sent = [];
  window.model = {
    get: (name) => state[name],
    set: (name, value) => { state[name] = value; },
    on: (names, work) => { for (const name of names.split(" ")) (heard[name] ??= []).push(work); },
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


@pytest.fixture(scope="module")
def tab(chromium: Any) -> Any:
    return chromium.new_page()


@pytest.fixture
def page(tab: Any) -> Any:
    """An empty page."""
    tab.goto("about:blank")
    tab.set_content("<!DOCTYPE html><html><body></body></html>")
    return tab


def _source(widget: Any) -> str:
    return "data:text/javascript;base64," + base64.b64encode(str(widget._esm).encode()).decode()


def show(page: Any, widget: Any, **state: Any) -> None:
    """Render a widget with this state, without a kernel."""
    page.evaluate(_MODEL, [_source(widget), state])


_PAGE = """async (source) => {
  document.body.innerHTML = `<div class="nl-page"><h1>T</h1><div id="shield"></div><input id="price">
    <select id="player"><option>linear<option>boulware</select><button id="send" class="widget-button">Send</button>
    <button id="local">Local</button></div>`;
  document.querySelector("#local").onclick = () => { window.local = true; };
  const model = (id, state, el, children = []) => ({
    model_id: id, views: el ? { one: Promise.resolve({ el }), late: new Promise(() => {}) } : {},
    has: (name) => name in state,
    get: (name) => (name === "children" ? children : state[name]),
  });
  const find = (selector) => document.querySelector(selector);
  const root = model("page", {}, find(".nl-page"), [
    model("shield", { root: "page", turn: 3 }, find("#shield")),
    model("price", { value: "", disabled: false }, find("#price").parentElement),
    model("player", { index: 1, _options_labels: ["linear", "boulware"], disabled: false }, find("#player")),
    model("text", { value: "<p>", disabled: false, _model_name: "HTMLModel" }, find("h1")),
    model("making", { value: "", disabled: false }, null),
    model("send", { disabled: false }, find("#send")),
  ]);
  window.sent = [];
  const { default: widget } = await import(source);
  const heard = [];
  widget.render({ el: find("#shield"), model: {
    get: (name) => ({ root: "page", turn: 3, too_long: "{length} of {most}" })[name],
    send: (message) => window.sent.push(message),
    on: (name, work) => heard.push(work),
    widget_manager: { get_model: async () => root },
  } });
}"""


def test_a_press_carries_what_the_page_shows_just_then_in_one_message(page: Any) -> None:
    page.evaluate(_PAGE, _source(Page([])._shield))
    page.locator("#price").press_sequentially("45.50")
    page.locator("#send").click()
    page.locator("#price").fill("46")
    page.locator("#local").click()
    page.locator("#send").click()
    fields = {"shield": 3, "price": "45.50", "player": "boulware"}
    assert page.evaluate("window.sent") == [
        {"press": "send", "fields": fields},
        {"press": "send", "fields": {**fields, "price": "46"}},
    ]
    assert page.evaluate("window.local"), "other buttons are the browser's own matter"


def test_a_press_that_would_close_the_connection_is_not_sent_and_its_field_says_why(page: Any) -> None:
    page.evaluate(_PAGE, _source(Page([])._shield))
    page.locator("#price").fill("x" * 30_001)
    page.locator("#send").click()
    assert page.locator("#price").evaluate("el => el.validationMessage") == "30,001 of 30,000"
    page.locator("#price").fill("\N{GRINNING FACE}" * 15_000)
    page.locator("#send").click()
    assert page.evaluate("window.sent.length") == 1, "60,000 bytes are"
    page.locator("#price").fill("short")
    page.locator("#send").click()
    assert page.evaluate("window.sent.length") == 2


def pressed(shield: Any, button: w.Button, **fields: Any) -> None:
    """Send a press as a page does, with what its fields show, by the names of the widgets."""
    shield._handle_custom_msg({"press": button.model_id, "fields": fields}, [])


def test_the_kernel_takes_what_a_press_carries_and_never_reads_an_older_value() -> None:
    price, player, send = w.Text(), w.Dropdown(options=["linear", "boulware"]), w.Button()
    age, said, refused = Stepper("Age", "year"), list[Any](), list[str]()
    shown = Page([w.VBox([price, player, age]), send], refused.append)
    send.on_click(lambda _: said.append((price.value, player.value, age.value)))
    price.value = "4"
    shows = {price.model_id: "47.31", player.model_id: "boulware", age.model_id: 33, shown._shield.model_id: 0}
    pressed(shown._shield, send, **shows)
    assert said == [("47.31", "boulware", 33)]
    pressed(shown._shield, send, **{**shows, player.model_id: "gone"})
    shown._shield.turn = 1
    pressed(shown._shield, send, **{**shows, price.model_id: "48"})
    assert len(said) == 1, "what was shown is there no more"
    assert refused == [texts.TABLE_CHANGED] * 2
    assert price.value == "47.31"
    pressed(shown._shield, w.Button())
    assert len(said) == 1, "a button that is not on the page"


def test_a_field_that_was_cleared_stays_empty_whatever_was_on_its_way() -> None:
    number = Number(max=10)
    number.take(7)
    number.value = 0
    assert number.shown[1] == 0
    number.take(12)
    assert (number.value, number.shown[1]) == (10, 10), "what it cannot hold is shown corrected"
    before = number.shown
    number.take(4)
    assert number.shown == before, "the page is not told what it said itself"


def test_a_number_moves_in_the_browser_and_tells_its_last_value(page: Any) -> None:
    state = {"min": 0, "max": 10, "description": "coins", "text": "keep {value}", "name": "Keep", "less": "one less"}
    show(page, Number, **state, more="one more", fault="Enter a number.", has_slider=True, disabled=False, shown=[0, 2])
    slider, number = page.get_by_role("slider"), page.get_by_role("spinbutton")
    for _ in range(3):
        page.get_by_role("button", name="+").click()
    assert (slider.input_value(), number.input_value()) == ("5", "5")
    slider.press("ArrowRight")
    number.press("End")
    number.press_sequentially("3")
    assert (slider.input_value(), number.input_value()) == ("10", "10"), "63 is more than there is"
    assert slider.get_attribute("aria-valuetext") == "keep 10"
    page.wait_for_function("window.sent.at(-1).value === 10")
    number.fill("")
    assert number.evaluate("el => el.validationMessage") == "Enter a number."
    page.evaluate("window.change({ shown: [1, 0] })")
    assert (slider.input_value(), number.input_value()) == ("0", "0")


def test_steps_are_a_cent_and_a_dollar_within_the_range(page: Any) -> None:
    steps = [["less", -100, "a dollar less"], ["more", 1, "a cent more"]]
    state = {"min": 0, "max": 10_000, "base": 5500, "description": "Price", "placeholder": "", "disabled": False}
    show(page, PriceField, **state, steps=steps, zone=[0, 10_000, ["", ""], []], slider="Slide", shown=[0, ""])
    price, less, more = (
        page.get_by_label("Price"),
        *(page.get_by_title(f"a {by}") for by in ("dollar less", "cent more")),
    )
    for typed, button, stepped in (
        ("", more, "55.01"), ("99.99", more, "100.00"), ("100", more, "100.00"), ("0.5", less, "0.00"),
        ("$7", less, "6.00"), ("7,5", less, "54.00"),
    ):  # fmt: skip
        price.fill(typed)
        button.click()
        assert price.input_value() == stepped
    page.wait_for_function("window.sent.at(-1).value === '54.00'")


def clock(page: Any, seconds: float, **more: Any) -> None:
    about = {"total": 0, "words": "{left} left to answer", "over": "Time is up.", "urgent": True, "serial": 1}
    show(page, Countdown, **{**about, "seconds": seconds, **more})


def test_the_clock_counts_down_is_read_aloud_at_a_minute_and_warns_when_time_is_short(page: Any) -> None:
    clock(page, 61)
    assert page.evaluate("window.sent") == [{"ask": "left"}]
    told = page.locator("[aria-live=polite]")
    assert told.inner_text() == ""
    page.get_by_role("timer").get_by_text("1:00 left to answer").wait_for()
    told.get_by_text("1:00 left to answer").wait_for()
    assert page.locator(".nl-short").count() == 0
    page.evaluate("window.change({ seconds: 19, serial: 2 })")
    assert page.locator(".nl-short").count() == 1
    assert told.inner_text() == "1:00 left to answer", "a new time is not read aloud by itself"
    page.evaluate("window.change({ seconds: 0.3, serial: 3 })")
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


def test_messages_of_thousands_of_marks_are_drawn_at_once(page: Any) -> None:
    for letters in ("\N{THAI CHARACTER SARA AM}", "\N{COMBINING ACUTE ACCENT}"):
        said = join([preformatted("a" + letters * 9_999)] * 6)
        page.evaluate("(said) => { document.body.innerHTML = said; }", said)
        # Thousands of marks on one letter would freeze the page.
        assert page.evaluate("document.body.innerText").startswith("a" + letters * 8 + "\N{HORIZONTAL ELLIPSIS}")


def test_messages_are_shown_word_for_word_also_without_spaces(page: Any) -> None:
    for text in ("naïve <b>", "\n\n", "你好" * 2000, "กินข้าวไหม" * 200, "👩🏽‍🚀" * 300, "e\u0301\u0323 " * 99):
        page.set_content(preformatted(text))
        assert page.evaluate("document.querySelector('.nl-said').textContent") == text


def test_a_choice_is_told_by_its_own_words(page: Any) -> None:
    show(page, RadioGroup, description=EVIL, options=["never", EVIL], shown=[0, ""])
    group = page.get_by_role("group", name=EVIL)
    assert group.get_by_role("radio").count() == 2
    group.get_by_label(EVIL).last.check()
    assert page.evaluate("window.sent.at(-1).value") == EVIL
    assert page.evaluate("window.pwned") is None


def test_a_code_is_copied_where_the_browser_has_no_clipboard(page: Any) -> None:
    page.evaluate("() => { Object.defineProperty(navigator, 'clipboard', { value: undefined }); }")
    page.evaluate("document.addEventListener('copy', () => { window.copied = getSelection().toString(); })")
    show(page, CompletionCode, code="AB12CD34", words=texts["copy_code"])
    page.get_by_role("button", name="Copy the code").click()
    page.get_by_role("status").get_by_text("Copied.").wait_for()
    assert page.evaluate("window.copied") == "AB12CD34"
