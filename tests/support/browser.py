"""Drive a page in a browser: by mouse or by keyboard alone, with a move for each game's table."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from negolab.record import Record
from negolab.store import read
from negolab.studies.texts import format_payoff
from negolab.studies.trial.browsers import FITS_WIDTH, HEIGHT, TALLEST

SHOTS = Path(os.environ.get("NEGOLAB_SHOTS", "data/runs/screenshots"))
MAX_TABS = 150
DOUBLE_CLICK_MS = 450
SEED = "5"
WIDE = {"width": 1280, "height": 900}


class Mouse:
    """Input by mouse clicks and typing."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def press(self, target: Any) -> None:
        target.click()

    def fill(self, target: Any, text: str) -> None:
        target.fill(text)
        target.press("Tab")

    def choose(self, target: Any, label: str) -> None:
        target.select_option(label=label)

    def slide(self, target: Any, steps: int) -> None:
        """Click the middle of the slider."""
        box = target.bounding_box()
        target.click(position={"x": box["width"] / 2, "y": box["height"] / 2})


class Keyboard:
    """Input by the keyboard alone."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def reach(self, target: Any) -> None:
        """Press Tab until the target has the focus."""
        for _ in range(MAX_TABS):
            if target.evaluate("el => el === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"{target} was not reached by {MAX_TABS} tabs")

    def press(self, target: Any) -> None:
        self.reach(target)
        self.page.keyboard.press("Enter" if target.evaluate("el => el.tagName === 'BUTTON'") else "Space")

    def fill(self, target: Any, text: str) -> None:
        self.reach(target)
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.type(text)
        self.page.keyboard.press("Tab")

    def choose(self, target: Any, label: str) -> None:
        self.reach(target)
        self.page.keyboard.type(label)

    def slide(self, target: Any, steps: int) -> None:
        """Press the right arrow key `steps` times."""
        self.reach(target)
        for _ in range(steps):
            self.page.keyboard.press("ArrowRight")


Input = Mouse | Keyboard


# Results


def _kept(out: Any, text: str) -> Record:
    """The record that the page's result names."""
    (record,) = [r for r in read(out) if r.id[:12] in text]
    return record


def check_result(table: Any, out: Any, game: str) -> None:
    """Check that the page's result is the record's."""
    text = table.locator(".nl-result").inner_text()
    record = _kept(out, text)
    (seat,) = (s for s, name in record.header.players.items() if name == "person")
    assert record.header.game == game
    assert f"Your result: {format_payoff(record.game, record.payoffs[seat])}." in text


# A small page at the gate


def enter(page: Any, url: str, name: str) -> None:
    """Join by a link."""
    page.goto(f"{url}join/good-{name}")
    page.get_by_role("button", name="Continue").click()


# Lobby


def open_lobby(page: Any) -> None:
    """Wait for the lobby; leave a match that it still shows."""
    page.locator(
        "button:visible", has_text=re.compile("^(Start the match|Leave this match|Another game)$")
    ).first.wait_for()
    if not page.get_by_role("button", name="Start the match").is_visible():
        leave_match(Mouse(page))


def leave_match(hand: Input) -> None:
    """Leave the match, whether it is over or not."""
    page = hand.page
    over, leave = (page.get_by_role("button", name=name) for name in ("Another game", "Leave this match"))
    page.wait_for_timeout(1000)  # a match that is just over shows its end a moment later
    over.or_(leave).first.wait_for()
    if over.is_visible():
        hand.press(over)
    else:
        hand.press(leave)
        hand.press(page.get_by_role("button", name="Leave", exact=True))
    page.get_by_role("button", name="Start the match").wait_for()


def start_match(hand: Input, game: str, *, choose_game: bool = True) -> Any:
    """Start a match from the lobby and return its table."""
    page = hand.page
    open_lobby(page)
    if choose_game:
        choose_game_card(hand, game)
    fill_seed(hand, SEED)
    hand.press(page.get_by_role("button", name="Start the match"))
    page.locator(".nl-bar").wait_for()
    return page.locator(".nl-page .nl-page")


def choose_game_card(hand: Input, game: str) -> None:
    """Choose the card of a game, by the arrow keys without a mouse."""
    card = hand.page.locator(f".nl-game input[value='{game}']")
    if isinstance(hand, Mouse):
        card.check()
    else:
        hand.reach(hand.page.locator(".nl-game input:checked"))
        while not card.is_checked():
            hand.page.keyboard.press("ArrowDown")
    title = hand.page.locator(f".nl-game:has(input[value='{game}']) b").inner_text()
    # A narrow screen keeps the aim out of sight: the cards have to fit above Start.
    hand.page.locator(".nl-aim b", has_text=title.partition(" (")[0]).wait_for(state="attached")
    hand.page.wait_for_timeout(400)


def fill_seed(hand: Input, seed: str) -> None:
    """Fill in the seed of the deal, which is folded at first."""
    if not hand.page.get_by_label("Seed of the draw").is_visible():
        hand.press(hand.page.get_by_role("button", name="More: seat and seed"))
        hand.page.get_by_label("Seed of the draw").wait_for()
    hand.fill(hand.page.get_by_label("Seed of the draw"), seed)


def play_to_end(hand: Input, table: Any, game: str, each: Callable[[int], None] = lambda move: None) -> int:
    """Make moves until the result is shown and return their number; `each` is called with the number of every move."""
    page = table.page
    for number in range(60):
        if table.locator(".nl-result").count():
            return number
        each(number)
        before = table.inner_text()
        MOVES[game](hand, table)
        page.wait_for_timeout(DOUBLE_CLICK_MS)
        for _ in range(200):
            if table.locator(".nl-result").count():
                break
            page.wait_for_timeout(100)
            # The last parts of a table that shows the end may come a moment after the first.
            if table.inner_text() != before and is_turn(table):
                page.wait_for_timeout(200)
                break
        else:
            raise AssertionError(f"no response to move {number + 1}: {table.inner_text()[:1500]}")
    raise AssertionError("60 moves and no end")


def is_turn(table: Any) -> bool:
    return table.locator(".nl-bar .nl-turn").count() > 0


# One move at each game's table


def find_button(table: Any, name: str) -> Any:
    """The first visible, enabled button whose name matches, or None."""
    buttons = table.get_by_role("button", name=re.compile(name), disabled=False).all()
    return next((button for button in buttons if button.is_visible()), None)


def open_sheet(hand: Input, table: Any) -> None:
    """Open the controls of an own offer where they are a sheet, as on a phone."""
    if table.locator(".nl-go").is_visible():
        hand.press(table.locator(".nl-go"))


def balloon(hand: Input, table: Any) -> None:
    """Agree to the standing proposal; without one, propose the two first items."""
    agree = find_button(table, "^Agree to this")
    open_sheet(hand, table)
    if agree is None:
        for at in range(2):
            hand.press(table.get_by_role("checkbox").nth(at))
    hand.fill(table.get_by_label("Your argument"), "A set that is easy to carry.")
    if agree is not None and table.locator(".nl-back").is_visible():
        hand.press(table.locator(".nl-back"))
    hand.press(agree or table.get_by_role("button", name=re.compile("^Propose 2 items")))


def agenda(hand: Input, table: Any) -> None:
    """Accept what is offered, else offer."""
    accept = find_button(table, "^Accept")
    if accept is None:
        offer_first_options(hand, table)
    else:
        hand.press(accept)


def offer_first_options(hand: Input, table: Any) -> None:
    """Offer the first options and one unit more of each of the goods."""
    open_sheet(hand, table)
    for group in table.get_by_role("radiogroup").all():
        hand.press(group.get_by_role("radio").first)
    for choice in table.locator(".nl-issues select").all():
        hand.choose(choice, choice.locator("option").nth(1).inner_text())
    for plus in table.get_by_role("button", name="+", exact=True).all():
        hand.press(plus)
    hand.fill(table.get_by_label("Your message"), "This would suit me.")
    hand.press(find_button(table, "^(Make this offer|Offer this instead)"))


def trading(hand: Input, table: Any) -> None:
    """Deny a pending offer, else offer one for one while somebody can answer."""
    answer = find_button(table, "^(Deny|Finish the match)$")
    if answer is None:
        open_sheet(hand, table)
        plus = table.get_by_role("button", name="+", exact=True)
        hand.press(plus.nth(0))
        hand.press(plus.nth(3))
    hand.press(answer or find_button(table, "^Make this offer"))


def bargaining(hand: Input, table: Any) -> None:
    """Ask for a dollar off $50 first, then for a quarter more each time; take the last offer."""
    open_sheet(hand, table)
    offer = find_button(table, "^Offer")
    if offer is None:
        hand.press(find_button(table, "^Accept"))
        return
    if not table.get_by_label("Price in dollars").input_value():
        hand.fill(table.get_by_label("Price in dollars"), "50")
        hand.press(find_button(table, "^\N{MINUS SIGN}\\$1"))
    hand.press(find_button(table, "^\\+\\$0.25"))
    table.page.wait_for_timeout(300)
    hand.press(find_button(table, "^Offer \\$"))


def split(hand: Input, table: Any) -> None:
    """Say something while there is talk, then keep about half."""
    open_sheet(hand, table)
    send = find_button(table, "^Send message")
    if send is not None:
        hand.fill(table.get_by_label("Your message"), "Shall we share?")
        hand.press(send)
        return
    hand.slide(table.get_by_role("slider").first, 5)
    table.page.wait_for_timeout(300)
    hand.press(find_button(table, "^Keep|^Propose|^Ask"))


MOVES: dict[str, Callable[[Input, Any], None]] = {
    "agenda": agenda,
    "balloon": balloon,
    "bargaining": bargaining,
    "split": split,
    "trading": trading,
}


# Replay


def branch_replay(page: Any, url: str, before: Callable[[], None] = lambda: None) -> None:
    """Open the first record of the list, go to the third reply, and branch there twice."""
    page.goto(url)
    page.get_by_role("button", name="Show the list").click()
    page.locator(".nl-records tbody th button").first.click()
    page.get_by_role("button", name="Show: what if").click()
    moves = page.locator(".nl-move")
    moves.nth(3).wait_for()
    moves.nth(3).click()
    page.wait_for_timeout(1000)
    before()
    for number in (1, 2):
        page.get_by_label("Seat B continues with").select_option(index=number + 1)
        page.get_by_role("button", name="Branch from this step").click()
        page.get_by_label("Right").locator("option", has_text=f"branch {number},").wait_for(state="attached")
    page.wait_for_timeout(1000)


# Figures


def click_mark(page: Any, mark: Any, across: float = 0.5, down: float = 0.5) -> None:
    """Click a place of a mark, where plotly's own layer lies above it."""
    mark.scroll_into_view_if_needed()
    box = mark.bounding_box()
    page.mouse.click(box["x"] + box["width"] * across, box["y"] + box["height"] * down)


# JupyterLab


def run_notebook(page: Any, url: str, notebook: str) -> None:
    """Open a notebook in JupyterLab and run all its cells."""
    page.goto(f"{url}{notebook}?reset")
    page.wait_for_function("() => window.jupyterapp !== undefined")
    page.evaluate("() => window.jupyterapp.restored.then(() => true)")
    page.locator(".jp-NotebookPanel .jp-Cell").first.wait_for()
    # Cells that are run before the kernel is connected are not run at all.
    page.evaluate(
        """() => { const session = window.jupyterapp.shell.currentWidget.sessionContext;
          return session.ready.then(() => session.session.kernel.info).then(() => true) }"""
    )
    page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells') }")


# Checks of a page


def accessibility_violations(page: Any, scope: str | None = None, *, least: tuple[str, ...] = ()) -> list[str]:
    """Violations that axe-core reports for the page or a selector, limited to impacts in `least` if given."""
    from axe_playwright_python.sync_playwright import Axe

    context = {"include": [[scope]]} if scope else None
    violations = Axe().run(page, context=context).response["violations"]
    return [
        f"{one['impact']} {one['id']}: {one['help']}: {one['nodes'][0]['html'][:200]}"
        for one in violations
        if not least or one["impact"] in least
    ]


def fits_width(page: Any) -> bool:
    """Return True if nothing overflows the page's width."""
    return bool(page.evaluate(FITS_WIDTH))


def fits_phone(page: Any) -> bool:
    """Show the page on a phone; return True if nothing overflows its width."""
    page.set_viewport_size({"width": 360, "height": 800})
    page.wait_for_timeout(400)
    return fits_width(page)


def overlapping_labels(page: Any) -> list[str]:
    """Texts of one figure that lie on each other, by pairs."""
    return list(
        page.evaluate(
            """() => [...document.querySelectorAll('.js-plotly-plot')].flatMap((plot) => {
              const texts = [...plot.querySelectorAll('text')]
                .map((one) => ({ words: one.textContent, box: one.getBoundingClientRect() }))
                .filter(({ words, box }) => words.trim() && box.width);
              const meet = ({ box: a }, { box: b }) =>
                Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 &&
                Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
              return texts.flatMap((one, at) =>
                texts.slice(at + 1).filter((two) => meet(one, two)).map((two) => `${one.words} | ${two.words}`));
            })"""
        )
    )


def screenshot(page: Any, name: str) -> None:
    """Save a picture of the whole page, including what is scrolled out of view."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    size = page.viewport_size
    height = max(size["height"], min(int(page.evaluate(HEIGHT)), TALLEST))
    page.set_viewport_size({"width": size["width"], "height": height})
    page.wait_for_timeout(250)
    page.screenshot(path=str(SHOTS / f"{name}.png"))
    page.set_viewport_size(size)
