"""How tests drive a page: by mouse or by keyboard alone, with a move for each game's own table."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from negolab.catalog import title

SHOTS = Path(os.environ.get("NEGOLAB_SHOTS", "data/runs/screenshots"))
MOST_TABS = 150
LONGER_THAN_A_DOUBLE_CLICK = 450
SEED = "5"


class Mouse:
    """Points, clicks and types."""

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
        """To the middle of the slider."""
        box = target.bounding_box()
        target.click(position={"x": box["width"] / 2, "y": box["height"] / 2})


class Keyboard:
    """Reaches everything by the Tab key and points at nothing."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def reach(self, target: Any) -> None:
        """Tab on until the target has the focus, from wherever the focus is."""
        for _ in range(MOST_TABS):
            if target.evaluate("el => el === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"{target} was not reached by {MOST_TABS} tabs")

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
        """That many steps up, by the arrow key."""
        self.reach(target)
        for _ in range(steps):
            self.page.keyboard.press("ArrowRight")


Hand = Mouse | Keyboard


# The lobby.


def lobby(page: Any) -> None:
    """Wait for the lobby; a match that still runs there is left."""
    page.locator("button:visible", has_text=re.compile("^(Start the match|Leave this match)$")).wait_for(timeout=60_000)
    running = page.get_by_role("button", name="Leave this match")
    if running.is_visible():
        running.click()
    page.get_by_role("button", name="Start the match").wait_for(timeout=60_000)


def sit_down(hand: Hand, game: str, *, choose_game: bool = True) -> Any:
    """Start a match from the lobby; the table."""
    page = hand.page
    lobby(page)
    start = page.get_by_role("button", name="Start the match")
    if choose_game:
        hand.choose(page.get_by_label("Game", exact=True), title(game))
        page.wait_for_timeout(400)
    hand.fill(page.get_by_label("Seed of the deal"), SEED)
    hand.press(start)
    page.locator(".nl-bar").wait_for(timeout=60_000)
    return page.locator(".nl-page .nl-page")


def play_to_the_end(hand: Hand, table: Any, game: str, each: Callable[[int], None] = lambda move: None) -> int:
    """Make moves until the result stands there; how many. `each` is called before every move with its number."""
    page = table.page
    for number in range(60):
        if table.locator(".nl-result").count():
            return number
        each(number)
        before = table.inner_text()
        MOVES[game](hand, table)
        page.wait_for_timeout(LONGER_THAN_A_DOUBLE_CLICK)
        for _ in range(50):
            if table.locator(".nl-result").count() or (table.inner_text() != before and ready(table)):
                break
            page.wait_for_timeout(100)
        else:
            raise AssertionError(f"nothing came of move {number + 1}: {table.inner_text()[:1500]}")
    raise AssertionError("60 moves and no end")


def ready(table: Any) -> bool:
    return "It is your turn." in table.locator(".nl-bar").inner_text()


# A move for each table.


def button(table: Any, name: str) -> Any:
    """The first button whose name matches and that can be pressed now, or None."""
    found = table.get_by_role("button", name=re.compile(name), disabled=False)
    return next((found.nth(i) for i in range(found.count()) if found.nth(i).is_visible()), None)


def balloon(hand: Hand, table: Any) -> None:
    """Agree to what stands; before that, propose the two first items."""
    agree = button(table, "^Agree to this")
    if agree is None:
        for at in range(2):
            hand.press(table.get_by_role("checkbox").nth(at))
    hand.fill(table.get_by_label("Your argument"), "A set that is easy to carry.")
    hand.press(agree or table.get_by_role("button", name=re.compile("^Propose 2 items")))


def trading(hand: Hand, table: Any) -> None:
    """Deny what waits, else offer one for one."""
    deny = button(table, "^Deny$")
    if deny is None:
        plus = table.get_by_role("button", name="+", exact=True)
        hand.press(plus.nth(0))
        hand.press(plus.nth(3))
    hand.press(deny or button(table, "^Make this offer"))


def bargaining(hand: Hand, table: Any) -> None:
    """Ask for a dollar off $50 first, then for a cent more each time; take the last offer."""
    offer = button(table, "^Offer")
    if offer is None:
        hand.press(button(table, "^Accept"))
        return
    if not table.get_by_label("Price in dollars").input_value():
        hand.fill(table.get_by_label("Price in dollars"), "50")
        hand.press(button(table, "^\N{MINUS SIGN}\\$1"))
    hand.press(button(table, "^\\+1\N{CENT SIGN}"))
    table.page.wait_for_timeout(300)
    hand.press(button(table, "^Offer \\$"))


def split(hand: Hand, table: Any) -> None:
    """Say something while there is talk, then keep about half."""
    send = button(table, "^Send message")
    if send is not None:
        hand.fill(table.get_by_label("Your message"), "Shall we share?")
        hand.press(send)
        return
    hand.slide(table.get_by_role("slider").first, 5)
    table.page.wait_for_timeout(300)
    hand.press(button(table, "^Keep|^Propose|^Ask"))


MOVES: dict[str, Callable[[Hand, Any], None]] = {
    "balloon": balloon,
    "bargaining": bargaining,
    "split": split,
    "trading": trading,
}


# Replay.


def run_to_branches(page: Any, url: str, before: Callable[[], None] = lambda: None) -> None:
    """Open the first record of the list, go to the third reply, and branch there twice."""
    page.goto(url)
    page.get_by_label("Records").wait_for(timeout=60_000)
    page.get_by_label("Records").select_option(index=0)
    slider = page.get_by_role("slider")
    slider.wait_for(timeout=60_000)
    options = page.get_by_label("Steps").locator("option")
    options.nth(5).wait_for(state="attached")
    said = [at for at, text in enumerate(options.all_text_contents()) if re.search(r"\b[AB]:\s", text)]
    page.get_by_label("Steps").select_option(index=said[2])
    page.wait_for_timeout(1000)
    before()
    for number in (1, 2):
        page.get_by_label("Seat B is played on by").select_option(index=number + 1)
        page.get_by_role("button", name="Branch from this step").click()
        page.get_by_label("Right").locator("option", has_text=f"branch {number},").wait_for(
            state="attached", timeout=60_000
        )
    page.wait_for_timeout(1000)


# JupyterLab.


def run_notebook(page: Any, url: str, notebook: str) -> None:
    """Open a notebook in JupyterLab and run all its cells."""
    page.goto(f"{url}{notebook}?reset")
    page.wait_for_function("() => window.jupyterapp !== undefined", timeout=60_000)
    page.evaluate("() => window.jupyterapp.restored.then(() => true)")
    page.locator(".jp-NotebookPanel .jp-Cell").first.wait_for(timeout=60_000)
    # Cells that are run before the kernel is connected are not run at all.
    page.evaluate(
        """() => { const session = window.jupyterapp.shell.currentWidget.sessionContext;
          return session.ready.then(() => session.session.kernel.info).then(() => true) }"""
    )
    page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells') }")


# What is checked of a page.


def faults(page: Any, scope: str | None = None, *, least: tuple[str, ...] = ()) -> list[str]:
    """What axe-core finds on the page (or within a selector), only of these impacts if some are given."""
    from axe_playwright_python.sync_playwright import Axe

    context = {"include": [[scope]]} if scope else None
    found = Axe().run(page, context=context).response["violations"]
    return [
        f"{one['impact']} {one['id']}: {one['help']}: {one['nodes'][0]['html'][:200]}"
        for one in found
        if not least or one["impact"] in least
    ]


def fits(page: Any) -> bool:
    """Whether nothing is wider than the page, in whatever scrolls it."""
    return bool(
        page.evaluate(
            """() => [document.documentElement, document.querySelector('#rendered_cells')]
              .every(el => !el || el.scrollWidth <= innerWidth)"""
        )
    )


def shot(page: Any, name: str) -> None:
    """A picture of the whole page, however far it scrolls."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    size = page.viewport_size
    height = page.evaluate("() => document.querySelector('#rendered_cells')?.scrollHeight ?? innerHeight")
    page.set_viewport_size({"width": size["width"], "height": max(size["height"], min(int(height), 8000))})
    page.wait_for_timeout(250)
    page.screenshot(path=str(SHOTS / f"{name}.png"))
    page.set_viewport_size(size)
